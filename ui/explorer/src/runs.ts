/** Charts of runs: tracking variables by round, steps over time, a single step. */
import type { Chart } from "./panel";
import type { Line, ChartSpec } from "./pane";
import { isDark, cssColor } from "./dom";
import { percentileCurve, maxOf, alignByX, nines } from "./fold";
import { formatAxisValue, formatCount, formatSeconds, formatNumber, formatNs, timeTicks } from "./format";
import { seriesColor } from "./palette";
import { ticks as plainTicks } from "../../src/scale";
import type { RunAnswer, RunStep, StepAnswer, Values } from "./types";

/** An answer with the name and the color of its run. */
export interface NamedRun<T> {
  name: string;
  colorIndex: number;
  answer: T;
}

type Ticks = ChartSpec["ticks"];

const secondTicks: Ticks = (from, to, most) =>
  timeTicks(from * 1e9, to * 1e9, undefined, most).map(([ns, name]) => [ns / 1e9, name]);
const integerTicks: Ticks = (from, to) =>
  plainTicks({ label: "", low: from, high: to, log: false }).filter(([value]) => Number.isInteger(value));
const percentileTicks: Ticks = () => [
  [0, "0 %"],
  [nines(0.5), "50 %"],
  [1, "90 %"],
  [2, "99 %"],
  [3, "99.9 %"],
  [4, "99.99 %"],
  [5, "99.999 %"],
  [6, "99.9999 %"],
];

function straightLine(line: Partial<Line> & Pick<Line, "name" | "color" | "y">): Line {
  return { kind: "line", ...line };
}

/** Returns a tooltip with the value of each line. */
function lineTooltip(
  heading: (x: number) => string,
  x: number[],
  lines: Line[],
  text: (line: Line, value: number) => string,
): ChartSpec["tooltip"] {
  return (index) => ({
    head: heading(x[index] ?? 0),
    rows: lines.flatMap((line) => {
      const value = line.y[index];
      return value === null || value === undefined
        ? []
        : [{ name: line.name, value: text(line, value), color: line.color }];
    }),
  });
}

function legendOf(lines: Line[], right = ""): Chart["legend"] {
  return lines.map((line) => ({ name: line.name + (line.right ? right : ""), color: line.color, dash: true }));
}

/** Draws a tracking variable by round, with its measurement window and the limits of steady state. */
export function trackChart(name: string, runs: readonly NamedRun<RunAnswer>[]): Chart | string {
  const tracks = runs.flatMap((run) => {
    const item = run.answer.tracks.find((candidate) => candidate.name === name);
    return item ? [{ run, track: item }] : [];
  });
  const rounds = alignByX(
    tracks.map(({ track }) => ({
      x: track.rounds.map((each) => each.round),
      y: track.rounds.map((each) => each.value),
    })),
  );
  if (rounds.x.length === 0) return "No round is finished yet.";
  const first = tracks[0]?.track;
  const unit = first?.unit ?? "";
  const lines = tracks.map(
    ({ run }, index): Line => ({
      name: run.name,
      color: seriesColor(run.colorIndex, isDark()),
      y: rounds.y[index] ?? [],
      kind: "points",
    }),
  );
  const window = first?.window ?? undefined;
  const spec: ChartSpec = {
    x: rounds.x,
    marks: [],
    ticks: integerTicks,
    lines: [...lines, ...(window ? windowLines(rounds.x, window) : [])],
    left: { name: `${name} ${unit}`, format: formatAxisValue },
    tooltip: () => ({ head: "", rows: [] }),
  };
  if (window) spec.shaded = { from: window.from - 0.5, to: window.to + 0.5 };
  const values = spec.lines.flatMap((line) => line.y).filter((value): value is number => typeof value === "number");
  const [low, high] = [Math.min(...values), Math.max(...values)];
  spec.left.low = Math.max(0, low - (high - low || high) * 0.15);
  spec.left.high = high + (high - low || high) * 0.15;
  spec.tooltip = lineTooltip(
    (x) => `Round ${x}`,
    rounds.x,
    spec.lines,
    (_, value) => formatNumber(value, unit),
  );
  const verdict = first?.verdict ?? "";
  return {
    spec,
    legend: legendOf(spec.lines),
    xName: "round",
    note: [unit, window ? `window: rounds ${window.from} to ${window.to}` : "no window yet", verdict]
      .filter(Boolean)
      .join("; "),
    ariaLabel: `${name} by round. ${verdict}`,
  };
}

type Window = NonNullable<RunAnswer["tracks"][number]["window"]>;

/** Returns lines of the window's average, the allowed excursion and the slope. */
function windowLines(x: number[], window: Window): Line[] {
  const inWindow = (value: (share: number) => number): Values =>
    x.map((round) =>
      round >= window.from && round <= window.to
        ? value((round - window.from) / Math.max(1, window.to - window.from))
        : null,
    );
  return [
    straightLine({ name: "average", color: cssColor("quiet"), y: inWindow(() => window.average), width: 1.5 }),
    straightLine({
      name: "lowest allowed",
      color: cssColor("bad"),
      y: inWindow(() => window.low),
      dash: [5, 3],
      width: 1,
    }),
    straightLine({
      name: "highest allowed",
      color: cssColor("bad"),
      y: inWindow(() => window.high),
      dash: [5, 3],
      width: 1,
    }),
    straightLine({
      name: "slope",
      color: cssColor("mild"),
      y: inWindow((share) => window.slope_from + share * (window.slope_to - window.slope_from)),
      dash: [2, 2],
    }),
  ];
}

/** Draws rate or mean response time of each step over time. */
export function stepsChart(runs: readonly NamedRun<RunAnswer>[], quantity: "iops" | "mb" | "rt"): Chart | string {
  const value = (step: RunStep): number | null =>
    quantity === "iops" ? step.iops : quantity === "mb" ? step.mb_s : step.rt_mean_ns;
  const placed = runs.map(({ answer }) => answer.steps.filter((step) => step.start_s !== null));
  const merged = alignByX(placed.map((steps) => ({ x: steps.map((step) => step.start_s ?? 0), y: steps.map(value) })));
  if (merged.x.length === 0) return "No step is finished yet.";
  const lines = runs.map(
    ({ name, colorIndex: place }, index): Line => ({
      name,
      color: seriesColor(place, isDark()),
      y: merged.y[index] ?? [],
      kind: "points",
    }),
  );
  const format = (item: number): string =>
    quantity === "rt" ? formatNs(item) : formatNumber(item, quantity === "iops" ? "IOPS" : "MB/s");
  const steps = new Map(placed.flat().map((step) => [step.start_s, step]));
  const marks = (runs[0]?.answer.caveats ?? []).flatMap((caveat) => {
    const start_s = caveat.t ?? runs[0]?.answer.steps.find((step) => step.i === caveat.step)?.start_s;
    return start_s === null || start_s === undefined ? [] : [{ x: start_s, text: caveat.text }];
  });
  const spec: ChartSpec = {
    x: merged.x,
    lines,
    marks,
    ticks: secondTicks,
    left: {
      name: quantity === "rt" ? "mean response time ns" : quantity === "iops" ? "IOPS" : "MB/s",
      log: true,
      format: quantity === "rt" ? formatNs : formatAxisValue,
    },
    tooltip: lineTooltip(
      (x) => `${steps.get(x)?.place ?? ""} ${steps.get(x)?.name ?? ""} at ${formatSeconds(x)}`.trim(),
      merged.x,
      lines,
      (_, item) => format(item),
    ),
  };
  return {
    spec,
    legend: runs.length > 1 ? legendOf(lines) : [],
    xName: "start_s",
    note: `One point for each step, at its start; logarithmic axis.${marks.length > 0 ? " Dashed lines: caveats." : ""} Click a point to see the step.`,
    ariaLabel: `${spec.left.name} of ${formatCount(steps.size)} steps over time.`,
  };
}

/** Draws the temperature of the drive and the load of the host. */
export function sensorsChart(runs: readonly NamedRun<RunAnswer>[]): Chart | string {
  const recorded = runs.flatMap((run) =>
    run.answer.sensors && run.answer.sensors.t.length > 0 ? [{ run, sensors: run.answer.sensors }] : [],
  );
  const has = (pick: (item: (typeof recorded)[number]) => Values): boolean =>
    recorded.some((item) => pick(item).some((value) => typeof value === "number"));
  const [hasTemperature, hasLoad] = [has(({ sensors }) => sensors.temperature), has(({ sensors }) => sensors.load)];
  if (!hasTemperature && !hasLoad) return "Neither temperature nor host load was recorded.";
  const columns = recorded
    .flatMap(({ run, sensors }) => [
      { run, x: sensors.t, y: sensors.temperature, right: false, name: "temperature" },
      {
        run,
        x: sensors.t,
        y: sensors.load.map((share) => (typeof share === "number" ? share * 100 : null)),
        right: hasTemperature,
        name: "host load",
      },
    ])
    .filter((column) => column.y.some((value) => typeof value === "number"));
  const merged = alignByX(columns);
  const several = recorded.length > 1;
  const loadAxis = { name: "load %", format: (value: number): string => `${formatAxisValue(value)} %` };
  const lines = columns.map(
    ({ run, right, name }, index): Line => ({
      name: several ? `${name}, ${run.name}` : name,
      color: seriesColor(several ? run.colorIndex : right ? 0 : 1, isDark()),
      y: merged.y[index] ?? [],
      kind: "points",
      right,
      ...(right ? { dash: [5, 3] } : {}),
    }),
  );
  const spec: ChartSpec = {
    x: merged.x,
    lines,
    marks: [],
    ticks: secondTicks,
    left: !hasTemperature
      ? loadAxis
      : {
          name: "°C",
          low: temperatureAxisLow(recorded.flatMap(({ sensors }) => sensors.temperature)),
          format: (value) => `${formatAxisValue(value)} °C`,
        },
    ...(hasTemperature && hasLoad ? { right: loadAxis } : {}),
    tooltip: lineTooltip(
      (x) => `At ${formatSeconds(x)}`,
      merged.x,
      lines,
      (line, value) => (line.name.startsWith("host") ? formatNumber(value, "%") : formatNumber(value, "°C")),
    ),
  };
  return {
    spec,
    legend: legendOf(lines, " (right)"),
    xName: "t_s",
    note: [
      hasTemperature ? "Temperature of the drive." : "No temperature was recorded.",
      !hasLoad ? "No host load was recorded." : `Load of the host's processors${hasTemperature ? " (right)." : "."}`,
    ].join(" "),
    ariaLabel: "Temperature and host load over time.",
  };
}

/** Returns the lower limit of the temperature axis, a little below the lowest value. */
function temperatureAxisLow(values: Values): number {
  const known = values.filter((value): value is number => typeof value === "number");
  return known.length > 0 ? Math.floor(Math.min(...known) / 5 - 1) * 5 : 0;
}

const COLUMN_NAMES: Record<string, string> = {
  reads: "reads",
  writes: "writes",
  bytes: "bytes",
  iops: "IOPS",
  rt_mean: "mean",
  rt_p99: "99 %",
  rt_max: "maximum",
};

/** Draws I/Os or response times of a step by second. */
export function secondsChart(runs: readonly NamedRun<StepAnswer>[], quantity: "ios" | "rt"): Chart | string {
  const isWanted = (key: string): boolean =>
    key !== "t" && (quantity === "rt" ? key.includes("rt") : key === "reads" || key === "writes");
  const columns = runs.flatMap((run) =>
    Object.keys(run.answer.intervals)
      .filter(isWanted)
      .filter((key) => maxOf(run.answer.intervals[key] ?? []) > 0)
      .map((key) => ({
        run,
        key,
        x: (run.answer.intervals["t"] ?? []).map((value) => value ?? 0),
        y: run.answer.intervals[key] ?? [],
      })),
  );
  if (columns.length === 0)
    return quantity === "rt" ? "No response times by second." : "This step has no accounting by second.";
  const merged = alignByX(columns);
  const several = runs.length > 1;
  const lines = columns.map(
    ({ run, key }, index): Line => ({
      name: several ? `${COLUMN_NAMES[key] ?? key}, ${run.name}` : (COLUMN_NAMES[key] ?? key),
      color: seriesColor(several ? run.colorIndex : index, isDark()),
      y: merged.y[index] ?? [],
      kind: "points",
      ...(several && (key.includes("max") || key === "writes") ? { dash: [5, 3] } : {}),
    }),
  );
  const spec: ChartSpec = {
    x: merged.x,
    lines,
    marks: [],
    ticks: secondTicks,
    left: {
      name: quantity === "rt" ? "response time ns" : "I/Os per second",
      log: quantity === "rt",
      format: quantity === "rt" ? formatNs : formatAxisValue,
    },
    tooltip: lineTooltip(
      (x) => `At ${formatSeconds(x)}`,
      merged.x,
      lines,
      (_, value) => (quantity === "rt" ? formatNs(value) : formatCount(value)),
    ),
  };
  return {
    spec,
    legend: legendOf(lines),
    xName: "t_s",
    note: quantity === "rt" ? "Response times of each second." : "I/Os of each second.",
    ariaLabel: `${spec.left.name} by second.`,
  };
}

/** Draws response times over percentiles. */
export function percentilesChart(runs: readonly NamedRun<StepAnswer>[]): Chart | string {
  const curves = runs.map(({ answer }) => {
    const curve = percentileCurve(answer.histogram.upper_ns, answer.histogram.counts);
    const reported = answer.percentiles.filter((pair): pair is [number, number] => pair[1] !== null && pair[0] < 100);
    return curve.x.length > 0 ? curve : { x: reported.map(([p]) => nines(p / 100)), y: reported.map(([, ns]) => ns) };
  });
  const merged = alignByX(curves);
  if (merged.x.length === 0) return "No response times in this step.";
  // The table has the points of all curves, so each curve is interpolated at those of the others.
  const lines = runs.map(
    ({ name, colorIndex: place }, index): Line =>
      straightLine({
        name,
        color: seriesColor(place, isDark()),
        y: interpolate(merged.x, curves[index] ?? { x: [], y: [] }),
        width: 1.8,
      }),
  );
  const spec: ChartSpec = {
    x: merged.x,
    lines,
    marks: [],
    ticks: (from, to) => percentileTicks(from, to, 8).filter(([value]) => value >= from - 1e-9 && value <= to),
    left: { name: "response time ns", log: true, format: formatNs },
    tooltip: lineTooltip(
      (x) => `${formatNumber((1 - Math.pow(10, -x)) * 100)} % of I/Os took at most`,
      merged.x,
      lines,
      (_, value) => formatNs(value),
    ),
  };
  return {
    spec,
    legend: runs.length > 1 ? legendOf(lines) : [],
    xName: "nines",
    note: "How many I/Os took at most how long, from the histogram of the step.",
    ariaLabel: "Response time by percentile.",
  };
}

function interpolate(x: number[], curve: { x: number[]; y: number[] }): Values {
  let index = 0;
  return x.map((value) => {
    while (index < curve.x.length - 2 && (curve.x[index + 1] ?? 0) < value) index += 1;
    const [x0, x1, y0, y1] = [
      curve.x[index],
      curve.x[index + 1] ?? curve.x[index],
      curve.y[index],
      curve.y[index + 1] ?? curve.y[index],
    ];
    if (x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined || value < x0 || value > x1)
      return null;
    return x1 === x0 ? y0 : y0 + ((value - x0) / (x1 - x0)) * (y1 - y0);
  });
}
