/** Axes: conversion between values and positions, ticks, number formatting. Does not use the DOM. */

export interface Axis {
  label: string;
  low: number;
  high: number;
  log: boolean;
  /** Length of the unit in seconds, for an axis of time. */
  time?: number;
  /** For an axis of clock times: from which value on, and local time of value 0 in seconds since 1970. */
  clock?: [number, number][];
  names?: string[];
}

/** Returns the position of a value on an axis: 0 at the low end, 1 at the high end. */
export function fractionOf(axis: Axis, value: number): number {
  if (axis.log) return Math.log(value / axis.low) / Math.log(axis.high / axis.low);
  return (value - axis.low) / (axis.high - axis.low);
}

/** Returns the value at a position; the inverse of `fractionOf`. */
export function valueAt(axis: Axis, fraction: number): number {
  if (axis.log) return axis.low * Math.pow(axis.high / axis.low, fraction);
  return axis.low + fraction * (axis.high - axis.low);
}

/** Formats a number with four significant digits and thousands separators. */
export function formatSignificant(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const power = Math.floor(Math.log10(size));
  const decimals = Math.min(9, Math.max(0, digits - 1 - power));
  const [whole = "0", fraction] = size.toFixed(decimals).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const tail = fraction === undefined ? "" : `.${fraction}`.replace(/\.?0+$/, "");
  return `${value < 0 ? "−" : ""}${grouped}${tail}`;
}

const NICE_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];

/** Returns a step of 1, 2 or 5 times a power of ten, about six of which cover a span. */
export function niceStep(span: number): number {
  const rough = span / 6;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const factor = rough / power;
  return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

/** Returns the ticks of an axis, with their labels. */
export function ticks(axis: Axis): [number, string][] {
  if (axis.log) return logTicks(axis);
  if (axis.time !== undefined) return clockTicks(axis, axis.time);
  const step = niceStep(axis.high - axis.low);
  return multiples(step, axis).map((value) => [value, tickLabel(value, step)]);
}

function multiples(step: number, axis: Axis): number[] {
  const first = Math.ceil(axis.low / step - 1e-9);
  const values: number[] = [];
  for (let n = first; n * step <= axis.high + step * 1e-9 && values.length < 50; n += 1) values.push(n * step);
  return values;
}

function tickLabel(value: number, step: number): string {
  const rounded = Math.abs(value) < step / 2 ? 0 : value;
  const digits = rounded === 0 ? 1 : Math.floor(Math.log10(Math.abs(rounded))) - Math.floor(Math.log10(step)) + 1;
  return formatSignificant(rounded, Math.max(1, digits));
}

function clockTicks(axis: Axis, unit: number): [number, string][] {
  const span = (axis.high - axis.low) * unit;
  const step =
    span < 6 ? niceStep(span) : (NICE_SECONDS.find((one) => span / one <= 8) ?? niceStep(span / 86400) * 86400);
  const isMultipleOf = (seconds: number): boolean => step % seconds === 0 && unit < seconds;
  if (axis.clock?.length) return timesOfDay(axis, axis.clock, unit, step);
  return multiples(step / unit, axis).map((value) => {
    const seconds = value * unit;
    if (Math.abs(seconds) < step / 1e6) return [0, "0"];
    if (isMultipleOf(3600)) return [value, `${formatSignificant(seconds / 3600)} h`];
    if (isMultipleOf(60)) return [value, `${formatSignificant(seconds / 60, 5)} min`];
    return [value, formatSignificant(value, 6)];
  });
}

function timesOfDay(axis: Axis, clock: readonly [number, number][], unit: number, step: number): [number, string][] {
  return clock.flatMap(([from, ahead], index): [number, string][] => {
    const end = clock[index + 1]?.[0];
    const low = Math.max(axis.low, index > 0 ? from : axis.low) * unit + ahead;
    const high = Math.min(axis.high, end === undefined ? axis.high : end - (step / unit) * 1e-6) * unit + ahead;
    const part = { ...axis, low, high };
    return multiples(step, part).map((seconds) => [(seconds - ahead) / unit, timeLabel(seconds, step)]);
  });
}

/** Formats a clock time; at midnight as the date. */
function timeLabel(seconds: number, step: number): string {
  const decimals = step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
  const ticks = Math.round(seconds * Math.pow(10, decimals));
  const perDay = 86400 * Math.pow(10, decimals);
  if (ticks % perDay === 0 && step >= 60) return dateOf(seconds);
  return timeOf(ticks / Math.pow(10, decimals), step >= 60 ? -1 : decimals);
}

function dateOf(seconds: number): string {
  return new Date(Math.floor(seconds / 86400) * 86400000).toISOString().slice(0, 10);
}

/** Formats a time of day: `06:16` with -1 decimals, else `06:16:17` with that many decimals. */
function timeOf(seconds: number, decimals: number): string {
  const rest = seconds - Math.floor(seconds / 86400) * 86400;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  const text = `${two(rest / 3600)}:${two((rest / 60) % 60)}`;
  if (decimals < 0) return text;
  const part = (rest % 60).toFixed(decimals);
  return `${text}:${part.padStart(decimals > 0 ? decimals + 3 : 2, "0")}`;
}

/** Formats the date and time that the clock showed at a value. */
export function dateAndTime(axis: Axis, clock: readonly [number, number][], value: number): string {
  const [, ahead] = clock.filter(([from], index) => index === 0 || from <= value).slice(-1)[0] ?? [0, 0];
  const span = (axis.high - axis.low) * (axis.time ?? 1);
  const decimals = span < 6 ? 4 : span < 600 ? 1 : 0;
  const seconds = Math.floor((value * (axis.time ?? 1) + ahead) * Math.pow(10, decimals)) / Math.pow(10, decimals);
  return `${dateOf(seconds)} ${timeOf(seconds, decimals)}`;
}

/** Formats a value of an axis: as its category, clock time or number. */
export function formatValue(axis: Axis, value: number): string {
  if (axis.clock?.length) return dateAndTime(axis, axis.clock, value);
  return axis.names?.[Math.round(value)] ?? formatSignificant(value, 5);
}

function logTicks(axis: Axis): [number, string][] {
  const decades = Math.log10(axis.high / axis.low);
  const factors = decades > 2.5 ? [1] : [1, 2, 5];
  const out: [number, string][] = [];
  for (let power = Math.floor(Math.log10(axis.low)); power <= Math.ceil(Math.log10(axis.high)); power += 1) {
    for (const factor of factors) {
      const value = factor * Math.pow(10, power);
      if (value >= axis.low * 0.999999 && value <= axis.high * 1.000001) out.push([value, formatSignificant(value)]);
    }
  }
  return out;
}

/** Returns the index of the interval between ascending edges that contains x, clamped to the first and the last one. */
export function intervalIndex(edges: readonly number[], x: number): number {
  let [low, high] = [0, edges.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((edges[middle] ?? 0) <= x) low = middle;
    else high = middle;
  }
  return low;
}

/** Returns the index of the ascending number nearest to x; -1 for an empty list. */
export function nearestIndex(xs: readonly number[], x: number): number {
  if (xs.length === 0) return -1;
  const low = intervalIndex(xs, x);
  const next = xs[low + 1];
  return next !== undefined && Math.abs(next - x) < Math.abs((xs[low] ?? 0) - x) ? low + 1 : low;
}
