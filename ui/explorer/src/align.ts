/** How two captures stand on one time axis, as `trace compare --align`. No document here. */
import { inside } from "./state";
import type { HeatAnswer, Item, SeriesAnswer } from "./types";

/** `start`, `clock` or `mark:NAME`. */
export type Align = string;

export interface Way {
  align: Align;
  text: string;
}

export interface Aligned {
  align: Align;
  /** What is added to each capture's own times; at least one is 0, none is negative. */
  shifts: number[];
}

type Timed = Pick<Item, "begin_unix_ns" | "duration_ns" | "marks">;

const START: Way = { align: "start", text: "Align at the start" };

/** The ways that these captures allow: by clock only where they share some time. */
export function ways(items: readonly Timed[]): Way[] {
  const first = items[0]?.marks ?? [];
  const shared = [...new Set(first.map((mark) => mark.text))].filter((name) => items.every((item) => markOf(item, name) !== undefined));
  return [
    START,
    ...(overlap(items) ? [{ align: "clock", text: "Align by the clock" }] : []),
    ...shared.map((name) => ({ align: `mark:${name}`, text: `Align at the mark ${name}` })),
  ];
}

/** The way that was asked for; else the clock where they share some time, else the start. */
export function aligned(items: readonly Timed[], asked: Align | undefined): Aligned {
  const found = ways(items).map((way) => way.align);
  const align = asked !== undefined && found.includes(asked) ? asked : found.includes("clock") ? "clock" : "start";
  const zeros = items.map((item) => zeroOf(item, align));
  // What lies the latest stays where it is by its mark, what began the earliest by the clock.
  const base = align === "clock" ? Math.min(...zeros) : Math.max(...zeros);
  return { align, shifts: zeros.map((zero) => Math.round(align === "clock" ? zero - base : base - zero)) };
}

function zeroOf(item: Timed, align: Align): number {
  if (align === "clock") return item.begin_unix_ns ?? 0;
  return align.startsWith("mark:") ? (markOf(item, align.slice(5)) ?? 0) : 0;
}

/** The first mark of a name. */
function markOf(item: Timed, name: string): number | undefined {
  const times = (item.marks ?? []).filter((mark) => mark.text === name).map((mark) => mark.t);
  return times.length > 0 ? Math.min(...times) : undefined;
}

function overlap(items: readonly Timed[]): boolean {
  const begins = items.map((item) => item.begin_unix_ns);
  if (begins.some((begin) => typeof begin !== "number")) return false;
  const known = begins as number[];
  const ends = items.map((item, at) => (known[at] ?? 0) + (item.duration_ns ?? 0));
  return items.length > 1 && Math.max(...known) < Math.min(...ends);
}

/** What a part of the axis is of a capture's own time: all of it, a part, or nothing. */
export function ownPart(part: { from: number; to: number } | undefined, shift: number, duration: number): { from: number; to: number } | undefined | "outside" {
  if (!part) return undefined;
  const [from, to] = [Math.max(0, Math.floor(part.from) - shift), Math.min(duration, Math.ceil(part.to) - shift)];
  return to > from ? inside(from, to, duration) : "outside";
}

/** An answer in a capture's own time, put on the axis. */
export function placed<T extends { from: number }>(answer: T, shift: number): T {
  return shift === 0 ? answer : { ...answer, from: answer.from + shift };
}

/** What there is to draw where a capture has no time. */
export function noSeries(part: { from: number; to: number }): SeriesAnswer {
  const none = [null];
  return {
    from: part.from, width_ns: Math.max(1, part.to - part.from), cells: 1, observed_ns: none, keys: [], ios: [], bytes: [],
    rt_mean_ns: none, rt_p50: none, rt_p99: none, rt_p999: none, rt_max: none, qd_mean: none, qd_max: none, busy: none,
  };
}

export function noHeat(part: { from: number; to: number }): HeatAnswer {
  return { from: part.from, width_ns: Math.max(1, part.to - part.from), cells: 1, rows: 0, row_edges: [], counts: [] };
}
