/** Answers about a capture as drawings. */
import type { Drawing, Key } from "./panel";
import type { Line, Sheet, Tip } from "./pane";
import { dark, ink, narrow } from "./dom";
import { bandAt, bands, cellEdges, closed, coarseMean, greatest, idle, known, stacked, totalRate, type Band } from "./fold";
import { amount, brief, count, date, moment, number, percent, span, timeTicks, type Clock } from "./format";
import { mostOf, paint, rowOf } from "./heat";
import { color, OTHERS } from "./palette";
import type { HeatAnswer, Mark, ReadOutAnswer, SeriesAnswer, Values } from "./types";

/** Colors that names keep while the page looks at other parts. */
export class Colors {
  private readonly kept = new Map<string, number>();

  /** The places in the palette of those that are drawn together, each another one. */
  of(ids: readonly string[]): number[] {
    const taken = new Set<number>();
    const places = ids.map((id) => this.kept.get(id));
    places.forEach((place) => place !== undefined && taken.add(place));
    const used = new Set<number>();
    return ids.map((id, at) => {
      const kept = places[at];
      let place = kept !== undefined && !used.has(kept) ? kept : 0;
      while (used.has(place) || (place !== kept && taken.has(place))) place += 1;
      used.add(place);
      // Those beyond the palette take another place the next time.
      if (kept === undefined && place < BANDS) this.kept.set(id, place);
      return place % BANDS;
    });
  }
}

/** What every drawing of a capture is told. */
export interface Scene {
  clock: Clock | undefined;
  marks: Mark[];
  measure: "iops" | "mb";
}

/** The colors of bands: all but black, which the line over them has. */
const BAND_COLORS = [0, 1, 2, 3, 5, 6, 7, 9];
/** Bands with a color of their own. */
export const BANDS = BAND_COLORS.length;

/** A moment with the digits that cells of this width deserve, and its date. */
function head(scene: Scene, from: number, width: number): string {
  const step = Math.min(width, 1e9);
  const day = scene.clock ? `${date(from, scene.clock)} ` : "";
  return `${day}${moment(from, scene.clock, step)} + ${span(width)}`;
}

function timed(scene: Scene, x: number[]): Pick<Sheet, "x" | "marks" | "ticks"> {
  return {
    x,
    marks: scene.marks.map((mark) => ({ x: mark.t, text: mark.text })),
    ticks: (from, to, most) => timeTicks(from, to, scene.clock, most),
  };
}

const X_NAME = "time_ns";

function unit(measure: "iops" | "mb"): string {
  return measure === "iops" ? "IOPS" : "MB/s";
}

export interface MapView extends Drawing {
  list: Band[];
  tops: number[][];
}

/** The IO Stream Map: what stands on one another, and the response time over it. */
export function streamMap(answer: SeriesAnswer, scene: Scene, colors: Colors, what: string, pick: (band: Band, shift: boolean) => void): MapView | string {
  const list = bands(answer, scene.measure, BANDS);
  if (list.length === 0) return "No I/O in this part with these filters. Press Esc to go back.";
  const tops = stacked(list);
  const places = colors.of(list.filter((band) => !band.others).map((band) => band.id));
  const paints = list.map((band, at) => (band.others ? OTHERS : color(BAND_COLORS[places[at] ?? at] ?? at, dark())));
  const areas = list.map((band, at): Line => ({ name: band.name, color: paints[at] ?? OTHERS, y: closed(known(answer, tops[at] ?? [])), kind: "area" })).reverse();
  const over = closed(coarseMean(answer));
  const halo: Line = { name: "", color: ink("paper"), y: over, kind: "step", right: true, width: 3, halo: true };
  const mean: Line = { name: "mean response time", color: ink("ink"), y: over, kind: "step", right: true, width: 1.2 };
  const total = totalRate(answer, scene.measure);
  // Some traces have no response times: then there is no line and no axis for it.
  const timedIos = greatest(answer.rt_mean_ns) > 0;
  const sheet: Sheet = {
    ...timed(scene, cellEdges(answer)),
    lines: timedIos ? [...areas, halo, mean] : areas,
    left: { name: unit(scene.measure), format: brief },
    ...(timedIos ? { right: { name: "mean response time", format: span } } : {}),
    tips: (at, _, y) => ({
      head: head(scene, answer.from + at * answer.width_ns, answer.width_ns),
      rows: mapTips(answer, scene, list, paints, total, at, bandAt(tops, at, y)),
    }),
  };
  const keys: Key[] = list.map((band, at) => band.others
    ? { name: band.name, color: paints[at] ?? OTHERS }
    : { name: band.name, color: paints[at] ?? OTHERS, pick: (shift) => pick(band, shift) });
  if (timedIos) keys.push({ name: "mean response time (right)", color: ink("ink"), dash: true });
  const peak = greatest(total);
  return {
    sheet, keys, list, tops, xName: X_NAME,
    note: `${unit(scene.measure)} by ${what}; cells of ${span(answer.width_ns)}. Highest ${number(peak)} ${unit(scene.measure)}.`,
    spoken: `${unit(scene.measure)} over time, by ${what}. Highest ${number(peak)}. Largest: ${list[0]?.name ?? ""}.`,
    exact: (line, at) => (line.right ? answer.rt_mean_ns[at] : list.find((band) => band.name === line.name)?.rate[at]),
  };
}

function mapTips(answer: SeriesAnswer, scene: Scene, list: Band[], paints: string[], total: number[], at: number, under: number | undefined): Tip[] {
  const ios = answer.ios.reduce((sum, key) => sum + (key[at] ?? 0), 0);
  const bytes = answer.bytes.reduce((sum, key) => sum + (key[at] ?? 0), 0);
  const rows: Tip[] = [
    { name: "All", value: `${number(typeof answer.observed_ns[at] === "number" ? total[at] : null)} ${unit(scene.measure)}` },
    { name: "I/Os, amount", value: `${count(ios)}, ${amount(bytes)}` },
  ];
  list.map((band, index) => ({ band, index })).reverse().forEach(({ band, index }) => {
    const value = band.rate[at] ?? 0;
    if (value > 0) rows.push({ name: (index === under ? "▸ " : "") + band.name, value: number(value), color: paints[index] ?? OTHERS });
  });
  rows.push({ name: "Response time: mean", value: span(answer.rt_mean_ns[at]) });
  rows.push({ name: "99 %, maximum", value: `${span(answer.rt_p99[at])}, ${span(answer.rt_max[at])}` });
  return rows;
}

/** Response times as a heat map, with percentiles over it. */
export function responseTimes(heat: HeatAnswer, series: SeriesAnswer, scene: Scene, common: number | undefined): Drawing | string {
  const most = mostOf(heat);
  if (most === 0) return "No response times in this part. Some traces do not record completions.";
  const [first, last] = used(heat);
  const low = heat.row_edges[first] || heat.row_edges[first + 1] || 1;
  const line = (name: string, y: Values, paint: string, dash?: number[]): Line => ({ name, color: paint, y: closed(y), kind: "step", width: 1.3, dash });
  const lines = [
    line("50 %", series.rt_p50, ink("ink")),
    line("99 %", series.rt_p99, color(1, dark())),
    line("99.9 %", series.rt_p999, color(3, dark()), [5, 3]),
  ];
  const sheet: Sheet = {
    ...timed(scene, cellEdges(series)),
    lines,
    left: { name: "response time ns", log: true, low, high: heat.row_edges[last + 1] ?? low * 10, format: span },
    heat: { answer: heat, most, image: paint(heat, common ?? most, dark()) },
    tips: (at, x, y) => ({ head: head(scene, series.from + at * series.width_ns, series.width_ns), rows: [
      ...heatTip(heat, x, y, span),
      { name: "50 %", value: span(series.rt_p50[at]), color: lines[0]?.color ?? "" },
      { name: "99 %", value: span(series.rt_p99[at]), color: lines[1]?.color ?? "" },
      { name: "99.9 %", value: span(series.rt_p999[at]), color: lines[2]?.color ?? "" },
      { name: "maximum", value: span(series.rt_max[at]) },
    ] }),
  };
  const worst = greatest(series.rt_max);
  return {
    sheet, xName: X_NAME, keys: lines.map((one) => ({ name: one.name, color: one.color, dash: true })),
    note: `I/Os of each cell and response time, few (faint) to ${count(most)} (strong). Percentiles have a line where at least ten I/Os lie beyond them.`,
    spoken: `Heat map of response times over time. Longest ${span(worst)}.`,
  };
}

/** The lowest and the highest row with I/Os. */
function filled(heat: HeatAnswer): [number, number] {
  let [first, last] = [heat.rows - 1, 0];
  heat.counts.forEach((one, at) => {
    if (one > 0) [first, last] = [Math.min(first, at % heat.rows), Math.max(last, at % heat.rows)];
  });
  return [first, last];
}

/** The rows with I/Os, and one more on each side. */
function used(heat: HeatAnswer): [number, number] {
  const [first, last] = filled(heat);
  return [Math.max(0, first - 1), Math.min(heat.rows - 1, last + 1)];
}

function heatTip(heat: HeatAnswer, x: number, y: number, format: (value: number) => string, what = "I/Os"): Tip[] {
  const cell = Math.floor((x - heat.from) / heat.width_ns);
  if (cell < 0 || cell >= heat.cells) return [];
  const row = rowOf(heat.row_edges, y);
  const range = `${format(heat.row_edges[row] ?? 0)} – ${format(heat.row_edges[row + 1] ?? 0)}`;
  return [{ name: range, value: `${count(heat.counts[cell * heat.rows + row] ?? 0)} ${what}` }];
}

/** Queue depth, and how much of the time nothing was outstanding. */
export function depth(series: SeriesAnswer, scene: Scene): Drawing | string {
  if (greatest(series.qd_max) === 0 && greatest(series.busy) === 0) return "No queue depth in this part.";
  const rest = idle(series.busy);
  const lines: Line[] = [
    { name: "idle time", color: dark() ? "#4a4d52" : "#d4d4d0", y: closed(rest.map((share) => (typeof share === "number" ? share * 100 : null))), kind: "area", right: true },
    { name: "maximum QD", color: color(1, dark()), y: closed(series.qd_max), kind: "step", width: 1 },
    { name: "mean QD", color: color(0, dark()), y: closed(series.qd_mean), kind: "step", width: 1.6 },
  ];
  const sheet: Sheet = {
    ...timed(scene, cellEdges(series)),
    lines,
    left: { name: "QD", format: brief },
    right: { name: "idle %", low: 0, high: 100, format: (value) => `${value} %` },
    tips: (at) => ({ head: head(scene, series.from + at * series.width_ns, series.width_ns), rows: [
      { name: "Mean queue depth", value: number(series.qd_mean[at]), color: lines[2]?.color ?? "" },
      { name: "Maximum", value: count(series.qd_max[at]), color: lines[1]?.color ?? "" },
      { name: "Idle", value: percent(rest[at] ?? null), color: lines[0]?.color ?? "" },
    ] }),
  };
  const known = rest.filter((share): share is number => typeof share === "number");
  const mean = known.length > 0 ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
  return {
    sheet, xName: X_NAME, keys: [...lines].reverse().map((line) => ({ name: line.right ? "idle time (right)" : line.name, color: line.color, dash: !line.right })),
    note: `I/Os outstanding, and the share of time with none. Idle ${percent(mean)} of this part.`,
    spoken: `Queue depth over time. Deepest ${count(greatest(series.qd_max))}. Idle ${percent(mean)} of the time.`,
  };
}

/** Where the I/Os went. */
export function hits(heat: HeatAnswer, scene: Scene, common: number | undefined, readOut: (from: number, to: number) => Promise<ReadOutAnswer>): Drawing | string {
  const [first, last] = filled(heat);
  const reach = `Hit between ${amount(heat.row_edges[first])} and ${amount(heat.row_edges[last + 1])} from the start of the device.`;
  const drawing = heatOnly(heat, scene, common, amount, "address",
    `${reach} Few hits (faint) to many (strong); an I/O hits each of 1,024 address ranges that it touches.`, "No I/O with an address in this part with these filters.");
  if (typeof drawing !== "string") {
    drawing.sheet.more = (at) => {
      const from = heat.from + at * heat.width_ns;
      return readOut(from, from + heat.width_ns).then(readOutTips);
    };
  }
  return drawing;
}

/** What each stream moved at a time, and where: as the tutorial prints it. */
export function readOutTips(answer: ReadOutAnswer): Tip[] {
  const digits = answer.tolerance_percent < 0.1 ? 2 : 1;
  return answer.streams.map(({ stream, bytes_there, percent: at }) => ({
    name: stream,
    value: `${(bytes_there / 2 ** 30).toFixed(3)} GiB at ${at.toFixed(digits)} % ± ${answer.tolerance_percent.toFixed(digits)}`,
  }));
}

/** At which part of its second each I/O came: regular work draws lines. */
export function subsecond(heat: HeatAnswer, scene: Scene, common: number | undefined): Drawing | string {
  return heatOnly(heat, scene, common, span, "offset in second",
    "The part of its second at which each I/O came. Periodic work draws lines, bursts draw columns.", "No I/O in this part with these filters.");
}

function heatOnly(heat: HeatAnswer, scene: Scene, common: number | undefined, format: (value: number) => string, name: string, note: string, nothing: string): Drawing | string {
  const most = mostOf(heat);
  if (most === 0) return nothing;
  const edges = heat.row_edges;
  const sheet: Sheet = {
    ...timed(scene, cellEdges(heat)),
    lines: [],
    left: { name, low: edges[0] ?? 0, high: edges[heat.rows] ?? 1, format: narrow() ? (value) => format(value).replace(" ", "") : format },
    heat: { answer: heat, most, image: paint(heat, common ?? most, dark()) },
    tips: (at, x, y) => ({ head: head(scene, heat.from + at * heat.width_ns, heat.width_ns), rows: heatTip(heat, x, y, format, name === "address" ? "hits" : "I/Os") }),
  };
  return { sheet, keys: [], xName: X_NAME, note: `${note} Most in one cell: ${count(most)}.`, spoken: `Heat map of ${name} over time.` };
}

/** Cells of an axis that several captures share. */
const SHARED = 1024;

/** All I/Os of the whole captures, for the brush; several of them on one axis. */
export function whole(answers: readonly { name: string; answer: SeriesAnswer }[], scene: Scene, duration: number): Drawing | string {
  const first = answers[0];
  if (!first) return "No capture.";
  const alone = answers.length === 1;
  const axis = alone ? first.answer : { from: 0, width_ns: duration / SHARED, cells: SHARED };
  const x = cellEdges(axis);
  const lines = answers.map(({ name, answer }, at): Line => {
    const rate = known(answer, totalRate(answer, scene.measure));
    const y = alone ? rate : x.slice(0, -1).map((ns) => rate[Math.floor((ns + axis.width_ns / 2 - answer.from) / answer.width_ns)] ?? null);
    return { name, color: color(at, dark()), y: closed(y), kind: at === 0 ? "area" : "step" };
  });
  const sheet: Sheet = {
    ...timed(scene, x),
    lines,
    named: true,
    left: { name: unit(scene.measure), format: brief },
    tips: (at) => ({ head: head(scene, axis.from + at * axis.width_ns, axis.width_ns),
      rows: lines.map((line) => ({ name: line.name, value: `${number(line.y[at])} ${unit(scene.measure)}`, color: line.color })) }),
  };
  return { sheet, keys: answers.length > 1 ? lines.map((line) => ({ name: line.name, color: line.color })) : [], note: "", spoken: "Rate of the whole capture.", xName: X_NAME };
}
