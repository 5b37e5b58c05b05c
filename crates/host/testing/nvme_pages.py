#!/usr/bin/env python3
"""Makes pages as NVMe drives report them, with the value of every field.

The tables name bytes as the specifications do, highest first. They were written from the
specifications' figures and not from the decoder's tables (src/nvme/layouts.rs), which a test
compares with the output: python3 nvme_pages.py > nvme_pages.json

Kinds: n number, z number that is not reported if 0, o number that is not reported if all ones,
f flags, t text, h bytes in the order of their addresses.
"""

import json

CONTROLLER = """
1:0 f vid | 3:2 f ssvid | 23:4 t sn | 63:24 t mn | 71:64 t fr | 75:73 f ieee | 76 f cmic | 77 z mdts
79:78 n cntlid | 83:80 f ver | 87:84 z rtd3r | 91:88 z rtd3e | 95:92 f oaes | 99:96 f ctratt
111 z cntrltype | 257:256 f oacs | 260 f frmw | 261 f lpa | 262 n elpe | 263 n npss | 265 f apsta
267:266 z wctemp | 269:268 z cctemp | 275:272 z hmpre | 279:276 z hmmin | 295:280 z tnvmcap
311:296 n unvmcap | 317:316 z edstt | 323:322 f hctma | 325:324 z mntmt | 327:326 z mxtmt
331:328 f sanicap | 341:340 z endgidmax | 355:352 z pels | 519:516 n nn | 521:520 f oncs | 524 f fna
525 f vwc | 527:526 n awun | 529:528 n awupf | 1023:768 t subnqn
"""
POWER_MEASUREMENT = """
0 n ver | 1 n pmgn | 3:2 f pma | 7:4 n sze | 11:8 n pmc | 13:12 n nphd | 15:14 z smtr | 21:16 z smts
25:24 n phds | 27:26 n phbs | 29:28 n nphds | 31:30 n vss | 35:32 n phdoc | 41:40 z aipwr
42 f aipwrs | 45:44 z mipwr | 46 f mipwrs | 53:48 z mipwrt | 56 n ipwrpe
"""
POWER_STATE = """
1:0 z mp | 3 f flags | 7:4 z enlat | 11:8 z exlat | 12 n rrt | 13 n rrl | 14 n rwt | 15 n rwl
17:16 z idlp | 18 f ips | 21:20 z actp | 22 f apws
"""
NAMESPACE = """
7:0 n nsze | 15:8 n ncap | 23:16 n nuse | 24 f nsfeat | 25 n nlbaf | 26 f flbas | 27 f mc | 28 f dpc
29 f dps | 30 f nmic | 31 f rescap | 32 f fpi | 33 f dlfeat | 35:34 n nawun | 37:36 n nawupf
47:46 z noiob | 63:48 z nvmcap | 65:64 n npwg | 67:66 n npwa | 69:68 n npdg | 71:70 n npda
73:72 n nows | 99 f nsattr | 101:100 z nvmsetid | 103:102 z endgid | 119:104 h nguid | 127:120 h eui64
"""
ERROR = """
7:0 z ec | 9:8 n sqid | 11:10 n cid | 13:12 f sts | 15:14 f pel | 23:16 n lba | 27:24 n nsid
28 f vsia | 29 n trtype | 39:32 f csi | 41:40 f ttsi
"""
SMART = """
0 f cw | 2:1 z ctemp | 3 n avsp | 4 n avspt | 5 n pused | 6 f egcws | 47:32 n dur | 63:48 n duw
79:64 n hrc | 95:80 n hwc | 111:96 n cbt | 127:112 n pwrc | 143:128 n poh | 159:144 n upl
175:160 n mdie | 191:176 n neile | 195:192 n wctt | 199:196 n cctt | 201:200 z tsen1 | 203:202 z tsen2
205:204 z tsen3 | 207:206 z tsen4 | 209:208 z tsen5 | 211:210 z tsen6 | 213:212 z tsen7
215:214 z tsen8 | 219:216 n tmt1tc | 223:220 n tmt2tc | 227:224 n tttmt1 | 231:228 n tttmt2
"""
SELF_TEST_RESULT = """
0 f dsts | 1 n segn | 2 f vdi | 11:4 n poh | 15:12 n nsid | 23:16 n flba | 24 f sct | 25 f sc | 27:26 f vs
"""
TELEMETRY = """
0 f lpi | 7:5 f ieee | 9:8 n da1lb | 11:10 n da2lb | 13:12 n da3lb | 19:16 n da4lb | 382 n tcda
383 n tcdgn | 511:384 h rident
"""
ENDURANCE = """
0 f egcw | 1 f egfeat | 3 n avsp | 4 n avspt | 5 n pused | 7:6 z did | 47:32 z ee | 63:48 z dur
79:64 z duw | 95:80 z muw | 111:96 n hrc | 127:112 n hwc | 143:128 n mdie | 159:144 n neile
175:160 z tegcap | 191:176 n uegcap
"""
EVENTS = """
0 f lpi | 7:4 n tnev | 15:8 n tll | 16 n lrev | 19:18 n lhl | 27:20 n tstmp | 43:28 n poh | 51:44 n pcc
53:52 f vid | 55:54 f ssvid | 75:56 t sn | 115:76 t mn | 371:116 t subnqn | 373:372 n gnum | 511:480 h seb
"""
FDP_CONFIGURATIONS = """
1:0 n numfdpc | 2 n ver | 7:4 n sze | 17:16 n dsze | 18 f fdpa | 19 n vss | 23:20 n nrg | 25:24 n nruh
27:26 n maxpids | 31:28 n nns | 39:32 n runs | 43:40 z erutl
"""
FDP_EVENT = """
0 f et | 1 f fdpef | 3:2 n pid | 11:4 n ets | 15:12 n nsid | 31:16 h etsp | 33:32 n rgid | 34 n ruhid
"""
SANITIZE = """
1:0 n sprog | 3:2 f sstat | 7:4 f scdw10 | 11:8 o eto | 15:12 o etbe | 19:16 o etce | 23:20 o etond
27:24 o etbend | 31:28 o etcend
"""
OCP_2 = """
15:0 n SMART-1 | 31:16 n SMART-2 | 37:32 n SMART-3 | 39:38 n SMART-3n | 45:40 n SMART-4
47:46 n SMART-4n | 55:48 n SMART-5 | 63:56 n SMART-6 | 71:64 n SMART-7 | 75:72 n SMART-8d
79:76 n SMART-8c | 80 n SMART-9 | 87:81 n SMART-10 | 91:88 n SMART-11x | 95:92 n SMART-11n
96 n SMART-12c | 97 n SMART-12s | 111:104 n SMART-14 | 115:112 n SMART-15 | 120 n SMART-17
129:128 o SMART-19 | 143:136 n SMART-22 | 151:144 n SMART-23 | 159:152 n SMART-24
175:160 n SMART-25 | 191:176 n SMART-26
"""
OCP_3 = """
98 n SMART-13e | 100:99 n SMART-13p | 102:101 n SMART-13m | 103 n SMART-13 | 130 t SMART-20
199:192 n SMART-27 | 207:200 n SMART-28
"""
OCP_4 = "131 t errata-131 | 215:208 h byte-208"
OCP_5 = """
132 t errata-132 | 133 t errata-133 | 217:216 n byte-216 | 219:218 n byte-218 | 221:220 n byte-220
222 n byte-222 | 231:224 n byte-224 | 235:232 n byte-232 | 239:236 n byte-236 | 240 n byte-240
247:244 n byte-244 | 248 n byte-248 | 255:252 n byte-252 | 256 n byte-256 | 261:260 n byte-260
263:262 n byte-262 | 269:264 n byte-264 | 277:270 t byte-270 | 293:278 h byte-278 | 357:294 t byte-294
"""
OCP_6 = "223 n byte-223 | 363:358 n byte-358 | 365:364 n byte-364"
LATENCY = """
0 f LMDATA-1 | 3:2 n LMDATA-3 | 5:4 n LMDATA-5 | 6 n LMDATA-6 | 7 n LMDATA-7 | 8 n LMDATA-8
9 n LMDATA-9 | 11:10 f LMDATA-10 | 12 n LMDATA-11
47:44 n active0.read | 43:40 n active0.write | 39:36 n active0.trim
63:60 n active1.read | 59:56 n active1.write | 55:52 n active1.trim
79:76 n active2.read | 75:72 n active2.write | 71:68 n active2.trim
95:92 n active3.read | 91:88 n active3.write | 87:84 n active3.trim
191:184 o active-stamp0.read | 183:176 o active-stamp0.write | 175:168 o active-stamp0.trim
167:160 o active-stamp1.read | 159:152 o active-stamp1.write | 151:144 o active-stamp1.trim
143:136 o active-stamp2.read | 135:128 o active-stamp2.write | 127:120 o active-stamp2.trim
119:112 o active-stamp3.read | 111:104 o active-stamp3.write | 103:96 o active-stamp3.trim
215:214 z active-latency0.read | 213:212 z active-latency0.write | 211:210 z active-latency0.trim
209:208 z active-latency1.read | 207:206 z active-latency1.write | 205:204 z active-latency1.trim
203:202 z active-latency2.read | 201:200 z active-latency2.write | 199:198 z active-latency2.trim
197:196 z active-latency3.read | 195:194 z active-latency3.write | 193:192 z active-latency3.trim
217:216 f LMDATA-18
255:252 n static0.read | 251:248 n static0.write | 247:244 n static0.trim
271:268 n static1.read | 267:264 n static1.write | 263:260 n static1.trim
287:284 n static2.read | 283:280 n static2.write | 279:276 n static2.trim
303:300 n static3.read | 299:296 n static3.write | 295:292 n static3.trim
399:392 o static-stamp0.read | 391:384 o static-stamp0.write | 383:376 o static-stamp0.trim
375:368 o static-stamp1.read | 367:360 o static-stamp1.write | 359:352 o static-stamp1.trim
351:344 o static-stamp2.read | 343:336 o static-stamp2.write | 335:328 o static-stamp2.trim
327:320 o static-stamp3.read | 319:312 o static-stamp3.write | 311:304 o static-stamp3.trim
423:422 z static-latency0.read | 421:420 z static-latency0.write | 419:418 z static-latency0.trim
417:416 z static-latency1.read | 415:414 z static-latency1.write | 413:412 z static-latency1.trim
411:410 z static-latency2.read | 409:408 z static-latency2.write | 407:406 z static-latency2.trim
405:404 z static-latency3.read | 403:402 z static-latency3.write | 401:400 z static-latency3.trim
425:424 f LMDATA-26
449:448 f byte-448 | 451:450 z byte-450 | 459:452 o byte-452 | 461:460 n byte-460 | 463:462 f byte-462
464 f byte-464
"""
LATENCY_SETUP = """
1:0 n LMD5-1 | 2 n LMD5-2 | 3 n LMD5-3 | 4 n LMD5-4 | 5 n LMD5-5 | 7:6 f LMD5-6 | 8 n LMD5-7
10:9 f LMD5-8 | 11 n LMD5-9 | 12 n LMD5-10
"""


def rows(table):
    for cell in table.replace("\n", "|").split("|"):
        if cell.strip():
            place, kind, name = cell.split()
            high, _, low = place.partition(":")
            yield int(low or high), int(high), kind, name


class Page:
    def __init__(self, name, length):
        self.name, self.bytes, self.fields = name, bytearray(length), {}
        self.seed = sum(name.encode()) or 1

    def draw(self, count):
        """Distinct bytes, none of them 0 or 255."""
        drawn = bytearray()
        for _ in range(count):
            self.seed = (self.seed * 1103515245 + 12345) % 2**31
            drawn.append(1 + (self.seed >> 16) % 254)
        return bytes(drawn)

    def fill(self, table, start=0, prefix="", every=1):
        """Fills the fields of a table; every n-th value that may be unreported is."""
        for number, (low, high, kind, name) in enumerate(rows(table)):
            length = high - low + 1
            value = self.draw(length)
            unreported = every > 1 and number % every == 0
            if kind == "t":
                word = "".join(chr(0x41 + byte % 26) for byte in value[: max(1, length // 2)])
                value = word.encode().ljust(length)
                self.fields[prefix + name] = word
            elif kind == "z" and unreported:
                value = bytes(length)
            elif kind == "o" and unreported:
                value = b"\xff" * length
            elif kind == "h":
                self.fields[prefix + name] = value.hex()
            else:
                number_of = int.from_bytes(value, "little")
                self.fields[prefix + name] = hex(number_of) if kind == "f" else str(number_of)
            self.bytes[start + low : start + high + 1] = value
        return self

    def put(self, place, value, name=None, kind="n"):
        """Sets a field to a value."""
        low, high, _, _ = next(rows(f"{place} n x"))
        self.bytes[low : high + 1] = value.to_bytes(high - low + 1, "little")
        if name and kind == "h":
            self.fields[name] = bytes(self.bytes[low : high + 1]).hex()
        elif name:
            self.fields[name] = hex(value) if kind == "f" else str(value)
        return self


def pages():
    page = Page("identify-controller", 4096).fill(CONTROLLER, every=3)
    for state in (0, 1, 31):
        page.fill(POWER_STATE, 2048 + 32 * state, f"psd{state}.", every=5)
    yield page
    page = Page("identify-namespace", 4096).fill(NAMESPACE, every=3)
    for format in (0, 1, 63):
        page.fill("1:0 n ms | 2 n lbads | 3 n rp", 128 + 4 * format, f"lbaf{format}.")
    yield page
    page = Page("log-01", 256)
    for entry in (0, 1, 3):
        page.fill(ERROR, 64 * entry, f"entry{entry}.")
    yield page
    yield Page("log-02", 512).fill(SMART, every=2)
    page = Page("log-05", 4096)
    for opcode in (0x00, 0x06, 0xff):
        page.fill("3:0 f cse", 4 * opcode, f"acs{opcode}.")
        page.fill("3:0 f cse", 1024 + 4 * opcode, f"iocs{opcode}.")
    yield page
    page = Page("log-06", 564).fill("0 f cdsto | 1 n cdstc")
    for result in (0, 1, 19):
        page.fill(SELF_TEST_RESULT, 4 + 28 * result, f"result{result}.")
    yield page
    yield Page("log-07", 512).fill(TELEMETRY)
    yield Page("log-08", 512).fill(TELEMETRY)
    yield Page("log-09", 512).fill(ENDURANCE, every=2)
    yield Page("log-0d", 512).fill(EVENTS)
    yield Page("log-20", 80).fill(FDP_CONFIGURATIONS).put("2", 0, "ver")
    page = Page("log-21", 40).put("1:0", 4, "nruh")
    page.put("8", 1, "ruh0.ruha").put("24", 2, "ruh2.ruha")
    yield page
    yield Page("log-22", 64).fill("15:0 n hbmw | 31:16 n mbmw | 47:32 n mbe")
    page = Page("log-23", 4096).put("3:0", 2, "numfdpe")
    for event in (0, 1):
        page.fill(FDP_EVENT, 64 + 64 * event, f"event{event}.")
    yield page
    page = Page("log-25", 64 + 8 * 3).fill(POWER_MEASUREMENT).put("0", 0, "ver")
    for state in (0, 1, 2):
        page.fill("3:0 z phbc | 5:4 z phblt | 6 f phblts", 64 + 8 * state, f"bin{state}.")
    yield page
    yield Page("log-81", 512).fill(SANITIZE, every=4)
    guid = 0xAFD514C97C6F4F9CA4F2BFEA2810AFC5
    for version in (2, 3, 4, 5, 6):
        page = Page("log-c0", 512)
        for since, table in ((2, OCP_2), (3, OCP_3), (4, OCP_4), (5, OCP_5), (6, OCP_6)):
            if since <= version:
                page.fill(table, every=4)
        page.put("495:494", version, "SMART-30").put("511:496", guid, "SMART-31", "h")
        yield page
    guid = 0x85D45E58D4E643709C6C84D08CC07A92
    page = Page("log-c3", 512).fill(LATENCY, every=7).put("495:494", 1, "byte-494")
    yield page.put("511:496", guid, "byte-496", "h")
    yield Page("feature-02", 4).put("3:0", 0x43, "value", "f")
    yield Page("feature-06", 4).put("3:0", 1, "value", "f")
    page = Page("feature-0c", 256)
    for state in (0, 1, 31):
        page.fill("0 f itps | 3:1 n itpt", 8 * state, f"apst{state}.")
    yield page
    yield Page("feature-c5", 4096).fill(LATENCY_SETUP)


print("[")
print(",\n".join(
    json.dumps({"id": page.name, "bytes": page.bytes.hex(), "fields": page.fields})
    for page in pages()
))
print("]")
