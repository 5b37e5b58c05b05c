"""The rules of docs/trace.md for one I/O after another and for a set of I/Os, as Python
states them. DuckDB reads the file; nothing is shared with the program under test."""
import collections, duckdb, fractions, heapq

WINDOW = 32
NAMES = {0: "R", 1: "W", 2: "DISCARD", 3: "FLUSH", 4: "OTHER"}
UNKNOWN = 2**64 - 1
BY_STREAM, BY_STEP = 1 / 128, 1 / 16
COLUMNS = ["issued_ns", "response_ns", "queued_ns", '"offset"', "bytes", "depth", "pid", "cpu",
           "flags", "device", "op", "layer", "inode", "cgroup", "command", "merged"]


def read(path, window=WINDOW):
    """The I/Os in issue order, with what the ones before tell of each."""
    held = {row[0] for row in duckdb.sql(f"describe select * from '{path}'").fetchall()}
    columns = [name for name in COLUMNS if name.strip('"') in held]
    found = duckdb.sql(f"select {', '.join(columns)} from '{path}' order by issued_ns").fetchall()
    ios = [collections.defaultdict(int, zip((name.strip('"') for name in columns), row))
           for row in found]
    for io in ios:
        if io["response_ns"] == UNKNOWN:
            io["response_ns"] = None
    follow_runs(ios, window)
    follow_devices(ios)
    return ios


def follow_runs(ios, window):
    """`run`: the how manieth sequential I/O of its run, 0 of a random one."""
    ends, runs = {}, {}
    for clock, io in enumerate(ios):
        io["run"] = 0
        if io["bytes"] == 0:
            continue
        key, file = (io["device"], io["layer"], io["op"]), io["inode"] if io["layer"] == 1 else 0
        places = runs.setdefault(key, [])
        last = ends.setdefault(key, collections.deque(maxlen=window))
        begin, end = (file, io["offset"]), (file, io["offset"] + io["bytes"])
        found = next((run for run in places if run["end"] == begin), None)
        if found:
            found["length"] += 1
            found["end"], found["continued"] = end, clock
            io["run"] = found["length"]
        elif begin in last:
            io["run"] = 1
            new = {"end": end, "continued": clock, "length": 1}
            if len(places) == window:
                oldest = min(range(window), key=lambda at: places[at]["continued"])
                places[oldest] = new
            else:
                places.append(new)
        last.append(end)


def follow_devices(ios):
    """`outstanding`: the queue depth, None where it is not known; `busy`: the part of its time
    in which nothing else of its device was outstanding before it; `idle`: for how long nothing
    was when it was issued."""
    ends, until = collections.defaultdict(list), {}
    for io in ios:
        side, begin = (io["device"], io["layer"]), io["issued_ns"]
        io["outstanding"], io["busy"], io["idle"] = io["depth"] or None, (0, 0), 0
        if io["response_ns"] is None:
            continue
        io["idle"] = max(0, begin - until.get(side, begin))
        end, open_ends = begin + io["response_ns"], ends[side]
        while open_ends and open_ends[0] <= begin:
            heapq.heappop(open_ends)
        heapq.heappush(open_ends, end)
        if not io["depth"]:
            io["outstanding"] = len(open_ends)
        busy_from = max(begin, until.get(side, 0))
        if end > busy_from:
            io["busy"] = (busy_from, end)
        until[side] = max(end, until.get(side, 0))


def size(bytes):
    return f"{bytes / 1024:g}K" if bytes % 512 == 0 else f"{bytes}B"


def stream(io):
    if io["op"] == 3 and io["bytes"] == 0:
        return "FLUSH"
    return f"{'SEQ' if io['run'] else 'RND'} {size(io['bytes'])} {NAMES[io['op']]}"


def grouped(ios, key):
    groups = collections.defaultdict(list)
    for io in ios:
        groups[key(io)].append(io)
    return groups


def percentile(values, percent, within, bits=42):
    """The smallest value that so many percent do not exceed, where ten lie beyond it; with
    the width of the buckets that it is told in, the last of which ends at 2^bits ns."""
    rank = max(1, -(-fractions.Fraction(percent) * len(values) // 100))
    if len(values) - rank < 10:
        return None
    least = sorted(values)[int(rank) - 1]
    # The last bucket has all longer ones too: its times are not told.
    is_told = least < (1 << bits) - int((1 << bits - 1) * within)
    return {"least": least, "within": within} if is_told else None


PERCENTS = {"p50_ns": "50", "p99_ns": "99", "p99_9_ns": "99.9", "p99_99_ns": "99.99",
            "p99_999_ns": "99.999"}


def times(values, told=tuple(PERCENTS), bits=42):
    """Figures of times; which percentiles depends on the table."""
    return {
        "count": len(values),
        "mean_ns": mean(values),
        "max_ns": max(values, default=None),
        **{name: percentile(values, PERCENTS[name], BY_STREAM, bits) for name in told},
    }


def mean(values):
    return sum(values) // len(values) if values else None


def ratio(part, whole):
    return part / whole if whole else None


def responses(ios):
    return [io["response_ns"] for io in ios if io["response_ns"] is not None]


def queued(ios):
    return [io["queued_ns"] for io in ios if io["queued_ns"]]


def queue_share(ios):
    both = [io for io in ios if io["queued_ns"] and io["response_ns"] is not None]
    waited = sum(io["queued_ns"] for io in both)
    return ratio(waited, waited + sum(responses(both)))


def depths(ios):
    known = [io["outstanding"] for io in ios if io["outstanding"]]
    return {"qd_mean": ratio(sum(known), len(known)), "qd_max": max(known, default=None)}


def amount(ios):
    return sum(io["bytes"] for io in ios)


def of_op(ios, op):
    return [io for io in ios if io["op"] == op]


def flagged(ios, bit):
    return sum(1 for io in ios if io["flags"] & bit)
