import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { amount, brief, count, date, lasting, moment, number, percent, span, timeTicks } from "../src/format";
import { COLORS, color, ramp } from "../src/palette";
import { Colors, readOutTips } from "../src/views";

/** 23:59:50.5 in a zone an hour east of Greenwich. */
const clock = { begin_ns: 1_795_129_190_500_000_000, zone_s: 3600 };

describe("numbers", () => {
  it("have units and separated thousands", () => {
    expect([count(10_007), count(1_234_567), count(0), count(null)]).toEqual(["10,007", "1,234,567", "0", "–"]);
    expect([span(999), span(280_600), span(20_443_888), span(1.5e9), span(undefined)]).toEqual(["999 ns", "280.6 µs", "20.44 ms", "1.5 s", "–"]);
    expect([amount(4096), amount(5e9), amount(0)]).toEqual(["4.096 kB", "5 GB", "0"]);
    expect([brief(950), brief(12_500), brief(2_000_000)]).toEqual(["950", "12.5k", "2M"]);
    expect([percent(0.2627), percent(null), number(null), number(12.345, "IOPS")]).toEqual(["26.3 %", "–", "–", "12.35 IOPS"]);
    expect([lasting(7500), lasting(200), lasting(12), lasting(90_000), lasting(0.25)]).toEqual(["2 h 05 min", "3 min 20 s", "12 s", "1 d 01 h", "250 ms"]);
  });
});

describe("the read-out of the hit map", () => {
  it("is as the tutorial prints it", () => {
    const streams = [{ stream: "SEQ 64K R", bytes: 34_406_400, bytes_there: 492 * 65_536, percent: 92.1 }];
    expect(readOutTips({ tolerance_percent: 0.1, streams })).toEqual([{ name: "SEQ 64K R", value: "0.030 GiB at 92.1 % ± 0.1" }]);
  });
});

describe("moments", () => {
  it("are told from the start or by the captured host's clock", () => {
    expect(moment(7200e9, undefined, 60e9)).toBe("2 h");
    expect(moment(1_234_500_000_000, undefined, 1e8)).toBe("1,234.5 s");
    expect(moment(0, clock, 1e8)).toBe("23:59:50.5");
    expect(moment(9.5e9, clock, 1e9)).toBe("00:00:00");
    expect([date(0, clock), date(9.5e9, clock)]).toEqual(["2026-11-19", "2026-11-20"]);
  });
  it("mark an axis at round times, at every zoom", () => {
    expect(timeTicks(0, 3600e9, undefined, 6).map(([, name]) => name)).toEqual(["0", "10 min", "20 min", "30 min", "40 min", "50 min", "1 h"]);
    expect(timeTicks(0, 20e9, clock, 4).map(([ns, name]) => [ns, name])).toEqual([[4.5e9, "23:59:55"], [9.5e9, "00:00:00"], [14.5e9, "00:00:05"], [19.5e9, "00:00:10"]]);
    expect(timeTicks(7.2e13, 7.2e13 + 1e6, undefined, 4).map(([, name]) => name)).toEqual(["72,000.0000 s", "72,000.0005 s", "72,000.0010 s"]);
    for (const wide of [1, 1e3, 1e6, 1e9, 1e12, 1e15]) {
      const found = timeTicks(1e13, 1e13 + wide, clock, 8);
      expect(found.length).toBeLessThanOrEqual(9);
      expect(new Set(found.map(([, name]) => name)).size).toBe(found.length);
    }
  });
});

describe("colors", () => {
  it("are those of the report", () => {
    const report = readFileSync("../crates/report/src/svg/paint.rs", "utf8");
    const listed = /const COLORS[^=]*=\s*\[([^;]*)\];/.exec(report)?.[1]?.match(/#[0-9a-f]{6}/g);
    expect([...COLORS]).toEqual(listed);
  });
  it("can be seen on dark paper, and get stronger with the count", () => {
    expect(color(4, true)).not.toBe("#000000");
    const light = ramp(false).map(([r, g, b]) => r * 0.3 + g * 0.59 + b * 0.11);
    const dark = ramp(true).map(([r, g, b]) => r * 0.3 + g * 0.59 + b * 0.11);
    expect(light[0]).toBeGreaterThan(light[255] ?? 0);
    expect(dark[0]).toBeLessThan(dark[255] ?? 0);
  });
  it("stay with their names", () => {
    const colors = new Colors();
    expect(colors.of(["a", "b", "c"])).toEqual([0, 1, 2]);
    expect(colors.of(["c", "d", "a"])).toEqual([2, 1, 0]);
    expect(new Set(colors.of(["a", "b", "c", "d", "e"])).size).toBe(5);
  });
});
