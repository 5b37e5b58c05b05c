"""Counts a trace again by the rules of docs/trace.md, with DuckDB reading the file."""
import collections, json, sys

from rules import read, stream

CAPACITY = 64 << 30


def touched(io, ranges):
    """The ranges that an I/O touches, and how many of its bytes lie in each."""
    range_bytes = -(-CAPACITY // ranges)
    begin, end = io["offset"], io["offset"] + io["bytes"]
    for at in range(begin // range_bytes, min((end - 1) // range_bytes + 1, ranges)):
        yield at, min(end, (at + 1) * range_bytes) - max(begin, at * range_bytes)


def moved(ios):
    return [io for io in ios if io["op"] in (0, 1) and io["bytes"] > 0]


def hot(ios, count):
    ranges = collections.defaultdict(lambda: [0, 0, 0, collections.Counter()])
    for io in moved(ios):
        name = f"{io['command']} ({io['pid']})" if io["command"] else "unknown"
        for at, inside in touched(io, count):
            found = ranges[f"{io['device']} {at}"]
            found[io["op"]] += 1
            found[2] += inside
            found[3][name] += 1
    return ranges


def hits(ios, count, step_ns):
    cells = collections.defaultdict(lambda: [[0, 0], [0, 0], collections.Counter()])
    for io in moved(ios):
        for at, inside in touched(io, count):
            begin = io["issued_ns"] // step_ns * step_ns
            counts, amounts, streams = cells[f"{io['device']} {at} {begin}"]
            counts[io["op"]] += 1
            amounts[io["op"]] += inside
            streams[stream(io)] += 1
    return cells


def shape(ios, step_ns):
    last, gaps = {}, collections.defaultdict(list)
    for io in ios:
        name = stream(io)
        if name in last:
            gaps[name].append(io["issued_ns"] - last[name])
        last[name] = io["issued_ns"]
    told = {}
    for name, times in gaps.items():
        mean = sum(times) / len(times)
        deviation = (sum(t * t for t in times) / len(times) - mean * mean) ** 0.5
        variation = deviation / mean if len(times) > 1 else None
        told[name] = [len(times), sum(times) // len(times), max(times), variation]
    # The length of a run is the largest place that it reached.
    reached = {0: collections.Counter(), 1: collections.Counter()}
    for io in ios:
        if io["run"] and io["op"] in reached:
            reached[io["op"]][io["run"]] += 1
    longest = lambda op: max(reached[op], default=0)
    lengths = {op: {length: reached[op][length] - reached[op][length + 1]
                    for length in range(1, longest(op) + 1)} for op in reached}
    runs = {op: collections.Counter() for op in reached}
    for op, found in lengths.items():
        for length, count in found.items():
            runs[op][length.bit_length() - 1] += count
    ends = [10**n for n in range(5, 11)]
    idle = collections.defaultdict(lambda: [[0, 0] for _ in range(7)])
    for io in ios:
        if io["idle"]:
            place = idle[io["device"]][sum(1 for end in ends if end <= io["idle"])]
            place[0] += 1
            place[1] += io["idle"]
    depths = collections.defaultdict(lambda: [0] * 12)
    heat = collections.defaultdict(collections.Counter)
    for io in ios:
        at = io["issued_ns"] // step_ns
        if io["depth"]:
            depths[at][min((io["depth"] - 1).bit_length(), 11)] += 1
        if io["response_ns"] is not None:
            heat[at][max(io["response_ns"], 1).bit_length() - 1] += 1
    return {"gaps": told, "runs": runs, "idle": idle, "depths": depths, "heat": heat,
            "dispersion": dispersion(ios, step_ns)}


def dispersion(ios, step_ns):
    times = [io["issued_ns"] for io in ios]
    first, last = min(times) // step_ns + 1, max(times) // step_ns
    counts = collections.defaultdict(collections.Counter)
    for io in ios:
        counts[stream(io)][io["issued_ns"] // step_ns] += 1
    told = {}
    for name, found in counts.items():
        values = [found[step] for step in range(first, last)]
        mean = sum(values) / len(values)
        told[name] = (sum(v * v for v in values) / len(values) - mean * mean) / mean if mean else None
    return told


path, step_ns = sys.argv[1], int(sys.argv[2])
ios = read(path)
print(json.dumps({
    "ios": len(ios),
    "hot": hot(ios, 1000),
    "hits": hits(ios, 50, step_ns),
    "shape": shape(ios, step_ns),
}))
