"""Traces of other tools, by an own reader of each format. Argument: a format. Prints the files
and what is in them: per I/O the issue time since the first in ns, operation (0 read, 1 write,
2 discard, 3 flush, 4 other), offset, bytes, response time in ns or null."""
import csv, io, json, random, re, struct, sys

CLOCK = 1_456_135_200
EPOCH_1601 = 11_644_473_600
rng = random.Random(sys.argv[1])
OPS = {"R": 0, "W": 1, "read": 0, "write": 1, "Read": 0, "Write": 1, "r": 0, "w": 1, "trim": 2, "sync": 3}
SCSI = {0x28: 0, 0x88: 0, 0xA8: 0, 0x08: 0, 0x2A: 1, 0x8A: 1, 0xAA: 1, 0x0A: 1, 0x35: 3, 0x42: 2}


def drawn():
    """311 I/Os: time in us, offset and size in sectors, whether it reads, response in us."""
    now = 0
    for _ in range(311):
        now += rng.choice([0, 1, 17, 250_000, 1_000_003])
        yield now, rng.randrange(1 << 30), rng.randrange(1, 2049), rng.random() < 0.6, rng.randrange(1, 50_000)


def text(line):
    return "".join(line(*one) + "\n" for one in drawn()).encode()


def rows(data, delimiter=","):
    return csv.reader(io.StringIO(data.decode()), delimiter=delimiter)


def msr_cambridge():
    data = text(lambda t, s, n, r, l: f"{(CLOCK + EPOCH_1601) * 10**7 + t * 10},web,1,"
                f"{'Read' if r else 'Write'},{s * 512},{n * 512},{l * 10}")
    return data, [(int(t) * 100, OPS[o], int(a), int(b), int(l) * 100) for t, _, _, o, a, b, l in rows(data)]


def alibaba():
    data = text(lambda t, s, n, r, l: f"7,{'R' if r else 'W'},{s * 512},{n * 512},{CLOCK * 10**6 + t}")
    return data, [(int(t) * 1000, OPS[o], int(a), int(b), None) for _, o, a, b, t in rows(data)]


def tencent():
    data = text(lambda t, s, n, r, l: f"{CLOCK + t // 10**6},{s},{n},{0 if r else 1},1283")
    return data, [(int(t) * 10**9, int(o), int(a) * 512, int(b) * 512, None) for t, a, b, o, _ in rows(data)]


def systor17():
    data = b"Timestamp,Response,IOType,LUN,Offset,Size\n" + text(
        lambda t, s, n, r, l: f"{CLOCK + t // 10**6}.{t % 10**6:06}000,0.{l:06}000,"
        f"{'R' if r else 'W'},3,{s * 512},{n * 512}")
    def ns(seconds):
        whole, part = seconds.split(".")
        return int(whole) * 10**9 + int(part)
    found = list(rows(data))[1:]
    return data, [(ns(t), OPS[o], int(a), int(b), ns(l)) for t, l, o, _, a, b in found]


def spc():
    data = text(lambda t, s, n, r, l: f"2,{s},{n * 512},{'r' if r else 'W'},{t // 10**6}.{t % 10**6:06}")
    return data, [(round(float(t) * 10**6) * 1000, OPS[o], int(a) * 512, int(b), None) for _, a, b, o, t in rows(data)]


def fiu():
    data = text(lambda t, s, n, r, l: f"{t * 1000} 4892 pdflush {s} {n} {'R' if r else 'W'} 6 0 {l:032x}")
    return data, [(int(one[0]), OPS[one[5]], int(one[3]) * 512, int(one[4]) * 512, None) for one in rows(data, " ")]


def cloudphysics_csv():
    data = text(lambda t, s, n, r, l: f"1,{t // 10**6},{'28' if r else '2a'},{n * 512},{s}")
    return data, [(int(t) * 10**9, SCSI[int(o, 16)], int(a) * 512, int(b), None) for _, t, o, b, a in rows(data)]


def vscsi1():
    data = b"".join(struct.pack("<IIIHHQQ", 5, n * 512, 1, 0x28 if r else 0x2A, 0x100, s, t)
                    for t, s, n, r, l in drawn())
    found = struct.iter_unpack("<3I2H2Q", data)
    return data, [(t * 1000, SCSI[c], s * 512, n, None) for _, n, _, c, _, s, t in found]


def vscsi2():
    data = b"".join(struct.pack("<HHIIIQQQ", 0x88 if r else 0x8A, 0x200, 5, n * 512, 1, s, t, l)
                    for t, s, n, r, l in drawn())
    found = struct.iter_unpack("<2H3I3Q", data)
    return data, [(t * 1000, SCSI[c], s * 512, n, None) for c, _, _, n, _, s, t, _ in found]


def oracle_general():
    objects = [rng.randrange(40) for _ in range(311)]
    def later(at):
        return next((n + 1 for n in range(at + 1, 311) if objects[n] == objects[at]), -1)
    data = b"".join(struct.pack("<IQIq", t // 10**6, objects[at], n * 512, later(at))
                    for at, (t, s, n, r, l) in enumerate(drawn()))
    return data, [(t * 10**9, 4, 0, n, None) for t, _, n, _ in struct.iter_unpack("<IQIq", data)]


def fio_iolog():
    ios = text(lambda t, s, n, r, l: f"{t + 1} /dev/sdb {'read' if r else 'write'} {s * 512} {n * 512}")
    # The file is opened when the first I/O begins.
    begun = ios.split()[0]
    data = b"fio version 3 iolog\n" + begun + b" /dev/sdb add\n" + begun + b" /dev/sdb open\n" + ios
    found = [line.split() for line in data.decode().splitlines()[3:]]
    return data, [(int(t) * 1000, OPS[o], int(a), int(b), None) for t, _, o, a, b in found]


def kv_cache(tokens, member, request, unit):
    """Requests for 311 blocks, of which later ones share the first of earlier ones; then, by an own
    parser, a write of each new block at the next position and a read of each known one."""
    lines, now, left, chains = [], 0, 311, [[]]
    while left:
        now += rng.choice([0, 17, 250_000])
        shared = rng.choice(chains)
        ids = shared[:rng.randrange(len(shared) + 1)] + [rng.getrandbits(60) for _ in range(rng.randrange(1, 9))]
        ids = ids[:left]
        left -= len(ids)
        chains.append(ids)
        lines.append(json.dumps(request(now, ids, len(ids) * tokens - rng.randrange(tokens))))
    data = ("\n".join(lines) + "\n").encode()
    seen, found = {}, []
    for asked in map(json.loads, data.decode().splitlines()):
        time = round(asked["timestamp"] * unit) * (10**9 // unit)
        for block in asked[member]:
            op = 0 if block in seen else 1
            size = tokens * 2 * 80 * 8 * 128 * 2
            found.append((time, op, seen.setdefault(block, len(seen)) * size, size, None))
    return data, found


def mooncake():
    data, ios = kv_cache(512, "hash_ids", lambda t, ids, n: {
        "timestamp": t, "input_length": n, "output_length": 9, "hash_ids": ids}, 1)
    return data, [(t // 1000, *rest) for t, *rest in ios]


def bailian():
    return kv_cache(16, "hash_ids", lambda t, ids, n: {
        "chat_id": 7, "parent_chat_id": -1, "timestamp": t / 1000, "input_length": n,
        "output_length": 9, "type": "text", "turn": 1, "hash_ids": ids}, 1000)


def lmcache():
    return kv_cache(256, "chunk_hashes", lambda t, ids, n: {
        "timestamp": CLOCK + t / 1000, "lookup_id": "x", "chunk_hashes": [hex(one) for one in ids]}, 1000)


def blktrace():
    """Issue and completion of one I/O after the other, with and without a payload, then zeros."""
    data, now = b"", 0
    for at, (t, s, n, r, l) in enumerate(drawn()):
        for action, wait, payload in (7, 1 + t % 977, b"x" * (at % 5)), (8, l, b""):
            now += wait
            data += struct.pack("<IIQQIIIIIHH", 0x65617407, at, now, s, n * 512,
                                action | (1 if r else 2) << 16, 42, 8 << 20, 1, 0, len(payload)) + payload
    data += bytes(4096)
    found, begun, at = [], {}, 0
    while data[at:at + 4] == b"\x07tae":
        _, _, time, sector, size, action, _, _, _, _, more = struct.unpack_from("<IIQQIIIIIHH", data, at)
        at += 48 + more
        if action & 0xFFFF == 7:
            begun[sector] = time
        else:
            found.append((begun.pop(sector), 0 if action >> 16 & 1 else 1, sector * 512, size, time))
    return data, [(t, o, a, b, end - t) for t, o, a, b, end in found]


def in_turn():
    """The same I/Os one after the other: time of issue, sector, sectors, whether it reads, time of completion in us."""
    now = 0
    for t, s, n, r, l in drawn():
        issue = now + 1 + t % 977
        now = issue + l
        yield issue, s, n, r, now


def matched(events):
    """I/Os of pairs of (is issue, time in ns, letters, sector, sectors), by their sectors."""
    begun, found = {}, []
    for is_issue, time, letters, sector, sectors in events:
        if is_issue:
            begun[sector] = time
        else:
            at = begun.pop(sector)
            found.append((at, OPS[letters[0]], sector * 512, sectors * 512, time - at))
    return found


def blkparse():
    # Default format of blkparse(1): %D %2c %8s %5T.%9t %5p %2a %3d, then sector + sectors [process].
    lines, number = [], 0
    for issue, s, n, r, done in in_turn():
        for action, time in ("D", issue), ("C", done):
            number += 1
            lines.append(f"  8,0  {number % 3:3} {number:8} {time // 10**6:5}.{time % 10**6:06}000 {4892:5}  "
                         f"{action}  {'R' if r else 'WS'} {s} + {n} [{'db' if action == 'D' else '0'}]")
    data = ("\n".join(lines) + "\n").encode()
    line = r"8,0 +\d+ +\d+ +(\d+)\.(\d{9}) +\d+ +([DC]) +(\w+) (\d+) \+ (\d+) \["
    return data, matched((a == "D", int(t) * 10**9 + int(u), o, int(s), int(n))
                         for t, u, a, o, s, n in re.findall(line, data.decode()))


def block_events():
    # perf script: command, process, CPU, seconds with six digits, event, fields of the event's format.
    lines = ["# tracer: nop"]
    for issue, s, n, r, done in in_turn():
        time = [f"{t // 10**6:6}.{t % 10**6:06}" for t in (issue, done)]
        op = "R" if r else "WS"
        lines.append(f"              db  4892 [002] {time[0]}: block:block_rq_issue: 8,0 {op} {n * 512} () {s} + {n} [db]")
        lines.append(f"         swapper     0 [001] {time[1]}: block:block_rq_complete: 8,0 {op} () {s} + {n} [0]")
    data = ("\n".join(lines) + "\n").encode()
    line = r" (\d+)\.(\d{6}): block:block_rq_(\w+): 8,0 (\w+) (?:\d+ )?\(\) (\d+) \+ (\d+) "
    return data, matched((e == "issue", int(t) * 10**9 + int(u) * 1000, o, int(s), int(n))
                         for t, u, e, o, s, n in re.findall(line, data.decode()))


def biosnoop():
    # Times are those of completion, since the first one; latencies in ms with two digits.
    lines, first = ["TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)"], None
    for issue, s, n, r, done in in_turn():
        first = done if first is None else first
        t, cents = done - first, (done - issue) // 10
        lines.append(f"{t // 10**6}.{t % 10**6:06}    db             4892    sda       {'R' if r else 'W'} "
                     f"{s:<10} {n * 512:<6} {cents // 100:4}.{cents % 100:02}")
    data = ("\n".join(lines) + "\n").encode()
    def ns(text, digits, unit):
        whole, part = text.split(".")
        return (int(whole) * 10**digits + int(part)) * unit
    found = []
    for t, _, _, _, op, sector, size, latency in map(str.split, data.decode().splitlines()[1:]):
        response = ns(latency, 2, 10_000)
        found.append((ns(t, 6, 1000) - response, OPS[op], int(sector) * 512, int(size), response))
    return data, found


def fio_latency_log():
    # ms of completion, ns of latency, direction, bytes, offset, priority.
    data = text(lambda t, s, n, r, l: f"{t // 1000 + 60}, {l * 1000}, {0 if r else 1}, {n * 512}, {s * 512}, 0")
    return data, [(int(t) * 10**6 - int(l), int(o), int(a), int(b), int(l)) for t, l, o, b, a, _ in rows(data)]


def fio_iolog_1():
    data = text(lambda t, s, n, r, l: f"{0 if r else 1}, {s * 512}, {n * 512}")
    return data, [(0, int(o), int(a), int(b), None) for o, a, b in rows(data)]


def lcs():
    # libCacheSim, version 5: header with marks, version, version and number of requests of the
    # statistics; records with time, object, size, operation and tenant in one word, time to live,
    # next access, two features.
    mark = struct.pack("<Q", 0x123456789ABCDEF0)
    data = mark + struct.pack("<QqqqQ", 5, 1, 311, 311, 0)
    data += bytes(8184 - len(data)) + mark
    for t, s, n, r, l in drawn():
        data += struct.pack("<IQqIIqII", t // 10**6, s, n * 512, (12 if r else 13) | 77 << 8, 0, -1, 1, 2)
    found = struct.iter_unpack("<IQqIIqII", data[8192:])
    # Objects are no addresses, unless --csv says so.
    return data, [(t * 10**9, 4, 0, n, None) for t, _, n, *_ in found]


def strace():
    data = "9 1700000000.000000 openat(AT_FDCWD, \"/db\", O_RDWR) = 3</db> <0.000010>\n".encode() + text(
        lambda t, s, n, r, l: f"9 {1700000001 + t // 10**6}.{t % 10**6:06} {'pread64' if r else 'pwrite64'}"
        f"(3</db>, \"\"..., {n}, {s}) = {n} <0.{l:06}>")
    call = r"9 (\d+)\.(\d+) p(\w+?)64\(3</db>, \"\"\.\.\., (\d+), (\d+)\) = \d+ <0\.(\d+)>"
    found = re.findall(call, data.decode())
    return data, [((int(s) - 1700000000) * 10**9 + int(u) * 1000, OPS[o], int(a), int(n), int(l) * 1000)
                  for s, u, o, n, a, l in found]


data, ios = globals()[sys.argv[1].replace("-", "_")]()
open("sample", "wb").write(data)
begun = 0 if sys.argv[1] in ("strace", "fio-latency-log", "blkparse") else min(io[0] for io in ios)
ios = sorted((t - begun, o, a, b, -1 if l is None else l) for t, o, a, b, l in ios)
print(json.dumps({"ios": ios}))
