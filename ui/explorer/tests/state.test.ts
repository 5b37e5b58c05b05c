import { describe, expect, it } from "vitest";
import { toHash, defaultState, clampRange, noFilters, parseHash, toggleFilter, removeFilter } from "../src/state";
import { captureParams, apiUrl, wholeCaptureQuery } from "../src/query";
import { rangeAfterKey, shiftRange } from "../src/overview";

describe("the address", () => {
  it("gives back every state that it holds", () => {
    const state = {
      ...defaultState(),
      n: 1,
      filters: { ...noFilters(), stream: ["RND 4K W"], process: ["<script>alert(1)</script>"] },
      versus: { n: 0, filters: { ...noFilters(), op: ["read"] } },
      runs: [2, 3],
      from: 7,
      to: 10_007,
      measure: "mb" as const,
      by: "process" as const,
      time: "start" as const,
      table: "hot",
      hits: "read" as const,
      group: "name" as const,
      step: 13,
    };
    expect(parseHash(toHash(state))).toEqual(state);
    expect(parseHash(toHash(defaultState()))).toEqual(defaultState());
  });
  it("leaves out what it does not understand", () => {
    const hostile = parseHash("#n=-1&from=9&to=3&measure=rm&by=__proto__&step=1e9&vs=abc&op=&with=x");
    expect(hostile).toEqual(defaultState());
    expect(parseHash("#%%%")).toEqual(defaultState());
    expect(parseHash(`#stream=${"x".repeat(301)}`).filters.stream).toEqual([]);
  });
  it("sorts what it asks, so that an exported page finds it", () => {
    const side = { n: 0, filters: { ...noFilters(), op: ["write", "read"], stream: ["RND 4K W"] } };
    expect(apiUrl("series", { ...captureParams(side, 3, 10_007), cells: 1024, by: "stream" })).toBe(
      "api/series?by=stream&c=0&cells=1024&from=3&op=read&op=write&stream=RND%204K%20W&to=10007",
    );
    expect(apiUrl("meta", {})).toBe("api/meta");
  });
  it("finds the whole of a part", () => {
    expect(wholeCaptureQuery("api/heat?c=0&from=5&kind=rt&to=9")).toEqual({
      whole: "api/heat?c=0&kind=rt",
      from: 5,
      to: 9,
    });
    expect(wholeCaptureQuery("api/heat?c=0&kind=rt")).toBeUndefined();
  });
});

describe("filters", () => {
  it("are set by a click and removed by the next", () => {
    const set = toggleFilter(noFilters(), "pid", "7");
    expect(set.pid).toEqual(["7"]);
    expect(toggleFilter(set, "pid", "7").pid).toEqual([]);
    expect(toggleFilter(set, "process", "postgres")).toMatchObject({ pid: [], process: ["postgres"] });
    expect(removeFilter(set, "pid", "7").pid).toEqual([]);
  });
});

describe("the brush", () => {
  it("stays inside the capture", () => {
    expect(clampRange(-5, 50, 100)).toEqual({ from: 0, to: 50 });
    expect(clampRange(70, 30, 100)).toEqual({ from: 30, to: 70 });
    expect(clampRange(-5, 200, 100)).toBeUndefined();
    expect(shiftRange(10, 30, 500, 100)).toEqual({ from: 80, to: 100 });
    expect(shiftRange(10, 30, -500, 100)).toEqual({ from: 0, to: 20 });
  });
  it("answers to keys", () => {
    expect(rangeAfterKey("ArrowRight", 0, 40_000, 100_000)).toEqual({ from: 10_000, to: 50_000 });
    expect(rangeAfterKey("+", 0, 100_000, 100_000)).toEqual({ from: 25_000, to: 75_000 });
    expect(rangeAfterKey("-", 25_000, 75_000, 100_000)).toEqual({ from: 0, to: 100_000 });
    expect(rangeAfterKey("-", 0, 40_000, 100_000)).toEqual({ from: 0, to: 80_000 });
    expect(rangeAfterKey("Home", 3, 4, 100_000)).toEqual({ from: 0, to: 100_000 });
    expect(rangeAfterKey("x", 0, 1, 2)).toBeUndefined();
  });
});
