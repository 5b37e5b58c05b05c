/** Alignment of two captures on one time axis, as `trace compare --align` does it. Does not use the DOM. */
import { clampRange } from "./state";
import type { HeatAnswer, Item, SeriesAnswer } from "./types";

/** One of `start`, `clock` and `mark:NAME`. */
export type Align = string;

export interface AlignmentOption {
  align: Align;
  text: string;
}

export interface Alignment {
  align: Align;
  /** Offset added to the times of each capture; at least one is 0, none is negative. */
  shifts: number[];
}

type Timed = Pick<Item, "begin_unix_ns" | "duration_ns" | "marks">;

const START: AlignmentOption = { align: "start", text: "Align at the start" };

/** Returns the possible alignments; by the clock only if all captures overlap in time. */
export function alignmentOptions(items: readonly Timed[]): AlignmentOption[] {
  const first = items[0]?.marks ?? [];
  const sharedMarks = [...new Set(first.map((mark) => mark.text))].filter((name) =>
    items.every((item) => firstMark(item, name) !== undefined),
  );
  return [
    START,
    ...(overlapInTime(items) ? [{ align: "clock", text: "Align by the clock" }] : []),
    ...sharedMarks.map((name) => ({ align: `mark:${name}`, text: `Align at the mark ${name}` })),
  ];
}

/** Returns the requested alignment if it is possible; otherwise by the clock if they overlap, or at the start. */
export function alignCaptures(items: readonly Timed[], requested: Align | undefined): Alignment {
  const available = alignmentOptions(items).map((way) => way.align);
  const align =
    requested !== undefined && available.includes(requested)
      ? requested
      : available.includes("clock")
        ? "clock"
        : "start";
  const references = items.map((item) => referenceTime(item, align));
  // No offset may be negative: the capture whose mark comes last, or that began first, is not shifted.
  const base = align === "clock" ? Math.min(...references) : Math.max(...references);
  return { align, shifts: references.map((zero) => Math.round(align === "clock" ? zero - base : base - zero)) };
}

function referenceTime(item: Timed, align: Align): number {
  if (align === "clock") return item.begin_unix_ns ?? 0;
  return align.startsWith("mark:") ? (firstMark(item, align.slice(5)) ?? 0) : 0;
}

/** Returns the time of the first mark with a name. */
function firstMark(item: Timed, name: string): number | undefined {
  const times = (item.marks ?? []).filter((mark) => mark.text === name).map((mark) => mark.t);
  return times.length > 0 ? Math.min(...times) : undefined;
}

function overlapInTime(items: readonly Timed[]): boolean {
  const begins = items.map((item) => item.begin_unix_ns);
  if (begins.some((begin) => typeof begin !== "number")) return false;
  const starts = begins as number[];
  const ends = items.map((item, index) => (starts[index] ?? 0) + (item.duration_ns ?? 0));
  return items.length > 1 && Math.max(...starts) < Math.min(...ends);
}

/** Converts a range of the axis to a capture's own time: undefined for all of it, "outside" for none. */
export function captureRange(
  range: { from: number; to: number } | undefined,
  shift: number,
  duration: number,
): { from: number; to: number } | undefined | "outside" {
  if (!range) return undefined;
  const [from, to] = [Math.max(0, Math.floor(range.from) - shift), Math.min(duration, Math.ceil(range.to) - shift)];
  return to > from ? clampRange(from, to, duration) : "outside";
}

/** Shifts an answer from a capture's own time to the axis. */
export function shiftAnswer<T extends { from: number }>(answer: T, shift: number): T {
  return shift === 0 ? answer : { ...answer, from: answer.from + shift };
}

/** Returns an answer without values, for a range outside of a capture. */
export function emptySeries(range: { from: number; to: number }): SeriesAnswer {
  const none = [null];
  return {
    from: range.from,
    width_ns: Math.max(1, range.to - range.from),
    cells: 1,
    observed_ns: none,
    keys: [],
    ios: [],
    bytes: [],
    rt_mean_ns: none,
    rt_p50: none,
    rt_p99: none,
    rt_p999: none,
    rt_max: none,
    qd_mean: none,
    qd_max: none,
    busy: none,
  };
}

export function emptyHeatMap(range: { from: number; to: number }): HeatAnswer {
  return {
    from: range.from,
    width_ns: Math.max(1, range.to - range.from),
    cells: 1,
    rows: 0,
    row_edges: [],
    counts: [],
  };
}
