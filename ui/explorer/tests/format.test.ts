import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  formatBytes,
  formatAxisValue,
  formatCount,
  formatDate,
  formatSeconds,
  formatTime,
  formatNumber,
  formatPercent,
  formatNs,
  timeTicks,
} from "../src/format";
import { COLORS, seriesColor, heatRamp } from "../src/palette";
import { bandColors, ColorAssignment, readOutRows } from "../src/views";

/** 23:59:50.5 in a zone an hour east of Greenwich. */
const clock = { begin_ns: 1_795_129_190_500_000_000, zone_s: 3600 };

describe("numbers", () => {
  it("have units and separated thousands", () => {
    expect([formatCount(10_007), formatCount(1_234_567), formatCount(0), formatCount(null)]).toEqual([
      "10,007",
      "1,234,567",
      "0",
      "–",
    ]);
    expect([formatNs(999), formatNs(280_600), formatNs(20_443_888), formatNs(1.5e9), formatNs(undefined)]).toEqual([
      "999 ns",
      "280.6 µs",
      "20.44 ms",
      "1.5 s",
      "–",
    ]);
    expect([formatBytes(4096), formatBytes(5e9), formatBytes(0)]).toEqual(["4.096 kB", "5 GB", "0"]);
    expect([formatAxisValue(950), formatAxisValue(12_500), formatAxisValue(2_000_000)]).toEqual(["950", "12.5k", "2M"]);
    expect([formatPercent(0.2627), formatPercent(null), formatNumber(null), formatNumber(12.345, "IOPS")]).toEqual([
      "26.3 %",
      "–",
      "–",
      "12.35 IOPS",
    ]);
    expect([
      formatSeconds(7500),
      formatSeconds(200),
      formatSeconds(12),
      formatSeconds(90_000),
      formatSeconds(0.25),
    ]).toEqual(["2 h 05 min", "3 min 20 s", "12 s", "1 d 01 h", "250 ms"]);
  });
});

describe("the read-out of the hit map", () => {
  it("is as the tutorial prints it", () => {
    const streams = [{ stream: "SEQ 64K R", bytes: 34_406_400, bytes_there: 492 * 65_536, percent: 92.1 }];
    expect(readOutRows({ tolerance_percent: 0.1, streams })).toEqual([
      { name: "SEQ 64K R", value: "0.030 GiB at 92.1 % ± 0.1" },
    ]);
  });
});

describe("moments", () => {
  it("are told from the start or by the captured host's clock", () => {
    expect(formatTime(7200e9, undefined, 60e9)).toBe("2 h");
    expect(formatTime(1_234_500_000_000, undefined, 1e8)).toBe("1,234.5 s");
    expect(formatTime(0, clock, 1e8)).toBe("23:59:50.5");
    expect(formatTime(9.5e9, clock, 1e9)).toBe("00:00:00");
    expect([formatDate(0, clock), formatDate(9.5e9, clock)]).toEqual(["2026-11-19", "2026-11-20"]);
  });
  it("mark an axis at round times, at every zoom", () => {
    expect(timeTicks(0, 3600e9, undefined, 6).map(([, name]) => name)).toEqual([
      "0",
      "10 min",
      "20 min",
      "30 min",
      "40 min",
      "50 min",
      "1 h",
    ]);
    expect(timeTicks(0, 20e9, clock, 4).map(([ns, name]) => [ns, name])).toEqual([
      [4.5e9, "23:59:55"],
      [9.5e9, "00:00:00"],
      [14.5e9, "00:00:05"],
      [19.5e9, "00:00:10"],
    ]);
    expect(timeTicks(7.2e13, 7.2e13 + 1e6, undefined, 4).map(([, name]) => name)).toEqual([
      "72,000.0000 s",
      "72,000.0005 s",
      "72,000.0010 s",
    ]);
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
    expect(seriesColor(4, true)).not.toBe("#000000");
    const light = heatRamp(false).map(([r, g, b]) => r * 0.3 + g * 0.59 + b * 0.11);
    const dark = heatRamp(true).map(([r, g, b]) => r * 0.3 + g * 0.59 + b * 0.11);
    expect(light[0]).toBeGreaterThan(light[255] ?? 0);
    expect(dark[0]).toBeLessThan(dark[255] ?? 0);
  });
  it("differ, for one band more than the palette has", () => {
    const bands = Array.from({ length: 9 }, (_, index) => ({
      id: `stream ${index}`,
      name: `stream ${index}`,
      rate: [1],
      total: 1,
      others: false,
    }));
    const assignment = new ColorAssignment();
    const colors = bandColors(bands, assignment, false);
    expect(new Set(colors).size).toBe(9);
    // In another order, a band that had a color of its own keeps it.
    const turned = bandColors([...bands.slice(1), ...bands.slice(0, 1)], assignment, false);
    expect(turned.slice(0, 7)).toEqual(colors.slice(1, 8));
    expect(new Set(turned).size).toBe(9);
  });
  it("stay with their names", () => {
    const colors = new ColorAssignment();
    expect(colors.assign(["a", "b", "c"])).toEqual([0, 1, 2]);
    expect(colors.assign(["c", "d", "a"])).toEqual([2, 1, 0]);
    expect(new Set(colors.assign(["a", "b", "c", "d", "e"])).size).toBe(5);
  });
});
