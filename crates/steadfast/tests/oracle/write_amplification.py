"""What a drive with greedy garbage collection must show in a run of write-amplification.

Uniform random writes, on any part of the drive and with any share of discards, by the closed
formula of P. Desnoyers, "Analytic Models of SSD Write Performance" (ACM TOS 10(2), 2014): of
blocks with N pages, and A physical pages for each logical page, blocks with v valid pages are
collected, where ln((N + 1/2) / (v + 1/2)) = A (1 - v / N), and the write amplification is
N / (N - v). Discards of a share d of the commands divide the logical pages that hold data by
1 / (1 - d).

All other workloads by a simulation of the blocks, page by page.

Nothing here was taken over from the program under test.

    python3 write_amplification.py RUN_DIR LOGICAL_PAGES PAGES_PER_BLOCK BLOCKS RESERVE TOLERANCE

RESERVE is the number of blocks that hold no garbage: free ones, and halves of the open ones. Each
cell is a line. A difference beyond the tolerance is also a line on standard error, and the exit
code is 1.
"""

import itertools
import json
import math
import random
import sys
from pathlib import Path


def formula(ratio, pages):
    """Write amplification with this ratio of physical to logical pages."""
    low, high = 0.0, pages - 1e-9
    for _ in range(200):
        valid = (low + high) / 2
        # The difference is positive below the solution; v = N is the trivial one.
        if math.log((pages + 0.5) / (valid + 0.5)) > ratio * (1 - valid / pages):
            low = valid
        else:
            high = valid
    return pages / (pages - low)


class Blocks:
    """Pages in blocks, written in turn; greedy collection into a block of its own."""

    def __init__(self, logical, pages, blocks, keep_free):
        self.pages, self.keep_free = pages, keep_free
        self.where = [-1] * logical
        self.owner = [-1] * (pages * blocks)
        self.valid = [0] * blocks
        self.closed = [False] * blocks
        self.by_valid = [set() for _ in range(pages + 1)]
        self.free = list(range(blocks))
        # The next page and the end of the two open blocks: for the host, for collected pages.
        self.next, self.end = [0, 0], [0, 0]
        self.programmed = 0
        # The block being collected, its next page, its valid pages when it was chosen, and what
        # the collector owes.
        self.victim, self.at, self.chosen, self.owed = None, 0, 0, 0

    def invalidate(self, page):
        block = page // self.pages
        self.valid[block] -= 1
        if self.closed[block]:
            now = self.valid[block]
            self.by_valid[now + 1].remove(block)
            self.by_valid[now].add(block)

    def put(self, logical, which):
        if self.next[which] == self.end[which]:
            if self.end[which]:
                full = self.end[which] // self.pages - 1
                self.closed[full] = True
                self.by_valid[self.valid[full]].add(full)
            block = self.free.pop()
            self.next[which], self.end[which] = block * self.pages, (block + 1) * self.pages
        page = self.next[which]
        self.next[which] += 1
        old = self.where[logical]
        if old >= 0:
            self.invalidate(old)
        self.where[logical] = page
        self.owner[page] = logical
        self.valid[page // self.pages] += 1
        self.programmed += 1

    def write(self, logical):
        """Writes a page. Below so many free blocks, a victim with v valid pages is collected
        along with the host's writes: v pages for N - v of the host, twice as many if it falls
        behind (docs/sim.md)."""
        if len(self.free) < self.keep_free and (self.victim is not None or self.choose()):
            haste = 2 if len(self.free) + 1 < self.keep_free else 1
            self.owed += max(1, self.chosen) * haste
            gain = max(1, self.pages - self.chosen)
            while self.owed >= gain and self.victim is not None:
                self.owed -= gain
                self.move()
        self.put(logical, 0)

    def choose(self):
        """Makes a closed block with the fewest valid pages the victim."""
        group = next(group for group in self.by_valid if group)
        victim = min(group)
        self.chosen = self.valid[victim]
        if self.chosen == self.pages:
            return False
        group.remove(victim)
        self.closed[victim] = False
        self.victim, self.at, self.owed = victim, victim * self.pages, 0
        return True

    def move(self):
        """Moves the victim's next valid page, and frees the victim after its last."""
        if self.valid[self.victim]:
            while self.where[self.owner[self.at]] != self.at:
                self.at += 1
            self.put(self.owner[self.at], 1)
            self.at += 1
        if not self.valid[self.victim]:
            self.free.insert(0, self.victim)
            self.victim = None


def hot_and_cold(writes, addresses, logical):
    hot = logical * addresses // 100
    while True:
        if random.random() * 100 < writes:
            yield int(random.random() * hot)
        else:
            yield hot + int(random.random() * (logical - hot))


def zipf(theta, logical):
    weights = itertools.accumulate((k + 1) ** -theta for k in range(logical))
    weights = list(weights)
    ranks = range(logical)
    while True:
        yield from random.choices(ranks, cum_weights=weights, k=10000)


def mixed(percent, logical):
    """Sequential transfers of 32 pages in the first half, single random pages in the second."""
    half, at = logical // 2, 0
    sequential = percent / 32 / (percent / 32 + 100 - percent)
    while True:
        if random.random() < sequential:
            for _ in range(32):
                yield at
                at = (at + 1) % half
        else:
            yield half + int(random.random() * half)


def simulated(name, logical, total, pages, blocks, keep_free, capacities):
    word, value = name.split("/")
    if word in ("zones", "scattered"):
        writes, addresses = map(int, value.split("-"))
        draw = hot_and_cold(writes, addresses, logical)
    elif word == "zipf":
        draw = zipf(float(value), logical)
    else:
        draw = mixed(int(value), logical)
    drive = Blocks(total, pages, blocks, keep_free)
    for page in range(logical):
        drive.write(page)
    before, after = capacities
    for page in itertools.islice(draw, before * logical):
        drive.write(page)
    start = drive.programmed
    for page in itertools.islice(draw, after * logical):
        drive.write(page)
    return (drive.programmed - start) / (after * logical)


def cells(directory):
    findings = json.loads((Path(directory) / "findings.json").read_text())
    exhibits = [e for page in findings["chapters"] for e in page["exhibits"]]
    table = next(e["table"] for e in exhibits if e.get("table", {}).get("id") == "cells")
    for row in table["rows"]:
        cell = row["cells"][0]
        value = cell["number"]["value"] if isinstance(cell, dict) else None
        name, percent = row["head"].removesuffix(" %").split(" at ")
        yield name, int(percent), value


def main():
    directory = sys.argv[1]
    logical, pages, blocks, reserve = map(int, sys.argv[2:6])
    tolerance = float(sys.argv[6])
    random.seed(5)
    failed = False
    for name, percent, found in cells(directory):
        used = logical * percent // 100
        word, _, value = name.partition("/")
        if word in ("uniform", "discards"):
            discards = int(value or 0) / 100
            ratio = (blocks - reserve) * pages / used / (1 - discards)
            expected = formula(ratio, pages)
        else:
            expected = simulated(name, used, logical, pages, blocks, reserve - 1, (20, 5))
        difference = None if found is None else found / expected - 1
        percent_off = "-" if difference is None else f"{difference * 100:+.2f} %"
        line = f"{name} at {percent} %: found {found}, expected {expected:.4f}, {percent_off}"
        print(line)
        if difference is None or abs(difference) > tolerance:
            print(line, file=sys.stderr)
            failed = True
    return 1 if failed else 0


sys.exit(main())
