"""Reuse of 4 KiB blocks by the rules of docs/trace.md: arguments are the file, bytes of an
access unit, and operations as numbers. An LRU cache of every size at once: a list with the block
that was used last in front, where the place of a block is how many others were used since."""
import collections, json, sys

import rules

path, unit, ops = sys.argv[1], int(sys.argv[2]), [int(op) for op in sys.argv[3].split(",")]
BLOCK = 4096


def accesses(ios):
    """Time, block, whether it is written: the lower address first."""
    for io in ios:
        if io["op"] in ops and io["bytes"] > 0:
            last = io["offset"] + io["bytes"] - 1
            for number in range(io["offset"] // unit, last // unit + 1):
                yield io["issued_ns"], number, io["op"] == 1


def distances(found):
    """How many other blocks were used since each access's last one, None where there is none."""
    recent, told = [], []
    for _, number, _ in found:
        place = recent.index(number) if number in recent else None
        if place is not None:
            recent.pop(place)
        recent.insert(0, number)
        told.append(place)
    return told


def since_last(found):
    last, told = {}, []
    for time, number in found:
        if number in last:
            told.append(time - last[number])
        last[number] = time
    return told


def sizes(largest):
    """Twice a doubling, up to the cache that holds everything which is used again."""
    blocks, half_doublings = [1], 0
    while 2 ** (half_doublings / 2) < largest:
        half_doublings += 1
        size = round(2 ** (half_doublings / 2))
        if size > blocks[-1]:
            blocks.append(size)
    return blocks


def curve(found, others):
    reads = sum(1 for access in found if not access[2])

    def point(blocks):
        missed = [access for access, place in zip(found, others)
                  if place is None or place >= blocks]
        of_reads = sum(1 for access in missed if not access[2])
        return {"bytes": blocks * BLOCK, "misses": len(missed) / len(found),
                "read_misses": of_reads / reads if reads else None}

    again = [place for place in others if place is not None]
    return [point(blocks) for blocks in sizes(max(again) + 1)] if again else []


def locality(ios):
    found = list(accesses(ios))
    others = distances(found)
    written = [access[:2] for access in found if access[2]]
    overwrites = since_last(written)
    touched = len({number for _, number, _ in found})
    return {
        "followed_share": 1.0,
        "blocks": touched,
        "touched_bytes": float(touched * BLOCK),
        "accesses": len(found),
        "overwritten": len(overwrites) / len(written) if written else None,
        "curve": curve(found, others),
        "reuse": rules.times(since_last([access[:2] for access in found]), bits=52),
        "overwrite": rules.times(overwrites, bits=52),
    }


def extents(ios):
    """Where every I/O is one whole unit of several blocks: a block is used again after the
    others of its unit and all of those units that were used since."""
    each, found = unit // BLOCK, list(accesses(ios))
    others = distances(found)
    return {
        "touched_bytes": len({number for _, number, _ in found}) * unit,
        "accesses": len(found) * each,
        "first": others.count(None) * each,
        "again": [[(place + 1) * each, times * each]
                  for place, times in collections.Counter(others).items() if place is not None],
    }


ios = [io for io in rules.read(path) if io["layer"] == 0]
devices = rules.grouped(ios, lambda io: io["device"])
told = locality if unit == BLOCK else extents
print(json.dumps([told(devices[device]) for device in sorted(devices)]))
