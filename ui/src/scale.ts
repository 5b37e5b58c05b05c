/** From values to places along an axis and back, and ticks that people read. No document here. */

export interface Reach {
  label: string;
  low: number;
  high: number;
  log: boolean;
  /** Seconds of its unit, where it is one of time. */
  time?: number;
  /** What a clock showed: from this value on, seconds since 1970 (local time) at value 0. */
  clock?: [number, number][];
  names?: string[];
}

/** The place of a value on an axis, 0 at its low end and 1 at its high end. */
export function part(reach: Reach, value: number): number {
  if (reach.log) return Math.log(value / reach.low) / Math.log(reach.high / reach.low);
  return (value - reach.low) / (reach.high - reach.low);
}

/** The value at a place: the other way round. */
export function valueAt(reach: Reach, place: number): number {
  if (reach.log) return reach.low * Math.pow(reach.high / reach.low, place);
  return reach.low + place * (reach.high - reach.low);
}

/** Four significant digits with separated thousands and a proper minus sign. */
export function readable(value: number, digits = 4): string {
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

const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];

/** 1, 2 or 5 times a power of ten, about six of which cover a span. */
export function niceStep(span: number): number {
  const rough = span / 6;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const factor = rough / power;
  return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

/** Ticks of an axis, as values with their names. */
export function ticks(reach: Reach): [number, string][] {
  if (reach.log) return logTicks(reach);
  if (reach.time !== undefined) return clockTicks(reach, reach.time);
  const step = niceStep(reach.high - reach.low);
  return multiples(step, reach).map((value) => [value, named(value, step)]);
}

function multiples(step: number, reach: Reach): number[] {
  const first = Math.ceil(reach.low / step - 1e-9);
  const out: number[] = [];
  for (let n = first; n * step <= reach.high + step * 1e-9 && out.length < 50; n += 1) out.push(n * step);
  return out;
}

function named(value: number, step: number): string {
  const tidy = Math.abs(value) < step / 2 ? 0 : value;
  const digits = tidy === 0 ? 1 : Math.floor(Math.log10(Math.abs(tidy))) - Math.floor(Math.log10(step)) + 1;
  return readable(tidy, Math.max(1, digits));
}

function clockTicks(reach: Reach, unit: number): [number, string][] {
  const span = (reach.high - reach.low) * unit;
  const step = span < 6 ? niceStep(span) : (CLOCK.find((one) => span / one <= 8) ?? niceStep(span / 86400) * 86400);
  const whole = (seconds: number): boolean => step % seconds === 0 && unit < seconds;
  if (reach.clock?.length) return timesOfDay(reach, reach.clock, unit, step);
  return multiples(step / unit, reach).map((value) => {
    const seconds = value * unit;
    if (Math.abs(seconds) < step / 1e6) return [0, "0"];
    if (whole(3600)) return [value, `${readable(seconds / 3600)} h`];
    if (whole(60)) return [value, `${readable(seconds / 60, 5)} min`];
    return [value, readable(value, 6)];
  });
}

function timesOfDay(reach: Reach, clock: readonly [number, number][], unit: number, step: number): [number, string][] {
  return clock.flatMap(([from, ahead], index): [number, string][] => {
    const end = clock[index + 1]?.[0];
    const low = Math.max(reach.low, index > 0 ? from : reach.low) * unit + ahead;
    const high = Math.min(reach.high, end === undefined ? reach.high : end - (step / unit) * 1e-6) * unit + ahead;
    const part = { ...reach, low, high };
    return multiples(step, part).map((seconds) => [(seconds - ahead) / unit, face(seconds, step)]);
  });
}

/** The time of day; at midnight the date. */
function face(seconds: number, step: number): string {
  const decimals = step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
  const ticks = Math.round(seconds * Math.pow(10, decimals));
  const perDay = 86400 * Math.pow(10, decimals);
  if (ticks % perDay === 0 && step >= 60) return dateOf(seconds);
  return timeOf(ticks / Math.pow(10, decimals), step >= 60 ? -1 : decimals);
}

function dateOf(seconds: number): string {
  return new Date(Math.floor(seconds / 86400) * 86400000).toISOString().slice(0, 10);
}

/** `06:16` with -1 decimals, otherwise `06:16:17`, with so many. */
function timeOf(seconds: number, decimals: number): string {
  const rest = seconds - Math.floor(seconds / 86400) * 86400;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  const text = `${two(rest / 3600)}:${two((rest / 60) % 60)}`;
  if (decimals < 0) return text;
  const part = (rest % 60).toFixed(decimals);
  return `${text}:${part.padStart(decimals > 0 ? decimals + 3 : 2, "0")}`;
}

/** What a clock showed at a value: date and time. */
export function onClock(reach: Reach, clock: readonly [number, number][], value: number): string {
  const [, ahead] = clock.filter(([from], index) => index === 0 || from <= value).slice(-1)[0] ?? [0, 0];
  const span = (reach.high - reach.low) * (reach.time ?? 1);
  const decimals = span < 6 ? 4 : span < 600 ? 1 : 0;
  const seconds = Math.floor((value * (reach.time ?? 1) + ahead) * Math.pow(10, decimals)) / Math.pow(10, decimals);
  return `${dateOf(seconds)} ${timeOf(seconds, decimals)}`;
}

/** A value of an axis as people read it: its category, its clock time, its number. */
export function nameAt(reach: Reach, value: number): string {
  if (reach.clock?.length) return onClock(reach, reach.clock, value);
  return reach.names?.[Math.round(value)] ?? readable(value, 5);
}

function logTicks(reach: Reach): [number, string][] {
  const wide = Math.log10(reach.high / reach.low);
  const factors = wide > 2.5 ? [1] : [1, 2, 5];
  const out: [number, string][] = [];
  for (let power = Math.floor(Math.log10(reach.low)); power <= Math.ceil(Math.log10(reach.high)); power += 1) {
    for (const factor of factors) {
      const value = factor * Math.pow(10, power);
      if (value >= reach.low * 0.999999 && value <= reach.high * 1.000001) out.push([value, readable(value)]);
    }
  }
  return out;
}

/** The position in rising numbers that is nearest to one; -1 of none. */
export function nearest(xs: readonly number[], x: number): number {
  let low = 0;
  let high = xs.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) < x) low = middle;
    else high = middle;
  }
  return Math.abs((xs[low] ?? 0) - x) <= Math.abs((xs[high] ?? 0) - x) ? low : high;
}
