/** Answers about runs as drawings: rounds that converge, steps in their order, one step closely. */
import type { Drawing } from "./panel";
import type { Line, Sheet } from "./pane";
import { dark, ink } from "./dom";
import { exceedance, greatest, joined, nines } from "./fold";
import { brief, count, lasting, number, span, timeTicks } from "./format";
import { color } from "./palette";
import { ticks as plainTicks } from "../../src/scale";
import type { RunAnswer, RunStep, StepAnswer, Values } from "./types";

/** A run with the name and the color that it has on this page. */
export interface Named<T> {
  name: string;
  place: number;
  answer: T;
}

type Ticks = Sheet["ticks"];

const bySeconds: Ticks = (from, to, most) => timeTicks(from * 1e9, to * 1e9, undefined, most).map(([ns, name]) => [ns / 1e9, name]);
const byNumber: Ticks = (from, to) => plainTicks({ label: "", low: from, high: to, log: false }).filter(([value]) => Number.isInteger(value));
const byNines: Ticks = () => [[0, "0 %"], [nines(0.5), "50 %"], [1, "90 %"], [2, "99 %"], [3, "99.9 %"], [4, "99.99 %"], [5, "99.999 %"], [6, "99.9999 %"]];

function plain(line: Partial<Line> & Pick<Line, "name" | "color" | "y">): Line {
  return { kind: "line", ...line };
}

/** What every line says at a place. */
function tips(head: (x: number) => string, x: number[], lines: Line[], text: (line: Line, value: number) => string): Sheet["tips"] {
  return (at) => ({
    head: head(x[at] ?? 0),
    rows: lines.flatMap((line) => {
      const value = line.y[at];
      return value === null || value === undefined ? [] : [{ name: line.name, value: text(line, value), color: line.color }];
    }),
  });
}

function keysOf(lines: Line[], right = ""): Drawing["keys"] {
  return lines.map((line) => ({ name: line.name + (line.right ? right : ""), color: line.color, dash: true }));
}

/** One tracking variable over the rounds, with its window and its limits. */
export function track(name: string, runs: readonly Named<RunAnswer>[]): Drawing | string {
  const found = runs.flatMap((run) => {
    const one = run.answer.tracks.find((candidate) => candidate.name === name);
    return one ? [{ run, one }] : [];
  });
  const rounds = joined(found.map(({ one }) => ({ x: one.rounds.map((each) => each.round), y: one.rounds.map((each) => each.value) })));
  if (rounds.x.length === 0) return "No round is finished yet.";
  const first = found[0]?.one;
  const unit = first?.unit ?? "";
  const lines = found.map(({ run }, at): Line => ({ name: run.name, color: color(run.place, dark()), y: rounds.y[at] ?? [], kind: "points" }));
  const window = first?.window ?? undefined;
  const sheet: Sheet = {
    x: rounds.x, marks: [], ticks: byNumber, lines: [...lines, ...(window ? limits(rounds.x, window) : [])],
    left: { name: `${name} ${unit}`, format: brief },
    tips: () => ({ head: "", rows: [] }),
  };
  if (window) sheet.shaded = { from: window.from - 0.5, to: window.to + 0.5 };
  const values = sheet.lines.flatMap((line) => line.y).filter((value): value is number => typeof value === "number");
  const [low, high] = [Math.min(...values), Math.max(...values)];
  sheet.left.low = Math.max(0, low - (high - low || high) * 0.15);
  sheet.left.high = high + (high - low || high) * 0.15;
  sheet.tips = tips((x) => `Round ${x}`, rounds.x, sheet.lines, (_, value) => number(value, unit));
  const verdict = first?.verdict ?? "";
  return {
    sheet, keys: keysOf(sheet.lines), xName: "round",
    note: [unit, window ? `window: rounds ${window.from} to ${window.to}` : "no window yet", verdict].filter(Boolean).join("; "),
    spoken: `${name} by round. ${verdict}`,
  };
}

type Window = NonNullable<RunAnswer["tracks"][number]["window"]>;

/** The average of the window, how far values may lie from it, and the slope. */
function limits(x: number[], window: Window): Line[] {
  const held = (value: (share: number) => number): Values => x.map((round) =>
    round >= window.from && round <= window.to ? value((round - window.from) / Math.max(1, window.to - window.from)) : null);
  return [
    plain({ name: "average", color: ink("quiet"), y: held(() => window.average), width: 1.5 }),
    plain({ name: "lowest allowed", color: ink("bad"), y: held(() => window.low), dash: [5, 3], width: 1 }),
    plain({ name: "highest allowed", color: ink("bad"), y: held(() => window.high), dash: [5, 3], width: 1 }),
    plain({ name: "slope", color: ink("mild"), y: held((share) => window.slope_from + share * (window.slope_to - window.slope_from)), dash: [2, 2] }),
  ];
}

/** Rate or response time of every step, in the order of time. */
export function stepsOver(runs: readonly Named<RunAnswer>[], what: "iops" | "mb" | "rt"): Drawing | string {
  const value = (step: RunStep): number | null => (what === "iops" ? step.iops : what === "mb" ? step.mb_s : step.rt_mean_ns);
  const placed = runs.map(({ answer }) => answer.steps.filter((step) => step.start_s !== null));
  const all = joined(placed.map((steps) => ({ x: steps.map((step) => step.start_s ?? 0), y: steps.map(value) })));
  if (all.x.length === 0) return "No step is finished yet.";
  const lines = runs.map(({ name, place }, at): Line => ({ name, color: color(place, dark()), y: all.y[at] ?? [], kind: "points" }));
  const text = (one: number): string => (what === "rt" ? span(one) : number(one, what === "iops" ? "IOPS" : "MB/s"));
  const steps = new Map(placed.flat().map((step) => [step.start_s, step]));
  const marks = (runs[0]?.answer.caveats ?? []).flatMap((caveat) => {
    const at = caveat.t ?? runs[0]?.answer.steps.find((step) => step.i === caveat.step)?.start_s;
    return at === null || at === undefined ? [] : [{ x: at, text: caveat.text }];
  });
  const sheet: Sheet = {
    x: all.x, lines, marks, ticks: bySeconds,
    left: { name: what === "rt" ? "mean response time ns" : what === "iops" ? "IOPS" : "MB/s", log: true, format: what === "rt" ? span : brief },
    tips: tips((x) => `${steps.get(x)?.place ?? ""} ${steps.get(x)?.name ?? ""} at ${lasting(x)}`.trim(), all.x, lines, (_, one) => text(one)),
  };
  return {
    sheet, keys: runs.length > 1 ? keysOf(lines) : [], xName: "start_s",
    note: `One point for each step, at its start; logarithmic axis.${marks.length > 0 ? " Dashed lines: caveats." : ""} Click a point to see the step.`,
    spoken: `${sheet.left.name} of ${count(steps.size)} steps over time.`,
  };
}

/** Temperature of the drive and load of the host. */
export function sensors(runs: readonly Named<RunAnswer>[]): Drawing | string {
  const known = runs.flatMap((run) => (run.answer.sensors && run.answer.sensors.t.length > 0 ? [{ run, one: run.answer.sensors }] : []));
  const has = (pick: (one: (typeof known)[number]) => Values): boolean => known.some((one) => pick(one).some((value) => typeof value === "number"));
  const [warm, busy] = [has(({ one }) => one.temperature), has(({ one }) => one.load)];
  if (!warm && !busy) return "Neither temperature nor host load was recorded.";
  const columns = known.flatMap(({ run, one }) => [
    { run, x: one.t, y: one.temperature, right: false, name: "temperature" },
    { run, x: one.t, y: one.load.map((share) => (typeof share === "number" ? share * 100 : null)), right: warm, name: "host load" },
  ]).filter((column) => column.y.some((value) => typeof value === "number"));
  const all = joined(columns);
  const several = known.length > 1;
  const load = { name: "load %", format: (value: number): string => `${brief(value)} %` };
  const lines = columns.map(({ run, right, name }, at): Line => ({
    name: several ? `${name}, ${run.name}` : name,
    color: color(several ? run.place : right ? 0 : 1, dark()),
    y: all.y[at] ?? [], kind: "points", right, ...(right ? { dash: [5, 3] } : {}),
  }));
  const sheet: Sheet = {
    x: all.x, lines, marks: [], ticks: bySeconds,
    left: !warm ? load : { name: "°C", low: lowest(known.flatMap(({ one }) => one.temperature)), format: (value) => `${brief(value)} °C` },
    ...(warm && busy ? { right: load } : {}),
    tips: tips((x) => `At ${lasting(x)}`, all.x, lines, (line, value) => (line.name.startsWith("host") ? number(value, "%") : number(value, "°C"))),
  };
  return { sheet, keys: keysOf(lines, " (right)"), xName: "t_s", note: [warm ? "Temperature of the drive." : "No temperature was recorded.", !busy ? "No host load was recorded." : `Load of the host's processors${warm ? " (right)." : "."}`].join(" "), spoken: "Temperature and host load over time." };
}

/** A temperature's axis begins a little below it: zero says nothing. */
function lowest(values: Values): number {
  const known = values.filter((value): value is number => typeof value === "number");
  return known.length > 0 ? Math.floor(Math.min(...known) / 5 - 1) * 5 : 0;
}

const COLUMN: Record<string, string> = {
  reads: "reads", writes: "writes", bytes: "bytes", iops: "IOPS", rt_mean: "mean", rt_p99: "99 %", rt_max: "maximum",
};

/** The seconds of a step: I/Os, or response times. */
export function seconds(runs: readonly Named<StepAnswer>[], what: "ios" | "rt"): Drawing | string {
  const wanted = (key: string): boolean => key !== "t" && (what === "rt" ? key.includes("rt") : key === "reads" || key === "writes");
  const columns = runs.flatMap((run) => Object.keys(run.answer.intervals).filter(wanted)
    .filter((key) => greatest(run.answer.intervals[key] ?? []) > 0)
    .map((key) => ({ run, key, x: (run.answer.intervals["t"] ?? []).map((value) => value ?? 0), y: run.answer.intervals[key] ?? [] })));
  if (columns.length === 0) return what === "rt" ? "No response times by second." : "This step has no accounting by second.";
  const all = joined(columns);
  const several = runs.length > 1;
  const lines = columns.map(({ run, key }, at): Line => ({
    name: several ? `${COLUMN[key] ?? key}, ${run.name}` : (COLUMN[key] ?? key),
    color: color(several ? run.place : at, dark()),
    y: all.y[at] ?? [], kind: "points", ...(several && (key.includes("max") || key === "writes") ? { dash: [5, 3] } : {}),
  }));
  const sheet: Sheet = {
    x: all.x, lines, marks: [], ticks: bySeconds,
    left: { name: what === "rt" ? "response time ns" : "I/Os per second", log: what === "rt", format: what === "rt" ? span : brief },
    tips: tips((x) => `At ${lasting(x)}`, all.x, lines, (_, value) => (what === "rt" ? span(value) : count(value))),
  };
  return { sheet, keys: keysOf(lines), xName: "t_s", note: what === "rt" ? "Response times of each second." : "I/Os of each second.", spoken: `${sheet.left.name} by second.` };
}

/** Response times over an axis of percentiles. */
export function percentiles(runs: readonly Named<StepAnswer>[]): Drawing | string {
  const curves = runs.map(({ answer }) => {
    const curve = exceedance(answer.histogram.upper_ns, answer.histogram.counts);
    const said = answer.percentiles.filter((pair): pair is [number, number] => pair[1] !== null && pair[0] < 100);
    return curve.x.length > 0 ? curve : { x: said.map(([p]) => nines(p / 100)), y: said.map(([, ns]) => ns) };
  });
  const all = joined(curves);
  if (all.x.length === 0) return "No response times in this step.";
  // Between its own points a curve is drawn straight, whatever the others have.
  const lines = runs.map(({ name, place }, at): Line => plain({ name, color: color(place, dark()), y: bridged(all.x, curves[at] ?? { x: [], y: [] }), width: 1.8 }));
  const sheet: Sheet = {
    x: all.x, lines, marks: [], ticks: (from, to) => byNines(from, to, 8).filter(([value]) => value >= from - 1e-9 && value <= to),
    left: { name: "response time ns", log: true, format: span },
    tips: tips((x) => `${number((1 - Math.pow(10, -x)) * 100)} % of I/Os took at most`, all.x, lines, (_, value) => span(value)),
  };
  return { sheet, keys: runs.length > 1 ? keysOf(lines) : [], xName: "nines", note: "How many I/Os took at most how long, from the histogram of the step.", spoken: "Response time by percentile." };
}

function bridged(x: number[], curve: { x: number[]; y: number[] }): Values {
  let at = 0;
  return x.map((value) => {
    while (at < curve.x.length - 2 && (curve.x[at + 1] ?? 0) < value) at += 1;
    const [x0, x1, y0, y1] = [curve.x[at], curve.x[at + 1] ?? curve.x[at], curve.y[at], curve.y[at + 1] ?? curve.y[at]];
    if (x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined || value < x0 || value > x1) return null;
    return x1 === x0 ? y0 : y0 + ((value - x0) / (x1 - x0)) * (y1 - y0);
  });
}
