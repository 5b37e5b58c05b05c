"""Compares two captures by the rules of docs/trace.md: arguments are the files, how much later
the second begins and how long each lasted in ns, the devices' names of each, and for every
comparison `by:align:rank:layer`."""
import json, sys

import rules

first, second, later_ns, lasted_ns, devices_a, devices_b = sys.argv[1:7]
later_ns, lasted_ns = int(later_ns), int(lasted_ns)
CAPTURES = [rules.read(first), rules.read(second)]
DEVICES = [devices_a.split(","), devices_b.split(",")]
CGROUPS = ["no cgroup", "/service", "/docker/c0ffee", "/service", "cgroup 79"]
LAYERS = ["block", "filesystem"]
OPS = ["read", "write", "discard", "flush", "other"]


def process(io):
    if io["command"]:
        return io["command"]
    return f"PID {io['pid']}" if io["pid"] else "unknown"


def file(io, devices):
    if not io["inode"]:
        return "no file"
    if (io["device"], io["inode"]) == (0, 12):
        return "/srv/a b.db"
    return f"inode {io['inode']} on {devices[io['device']]}"


def name(by, capture):
    return {
        "stream": rules.stream,
        "process": process,
        "device": lambda io: f"{DEVICES[capture][io['device']]}, {LAYERS[io['layer']]}",
        "op": lambda io: OPS[io["op"]],
        "cpu": lambda io: f"CPU {io['cpu']}",
        "cgroup": lambda io: CGROUPS[io["cgroup"]],
        "file": lambda io: file(io, DEVICES[capture]),
    }[by]


def chosen(align, layer):
    """The I/Os that are compared, and the nanoseconds that are."""
    found = []
    for capture, ios in enumerate(CAPTURES):
        # In time of the capture itself, what both cover.
        begin = (later_ns if capture == 0 else 0) if align == "clock" else 0
        end = (lasted_ns if capture == 0 else lasted_ns - later_ns) if align == "clock" else lasted_ns
        inside = [io for io in ios if begin <= io["issued_ns"] < end and io["layer"] == layer]
        found.append((inside, end - begin))
    return found


def side(ios, total, observed_ns):
    seconds, answered = observed_ns / 1e9, rules.times(rules.responses(ios))
    return {
        "count": len(ios),
        "iops": len(ios) / seconds,
        "bytes_per_second": rules.amount(ios) / seconds,
        "share": len(ios) / total,
        "size_mean": rules.ratio(rules.amount(ios), len(ios)),
        "qd_mean": rules.depths(ios)["qd_mean"],
        "queue_mean_ns": rules.mean(rules.queued(ios)),
        "queue_share": rules.queue_share(ios),
        "response_mean_ns": answered["mean_ns"],
        "response_p99_ns": answered["p99_ns"],
        "response_max_ns": answered["max_ns"],
    }


def change(a, b):
    return b / a - 1 if a is not None and b is not None and a > 0 else None


def delta(called, both):
    a, b = both
    fields = ["iops", "bytes_per_second", "response_mean_ns"]
    changes = {field: change(a[field], b[field]) for field in fields}
    return {"name": called, "a": a, "b": b, "change": {**changes, "share": b["share"] - a["share"]}}


def ranked(row, rank):
    field = {"iops": "iops", "bytes": "bytes_per_second", "share": "share",
             "response": "response_mean_ns"}[rank]
    a, b = row["a"][field], row["b"][field]
    # What one side lacks is no change.
    return -1 if a is None or b is None else abs(b - a)


def compared(by, align, rank, layer):
    sides = chosen(align, int(layer))
    groups = [rules.grouped(ios, name(by, at)) for at, (ios, _) in enumerate(sides)]
    rows = [
        delta(called, [side(group.get(called, []), len(ios), observed)
                       for group, (ios, observed) in zip(groups, sides)])
        for called in sorted(set(groups[0]) | set(groups[1]))
    ]
    rows.sort(key=lambda row: -ranked(row, rank))
    total = delta("all", [side(ios, len(ios), observed) for ios, observed in sides])
    return {"observed_ns": [observed for _, observed in sides], "deltas": rows, "total": total}


print(json.dumps({asked: compared(*asked.split(":")) for asked in sys.argv[7:]}))
