/** Charts of a capture, made from the program's answers. */
import type { Chart, LegendItem } from "./panel";
import type { Line, ChartSpec, TooltipRow } from "./pane";
import { isDark, cssColor, isNarrow } from "./dom";
import {
  bandAt,
  stackBands,
  cellEdges,
  repeatLast,
  coarseMean,
  maxOf,
  idleShares,
  observedValues,
  bandTops,
  totalRate,
  type Band,
} from "./fold";
import {
  formatBytes,
  formatAxisValue,
  formatCount,
  formatDate,
  formatTime,
  formatNumber,
  formatPercent,
  formatNs,
  timeTicks,
  type Clock,
} from "./format";
import { maxCountOf, drawHeatMap } from "./heat";
import { seriesColor, OTHERS } from "./palette";
import { intervalIndex } from "../../src/scale";
import type { HeatAnswer, Mark, ReadOutAnswer, SeriesAnswer, Values } from "./types";

/** Assigns palette colors to IDs. An ID keeps its color while the reader zooms and filters. */
export class ColorAssignment {
  private readonly indexById = new Map<string, number>();

  /** Returns the palette index of each ID of one chart; all are different, up to the size of the palette. */
  assign(ids: readonly string[]): number[] {
    const previous = ids.map((id) => this.indexById.get(id));
    const reserved = new Set(previous.filter((index) => index !== undefined));
    const used = new Set<number>();
    return ids.map((id, i) => {
      const own = previous[i];
      let index = own !== undefined && !used.has(own) ? own : 0;
      while (used.has(index) || (index !== own && reserved.has(index))) index += 1;
      used.add(index);
      // An index beyond the palette is not kept: the ID may get a color of its own in the next chart.
      if (own === undefined && index < BANDS) this.indexById.set(id, index);
      return index % BANDS;
    });
  }
}

/** Settings that all charts of a capture share. */
export interface ViewContext {
  clock: Clock | undefined;
  marks: Mark[];
  measure: "iops" | "mb";
}

/** Palette indexes for bands: all but black, which is the color of the line over them. */
const BAND_COLORS = [0, 1, 2, 3, 5, 6, 7, 9];
/** Number of bands that have a color of their own. */
export const BANDS = BAND_COLORS.length;

/** Returns the date and time at which a cell begins, as precise as its width, and the width. */
function cellHeading(context: ViewContext, from: number, width: number): string {
  const step = Math.min(width, 1e9);
  const day = context.clock ? `${formatDate(from, context.clock)} ` : "";
  return `${day}${formatTime(from, context.clock, step)} + ${formatNs(width)}`;
}

function timeAxis(context: ViewContext, x: number[]): Pick<ChartSpec, "x" | "marks" | "ticks"> {
  return {
    x,
    marks: context.marks.map((mark) => ({ x: mark.t, text: mark.text })),
    ticks: (from, to, most) => timeTicks(from, to, context.clock, most),
  };
}

const X_NAME = "time_ns";

function rateUnit(measure: "iops" | "mb"): string {
  return measure === "iops" ? "IOPS" : "MB/s";
}

export interface StreamMap extends Chart {
  bands: Band[];
  tops: number[][];
}

/** Returns the color of each band. Merged bands, and a single one beyond the palette, have that of `OTHERS`. */
export function bandColors(bands: readonly Band[], assignment: ColorAssignment, dark: boolean): string[] {
  const hasOwnColor = (band: Band, index: number): boolean => !band.others && index < BANDS;
  const indexes = assignment.assign(bands.filter(hasOwnColor).map((band) => band.id));
  return bands.map((band, index) =>
    hasOwnColor(band, index) ? seriesColor(BAND_COLORS[indexes[index] ?? 0] ?? 0, dark) : OTHERS,
  );
}

/** Draws the IO Stream Map: stacked rates of streams or processes, with the mean response time over them. */
export function streamMapChart(
  answer: SeriesAnswer,
  context: ViewContext,
  colorAssignment: ColorAssignment,
  grouping: string,
  onBand: (band: Band, shift: boolean) => void,
): StreamMap | string {
  const bands = stackBands(answer, context.measure, BANDS);
  if (bands.length === 0) return "No I/O in this part with these filters. Press Esc to go back.";
  const tops = bandTops(bands);
  const colors = bandColors(bands, colorAssignment, isDark());
  const areas = bands
    .map(
      (band, index): Line => ({
        name: band.name,
        color: colors[index] ?? OTHERS,
        y: repeatLast(observedValues(answer, tops[index] ?? [])),
        kind: "area",
      }),
    )
    .reverse();
  const meanTimes = repeatLast(coarseMean(answer));
  const halo: Line = {
    name: "",
    color: cssColor("paper"),
    y: meanTimes,
    kind: "step",
    right: true,
    width: 3,
    isHalo: true,
  };
  const mean: Line = {
    name: "mean response time",
    color: cssColor("ink"),
    y: meanTimes,
    kind: "step",
    right: true,
    width: 1.2,
  };
  const total = totalRate(answer, context.measure);
  // A trace without response times gets neither the line nor its axis.
  const hasTimes = maxOf(answer.rt_mean_ns) > 0;
  const spec: ChartSpec = {
    ...timeAxis(context, cellEdges(answer)),
    lines: hasTimes ? [...areas, halo, mean] : areas,
    left: { name: rateUnit(context.measure), format: formatAxisValue },
    ...(hasTimes ? { right: { name: "mean response time", format: formatNs } } : {}),
    tooltip: (index, _, y) => ({
      head: cellHeading(context, answer.from + index * answer.width_ns, answer.width_ns),
      rows: mapTooltip(answer, context, bands, colors, total, index, bandAt(tops, index, y)),
    }),
  };
  const legend: LegendItem[] = bands.map((band, index) =>
    band.others
      ? { name: band.name, color: colors[index] ?? OTHERS }
      : { name: band.name, color: colors[index] ?? OTHERS, onClick: (shift) => onBand(band, shift) },
  );
  if (hasTimes) legend.push({ name: "mean response time (right)", color: cssColor("ink"), dash: true });
  const peak = maxOf(total);
  return {
    spec,
    legend,
    bands,
    tops,
    xName: X_NAME,
    note: `${rateUnit(context.measure)} by ${grouping}; cells of ${formatNs(answer.width_ns)}. Highest ${formatNumber(peak)} ${rateUnit(context.measure)}.`,
    ariaLabel: `${rateUnit(context.measure)} over time, by ${grouping}. Highest ${formatNumber(peak)}. Largest: ${bands[0]?.name ?? ""}.`,
    csvValue: (line, index) =>
      line.right ? answer.rt_mean_ns[index] : bands.find((band) => band.name === line.name)?.rate[index],
  };
}

function mapTooltip(
  answer: SeriesAnswer,
  context: ViewContext,
  bands: Band[],
  colors: string[],
  total: number[],
  at: number,
  hovered: number | undefined,
): TooltipRow[] {
  const ios = answer.ios.reduce((sum, key) => sum + (key[at] ?? 0), 0);
  const bytes = answer.bytes.reduce((sum, key) => sum + (key[at] ?? 0), 0);
  const rows: TooltipRow[] = [
    {
      name: "All",
      value: `${formatNumber(typeof answer.observed_ns[at] === "number" ? total[at] : null)} ${rateUnit(context.measure)}`,
    },
    { name: "I/Os, amount", value: `${formatCount(ios)}, ${formatBytes(bytes)}` },
  ];
  bands
    .map((band, index) => ({ band, index }))
    .reverse()
    .forEach(({ band, index }) => {
      const value = band.rate[at] ?? 0;
      if (value > 0)
        rows.push({
          name: (index === hovered ? "▸ " : "") + band.name,
          value: formatNumber(value),
          color: colors[index] ?? OTHERS,
        });
    });
  rows.push({ name: "Response time: mean", value: formatNs(answer.rt_mean_ns[at]) });
  rows.push({ name: "99 %, maximum", value: `${formatNs(answer.rt_p99[at])}, ${formatNs(answer.rt_max[at])}` });
  return rows;
}

/** Draws response times as a heat map, with lines of percentiles over it. */
export function responseTimeChart(
  heat: HeatAnswer,
  series: SeriesAnswer,
  context: ViewContext,
  sharedMaxCount: number | undefined,
): Chart | string {
  const maxCount = maxCountOf(heat);
  if (maxCount === 0) return "No response times in this part. Some traces do not record completions.";
  const [first, last] = used(heat);
  const low = heat.row_edges[first] || heat.row_edges[first + 1] || 1;
  const line = (name: string, y: Values, paint: string, dash?: number[]): Line => ({
    name,
    color: paint,
    y: repeatLast(y),
    kind: "step",
    width: 1.3,
    dash,
  });
  const lines = [
    line("50 %", series.rt_p50, cssColor("ink")),
    line("99 %", series.rt_p99, seriesColor(1, isDark())),
    line("99.9 %", series.rt_p999, seriesColor(3, isDark()), [5, 3]),
  ];
  const spec: ChartSpec = {
    ...timeAxis(context, cellEdges(series)),
    lines,
    left: { name: "response time ns", log: true, low, high: heat.row_edges[last + 1] ?? low * 10, format: formatNs },
    heat: { answer: heat, maxCount, image: drawHeatMap(heat, sharedMaxCount ?? maxCount, isDark()) },
    tooltip: (index, x, y) => ({
      head: cellHeading(context, series.from + index * series.width_ns, series.width_ns),
      rows: [
        ...heatMapTooltip(heat, x, y, formatNs),
        { name: "50 %", value: formatNs(series.rt_p50[index]), color: lines[0]?.color ?? "" },
        { name: "99 %", value: formatNs(series.rt_p99[index]), color: lines[1]?.color ?? "" },
        { name: "99.9 %", value: formatNs(series.rt_p999[index]), color: lines[2]?.color ?? "" },
        { name: "maximum", value: formatNs(series.rt_max[index]) },
      ],
    }),
  };
  const longest = maxOf(series.rt_max);
  return {
    spec,
    xName: X_NAME,
    legend: lines.map((one) => ({ name: one.name, color: one.color, dash: true })),
    note: `I/Os of each cell and response time, few (faint) to ${formatCount(maxCount)} (strong). Percentiles have a line where at least ten I/Os lie beyond them.`,
    ariaLabel: `Heat map of response times over time. Longest ${formatNs(longest)}.`,
  };
}

/** Returns the lowest and the highest row that contain I/Os. */
function rowExtent(heat: HeatAnswer): [number, number] {
  let [first, last] = [heat.rows - 1, 0];
  heat.counts.forEach((value, index) => {
    if (value > 0) [first, last] = [Math.min(first, index % heat.rows), Math.max(last, index % heat.rows)];
  });
  return [first, last];
}

/** Returns the rows that contain I/Os, with one more on each side. */
function used(heat: HeatAnswer): [number, number] {
  const [first, last] = rowExtent(heat);
  return [Math.max(0, first - 1), Math.min(heat.rows - 1, last + 1)];
}

function heatMapTooltip(
  heat: HeatAnswer,
  x: number,
  y: number,
  format: (value: number) => string,
  what = "I/Os",
): TooltipRow[] {
  const cell = Math.floor((x - heat.from) / heat.width_ns);
  if (cell < 0 || cell >= heat.cells) return [];
  const row = intervalIndex(heat.row_edges, y);
  const range = `${format(heat.row_edges[row] ?? 0)} – ${format(heat.row_edges[row + 1] ?? 0)}`;
  return [{ name: range, value: `${formatCount(heat.counts[cell * heat.rows + row] ?? 0)} ${what}` }];
}

/** Draws the queue depth and the share of time in which no I/O was outstanding. */
export function queueDepthChart(series: SeriesAnswer, context: ViewContext): Chart | string {
  if (maxOf(series.qd_max) === 0 && maxOf(series.busy) === 0) return "No queue depth in this part.";
  const idle = idleShares(series.busy);
  const lines: Line[] = [
    {
      name: "idle time",
      color: isDark() ? "#4a4d52" : "#d4d4d0",
      y: repeatLast(idle.map((share) => (typeof share === "number" ? share * 100 : null))),
      kind: "area",
      right: true,
    },
    { name: "maximum QD", color: seriesColor(1, isDark()), y: repeatLast(series.qd_max), kind: "step", width: 1 },
    { name: "mean QD", color: seriesColor(0, isDark()), y: repeatLast(series.qd_mean), kind: "step", width: 1.6 },
  ];
  const spec: ChartSpec = {
    ...timeAxis(context, cellEdges(series)),
    lines,
    left: { name: "QD", format: formatAxisValue },
    right: { name: "idle %", low: 0, high: 100, format: (value) => `${value} %` },
    tooltip: (index) => ({
      head: cellHeading(context, series.from + index * series.width_ns, series.width_ns),
      rows: [
        { name: "Mean queue depth", value: formatNumber(series.qd_mean[index]), color: lines[2]?.color ?? "" },
        { name: "Maximum", value: formatCount(series.qd_max[index]), color: lines[1]?.color ?? "" },
        { name: "Idle", value: formatPercent(idle[index] ?? null), color: lines[0]?.color ?? "" },
      ],
    }),
  };
  const known = idle.filter((share): share is number => typeof share === "number");
  const mean = known.length > 0 ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
  return {
    spec,
    xName: X_NAME,
    legend: [...lines]
      .reverse()
      .map((line) => ({ name: line.right ? "idle time (right)" : line.name, color: line.color, dash: !line.right })),
    note: `I/Os outstanding, and the share of time with none. Idle ${formatPercent(mean)} of this part.`,
    ariaLabel: `Queue depth over time. Deepest ${formatCount(maxOf(series.qd_max))}. Idle ${formatPercent(mean)} of the time.`,
  };
}

/** Draws the addresses of I/Os over time. `readOut` returns the amount and position of each stream within a time range. */
export function hitMapChart(
  heat: HeatAnswer,
  context: ViewContext,
  sharedMaxCount: number | undefined,
  readOut: (from: number, to: number) => Promise<ReadOutAnswer>,
): Chart | string {
  const [first, last] = rowExtent(heat);
  const extent = `Hit between ${formatBytes(heat.row_edges[first])} and ${formatBytes(heat.row_edges[last + 1])} from the start of the device.`;
  const chart = heatMapChart(
    heat,
    context,
    sharedMaxCount,
    formatBytes,
    "address",
    `${extent} Few hits (faint) to many (strong); an I/O hits each of 1,024 address ranges that it touches.`,
    "No I/O with an address in this part with these filters.",
  );
  if (typeof chart !== "string") {
    chart.spec.loadDetails = (index) => {
      const from = heat.from + index * heat.width_ns;
      return readOut(from, from + heat.width_ns).then(readOutRows);
    };
  }
  return chart;
}

/** Formats amount and position of each stream as the RWSW tutorial prints them. */
export function readOutRows(answer: ReadOutAnswer): TooltipRow[] {
  const digits = answer.tolerance_percent < 0.1 ? 2 : 1;
  return answer.streams.map(({ stream, bytes_there, percent }) => ({
    name: stream,
    value: `${(bytes_there / 2 ** 30).toFixed(3)} GiB at ${percent.toFixed(digits)} % ± ${answer.tolerance_percent.toFixed(digits)}`,
  }));
}

/** Draws the offset of each I/O in its second; periodic work appears as lines. */
export function subsecondChart(
  heat: HeatAnswer,
  context: ViewContext,
  sharedMaxCount: number | undefined,
): Chart | string {
  return heatMapChart(
    heat,
    context,
    sharedMaxCount,
    formatNs,
    "offset in second",
    "The part of its second at which each I/O came. Periodic work draws lines, bursts draw columns.",
    "No I/O in this part with these filters.",
  );
}

function heatMapChart(
  heat: HeatAnswer,
  context: ViewContext,
  sharedMaxCount: number | undefined,
  format: (value: number) => string,
  name: string,
  note: string,
  emptyMessage: string,
): Chart | string {
  const maxCount = maxCountOf(heat);
  if (maxCount === 0) return emptyMessage;
  const edges = heat.row_edges;
  const spec: ChartSpec = {
    ...timeAxis(context, cellEdges(heat)),
    lines: [],
    left: {
      name,
      low: edges[0] ?? 0,
      high: edges[heat.rows] ?? 1,
      format: isNarrow() ? (value) => format(value).replace(" ", "") : format,
    },
    heat: { answer: heat, maxCount, image: drawHeatMap(heat, sharedMaxCount ?? maxCount, isDark()) },
    tooltip: (index, x, y) => ({
      head: cellHeading(context, heat.from + index * heat.width_ns, heat.width_ns),
      rows: heatMapTooltip(heat, x, y, format, name === "address" ? "hits" : "I/Os"),
    }),
  };
  return {
    spec,
    legend: [],
    xName: X_NAME,
    note: `${note} Most in one cell: ${formatCount(maxCount)}.`,
    ariaLabel: `Heat map of ${name} over time.`,
  };
}

/** Number of cells on the overview's axis if several captures share it. */
const SHARED_CELLS = 1024;

/** Draws the rate of whole captures, on one axis, for the brush. */
export function overviewChart(
  answers: readonly { name: string; answer: SeriesAnswer }[],
  context: ViewContext,
  duration: number,
): Chart | string {
  const first = answers[0];
  if (!first) return "No capture.";
  const isSingle = answers.length === 1;
  const axis = isSingle ? first.answer : { from: 0, width_ns: duration / SHARED_CELLS, cells: SHARED_CELLS };
  const x = cellEdges(axis);
  const lines = answers.map(({ name, answer }, index): Line => {
    const rate = observedValues(answer, totalRate(answer, context.measure));
    const y = isSingle
      ? rate
      : x.slice(0, -1).map((ns) => rate[Math.floor((ns + axis.width_ns / 2 - answer.from) / answer.width_ns)] ?? null);
    return { name, color: seriesColor(index, isDark()), y: repeatLast(y), kind: index === 0 ? "area" : "step" };
  });
  const spec: ChartSpec = {
    ...timeAxis(context, x),
    lines,
    showMarkNames: true,
    left: { name: rateUnit(context.measure), format: formatAxisValue },
    tooltip: (index) => ({
      head: cellHeading(context, axis.from + index * axis.width_ns, axis.width_ns),
      rows: lines.map((line) => ({
        name: line.name,
        value: `${formatNumber(line.y[index])} ${rateUnit(context.measure)}`,
        color: line.color,
      })),
    }),
  };
  return {
    spec,
    legend: answers.length > 1 ? lines.map((line) => ({ name: line.name, color: line.color })) : [],
    note: "",
    ariaLabel: "Rate of the whole capture.",
    xName: X_NAME,
  };
}
