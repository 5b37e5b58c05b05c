import { describe, expect, it } from "vitest";
import { alignCaptures, captureRange, shiftAnswer, alignmentOptions } from "../src/align";
import { toHash, defaultState, parseHash } from "../src/state";

const mark = (text: string, t: number): { text: string; t: number } => ({ text, t });
const A = {
  begin_unix_ns: 1_000_000_000_000,
  duration_ns: 10_000,
  marks: [mark("backup", 3_000), mark("backup", 900), mark("only a", 5)],
};
const B = { begin_unix_ns: 1_000_000_004_096, duration_ns: 20_000, marks: [mark("backup", 4_001)] };
const LATER = { ...B, begin_unix_ns: 2_000_000_000_000 };

describe("two captures on one axis", () => {
  it("stand by the clock where they share some time, else at their starts", () => {
    expect(alignCaptures([A, B], undefined)).toEqual({ align: "clock", shifts: [0, 4_096] });
    expect(alignCaptures([B, A], undefined)).toEqual({ align: "clock", shifts: [4_096, 0] });
    expect(alignCaptures([A, LATER], undefined)).toEqual({ align: "start", shifts: [0, 0] });
    expect(alignCaptures([A, LATER], "clock").align).toBe("start");
    expect(alignCaptures([A, { ...B, begin_unix_ns: null }], "clock").shifts).toEqual([0, 0]);
  });
  it("stand at the first mark of a name that both have", () => {
    expect(alignCaptures([A, B], "mark:backup")).toEqual({ align: "mark:backup", shifts: [3_101, 0] });
    expect(alignCaptures([A, B], "mark:only a").align).toBe("clock");
    expect(alignmentOptions([A, LATER]).map((way) => way.align)).toEqual(["start", "mark:backup"]);
  });
  it("know which part of the axis is theirs", () => {
    expect(captureRange(undefined, 7, 100)).toBeUndefined();
    expect(captureRange({ from: 0, to: 107 }, 7, 100)).toBeUndefined();
    expect(captureRange({ from: 10, to: 50 }, 7, 100)).toEqual({ from: 3, to: 43 });
    expect(captureRange({ from: 0, to: 7 }, 7, 100)).toBe("outside");
    expect(captureRange({ from: 107, to: 200 }, 7, 100)).toBe("outside");
    expect(shiftAnswer({ from: 3, cells: 1 }, 7)).toEqual({ from: 10, cells: 1 });
  });
  it("are in the address", () => {
    for (const align of ["start", "clock", "mark:a&b=c"]) {
      expect(parseHash(toHash({ ...defaultState(), align })).align).toBe(align);
    }
    expect(parseHash("#align=mark:").align).toBeUndefined();
    expect(parseHash("#align=javascript:x").align).toBeUndefined();
  });
});
