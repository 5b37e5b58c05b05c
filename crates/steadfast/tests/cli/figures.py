"""Tables of a trace by the rules of docs/trace.md: arguments are the file, its capture's
beginning and length in s, how far its clock is ahead of UTC before and after a
change in s, when that is, the width of a step in ns, and of each drive name, capacity, requests
merged and split."""
import collections, fractions, functools, json, sys

import rules

path = sys.argv[1]
began_s, lasted_s, before_s, after_s, change_s, step_ns = map(int, sys.argv[2:8])
DRIVES = json.loads(sys.argv[8])
FLAGS = {"sync": 1, "fua": 2, "preflush": 4, "metadata": 8, "read_ahead": 16, "writeback": 32,
         "direct": 256}
OF_GROUP = ["p50_ns", "p99_ns", "p99_9_ns"]
HOUR, DAY = 3600 * 10**9, 24 * 3600 * 10**9
OPS = ["reads", "writes", "discards", "flushes", "others"]


def moved(ios):
    return [io for io in ios if io["op"] in (0, 1)]


def queue_of(ios):
    waited = rules.queued(ios)
    return {"count": len(waited), "mean_ns": rules.mean(waited), "max_ns": max(waited, default=None)}


def figures(ios, everything):
    """What a stream and a group have in common."""
    return {
        "count": len(ios),
        "amount": rules.amount(ios),
        "share_of_count": len(ios) / len(everything),
        "share_of_bytes": rules.amount(ios) / rules.amount(everything),
        "failed": rules.flagged(ios, 64),
        "response": rules.times(rules.responses(ios)),
        "queue_share": rules.queue_share(ios),
        **rules.depths(ios),
    }


def stream(ios, everything):
    return {**figures(ios, everything), "queued": queue_of(ios)}


def group(ios, everything):
    told = any(io["flags"] for io in everything)
    shares = {name: rules.flagged(ios, bit) / len(ios) if told else None
              for name, bit in FLAGS.items()}
    return {
        **figures(ios, everything),
        "reads": len(rules.of_op(ios, 0)),
        "writes": len(rules.of_op(ios, 1)),
        "read_bytes": rules.amount(rules.of_op(ios, 0)),
        "written_bytes": rules.amount(rules.of_op(ios, 1)),
        "sequential": sum(1 for io in ios if io["run"]),
        "size_mean": rules.amount(ios) / len(ios),
        "response": rules.times(rules.responses(ios), OF_GROUP + ["p99_999_ns"]),
        "queued": rules.times(rules.queued(ios), OF_GROUP),
        "flags": shares,
        "requeued": rules.flagged(ios, 128) if told else None,
    }


def process_of(io):
    pid, command = io["pid"], io["command"]
    if command:
        return f"{command} ({pid})" if pid else command
    return f"PID {pid}" if pid else "unknown"


def process(ios, everything):
    waited = queue_of(ios)
    return {
        "count": len(ios),
        "amount": rules.amount(ios),
        "share": len(ios) / len(everything),
        "reads": len(rules.of_op(ios, 0)),
        "writes": len(rules.of_op(ios, 1)),
        "sequential": sum(1 for io in ios if io["run"]),
        "response_mean_ns": rules.mean(rules.responses(ios)),
        "response_max_ns": max(rules.responses(ios), default=None),
        "queue_mean_ns": waited["mean_ns"],
        "queue_max_ns": waited["max_ns"],
        "queue_share": rules.queue_share(ios),
        "span_ns": [ios[0]["issued_ns"], ios[-1]["issued_ns"]],
    }


def each(ios, key, told):
    return {name: told(members, ios) for name, members in rules.grouped(ios, key).items()}


# From when to when a filter of time lets pass, in ns.
CUT = 65 * 60 * 10**9, 85 * 60 * 10**9 + 7


def cut(ios):
    return [io for io in ios if CUT[0] <= io["issued_ns"] < CUT[1]]


def passed(at, span):
    """Nanoseconds of a step that a filter of time lets pass, and when they begin."""
    begin, end = max(at * step_ns, span[0]), min((at + 1) * step_ns, span[1])
    return end - begin, begin


EVERYTHING = 0, 2**64


def busy_by_step(ios, last_ns, span):
    """Time of the span with an I/O outstanding, of all devices, in each step up to that of the last
    I/O; an I/O may have been issued before the span."""
    busy, end_ns = collections.Counter(), min((last_ns // step_ns + 1) * step_ns, span[1])
    for io in ios:
        begin, end = max(io["busy"][0], span[0]), io["busy"][1]
        while begin < min(end, end_ns):
            border = min((begin // step_ns + 1) * step_ns, end, end_ns)
            busy[begin // step_ns] += border - begin
            begin = border
    return busy


def steps(ios, tells_busy=True, last_ns=None, span=EVERYTHING, busy_ios=None):
    busy = busy_by_step(busy_ios or ios, last_ns or ios[-1]["issued_ns"], span) if tells_busy else {}
    devices = len({(io["device"], io["layer"]) for io in ios})
    found = rules.grouped(ios, lambda io: io["issued_ns"] // step_ns)
    told = {}
    for at in sorted(set(found) | set(busy)):
        inside = found.get(at, [])
        passed_ns = passed(at, span)[0]
        moving, answered, waited = moved(inside), rules.responses(inside), queue_of(inside)
        sequential = sum(1 for io in moving if io["run"])
        told[str(at * step_ns)] = {
            "count": len(inside),
            "amount": rules.amount(moving),
            "iops": len(inside) * 1e9 / passed_ns,
            "bytes_per_second": rules.amount(moving) * 1e9 / passed_ns,
            **{name: len(rules.of_op(inside, op)) for op, name in enumerate(OPS)},
            "sequential_share": rules.ratio(sequential, len(moving)),
            "response_mean_ns": rules.mean(answered),
            "response_p99_ns": at_step(answered, "99"),
            "response_max_ns": max(answered, default=None),
            **rules.depths(inside),
            "queue_mean_ns": waited["mean_ns"],
            "queue_max_ns": waited["max_ns"],
            "queue_share": rules.queue_share(inside),
            "utilisation": busy[at] / passed_ns / devices if tells_busy else None,
        }
    return told


def sides(ios):
    """Every device at every layer."""
    def name(io):
        return f"{DRIVES[io['device']][0]}, {['block', 'filesystem'][io['layer']]}"

    last_ns = ios[-1]["issued_ns"]
    return {side: steps(inside, last_ns=last_ns)
            for side, inside in rules.grouped(ios, name).items()}


def at_step(values, percent):
    return rules.percentile(values, percent, rules.BY_STEP) if values else None


def shape(ios):
    """Percentiles: the rest of the shape is in another test."""
    gaps = {}
    for name, members in rules.grouped(ios, rules.stream).items():
        issued = [io["issued_ns"] for io in members]
        gaps[name] = [after - before for before, after in zip(issued, issued[1:])]
    found = rules.grouped(ios, lambda io: io["issued_ns"] // step_ns)
    names = {"response_p50_ns": "50", "response_p99_ns": "99", "response_p99_9_ns": "99.9"}
    return {
        "gaps": {name: rules.times(times, OF_GROUP[:2]) for name, times in gaps.items()},
        "steps": {str(at * step_ns): {name: at_step(rules.responses(inside), percent)
                                      for name, percent in names.items()}
                  for at, inside in found.items()},
    }


def admitted(ios, percent, measure):
    """Streams whose share is at least this, the largest first."""
    found = {name: measure(members) for name, members in rules.grouped(ios, rules.stream).items()}
    least = fractions.Fraction(percent) / 100 * measure(ios)
    names = [name for name, value in found.items() if value >= least]
    return sorted(names, key=lambda name: -found[name])


def known(values):
    return {name: value for name, value in values.items() if value is not None}


def applied(ios, percent):
    """The cumulative workload."""
    names, found = admitted(ios, percent, len), rules.grouped(ios, rules.stream)
    kept = sum(len(found[name]) for name in names)

    def told(inside):
        offsets = functools.reduce(lambda all, io: all | io["offset"], inside, 0)
        return known({"count": len(inside), "amount": rules.amount(inside),
                      "share": len(inside) / len(ios), "normalized": len(inside) / kept,
                      "alignment": offsets & -offsets or None,
                      "qd_mean": rules.depths(inside)["qd_mean"]})

    return {name: told(found[name]) for name in names}


def played(ios, percent, span=EVERYTHING):
    """The capture steps of a workload that is played in their order, of applied streams and
    of everything."""
    # Other operations are not applied.
    names = [name for name in admitted(ios, percent, len) if not name.endswith(" OTHER")]
    found, told = rules.grouped(ios, lambda io: io["issued_ns"] // step_ns), []
    kept = sorted({io["issued_ns"] // step_ns for io in ios if rules.stream(io) in names})
    first_ns = passed(kept[0], span)[1]
    for at in kept:
        lasts_ns, begin_ns = passed(at, span)
        counts = collections.Counter(rules.stream(io) for io in found[at])
        answered = rules.responses(found[at])
        told.append({
            "at_ns": begin_ns - first_ns,
            "lasts_ns": lasts_ns,
            "ios": {name: count for name, count in counts.items() if name in names},
            "captured_ios": len(found[at]),
            "captured_bytes": rules.amount(found[at]),
            "outstanding_max": rules.depths(found[at])["qd_max"],
            # Little's law, with the average for those of which it is not known.
            "outstanding_mean": sum(answered) / len(answered) * len(found[at]) / lasts_ns
                                if answered else None,
            "response_mean_ns": rules.mean(answered),
            "response_max_ns": max(answered, default=None),
        })
    return [known(step) for step in told]


def stream_map(ios, percent):
    names = admitted(ios, percent, len)
    told = {}
    for at, inside in rules.grouped(ios, lambda io: io["issued_ns"] // step_ns).items():
        counts, amounts = collections.Counter(), collections.Counter()
        for io in inside:
            name = rules.stream(io)
            name = name if name in names else "others"
            counts[name] += 1
            amounts[name] += io["bytes"]
        told[str(at * step_ns)] = {"counts": counts, "amounts": amounts}
    return {"series": names, "steps": told}


def drive(name, ios, capacity, merged, split):
    pids = {io["pid"] for io in ios if io["pid"]}
    read, written = (rules.amount(rules.of_op(ios, op)) for op in (0, 1))
    return {
        "drive": name,
        "capacity": capacity,
        "count": len(ios),
        "processes": len(pids),
        "read": read,
        "written": written,
        "total": read + written,
        "merged": merged,
        "split": split,
    }


def drives(ios):
    rows, sides = [], rules.grouped(ios, lambda io: (io["device"], io["layer"]))
    for device, layer in sorted(sides):
        name, capacity, merged, split = DRIVES[device]
        name = f"{name}, {['block', 'filesystem'][layer]}"
        counted = (merged, split) if layer == 0 else (None, None)
        row = drive(name, sides[device, layer], capacity, *counted)
        rows.append({**row, "model": f"Model of {DRIVES[device][0]}",
                     "serial": f"S-{DRIVES[device][0]}"})
    sizes, merged, split = ([one[at] for one in DRIVES] for at in (1, 2, 3))
    sums = [None if None in numbers else sum(numbers) for numbers in (merged, split)]
    total = drive(f"Total for {len(DRIVES)} drives with I/Os", ios, sum(sizes), *sums)
    return rows + [{**total, "model": None, "serial": None}]


def touched(io, size):
    return range(io["offset"] // size, (io["offset"] + io["bytes"] - 1) // size + 1)


def working_set(ios):
    """Distinct blocks of 4 KiB in bytes, and where the hits lie in granules of 1 MiB."""
    moving = [io for io in moved(ios) if io["bytes"] > 0]
    blocks = [[block for io in rules.of_op(moving, op) for block in touched(io, 4096)]
              for op in (0, 1)]
    both = set(blocks[0]) | set(blocks[1])
    heat = collections.Counter(granule for io in moving for granule in touched(io, 1 << 20))
    hits = sorted(heat.values(), reverse=True)
    hottest = {f"Accesses to the hottest {percent} % of the granules":
               100 * sum(hits[:-(-len(hits) * percent // 100)]) / sum(hits)
               for percent in (1, 5, 10, 20, 50)}
    return {
        "sketched": {
            "Working set, 4 KiB blocks touched": len(both) * 4096 / 1e6,
            "Working set of reads": len(set(blocks[0])) * 4096 / 1e6,
            "Working set of writes": len(set(blocks[1])) * 4096 / 1e6,
            "Accesses per touched block, average": (len(blocks[0]) + len(blocks[1])) / len(both),
            "Writes per written block, average": len(blocks[1]) / len(set(blocks[1])),
        },
        "exact": {"Granules of 1 MiB touched": len(hits), **hottest},
    }


def quality(ios):
    """I/Os by what is not known of them."""
    at_block_layer = [io for io in ios if io["layer"] == 0]

    def without(field, ios=ios):
        return sum(1 for io in ios if not io[field])

    return {
        "ios": len(ios),
        "at_block_layer": len(at_block_layer),
        "no_response": len(ios) - len(rules.responses(ios)),
        "no_process": without("pid"),
        "no_queue_time": without("queued_ns", at_block_layer),
        "no_depth": without("outstanding"),
        "failed": rules.flagged(ios, 64),
        "beyond_device": sum(1 for io in at_block_layer
                             if io["offset"] + io["bytes"] > DRIVES[io["device"]][1]),
    }


def outside(ios):
    """All but the reads and writes that touch something of their device."""
    def hits(io):
        return io["op"] in (0, 1) and io["bytes"] > 0 and io["offset"] < DRIVES[io["device"]][1]

    devices = rules.grouped(ios, lambda io: DRIVES[io["device"]][0])
    return {name: {"outside": sum(1 for io in inside if not hits(io))}
            for name, inside in devices.items()}


def ahead_ns(utc_ns):
    return (before_s if utc_ns < change_s * 10**9 else after_s) * 10**9


def looked_at(width_ns):
    """Nanoseconds of each day and each interval of it in which the capture listened."""
    found, now = collections.Counter(), began_s * 10**9
    end = now + lasted_s * 10**9
    while now < end:
        local = now + ahead_ns(now)
        until = min(now + width_ns - local % width_ns, end)
        until = min(until, change_s * 10**9) if now < change_s * 10**9 else until
        found[local // DAY, local % DAY // width_ns] += until - now
        now = until
    return found


def profile(ios, width_ns):
    def place(io):
        utc_ns = began_s * 10**9 + io["issued_ns"]
        local = utc_ns + ahead_ns(utc_ns)
        return local // DAY, local % DAY // width_ns

    done, observed, told = rules.grouped(ios, place), looked_at(width_ns), []
    for at in range(DAY // width_ns):
        days = {day: ns for (day, number), ns in observed.items() if number == at}
        if not days:
            continue
        inside = [io for day in days for io in done.get((day, at), [])]
        # A day on which less than half of the interval was recorded is neither its least nor its most.
        rates = [len(done.get((day, at), [])) * 1e9 / ns for day, ns in days.items() if 2 * ns >= width_ns]
        seconds, moving, answered = sum(days.values()) / 1e9, moved(inside), rules.responses(inside)
        told.append({
            "time": f"{at * width_ns // HOUR:02}:{at * width_ns % HOUR // (60 * 10**9):02}",
            "begin_ns": at * width_ns,
            "days": len(days),
            "observed_ns": sum(days.values()),
            "count": len(inside),
            "iops": len(inside) / seconds,
            "iops_least": min(rates, default=None),
            "iops_most": max(rates, default=None),
            "bytes_per_second": rules.amount(moving) / seconds,
            "read_share": rules.ratio(len(rules.of_op(inside, 0)), len(moving)),
            "response_mean_ns": rules.mean(answered),
            "response_max_ns": max(answered, default=None),
        })
    return told


everything = rules.read(path)
block = [io for io in everything if io["layer"] == 0]
narrow = [io for io in rules.read(path, window=3) if io["layer"] == 0]
print(json.dumps({
    "streams": each(block, rules.stream, stream),
    "streams_of_a_narrow_window": each(narrow, rules.stream, stream),
    "all": {name: value for name, value in stream(block, block).items() if "share_of" not in name},
    "streams_by_bytes": admitted(block, "1.5", rules.amount),
    "applied": applied(block, "2"),
    "played": played(block, "2"),
    "played_of_a_part": played(cut(block), "2", CUT),
    "kinds_by_stream": each(block, rules.stream, group),
    "kinds_by_process": each(block, process_of, group),
    "processes": each(block, process_of, process),
    "steps": steps(block),
    "steps_of_a_part": steps(cut(block), span=CUT, busy_ios=block),
    "steps_of_files": steps([io for io in everything if io["layer"] == 1]),
    "steps_of_reads": steps(rules.of_op(block, 0), tells_busy=False),
    "sides": sides(everything),
    "map": stream_map(block, "3"),
    "shape": shape(block),
    "drives": drives(block),
    "drives_of_both": drives(everything),
    "working_sets": each(block, lambda io: DRIVES[io["device"]][0], lambda ios, _: working_set(ios)),
    "outside": outside(block),
    "quality": quality(everything),
    "hours": profile(block, HOUR),
    "quarters": profile(block, HOUR // 4),
}))
