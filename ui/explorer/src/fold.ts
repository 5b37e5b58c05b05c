/** Arithmetic on the program's answers. Does not use the DOM. */
import type { HeatAnswer, SeriesAnswer, Values } from "./types";

export interface Band {
  id: string;
  name: string;
  /** Rate of each cell, per second. */
  rate: number[];
  /** Sum over all cells, in I/Os or bytes. */
  total: number;
  others: boolean;
}

/** Returns the factor from sum to rate for each cell; 0 if too little of the cell was observed. */
function rateFactors(answer: SeriesAnswer, measure: "iops" | "mb"): number[] {
  const unit = measure === "iops" ? 1 : 1e-6;
  return answer.observed_ns.map((ns) => (typeof ns === "number" && ns > 0 ? unit / (ns * 1e-9) : 0));
}

/** Replaces the values of cells that were observed too briefly for a rate by null. */
export function observedValues(answer: SeriesAnswer, values: readonly number[]): Values {
  return values.map((value, cell) => (typeof answer.observed_ns[cell] === "number" ? value : null));
}

/** Returns the bands of a stacked chart, largest first. Bands beyond `maxBands` are merged into one. */
export function stackBands(answer: SeriesAnswer, measure: "iops" | "mb", maxBands: number): Band[] {
  const values = measure === "iops" ? answer.ios : answer.bytes;
  const factors = rateFactors(answer, measure);
  const all = answer.keys.map((key, index): Band => {
    const counts = values[index] ?? [];
    const total = counts.reduce((sum, value) => sum + value, 0);
    return {
      id: String(key.id),
      name: key.name,
      rate: counts.map((value, cell) => value * (factors[cell] ?? 0)),
      total,
      others: key.id === "others",
    };
  });
  const named = all.filter((band) => band.total > 0 && !band.others).sort((a, b) => b.total - a.total);
  const kept = named.slice(0, maxBands);
  const rest = [...named.slice(maxBands), ...all.filter((band) => band.others && band.total > 0)];
  if (rest.length === 0) return kept;
  const [only] = rest;
  if (rest.length === 1 && only && !only.others) return [...kept, only];
  return [...kept, mergeBands(rest, answer.cells)];
}

function mergeBands(bands: Band[], cells: number): Band {
  const rate = Array.from({ length: cells }, (_, cell) => bands.reduce((sum, band) => sum + (band.rate[cell] ?? 0), 0));
  return { id: "others", name: "others", rate, total: bands.reduce((sum, band) => sum + band.total, 0), others: true };
}

/** Returns the upper edge of each stacked band. */
export function bandTops(bands: readonly Band[]): number[][] {
  const tops: number[][] = [];
  bands.forEach((band, index) => {
    const below = tops[index - 1];
    tops.push(band.rate.map((value, cell) => value + (below?.[cell] ?? 0)));
  });
  return tops;
}

/** Returns the index of the band at a height of a cell. */
export function bandAt(tops: readonly number[][], cell: number, height: number): number | undefined {
  const index = tops.findIndex((top) => height <= (top[cell] ?? 0));
  return index < 0 || height < 0 ? undefined : index;
}

/** Returns the rate of each cell over all keys, in I/Os or MB per second. */
export function totalRate(answer: SeriesAnswer, measure: "iops" | "mb"): number[] {
  const values = measure === "iops" ? answer.ios : answer.bytes;
  const factors = rateFactors(answer, measure);
  return Array.from(
    { length: answer.cells },
    (_, cell) => values.reduce((sum, key) => sum + (key[cell] ?? 0), 0) * (factors[cell] ?? 0),
  );
}

/** Maximum number of steps of a line over bands; more would cover the bands. */
const COARSE_CELLS = 300;

/** Returns mean response times per cell, averaged over groups of cells with their I/Os as weights. */
export function coarseMean(answer: SeriesAnswer): Values {
  const group = Math.max(1, Math.ceil(answer.cells / COARSE_CELLS));
  const means: Values = [];
  for (let first = 0; first < answer.cells; first += group) {
    let [ioSum, timeSum] = [0, 0];
    const last = Math.min(answer.cells, first + group);
    for (let cell = first; cell < last; cell += 1) {
      const mean = answer.rt_mean_ns[cell];
      const ios = answer.ios.reduce((sum, key) => sum + (key[cell] ?? 0), 0);
      if (mean === null || mean === undefined) continue;
      ioSum += ios;
      timeSum += ios * mean;
    }
    for (let cell = first; cell < last; cell += 1) means.push(ioSum > 0 ? timeSum / ioSum : null);
  }
  return means;
}

/** Returns the start of each cell and the end of the last one. */
export function cellEdges(answer: { from: number; width_ns: number; cells: number }): number[] {
  return Array.from({ length: answer.cells + 1 }, (_, cell) => answer.from + cell * answer.width_ns);
}

/** Repeats the last value, as a stepped line needs it. */
export function repeatLast<T>(values: readonly T[]): T[] {
  const last = values[values.length - 1];
  return last === undefined ? [] : [...values, last];
}

/** Returns the maximum; 0 if there is no value. */
export function maxOf(values: Values): number {
  return values.reduce<number>((max, value) => (typeof value === "number" && value > max ? value : max), 0);
}

export function idleShares(busy: Values): Values {
  return busy.map((share) => (typeof share === "number" ? Math.max(0, 1 - share) : null));
}

interface Cells {
  from: number;
  width_ns: number;
  cells: number;
}

function cellRange(answer: Cells, from: number, to: number): [number, number] {
  const first = Math.min(answer.cells - 1, Math.max(0, Math.floor((from - answer.from) / answer.width_ns)));
  return [first, Math.max(first + 1, Math.min(answer.cells, Math.ceil((to - answer.from) / answer.width_ns)))];
}

/** Returns the cells of a range. Exported pages cannot ask for a finer answer. */
export function sliceSeries(answer: SeriesAnswer, from: number, to: number): SeriesAnswer {
  const [first, last] = cellRange(answer, from, to);
  const out: Record<string, unknown> = { ...answer, from: answer.from + first * answer.width_ns, cells: last - first };
  for (const [key, value] of Object.entries(answer)) {
    if (key === "ios" || key === "bytes") out[key] = (value as number[][]).map((row) => row.slice(first, last));
    else if (key !== "keys" && Array.isArray(value)) out[key] = (value as unknown[]).slice(first, last);
  }
  return out as unknown as SeriesAnswer;
}

export function sliceHeatMap(answer: HeatAnswer, from: number, to: number): HeatAnswer {
  const [first, last] = cellRange(answer, from, to);
  const counts = answer.counts.slice(first * answer.rows, last * answer.rows);
  return { ...answer, from: answer.from + first * answer.width_ns, cells: last - first, counts };
}

/** Merges lines into one table with ascending x; undefined where a line has no point. */
export function alignByX(lines: readonly { x: readonly number[]; y: Values }[]): { x: number[]; y: Values[] } {
  const x = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const rowOfX = new Map(x.map((value, index) => [value, index]));
  const y = lines.map((line) => {
    const out: Values = new Array<number | undefined>(x.length).fill(undefined);
    line.x.forEach((value, index) => (out[rowOfX.get(value) ?? 0] = line.y[index] ?? null));
    return out;
  });
  return { x, y };
}

/** I/Os that must lie beyond a percentile for it to be shown. */
const MIN_BEYOND = 10;

/** Returns the upper edges of a histogram's buckets over their positions on a percentile axis. */
export function percentileCurve(upper_ns: readonly number[], counts: readonly number[]): { x: number[]; y: number[] } {
  const total = counts.reduce((sum, value) => sum + value, 0);
  const [x, y]: [number[], number[]] = [[], []];
  let below = 0;
  counts.forEach((value, index) => {
    below += value;
    const edge = upper_ns[index];
    if (value > 0 && total - below >= MIN_BEYOND && edge !== undefined) {
      x.push(nines(below / total));
      y.push(edge);
    }
  });
  return { x, y };
}

/** Returns the position of a share on a percentile axis: 1 for 90 %, 2 for 99 %. */
export function nines(share: number): number {
  return -Math.log10(1 - share);
}

/** Finds the range of a given length with the longest mean response time or the most I/Os; undefined without I/Os. */
export function findExtreme(
  answer: SeriesAnswer,
  span_ns: number,
  by: "slowest" | "busiest",
): { from: number; to: number } | undefined {
  const windowCells = Math.max(1, Math.min(answer.cells, Math.round(span_ns / answer.width_ns)));
  const ios = Array.from({ length: answer.cells }, (_, cell) =>
    answer.ios.reduce((sum, key) => sum + (key[cell] ?? 0), 0),
  );
  let best: number | undefined;
  let bestValue = -1;
  for (let first = 0; first + windowCells <= answer.cells; first += 1) {
    let [ioSum, timeSum] = [0, 0];
    for (let cell = first; cell < first + windowCells; cell += 1) {
      ioSum += ios[cell] ?? 0;
      timeSum += (ios[cell] ?? 0) * (answer.rt_mean_ns[cell] ?? 0);
    }
    const value = by === "busiest" ? ioSum : ioSum > 0 ? timeSum / ioSum : 0;
    if (value > bestValue && ioSum > 0) [best, bestValue] = [first, value];
  }
  if (best === undefined) return undefined;
  const from = answer.from + best * answer.width_ns;
  return { from, to: from + windowCells * answer.width_ns };
}
