/** Numbers and times as people read them. No document here. */
import { niceStep, readable } from "../../src/scale";

export const NONE = "–";

/** A whole number with separated thousands. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  return String(Math.round(Math.abs(value))).replace(/\B(?=(\d{3})+(?!\d))/g, ",").replace(/^/, value < -0.5 ? "−" : "");
}

/** A measured number with four digits. */
export function number(value: number | null | undefined, unit = ""): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  return unit ? `${readable(value)} ${unit}` : readable(value);
}

function scaled(value: number, units: readonly [number, string][]): string {
  const size = Math.abs(value);
  const [factor, name] = units.find(([at]) => size >= at) ?? units[units.length - 1] ?? [1, ""];
  return `${readable(value / factor)} ${name}`;
}

/** A response time or another short span of nanoseconds. */
export function span(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return NONE;
  if (ns === 0) return "0";
  return scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
}

/** An amount of data, decimal. */
export function amount(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return NONE;
  if (bytes === 0) return "0";
  return scaled(bytes, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
}

/** An axis label with k, M, G. */
export function brief(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const [factor, name] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  return `${readable(value / (factor as number), 3)}${name}`;
}

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NONE;
  return `${readable(share * 100, 3)} %`;
}

/** Seconds of waiting or running: 2 h 05 min, 3 min 20 s, 12 s. */
export function lasting(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  const whole = Math.round(seconds);
  const [d, h, m, s] = [Math.floor(whole / 86400), Math.floor((whole % 86400) / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  if (d > 0) return `${d} d ${two(h)} h`;
  if (h > 0) return `${h} h ${two(m)} min`;
  if (m > 0) return `${m} min ${two(s)} s`;
  if (whole >= 10 || whole === seconds) return `${s} s`;
  return seconds < 1 ? span(Math.round(seconds * 1e9)) : `${readable(seconds, 3)} s`;
}

/** Where a capture's zero lies on the clock; none where the trace does not say. */
export interface Clock {
  begin_ns: number;
  zone_s: number;
}

const NS = 1e9;
const DAY = 86400;

/** Digits after the second that a step needs. */
function decimals(step_ns: number): number {
  return step_ns >= NS ? 0 : Math.min(9, Math.ceil(-Math.log10(step_ns / NS) - 1e-9));
}

/** A moment of a capture: from its beginning, or by the clock of its host. */
export function moment(ns: number, clock: Clock | undefined, step_ns = 1e6): string {
  return clock ? byClock(ns, clock, step_ns) : fromStart(ns, step_ns);
}

function fromStart(ns: number, step_ns: number): string {
  const seconds = ns / NS;
  if (step_ns >= 60 * NS && Math.abs(ns % (60 * NS)) < 1) return lastingShort(Math.round(seconds));
  return `${grouped(seconds.toFixed(decimals(step_ns)))} s`;
}

function lastingShort(seconds: number): string {
  if (seconds === 0) return "0";
  const [h, m] = [Math.floor(seconds / 3600), Math.round((seconds % 3600) / 60)];
  return h === 0 ? `${m} min` : m === 0 ? `${h} h` : `${h} h ${String(m).padStart(2, "0")}`;
}

function grouped(text: string): string {
  const [whole = "", fraction] = text.split(".");
  const left = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return fraction === undefined ? left : `${left}.${fraction}`;
}

/** Nanoseconds since midnight of the captured host, and the day. */
function onClock(ns: number, clock: Clock): { day: number; into: number } {
  // The seconds of now are whole and exact; the rest stays with the small number.
  const base = Math.floor(clock.begin_ns / NS) + clock.zone_s;
  const rest = clock.begin_ns - Math.floor(clock.begin_ns / NS) * NS + ns;
  const seconds = base + Math.floor(rest / NS);
  const day = Math.floor(seconds / DAY);
  return { day, into: (seconds - day * DAY) * NS + (rest - Math.floor(rest / NS) * NS) };
}

function byClock(ns: number, clock: Clock, step_ns: number): string {
  const digits = decimals(step_ns);
  const unit = NS / Math.pow(10, digits);
  const seconds = (Math.round(onClock(ns, clock).into / unit) * unit / NS) % DAY;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  const head = `${two(seconds / 3600)}:${two((seconds % 3600) / 60)}`;
  if (step_ns >= 60 * NS) return head;
  const s = (seconds % 60).toFixed(digits);
  return `${head}:${s.padStart(digits ? 3 + digits : 2, "0")}`;
}

/** The date of a moment. */
export function date(ns: number, clock: Clock): string {
  const { day } = onClock(ns, clock);
  return new Date(day * DAY * 1000).toISOString().slice(0, 10);
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];

/** Ticks of a time axis from one nanosecond to another, with their names; at most so many. */
export function timeTicks(from: number, to: number, clock: Clock | undefined, most: number): [number, string][] {
  const seconds = (to - from) / NS;
  const rough = seconds / Math.max(1, most);
  const step = rough < 1 ? fineStep(rough) : (STEPS.find((one) => one >= rough) ?? Math.ceil(rough / DAY) * DAY);
  const step_ns = Math.max(1, step * NS);
  const shift = clock ? onClock(0, clock).into : 0;
  const out: [number, string][] = [];
  for (let n = Math.ceil((from + shift) / step_ns - 1e-9); out.length < 60; n += 1) {
    const ns = n * step_ns - shift;
    if (ns > to + step_ns * 1e-9) break;
    out.push([ns, label(ns, clock, step_ns)]);
  }
  return out;
}

function fineStep(rough: number): number {
  const step = niceStep(rough * 6);
  return step >= rough ? step : step * 2;
}

function label(ns: number, clock: Clock | undefined, step_ns: number): string {
  if (!clock) return fromStart(ns, step_ns);
  // Half a second, because a product of steps may lie a little before midnight.
  if (step_ns >= 60 * NS && onClock(ns + NS / 2, clock).into < NS) return date(ns + NS / 2, clock).slice(5);
  return byClock(ns, clock, step_ns);
}
