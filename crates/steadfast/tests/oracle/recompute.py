"""A second program for the numbers of a run.

Reads settings.json and journal.jsonl of a run directory as docs/formats.md
describes them, computes the tables and verdicts of the procedure anew with NumPy,
and compares them with findings.json. Nothing here was taken over from the program
under test: the rules are those of docs/methods.md and docs/procedures.

    python3 recompute.py RUN_DIR...

Prints how many values were compared; every difference is a line on standard error,
and the exit code is 1.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np

WINDOW, DATA, SLOPE = 5, 0.20, 0.10
EQUAL = 0.02
SHORTFALL_NS = 2_000_000
BITS = 7
BUCKETS = 64 << BITS


def bucket_tops():
    """The upper edge of every bucket (docs/formats.md, Histograms)."""
    index = np.arange(BUCKETS, dtype=object)
    tops = []
    for i in index:
        shift = (i >> BITS) - 1
        if shift <= 0:
            tops.append(int(i))
        else:
            tops.append((((1 << BITS) + i % (1 << BITS)) << shift) + (1 << shift) - 1)
    return tops


TOPS = bucket_tops()

FRACTIONS = {"50 %": 0.5, "99 %": 0.99, "99.9 %": 0.999, "99.99 %": 0.9999, "99.999 %": 0.99999}


class Tally:
    """Counts and response times of a set of I/Os; the response times are also those of
    the I/Os that were outstanding when the load ended."""

    def __init__(self):
        self.ios = self.outstanding = self.bytes = self.sum = self.max = 0
        self.least = []
        self.counts = np.zeros(BUCKETS, dtype=np.int64)

    def add(self, tally):
        self.ios += tally["ios"]
        self.outstanding += tally.get("outstanding", 0)
        self.bytes += tally["bytes"]
        self.sum += tally["response_sum"]
        self.max = max(self.max, tally["response_max"])
        if tally["ios"] + tally.get("outstanding", 0):
            self.least.append(tally["response_min"])
        words = [word.split(":") for word in tally["histogram"].split()]
        if words:
            steps = np.array([int(word[0]) for word in words])
            counts = np.array([int(word[1]) if len(word) > 1 else 1 for word in words])
            np.add.at(self.counts, np.cumsum(steps), counts)
        return self

    def mean_ms(self):
        return self.sum / self.responses() / 1e6 if self.responses() else None

    def min_ms(self):
        return min(self.least) / 1e6 if self.least else None

    def max_ms(self):
        return self.max / 1e6 if self.responses() else None

    def responses(self):
        return self.ios + self.outstanding

    def percentile_ms(self, fraction):
        total = int(self.counts.sum())
        if total == 0:
            return None
        rank = min(max(math.ceil(fraction * total), 1), total)
        if total - rank < 10:
            return None
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank))
        return min(TOPS[bucket], self.max) / 1e6

    def times(self, *names):
        """Response times by the names of their columns: `ART`, `MRT`, `Min` and percentiles."""
        known = {"ART": self.mean_ms, "MRT": self.max_ms, "Min": self.min_ms}
        return {
            f"{name} ms": known[name]() if name in known else self.percentile_ms(FRACTIONS[name])
            for name in names
        }


class Step:
    """One applied step."""

    def __init__(self, entry):
        place = entry["step"]["place"]
        self.phase, self.round, self.point = place["phase"], place["round"], place["point"]
        self.label = place["label"]
        load = entry["step"]["load"]
        # Of loads that are applied at once, the first.
        self.load = load["stimulus"] if "stimulus" in load else load["together"][0]
        self.gap = "gap_before" in entry["outcome"]
        self.measurement = entry["outcome"]["measurement"]
        self.elapsed = self.measurement["elapsed"]

    def total(self, ops=("read", "write")):
        return over([self], ops)[0]

    def iops(self):
        return self.total().ios / (self.elapsed / 1e9) if self.elapsed else None

    def mbps(self):
        return self.total().bytes / 1e6 / (self.elapsed / 1e9) if self.elapsed else None

    def rates(self):
        return {"IOPS": self.iops(), "MB/s": self.mbps()}

    def written(self):
        outside = self.measurement.get("unmeasured", [])
        return self.total(("write",)).bytes + sum(
            part["bytes"] for part in outside if part["op"] == "write"
        )


class Track:
    """A variable's rounds: (round, value or None, a gap came before or in it)."""

    def __init__(self, name, points):
        self.name, self.points = name, points


def judge(tracks, weigh=lambda first: True):
    """The first steady window, or the last five rounds: (steady, window, tracks)."""
    found = None
    length = min((len(track.points) for track in tracks), default=0)
    for end in range(WINDOW, length + 1):
        window = judge_window(tracks, end)
        if window is None:
            if end == length:
                found = (False, None, [])
            continue
        steady, rounds, measured = window
        steady = steady and weigh(rounds[0])
        if steady:
            return True, rounds, measured
        found = (False, rounds, measured)
    return found or (False, None, [])


def judge_window(tracks, end):
    measured = []
    for track in tracks:
        points = track.points[end - WINDOW : end]
        if any(point[2] for point in points[1:]) or any(point[1] is None for point in points):
            return None
        x = np.array([point[0] for point in points], dtype=float)
        y = np.array([point[1] for point in points])
        slope, intercept = np.polyfit(x, y, 1)
        measured.append(
            {
                "name": track.name,
                "values": y,
                "average": y.mean(),
                "data_excursion": y.max() - y.min(),
                "data_excursion_allowed": DATA * y.mean(),
                "slope": slope,
                "intercept": intercept,
                "slope_excursion": abs(slope) * (x[-1] - x[0]),
                "slope_excursion_allowed": SLOPE * y.mean(),
                "correlation": np.corrcoef(x, y)[0, 1] if y.std() > 0 else None,
            }
        )
        rounds = (int(x[0]), int(x[-1]))
    steady = all(
        m["data_excursion"] <= m["data_excursion_allowed"]
        and m["slope_excursion"] <= m["slope_excursion_allowed"]
        and m["average"] > 0
        for m in measured
    )
    return steady, rounds, measured


class Run:
    """A run directory."""

    def __init__(self, directory):
        directory = Path(directory)
        whole = json.loads((directory / "settings.json").read_text())
        self.settings, self.capacity = whole["settings"], whole["device"]["capacity"]
        self.name = self.settings["procedure"]
        lines = (directory / "journal.jsonl").read_bytes().split(b"\n")[:-1]
        entries = [json.loads(line)["entry"] for line in lines]
        self.steps = [
            Step(entry["applied"])
            for entry in entries
            if isinstance(entry, dict) and "applied" in entry
        ]
        self.findings = json.loads((directory / "findings.json").read_text())
        self.tables = {}
        pages = self.findings["form_pages"] + self.findings["chapters"]
        exhibits = self.findings["summary"] + [e for page in pages for e in page["exhibits"]]
        tables = [e["table"] for e in exhibits if "table" in e] + self.findings["long_tables"]
        for table in tables:
            self.tables.setdefault(table["id"], table)
        self.compared, self.differences = 0, []

    def parameter(self, name, default):
        return self.settings.get("parameters", {}).get(name, default)

    def of_phase(self, phase):
        return [step for step in self.steps if step.phase == phase]

    # Comparison

    def same(self, what, ours, theirs):
        self.compared += 1
        if isinstance(ours, (float, np.floating)) and isinstance(theirs, (int, float)):
            close = math.isclose(ours, theirs, rel_tol=1e-7, abs_tol=1e-6)
        else:
            close = ours == theirs
        if not close:
            self.differences.append(f"{self.name}: {what}: recomputed {ours}, reported {theirs}")

    def number(self, what, ours, cell):
        theirs = cell["number"]["value"] if isinstance(cell, dict) and "number" in cell else None
        self.same(what, None if ours is None else float(ours), theirs)

    def cells(self, table_id, head, values):
        """A row's numbers by their columns; `head` is a row's head or its index."""
        table = self.tables.get(table_id)
        if table is None:
            self.differences.append(f"{self.name}: there is no table {table_id}")
            return
        rows = table["rows"]
        found = [rows[head]] if isinstance(head, int) else [r for r in rows if r["id"] == head]
        if len(found) != 1:
            self.differences.append(f"{self.name}: {table_id} has {len(found)} rows {head}")
            return
        for column, value in values.items():
            cell = found[0]["cells"][[c["id"] for c in table["columns"]].index(column)]
            self.number(f"{table_id}, {head}, {column}", value, cell)

    def verdict(self, ours, theirs):
        steady, window, tracks = ours
        self.same("steady", steady, theirs["steady"])
        self.same("window", None if window is None else list(window), theirs["window"])
        self.same("variables", len(tracks), len(theirs["tracks"]))
        for mine, reported in zip(tracks, theirs["tracks"]):
            for key, value in mine.items():
                if key == "values":
                    for index, one in enumerate(value):
                        self.same(f"{mine['name']} {index}", float(one), reported[key][index])
                else:
                    value = float(value) if isinstance(value, np.floating) else value
                    self.same(f"{mine['name']} {key}", value, reported[key])

    # What every procedure has

    def every_step(self):
        rows = self.tables["steps"]["rows"]
        self.same("steps", len(self.steps), len(rows))
        for index, step in enumerate(self.steps):
            values = {
                "Elapsed s": step.elapsed / 1e9,
                "Reads": step.total(("read",)).ios,
                "Writes": step.total(("write",)).ios,
                **step.rates(),
                **step.total().times("ART", "99 %", "99.9 %", "99.999 %", "Min", "MRT"),
            }
            self.cells("steps", index, values)

    def percentiles(self, table_id, column, tally):
        named = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.9, 99.99, 99.999, 99.9999]
        for percent in named:
            value = tally.percentile_ms(percent / 100.0)
            self.cells(table_id, f"{percent} %", {column: value})
        self.cells(table_id, "ART", {column: tally.mean_ms()})
        self.cells(table_id, "Minimum", {column: tally.min_ms()})
        self.cells(table_id, "MRT (maximum)", {column: tally.max_ms()})

    # Rounds of a matrix

    def rounds(self, phase, tracked, metric):
        steps = self.of_phase(phase)
        points = max(step.point for step in steps)
        rounds = {}
        for step in steps:
            rounds.setdefault(step.round, []).append(step)
        rounds = {number: of for number, of in rounds.items() if len(of) == points}
        void = {n for n, of in rounds.items() if any(s.gap for s in of[1:])}
        tracks = []
        for name in tracked:
            values = []
            for number, of in rounds.items():
                value = None
                if number not in void:
                    value = metric(next(step for step in of if step.label == name))
                values.append((number, value, any(s.gap for s in of)))
            tracks.append(Track(name, values))
        verdict = judge(tracks)
        if verdict[1]:
            reported = range(verdict[1][0], verdict[1][1] + 1)
        else:
            reported = [n for n in sorted(rounds)[-WINDOW:] if n not in void]
        cells = {}
        for number in reported:
            for step in rounds[number]:
                cells.setdefault(step.label, []).append(step)
        return verdict, {label: Cell(of) for label, of in cells.items()}

    # A load that runs on, with measured minutes

    def minutes(self, steps, least, before=0):
        """The verdict on the measured minutes: those not called `between`."""
        step_ns = self.settings.get("step_time") or 1_000_000_000
        points, fills, written, gap = [], {}, before, False
        for step in steps:
            gap = gap or step.gap
            began_with = written
            written += step.written()
            if step.label.endswith("(between)"):
                continue
            first = (step.round, step.point) == (1, 1)
            whole = step.elapsed + SHORTFALL_NS >= step_ns
            value = step.iops() if whole and (first or not step.gap) else None
            points.append((step.round, value, gap))
            fills[step.round] = began_with / self.capacity
            gap = False
        name = next((s.label for s in steps if not s.label.endswith("(between)")), "")
        return judge([Track(name, points)], lambda first: fills[first] >= least)


class Cell:
    """A point of a matrix over the reported rounds."""

    def __init__(self, steps):
        self.tally, _ = over(steps, None)
        self.iops = float(np.mean([step.iops() for step in steps]))
        self.mbps = float(np.mean([step.mbps() for step in steps]))
        self.art = float(np.mean([step.total().mean_ms() for step in steps]))


def size_name(kib):
    return f"{kib:g}"


def mix_label(order, kib, read):
    mix = {0: "W", 100: "R"}.get(read, f"RW{read}")
    return f"{order} {size_name(kib)}K {mix}"


def matrix(run, cells, sizes, mixes, tables):
    for table_id, value in tables.items():
        for kib in sizes:
            values = {
                f"{read}/{100 - read}": value(cells.get(mix_label("RND", kib, read)))
                for read in mixes
            }
            run.cells(table_id, size_name(kib), values)


def of(value):
    return lambda cell: None if cell is None else value(cell)


def iops(run):
    tracked = ["RND 4K W", "RND 64K RW65", "RND 1024K R"]
    verdict, cells = run.rounds("rounds", tracked, Step.iops)
    run.verdict(verdict, run.findings["verdict"])
    tables = {
        "iops": of(lambda cell: cell.iops),
        "throughput": of(lambda cell: cell.mbps),
        "art": of(lambda cell: cell.art),
        "five-nines": of(lambda cell: cell.tally.percentile_ms(0.99999)),
        "minimum": of(lambda cell: cell.tally.min_ms()),
        "mrt": of(lambda cell: cell.tally.max_ms()),
    }
    matrix(run, cells, [4, 64, 1024], [0, 65, 100], tables)


def latency(run):
    art = lambda step: step.total().mean_ms()
    verdict, cells = run.rounds("rounds", ["RND 4K W"], art)
    run.verdict(verdict, run.findings["verdict"])
    tables = {
        "average": of(lambda cell: cell.art),
        "five-nines": of(lambda cell: cell.tally.percentile_ms(0.99999)),
        "minimum": of(lambda cell: cell.tally.min_ms()),
        "maximum": of(lambda cell: cell.tally.max_ms()),
        "iops": of(lambda cell: cell.iops),
    }
    matrix(run, cells, [0.5, 4, 8], [0, 65, 100], tables)
    histogram = run.of_phase("histogram")
    if histogram:
        run.percentiles("percentiles", "RND 4K W", histogram[-1].total())


def throughput(run):
    steady, tracks = [], []
    for kib in (1024, 128):
        write, read = (mix_label("SEQ", kib, mix) for mix in (0, 100))
        verdict, cells = run.rounds(f"rounds-{kib}K", [write], Step.mbps)
        values = {"Read": of(lambda c: c.mbps)(cells.get(read))}
        values["Write"] = of(lambda c: c.mbps)(cells.get(write))
        run.cells("throughput", f"SEQ {kib}K", values)
        steady.append(verdict)
        tracks += verdict[2]
        for label, cell in cells.items():
            run.percentiles("percentiles", label, cell.tally)
    windows = {verdict[1] for verdict in steady}
    window = windows.pop() if len(windows) == 1 else None
    run.verdict((all(v[0] for v in steady), window, tracks), run.findings["verdict"])


def wsat(run):
    steps = run.of_phase("saturation")
    verdict = run.minutes(steps, float(run.parameter("least-fills", "1")))
    if run.findings["verdict"] is None:
        run.same("steady", verdict[0], False)
    else:
        run.verdict(verdict, run.findings["verdict"])
    time = written = 0
    for index, step in enumerate(step for step in steps if step.elapsed):
        time += step.elapsed
        written += step.written()
        values = {
            "Time min": time / 60e9,
            "Written GB": written / 1e9,
            "Drive fills": written / run.capacity,
            **step.rates(),
            **step.total().times("ART", "99.999 %", "Min", "MRT"),
        }
        run.cells("minutes", index, values)
    histogram = [step for step in run.steps if step.phase.startswith("histogram")]
    if histogram and not histogram[-1].gap:
        column = run.tables["histogram-percentiles"]["columns"][0]["id"]
        run.percentiles("histogram-percentiles", column, histogram[-1].total())


def attempt(phase):
    return phase.partition(" (")[2]


def current(run, phase):
    """The steps of a phase in the attempt that ran last."""
    last = attempt(run.steps[-1].phase)
    name = f"{phase} ({last}" if last else phase
    return run.of_phase(name)


def over(steps, ops=("read", "write")):
    """The tally of these operations (`None` for all), and the seconds of the steps."""
    tally = Tally()
    for step in steps:
        for stream in step.measurement["streams"]:
            if ops is None or stream["op"] in ops:
                tally.add(stream["tally"])
    return tally, sum(step.elapsed for step in steps) / 1e9


def xsr(run):
    segments = [current(run, f"segment-{n}") for n in (1, 2, 3)]
    heads = [row["id"] for row in run.tables["segments"]["rows"]]
    average = []
    for head, steps in zip(heads, segments):
        tally, seconds = over(steps)
        average.append(tally.bytes / 1e6 / seconds)
        means = [step.total().mean_ms() for step in steps]
        values = {
            "Average MB/s": average[-1],
            "End of segment MB/s": np.mean([step.mbps() for step in steps[-5:]]),
            "Peak ART ms": max(mean for mean in means if mean is not None),
            "Peak MRT ms": tally.max_ms(),
        }
        run.cells("segments", head, values)
        run.percentiles("segment-percentiles", head, tally)
    level = float(run.parameter("recovery-level", "100")) / 100.0
    reached = [n for n, s in enumerate(segments[2]) if s.mbps() >= average[0] * level]
    minutes = None
    if reached:
        minutes = sum(s.elapsed for s in segments[2][: reached[0] + 1]) / 60e9
    run.cells("segments", heads[2], {"Bandwidth recovery min": minutes})


def hir(run):
    least = float(run.parameter("least-fills", "1"))
    verdict = run.minutes(current(run, "preconditioning"), least)
    run.verdict(verdict, run.findings["verdict"])
    saturated = verdict[2][0]["average"] if verdict[2] else None
    for row in run.tables["wait-states-table"]["rows"]:
        idle = row["head"]
        accesses, baseline = current(run, f"wait-{idle}s"), current(run, f"baseline-{idle}s")
        tally, seconds = over(accesses)
        rest, rest_seconds = over(baseline)
        mean = tally.ios / seconds
        values = {
            "IOPS, mean": mean,
            "of saturated %": mean / saturated * 100.0 if saturated else None,
            "First access": accesses[0].iops(),
            "Last access": accesses[-1].iops(),
            "ART ms": tally.mean_ms(),
            "Baseline after it, mean": rest.ios / rest_seconds,
            "Baseline, last": baseline[-1].iops(),
        }
        run.cells("wait-states-table", idle, values)
        run.percentiles("wait-percentiles", f"{idle} s idle", tally)


def dirth(run):
    preconditioned = run.minutes(run.of_phase("preconditioning"), 0.0)
    demand = {}
    for step in run.of_phase("demand"):
        demand.setdefault(step.round, []).append(step)
    size = max(len(steps) for steps in demand.values())
    demand = {number: steps for number, steps in demand.items() if len(steps) == size}
    before, void = set(), set()
    for step in run.of_phase("pre-write"):
        if step.gap:
            (before if step.point == 1 else void).add(step.round)
    void |= {number for number, steps in demand.items() if any(step.gap for step in steps)}
    points = [
        (n, None if n in void else steps[0].iops(), n in before or n in void)
        for n, steps in demand.items()
    ]
    name = next(iter(demand.values()))[0].label
    steady, window, tracks = judge([Track(name, points)])
    run.verdict((steady and preconditioned[0], window, tracks), run.findings["verdict"])
    chosen = [n for n in demand if n not in void]
    points_of_dirth(run, demand[chosen[-1]])


def outstanding(step):
    return step.load["demand"]["threads"] * step.load["demand"]["depth"]


def effort(step):
    return outstanding(step), step.load["demand"]["threads"]


def points_of_dirth(run, steps):
    """The matrix of the last clean round, and the three points chosen from it."""
    for step in steps:
        threads, depth = step.load["demand"]["threads"], step.load["demand"]["depth"]
        for table_id, value in [
            ("matrix-iops", step.iops()),
            ("matrix-mbps", step.mbps()),
            ("matrix-art", step.total().mean_ms()),
        ]:
            run.cells(table_id, f"TC {threads}", {f"QD {depth}": value})
    candidates = [step for step in steps if step.total().mean_ms() < 5.0]
    if not candidates:
        candidates = sorted(steps, key=lambda s: (s.total().mean_ms(), outstanding(s)))[:3]
    # Rates within 2 % are equal. Of the highest, the demand with the fewest outstanding I/Os
    # counts, then the fewest threads.
    rates = [step.iops() for step in candidates]
    middle = (max(rates) + min(rates)) / 2
    nearest = min(abs(rate - middle) for rate in rates)
    most = [s for s in candidates if s.iops() >= max(rates) * (1 - EQUAL)]
    near = [s for s in candidates if abs(s.iops() - middle) <= nearest + middle * EQUAL]
    # Of those as near to the middle it is the median, the lower one of an even number.
    near.sort(key=effort)
    middle = near[(len(near) - 1) // 2]
    chosen = {"max": min(most, key=effort), "mid": middle, "min": steps[-1]}
    for word, step in chosen.items():
        head = f"{word.capitalize()}IOPS"
        phases = [s for s in run.steps if s.phase.partition(" (")[0] == f"{word}-histogram"]
        values = {
            "OIO": outstanding(step),
            "IOPS in the matrix": step.iops(),
            "ART ms in the matrix": step.total().mean_ms(),
            **phases[-1].rates(),
            **phases[-1].total().times("ART", "99.9 %", "99.999 %", "Min", "MRT"),
        }
        run.cells("dirth-points", head, values)


def commit(run):
    """The last step of each load without a gap; flushes and writes alone are tallies of their
    own, which no total includes."""
    least = float(run.parameter("least-fills", "0"))
    verdict = run.minutes(run.of_phase("preconditioning"), least)
    run.verdict(verdict, run.findings["verdict"])
    loads = {}
    for step in run.steps:
        if step.phase.partition(" (")[0] == "commits" and not step.gap:
            loads[step.label] = step
    run.same("loads", len(loads), len(run.tables["commits"]["rows"]))
    for label, step in loads.items():
        total, flushes, seconds = step.total(), step.total(("flush",)), step.elapsed / 1e9
        alone = Tally()
        if "writes_alone" in step.measurement:
            alone.add(step.measurement["writes_alone"])
        values = {
            "Commits/s": step.iops(),
            "MB/s": step.mbps(),
            "Flushes/s": flushes.ios / seconds if "FLUSH" in label else None,
            "Device flushes per commit": None,
            "ART ms": total.mean_ms(),
            "Write alone ms": alone.mean_ms(),
            "Flush ms": flushes.mean_ms(),
        }
        run.cells("commits", label, values)
        named = [50, 99, 99.9, 99.99, 99.999]
        values = {f"{p} % ms": total.percentile_ms(p / 100.0) for p in named}
        run.cells("commit-times", label, {**values, "MRT ms": total.max_ms()})
    mean = lambda label: loads[label].total().mean_ms()
    for order in ("SEQ", "RND"):
        for size in ("4K", "16K"):
            plain, fua, flush = (
                mean(f"{order} {size} W{kind} T1Q1") for kind in ("", " FUA", " FLUSH/1")
            )
            values = {
                "Plain write ms": plain,
                "FUA ms": fua,
                "Write + flush ms": flush,
                "FUA : plain": fua / plain,
                "Flushed : plain": flush / plain,
            }
            own = loads[f"{order} {size} W FLUSH/1 T1Q1"]
            alone = Tally().add(own.measurement["writes_alone"]).mean_ms()
            values |= {"Write alone ms": alone, "Flushed : alone": flush / alone}
            values["Flush ms"] = own.total(("flush",)).mean_ms()
            run.cells("flush-cost", f"{order} {size}", values)
        for kind, word in (("", "plain"), (" FUA", "fua"), (" FLUSH/1", "flush")):
            for n in (1, 4, 16):
                step = loads[f"{order} 4K W{kind} T{n}Q1"]
                head = f"ladder-{order.lower()}-{word}"
                run.percentiles(head, str(n), step.total())
                run.cells(f"rates-{order.lower()}", str(n), {word: step.iops()})
                nines = step.total().percentile_ms(0.999)
                run.cells(f"nines-{order.lower()}", str(n), {word: nines})
    for n in (4, 16):
        group, own = loads[f"SEQ 4K W FLUSH/{n} T1Q{n}"], loads[f"SEQ 4K W FLUSH/1 T{n}Q1"]
        values = {}
        for word, step in (("group", group), ("own", own)):
            values[f"{word}-rate"] = step.iops()
            values[f"{word}-flushes"] = step.total(("flush",)).ios / (step.elapsed / 1e9)
            values[f"{word}-art"] = step.total().mean_ms()
            values[f"{word}-p99-9"] = step.total().percentile_ms(0.999)
        run.cells("group-commit", str(n), values)
    figures = {figure["id"]: figure["value"] for figure in run.findings["front"]["figures"]}
    for order in ("seq", "rnd"):
        for n in (1, 16):
            total = loads[f"{order.upper()} 4K W FLUSH/1 T{n}Q1"]
            run.same(f"{order} {n} rate", total.iops(), figures[f"{order}-flush-{n}-rate"])
            nines = total.total().percentile_ms(0.999)
            run.same(f"{order} {n} 99.9 %", nines, figures[f"{order}-flush-{n}-p99-9"])


def load_curve(run):
    """Closed-loop maximum, rates, knee and the search for the service level."""
    closed = run.of_phase("maximum")
    track = Track("maximum", [])
    gap = False
    for step in closed:
        gap = gap or step.gap
        value = step.iops() if (step.round == 1 or not step.gap) else None
        track.points.append((step.round, value, gap))
        gap = False
    steady, _, tracks = judge([track])
    values = [value for _, value, _ in track.points if value is not None]
    maximum = tracks[0]["average"] if steady else min(values[-WINDOW:])
    figures = {f["id"]: f.get("value") for f in run.findings["front"]["figures"]}
    run.same("maximum", float(maximum), figures["maximum-iops"])

    def counted(phase):
        steps = [s for s in run.steps if s.phase.partition(" (")[0] == phase]
        return [s for s in steps if not s.gap]

    def offered(step):
        pace = step.load["pace"]["poisson"]
        return pace["ios"] / (pace["per"] / 1e9)

    def keeps_up(step):
        due = offered(step) * step.elapsed / 1e9
        return step.total().ios + 1 >= 0.99 * due - 3 * math.sqrt(due)

    def is_above(rate):
        return rate > maximum * (1 + 1e-9)

    percents = run.parameter("points", "10,50,80,95,102").split(",")
    power = {}
    curve = counted("curve")
    run.same("rates", len(percents), len(curve))
    for percent, step in zip(percents, curve):
        total, rate = step.total(), maximum * float(percent) / 100
        run.same(f"{percent} %, offered", abs(offered(step) - rate) < 0.01, True)
        known = keeps_up(step) and (not is_above(rate) or step.iops() >= 0.999 * rate)
        times = total.times("ART", "50 %", "99 %", "99.9 %", "99.99 %", "MRT")
        values = {name: time if known else None for name, time in times.items()}
        values |= {"Offered IOPS": rate, "Achieved IOPS": step.iops(), "I/Os": total.ios}
        run.cells("rates", percent, values)
        if known:
            power[rate] = step.iops() / total.mean_ms()
    run.same("knee", max(power, key=power.get), figures["knee-iops"])
    slo = run.settings.get("slo")
    if slo is None:
        return
    percent, limit = slo[1:].split("=")
    units = {"ms": 1.0, "us": 1e-3, "s": 1e3}
    unit = next(unit for unit in units if limit.endswith(unit))
    limit = float(limit[: -len(unit)]) * units[unit]

    def is_met(step):
        found = step.total().percentile_ms(float(percent) / 100)
        return keeps_up(step) and found is not None and found <= limit

    # A rate above the maximum never counts as met.
    answers = [
        (maximum * float(p) / 100, not is_above(maximum * float(p) / 100) and is_met(step))
        for p, step in zip(percents, curve)
    ]
    low = high = None
    for rate, met in answers:
        if not met:
            high = rate
            break
        low = rate
    for step in counted("slo-search"):
        rate = (low + high) / 2
        run.same("rate of the search", abs(offered(step) - rate) < 0.01, True)
        is_low = not is_above(rate) and is_met(step)
        low, high = (rate, high) if is_low else (low, rate)
    run.same("the search has ended", high - low <= 0.02 * high, True)
    run.same("highest rate", low, figures["slo-iops"])


def neighbors(run):
    """The victim with each offender off and on, under no control: a simulated drive has no other."""

    def part(step, number):
        """The tally and the seconds of one of the loads that were applied at once."""
        parts = step.measurement.get("parts") or [
            {"streams": len(step.measurement["streams"]), "elapsed": step.elapsed}
        ]
        begin = sum(one["streams"] for one in parts[:number])
        tally = Tally()
        for stream in step.measurement["streams"][begin : begin + parts[number]["streams"]]:
            tally.add(stream["tally"])
        return tally, parts[number]["elapsed"] / 1e9

    def merged(steps, number):
        tally, seconds = Tally(), 0
        for step in steps:
            own, time = part(step, number)
            seconds += time
            for name in ("ios", "outstanding", "bytes", "sum"):
                setattr(tally, name, getattr(tally, name) + getattr(own, name))
            tally.max = max(tally.max, own.max)
            tally.counts += own.counts
        return tally, seconds

    def keeps_up(step):
        pace = step.load["pace"]["poisson"]
        own, seconds = part(step, 0)
        due = pace["ios"] / (pace["per"] / 1e9) * seconds
        return own.ios + 1 >= 0.99 * due - 3 * math.sqrt(due)

    metrics = {(m["metric"], m["point"]): m["value"] for m in run.findings["metrics"]}
    figures = {f["id"]: f.get("value") for f in run.findings["front"]["figures"]}
    felt = []
    offenders = run.parameter("offenders", "SEQ 128K W").split(",")
    for number, offender in enumerate(offenders, 1):
        alone = run.of_phase(f"offender-{number}")[0].mbps()
        steps = run.of_phase(f"none-{number}")
        off, on = ([s for s in steps if s.point == point] for point in (1, 2))
        run.same("cycles", (len(off), len(on)), (4, 4))
        values, p99 = {}, {}
        for word, side in (("off", off), ("on", on)):
            tally, seconds = merged(side, 0)
            kept = all(keeps_up(step) for step in side)
            for name in ("50 %", "99 %", "99.9 %"):
                values[f"{name} {word}"] = tally.percentile_ms(FRACTIONS[name]) if kept else None
            p99[word] = values[f"99 % {word}"]
            run.cells("neighbors-rates", f"none-{number}", {f"Victim IOPS {word}": tally.ios / seconds})
        moved, time = merged(on, 1)
        offended = moved.bytes / 1e6 / time
        isolation = p99["off"] / p99["on"] if None not in p99.values() else None
        utilization = (tally.bytes / 1e6 / seconds + offended) / alone
        values |= {"Isolation": isolation, "Utilization": utilization}
        run.cells("neighbors", f"none-{number}", values)
        values = {"Offender alone MB/s": alone, "Offender limit MB/s": None, "Offender MB/s": offended}
        run.cells("neighbors-rates", f"none-{number}", values)
        point = f"{offender} / none"
        for name, value in (("isolation", isolation), ("p99-off", p99["off"]), ("p99-on", p99["on"]),
                            ("utilization", utilization), ("offender-throughput", offended)):
            run.same(f"{name} of {point}", value, metrics.get((name, point)))
        if isolation is not None or not kept:
            felt.append((0 if not kept else isolation, isolation, utilization))
    _, isolation, utilization = min(felt, key=lambda one: one[0])
    run.same("isolation", isolation, figures["isolation-none"])
    run.same("utilization", utilization, figures["utilization-none"])


def unbroken(run, phase, may_begin_after_a_gap):
    """The last attempt at a phase, if it is complete and no gap matters to it."""
    attempts = [s for s in run.steps if s.phase == phase or s.phase.startswith(f"{phase} (att")]
    steps = [s for s in attempts if s.phase == attempts[-1].phase]
    late = [s for s in steps[1 if may_begin_after_a_gap else 0 :] if s.gap]
    return [] if late or not steps or not steps[-1].measurement["complete"] else steps


def rates(steps):
    """Seconds and bytes of every interval; a short one belongs to the one before."""
    found = []
    for step in steps:
        for interval in step.measurement["intervals"]:
            moved = sum(tally["bytes"] for tally in interval["tallies"])
            seconds = (interval["end"] - interval["begin"]) / 1e9
            if seconds > 0:
                found.append([seconds, moved])
    longest = max((seconds for seconds, _ in found), default=0)
    full = []
    for seconds, moved in found:
        if full and seconds < longest / 2:
            full[-1] = [full[-1][0] + seconds, full[-1][1] + moved]
        else:
            full.append([seconds, moved])
    return np.array(full, dtype=float).reshape(-1, 2)


def meeting(samples, at, before, after):
    """Seconds and bytes at which a line with the rate before meets one with the rate after: they
    pass through the ends of the two samples at the change."""
    first = max(at - 1, 0)
    seconds, moved = samples[:first].sum(axis=0)
    length, amount = samples[first : at + 1].sum(axis=0)
    inside = min(max((amount / 1e6 - after * length) / (before - after), 0), length)
    return seconds + inside, moved + min(inside * before * 1e6, amount)


def plateaus(samples, change):
    """From, to, seconds of each stretch of one rate: every way of cutting a series with little
    noise in two is tried, and the best one kept, until no cut is a large change."""
    logs = np.log(samples[:, 1] / samples[:, 0])
    cuts, open_parts = [], [(0, len(logs))]
    while open_parts:
        begin, end = open_parts.pop()
        best = None
        for cut in range(begin + 8, end - 7):
            parts = logs[begin:cut], logs[cut:end]
            cost = sum(np.abs(part - np.median(part)).sum() for part in parts)
            jump = abs(np.median(logs[cut - 8 : cut]) - np.median(logs[cut : cut + 8]))
            if jump >= -math.log(1 - change) and (best is None or cost < best[0]):
                best = (cost, cut)
        if best:
            cuts.append(best[1])
            open_parts += [(begin, best[1]), (best[1], end)]
    ends = [0, *sorted(cuts), len(logs)]
    places = [(0.0, 0.0)]
    for index in range(1, len(ends) - 1):
        at = ends[index]
        left, right = samples[ends[index - 1] : at - 1], samples[at + 1 : ends[index + 1]]
        before, after = (part[:, 1].sum() / 1e6 / part[:, 0].sum() for part in (left, right))
        places.append(meeting(samples, at, before, after))
    places.append(tuple(samples.sum(axis=0)))
    return [(a[1], b[1], b[0] - a[0]) for a, b in zip(places, places[1:])]


def fill(run):
    change = float(run.parameter("drop", "20")) / 100
    idle_times = run.parameter("idle-times", "10,30").split(",")
    for level in run.parameter("levels", "0,50").split(","):
        empty = "not purged" if run.settings.get("purge") == "none" else "empty"
        name = empty if level == "0" else f"{level} % full"
        samples = rates(unbroken(run, f"fill-{level}", level == "0"))
        found = plateaus(samples, change)
        speeds = [(to - begin) / 1e6 / seconds for begin, to, seconds in found]
        drops = [n for n in range(len(speeds) - 1) if speeds[n + 1] < speeds[n]]
        first = drops[0] if drops else None
        mean = samples[:, 1].sum() / 1e6 / samples[:, 0].sum()
        values = {
            "Full speed MB/s": mean if first is None else speeds[first],
            "For GB": None if first is None else (found[first][1] - found[first][0]) / 1e9,
            "Then MB/s": None if first is None else speeds[first + 1],
            "Slowest plateau MB/s": min(speeds),
            "Mean MB/s": mean,
            "Cliffs": len(drops),
        }
        run.cells("levels", name, values)
        for index, (begin, to, seconds) in enumerate(found):
            values = {"From GB": begin / 1e9, "To GB": to / 1e9, "Seconds": seconds}
            run.cells(f"plateaus-{level}", index, values | {"MB/s": speeds[index]})
        for idle in idle_times:
            again = rates(unbroken(run, f"again-{level}-{idle}s", False))
            back = None
            if first is not None:
                full, after = speeds[first], speeds[first + 1]
                fast = again[:, 1] / 1e6 / again[:, 0] >= math.sqrt(full * after)
                scores = np.concatenate([[0], np.cumsum(np.where(fast, 1, -1))])
                at = int(np.argmax(scores))
                whole = at == len(again)
                back = again[:, 1].sum() if whole else meeting(again, at, full, after)[1]
            values = {
                "Back GB": None if back is None else back / 1e9,
                "Written GB": again[:, 1].sum() / 1e9,
                "Mean MB/s": again[:, 1].sum() / 1e6 / again[:, 0].sum(),
            }
            run.cells("returned", f"again-{level}-{idle}s", values)
        reads = [unbroken(run, f"read-{age}-{level}", False) for age in ("new", "old")]
        reads = [steps[0].mbps() if steps else None for steps in reads]
        columns = ("Just written MB/s", "Written long ago MB/s")
        run.cells("reads", name, dict(zip(columns, reads)))


def idle_exit(run):
    baseline, _ = over(run.of_phase("back-to-back"), None)
    usual = baseline.percentile_ms(0.99) or baseline.max_ms()
    times = [0.001, 0.01, 0.1, 1.0, 3.0]
    deepest, states = 0.0, []
    for at, seconds in enumerate(times):
        tally = run.of_phase(f"after-{seconds:g}s")[-1].total()
        added = tally.mean_ms() - baseline.mean_ms()
        values = {
            "I/Os": tally.ios,
            "Median ms": tally.percentile_ms(0.5),
            "Added ms": added,
            **tally.times("Min", "ART", "MRT"),
        }
        run.cells("idle-times", f"after-{seconds:g}s", values)
        if tally.min_ms() > usual and added > 1.5 * deepest:
            deepest = added
            states.append(added)
    for index, added in enumerate(states):
        run.cells("states", index, {"Added ms": added})
    run.same("states", len(states), len(run.tables.get("states", {"rows": []})["rows"]))


def write_amplification(run):
    """Windows of a cell by the drive's counters, and the first five that are steady."""
    logs = [step.measurement["sensed"].get("log") or {} for step in run.steps]
    units = {
        "host_written": max(log.get("host_unit") or 0 for log in logs),
        "nand_written": max(log.get("nand_unit") or 0 for log in logs),
    }
    phases = []
    for step in run.steps:
        if step.phase != "counters" and not step.phase.startswith("fill-"):
            phases.append(step.phase)
    for phase in dict.fromkeys(phases):
        windows = {}
        for step in run.of_phase(phase):
            window = windows.setdefault(step.round, [0, 0, False, True, False])
            log = step.measurement["sensed"]["log"]
            window[0] += log["host_written"]
            window[1] += log["nand_written"]
            window[2] |= bool(step.gap)
            window[3] &= not (step.gap and step.point > 1)
            window[4] = step.measurement["complete"]
        numbers = sorted(windows)
        steady = None
        for last in range(5, len(numbers) + 1):
            five = [windows[number] for number in numbers[last - 5 : last]]
            if any(window[2] for window in five[1:]) or not all(window[3] for window in five):
                continue
            values = np.array([window[1] / window[0] for window in five])
            slope = np.polyfit(np.arange(5.0), values, 1)[0]
            mean = values.mean()
            if np.ptp(values) <= 0.04 * mean and abs(slope) * 4 <= 0.02 * mean:
                steady = (sum(window[0] for window in five), sum(window[1] for window in five))
                break
        value = low = high = None
        if steady:
            host, nand = steady
            value = nand / host
            low = (nand - units["nand_written"]) / (host + units["host_written"])
            high = (nand + units["nand_written"]) / (host - units["host_written"])
        counted = sum(1 for window in windows.values() if window[3])
        run.cells("cells", phase, {"Value": value, "Not below": low, "Not above": high, "Windows": counted})


def factors(run):
    """Rates of the levels over their rounds; the indirection unit."""
    means = {}
    for phase in ("entropy-fresh", "pattern-fresh", "alignment", "random", "entropy", "pattern", "used"):
        steps = run.of_phase(phase)
        for point in range(1, max(step.point for step in steps) + 1):
            rates = [step.mbps() for step in steps if step.point == point and not step.gap]
            level = {"Rounds": len(rates) or None}
            if len(rates) > 1:
                mean = sum(rates) / len(rates)
                level.update({"MB/s": mean, "Lowest round": min(rates), "Highest round": max(rates)})
                means.setdefault(phase, []).append((mean, (max(rates) - min(rates)) / mean))
            else:
                level["MB/s"] = None
            run.cells(phase, point - 1, level)
    levels = means.get("alignment", [])
    unit = None
    if len(levels) == 6:
        tolerance = max(0.05, *(noise for _, noise in levels))
        enough = [
            at for at in range(6) if levels[at][0] >= (1 - tolerance) * max(m for m, _ in levels[at:])
        ]
        first = enough[0]
        slowest = min(mean for mean, _ in levels[first:])
        faster = [mean for mean, _ in levels[:first] if mean >= slowest * (1 - tolerance)]
        if 0 < first < 5 and not faster:
            unit = (0.5, 4, 8, 16, 32, 64)[first]
    figures = {figure["id"]: figure.get("value") for figure in run.findings["front"]["figures"]}
    run.same("indirection unit", None if unit is None else float(unit), figures["indirection-unit"])


PROCEDURES = {
    "factors": factors,
    "write-amplification": write_amplification,
    "load-curve": load_curve,
    "neighbors": neighbors,
    "iops": iops,
    "throughput": throughput,
    "latency": latency,
    "wsat": wsat,
    "composite": wsat,
    "dirth": dirth,
    "composite-dirth": dirth,
    "xsr": xsr,
    "hir": hir,
    "commit": commit,
    "fill": fill,
    "idle-exit": idle_exit,
}


def main():
    failed = False
    for directory in sys.argv[1:]:
        run = Run(directory)
        run.every_step()
        PROCEDURES[run.name](run)
        gaps = sum(step.gap for step in run.steps)
        print(f"{run.name}: {run.compared} values, {len(run.steps)} steps, {gaps} gaps")
        for difference in run.differences[:20]:
            print(difference, file=sys.stderr)
        failed = failed or bool(run.differences)
    return 1 if failed else 0


sys.exit(main())
