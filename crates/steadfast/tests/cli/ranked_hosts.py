"""Hosts by the rules of docs/fleet.md: arguments are pairs of a file and how long its capture
lasted in ns; the host of the first pair is h0, and so on."""
import json, statistics, sys

import rules

RANKS = {"iops": "iops", "bytes": "bytes_per_second", "mean": "response_mean_ns",
         "max": "response_max_ns", "qd": "qd_mean", "reads": "read_share",
         "seq": "sequential_share", "failed": "failed"}


def host(name, ios, observed_ns):
    moving, times = [io for io in ios if io["op"] in (0, 1)], rules.times(rules.responses(ios))
    return {
        "host": name,
        "devices": 2,
        "observed_ns": observed_ns,
        "count": len(ios),
        "iops": len(ios) * 1e9 / observed_ns,
        "bytes_per_second": rules.amount(moving) * 1e9 / observed_ns,
        "read_share": len(rules.of_op(ios, 0)) / len(moving),
        "sequential_share": sum(1 for io in moving if io["run"]) / len(moving),
        "qd_mean": rules.depths(ios)["qd_mean"],
        "response_mean_ns": times["mean_ns"],
        "response_p99_ns": times["p99_ns"],
        "response_p99_9_ns": times["p99_9_ns"],
        "response_max_ns": times["max_ns"],
        "failed": rules.flagged(ios, 64),
    }


def scored(hosts, rank):
    values = [row[RANKS[rank]] for row in hosts]
    middle = statistics.median(values)
    distances = [abs(value - middle) for value in values]
    spread = statistics.median(distances)
    scale = spread / 0.6745 if spread else statistics.mean(distances) * 1.253314
    scores = [(value - middle) / scale for value in values]
    rows = [{**row, "score": score, "outlier": abs(score) > 3.5}
            for row, score in zip(hosts, scores)]
    return sorted(rows, key=lambda row: (-row[RANKS[rank]], row["host"]))


pairs = list(zip(sys.argv[1::2], sys.argv[2::2]))
hosts = []
for at, (path, observed_ns) in enumerate(pairs):
    ios = [io for io in rules.read(path) if io["layer"] == 0]
    hosts.append(host(f"h{at}", ios, int(observed_ns)))
print(json.dumps({rank: scored(hosts, rank) for rank in RANKS}))
