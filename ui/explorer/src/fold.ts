/** Arithmetic on answers: what is stacked, what a part of a stored answer holds. No document here. */
import type { HeatAnswer, SeriesAnswer, Values } from "./types";

export interface Band {
  id: string;
  name: string;
  /** Of each cell, per second. */
  rate: number[];
  /** I/Os or bytes of all cells. */
  total: number;
  others: boolean;
}

/** What makes a rate of the I/Os or bytes of each cell: 0 where too little of it was observed. */
function factors(answer: SeriesAnswer, measure: "iops" | "mb"): number[] {
  const unit = measure === "iops" ? 1 : 1e-6;
  return answer.observed_ns.map((ns) => (typeof ns === "number" && ns > 0 ? unit / (ns * 1e-9) : 0));
}

/** Values of cells, with gaps where too little was observed for a rate. */
export function known(answer: SeriesAnswer, values: readonly number[]): Values {
  return values.map((value, cell) => (typeof answer.observed_ns[cell] === "number" ? value : null));
}

/** Bands of a stacked drawing, the largest first; the rest as one. */
export function bands(answer: SeriesAnswer, measure: "iops" | "mb", most: number): Band[] {
  const values = measure === "iops" ? answer.ios : answer.bytes;
  const per = factors(answer, measure);
  const all = answer.keys.map((key, at): Band => {
    const counts = values[at] ?? [];
    const total = counts.reduce((sum, one) => sum + one, 0);
    return { id: String(key.id), name: key.name, rate: counts.map((one, cell) => one * (per[cell] ?? 0)), total, others: key.id === "others" };
  });
  const named = all.filter((band) => band.total > 0 && !band.others).sort((a, b) => b.total - a.total);
  const kept = named.slice(0, most);
  const rest = [...named.slice(most), ...all.filter((band) => band.others && band.total > 0)];
  if (rest.length === 0) return kept;
  const one = rest[0];
  if (rest.length === 1 && one && !one.others && kept.length < most + 1) return [...kept, one];
  return [...kept, merged(rest, answer.cells)];
}

function merged(rest: Band[], cells: number): Band {
  const rate = Array.from({ length: cells }, (_, cell) => rest.reduce((sum, band) => sum + (band.rate[cell] ?? 0), 0));
  return { id: "others", name: "others", rate, total: rest.reduce((sum, band) => sum + band.total, 0), others: true };
}

/** The upper edges of bands that stand on one another. */
export function stacked(list: readonly Band[]): number[][] {
  const tops: number[][] = [];
  list.forEach((band, at) => {
    const below = tops[at - 1];
    tops.push(band.rate.map((value, cell) => value + (below?.[cell] ?? 0)));
  });
  return tops;
}

/** Which band lies at a height of a cell. */
export function bandAt(tops: readonly number[][], cell: number, height: number): number | undefined {
  const found = tops.findIndex((top) => height <= (top[cell] ?? 0));
  return found < 0 || height < 0 ? undefined : found;
}

/** I/Os, per second, of all keys. */
export function totalRate(answer: SeriesAnswer, measure: "iops" | "mb"): number[] {
  const values = measure === "iops" ? answer.ios : answer.bytes;
  const per = factors(answer, measure);
  return Array.from({ length: answer.cells }, (_, cell) => values.reduce((sum, key) => sum + (key[cell] ?? 0), 0) * (per[cell] ?? 0));
}

/** Cells that a line over bands is drawn with at most; more would cover what lies beneath. */
const COARSE = 300;

/** The mean response time over some cells at a time, weighted by their I/Os, for each of these cells. */
export function coarseMean(answer: SeriesAnswer): Values {
  const every = Math.max(1, Math.ceil(answer.cells / COARSE));
  const out: Values = [];
  for (let first = 0; first < answer.cells; first += every) {
    let [counted, weighed] = [0, 0];
    const last = Math.min(answer.cells, first + every);
    for (let cell = first; cell < last; cell += 1) {
      const mean = answer.rt_mean_ns[cell];
      const ios = answer.ios.reduce((sum, key) => sum + (key[cell] ?? 0), 0);
      if (mean === null || mean === undefined) continue;
      counted += ios;
      weighed += ios * mean;
    }
    for (let cell = first; cell < last; cell += 1) out.push(counted > 0 ? weighed / counted : null);
  }
  return out;
}

/** Where the cells begin, and where the last one ends. */
export function cellEdges(answer: { from: number; width_ns: number; cells: number }): number[] {
  return Array.from({ length: answer.cells + 1 }, (_, cell) => answer.from + cell * answer.width_ns);
}

/** A step drawing needs the last value twice. */
export function closed<T>(values: readonly T[]): T[] {
  const last = values[values.length - 1];
  return last === undefined ? [] : [...values, last];
}

/** The greatest of some values; 0 of none. */
export function greatest(values: Values): number {
  return values.reduce<number>((most, value) => (typeof value === "number" && value > most ? value : most), 0);
}

export function idle(busy: Values): Values {
  return busy.map((share) => (typeof share === "number" ? Math.max(0, 1 - share) : null));
}

interface Cells {
  from: number;
  width_ns: number;
  cells: number;
}

function cut(answer: Cells, from: number, to: number): [number, number] {
  const first = Math.min(answer.cells - 1, Math.max(0, Math.floor((from - answer.from) / answer.width_ns)));
  return [first, Math.max(first + 1, Math.min(answer.cells, Math.ceil((to - answer.from) / answer.width_ns)))];
}

/** The stored cells of a part, where nobody can count it again. */
export function partOfSeries(answer: SeriesAnswer, from: number, to: number): SeriesAnswer {
  const [first, last] = cut(answer, from, to);
  const out: Record<string, unknown> = { ...answer, from: answer.from + first * answer.width_ns, cells: last - first };
  for (const [key, value] of Object.entries(answer)) {
    if (key === "ios" || key === "bytes") out[key] = (value as number[][]).map((row) => row.slice(first, last));
    else if (key !== "keys" && Array.isArray(value)) out[key] = (value as unknown[]).slice(first, last);
  }
  return out as unknown as SeriesAnswer;
}

export function partOfHeat(answer: HeatAnswer, from: number, to: number): HeatAnswer {
  const [first, last] = cut(answer, from, to);
  const counts = answer.counts.slice(first * answer.rows, last * answer.rows);
  return { ...answer, from: answer.from + first * answer.width_ns, cells: last - first, counts };
}

/** Several lines over their own places, as one table: places in order, values or nothing. */
export function joined(lines: readonly { x: readonly number[]; y: Values }[]): { x: number[]; y: Values[] } {
  const x = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const at = new Map(x.map((value, index) => [value, index]));
  const y = lines.map((line) => {
    const out: Values = new Array<number | undefined>(x.length).fill(undefined);
    line.x.forEach((value, index) => (out[at.get(value) ?? 0] = line.y[index] ?? null));
    return out;
  });
  return { x, y };
}

/** I/Os that must lie beyond a percentile. */
const BEYOND = 10;

/** The longest response times of a histogram's buckets, over their place on an axis of percentiles. */
export function exceedance(upper_ns: readonly number[], counts: readonly number[]): { x: number[]; y: number[] } {
  const total = counts.reduce((sum, one) => sum + one, 0);
  const [x, y]: [number[], number[]] = [[], []];
  let below = 0;
  counts.forEach((one, at) => {
    below += one;
    const edge = upper_ns[at];
    // A percentile has a value where at least ten I/Os lie beyond it.
    if (one > 0 && total - below >= BEYOND && edge !== undefined) {
      x.push(nines(below / total));
      y.push(edge);
    }
  });
  return { x, y };
}

/** The place of a share on an axis of percentiles: 90 % at 1, 99 % at 2. */
export function nines(share: number): number {
  return -Math.log10(1 - share);
}

/** The part of so many nanoseconds in which I/Os took longest on average, or came most; undefined without any. */
export function extreme(answer: SeriesAnswer, span_ns: number, by: "slowest" | "busiest"): { from: number; to: number } | undefined {
  const width = Math.max(1, Math.min(answer.cells, Math.round(span_ns / answer.width_ns)));
  const ios = Array.from({ length: answer.cells }, (_, cell) => answer.ios.reduce((sum, key) => sum + (key[cell] ?? 0), 0));
  let best: number | undefined;
  let found = -1;
  for (let first = 0; first + width <= answer.cells; first += 1) {
    let [counted, weighed] = [0, 0];
    for (let cell = first; cell < first + width; cell += 1) {
      counted += ios[cell] ?? 0;
      weighed += (ios[cell] ?? 0) * (answer.rt_mean_ns[cell] ?? 0);
    }
    const value = by === "busiest" ? counted : counted > 0 ? weighed / counted : 0;
    if (value > found && counted > 0) [best, found] = [first, value];
  }
  if (best === undefined) return undefined;
  const from = answer.from + best * answer.width_ns;
  return { from, to: from + width * answer.width_ns };
}
