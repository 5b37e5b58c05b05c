import { describe, expect, it } from "vitest";
import {
  bandAt,
  stackBands,
  coarseMean,
  percentileCurve,
  findExtreme,
  idleShares,
  alignByX,
  observedValues,
  nines,
  sliceHeatMap,
  sliceSeries,
  bandTops,
  totalRate,
} from "../src/fold";
import { rampIndex } from "../src/heat";
import { intervalIndex } from "../../src/scale";
import { sortRows } from "../src/table";
import { csv, fileName } from "../src/csv";
import type { SeriesAnswer } from "../src/types";

/** Four cells of half a second. */
const answer: SeriesAnswer = {
  from: 1e9,
  width_ns: 5e8,
  cells: 4,
  observed_ns: [5e8, 5e8, 5e8, 5e8],
  keys: [
    { id: "a", name: "a" },
    { id: "b", name: "b" },
    { id: "others", name: "others" },
  ],
  ios: [
    [1, 2, 3, 4],
    [10, 0, 10, 7],
    [0, 1, 0, 0],
  ],
  bytes: [
    [4096, 8192, 12288, 16384],
    [1e6, 0, 1e6, 7e5],
    [0, 512, 0, 0],
  ],
  rt_mean_ns: [100, 200, null, 400],
  rt_p50: [1, 2, null, 4],
  rt_p99: [1, 2, null, 4],
  rt_p999: [null, null, null, null],
  rt_max: [1, 2, null, 4],
  qd_mean: [1, 1, null, 1],
  qd_max: [2, 2, null, 2],
  busy: [0.25, 1, null, 0],
};

describe("bands", () => {
  it("are the largest first, per second, and the rest as one", () => {
    const [first, second, ...none] = stackBands(answer, "iops", 1);
    expect(first).toMatchObject({ name: "b", total: 27, rate: [20, 0, 20, 14] });
    expect(second).toMatchObject({ name: "others", total: 11, rate: [2, 6, 6, 8], others: true });
    expect(none).toEqual([]);
  });
  it("have the rate of the observed part of a cell, and none of a cell that was not observed", () => {
    const cut = { ...answer, observed_ns: [5e8, 1e8, null, 5e8] };
    expect(totalRate(cut, "iops")).toEqual([22, 30, 0, 22]);
    expect(observedValues(cut, totalRate(cut, "iops"))).toEqual([22, 30, null, 22]);
  });
  it("lose no I/O", () => {
    for (const most of [1, 2, 3]) {
      const tops = bandTops(stackBands(answer, "iops", most));
      expect(tops[tops.length - 1]).toEqual(totalRate(answer, "iops"));
    }
    expect(totalRate(answer, "iops")).toEqual([22, 6, 26, 22]);
    expect(totalRate(answer, "mb")[0]).toBeCloseTo((4096 + 1e6) / 1e6 / 0.5, 9);
  });
  it("are found under the pointer", () => {
    const tops = bandTops(stackBands(answer, "iops", 2));
    expect([0, 19, 21, 23].map((height) => bandAt(tops, 0, height))).toEqual([0, 0, 1, undefined]);
    expect(bandAt(tops, 1, 1)).toBe(1);
  });
});

describe("parts of stored answers", () => {
  it("hold the cells that overlap", () => {
    const part = sliceSeries(answer, 1.6e9, 2.4e9);
    expect(part).toMatchObject({
      from: 1.5e9,
      cells: 2,
      ios: [
        [2, 3],
        [0, 10],
        [1, 0],
      ],
      busy: [1, null],
    });
    expect(part.keys).toHaveLength(3);
    const heat = { from: 0, width_ns: 10, cells: 3, rows: 2, row_edges: [0, 1, 2], counts: [1, 2, 3, 4, 5, 6] };
    expect(sliceHeatMap(heat, 12, 19)).toMatchObject({ from: 10, cells: 1, counts: [3, 4] });
    expect(sliceHeatMap(heat, 500, 600).cells).toBe(1);
  });
});

describe("what is looked for", () => {
  it("is the part whose I/Os took longest, weighted, or that had most", () => {
    expect(findExtreme(answer, 5e8, "slowest")).toEqual({ from: 2.5e9, to: 3e9 });
    expect(findExtreme(answer, 5e8, "busiest")).toEqual({ from: 2e9, to: 2.5e9 });
    expect(findExtreme(answer, 1e9, "busiest")).toEqual({ from: 2e9, to: 3e9 });
    expect(findExtreme({ ...answer, ios: [] }, 1e9, "busiest")).toBeUndefined();
  });
  it("keeps means of cells, and merges them by their I/Os", () => {
    expect(coarseMean(answer)).toEqual([100, 200, null, 400]);
    const many: SeriesAnswer = {
      ...answer,
      cells: 600,
      ios: [Array.from({ length: 600 }, (_, at) => (at % 2 === 0 ? 1 : 3))],
      rt_mean_ns: Array.from({ length: 600 }, (_, at) => (at % 2 === 0 ? 100 : 200)),
    };
    expect(coarseMean(many)).toHaveLength(600);
    expect(coarseMean(many)[0]).toBe(175);
  });
  it("knows idle time, and what is not known", () => {
    expect(idleShares(answer.busy)).toEqual([0.75, 0, null, 1]);
  });
});

describe("lines over their own places", () => {
  it("are joined without invented values", () => {
    expect(
      alignByX([
        { x: [1, 3], y: [10, 30] },
        { x: [2, 3], y: [20, null] },
      ]),
    ).toEqual({
      x: [1, 2, 3],
      y: [
        [10, undefined, 30],
        [undefined, 20, null],
      ],
    });
  });
  it("stand on an axis of percentiles", () => {
    const { x, y } = percentileCurve([100, 200, 300, 400], [900, 90, 9, 1]);
    expect(x[0]).toBeCloseTo(1, 9);
    expect(x[1]).toBeCloseTo(2, 9);
    expect(y).toEqual([100, 200]);
    expect(nines(0.999)).toBeCloseTo(3, 9);
    expect(percentileCurve([1], [0])).toEqual({ x: [], y: [] });
  });
});

describe("heat", () => {
  it("has a color for every count but none", () => {
    expect([rampIndex(0, 9), rampIndex(1, 1), rampIndex(1, 100), rampIndex(100, 100)]).toEqual([
      undefined,
      255,
      20,
      255,
    ]);
  });
  it("finds the row of a value", () => {
    const edges = [0, 10, 100, 1000];
    expect([-5, 0, 9, 10, 99, 100, 5000].map((value) => intervalIndex(edges, value))).toEqual([0, 0, 0, 1, 1, 2, 2]);
  });
});

describe("files", () => {
  it("quote what must be quoted, and compute nothing", () => {
    expect(csv([["a,b", 'say "x"', "=1+1", null, 10007, Number.NaN]])).toBe('"a,b","say ""x""",\'=1+1,,10007,\r\n');
  });
  it("have names that every file system takes", () => {
    expect(fileName("/tmp/../x y<z>.parquet", "A: Map")).toBe("x-y-z-.parquet-A-Map");
    expect(fileName("///", "..")).toBe("view");
  });
  it("are sorted by value, missing last", () => {
    const column = { header: "", value: (row: number | null) => row };
    expect(sortRows([3, null, 10, 2], column, false)).toEqual([10, 3, 2, null]);
    expect(sortRows([3, null, 10, 2], column, true)).toEqual([2, 3, 10, null]);
  });
});
