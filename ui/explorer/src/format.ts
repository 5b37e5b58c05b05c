/** Formatting of numbers and times. Does not use the DOM. */
import { niceStep, formatSignificant } from "../../src/scale";

export const NONE = "–";

/** Formats an integer with thousands separators. */
export function formatCount(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  return String(Math.round(Math.abs(value)))
    .replace(/\B(?=(\d{3})+(?!\d))/g, ",")
    .replace(/^/, value < -0.5 ? "−" : "");
}

/** Formats a measured value with four significant digits. */
export function formatNumber(value: number | null | undefined, unit = ""): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  return unit ? `${formatSignificant(value)} ${unit}` : formatSignificant(value);
}

function withUnit(value: number, units: readonly [number, string][]): string {
  const size = Math.abs(value);
  const [factor, name] = units.find(([threshold]) => size >= threshold) ?? units[units.length - 1] ?? [1, ""];
  return `${formatSignificant(value / factor)} ${name}`;
}

/** Formats a duration given in nanoseconds. */
export function formatNs(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return NONE;
  if (ns === 0) return "0";
  return withUnit(ns, [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
  ]);
}

/** Formats an amount of data in decimal units. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return NONE;
  if (bytes === 0) return "0";
  return withUnit(bytes, [
    [1e12, "TB"],
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "B"],
  ]);
}

/** Formats an axis label with k, M or G. */
export function formatAxisValue(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const [factor, name] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  return `${formatSignificant(value / (factor as number), 3)}${name}`;
}

export function formatPercent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NONE;
  return `${formatSignificant(share * 100, 3)} %`;
}

/** Formats a duration given in seconds: 2 h 05 min, 3 min 20 s, 12 s. */
export function formatSeconds(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  const whole = Math.round(seconds);
  const [d, h, m, s] = [
    Math.floor(whole / 86400),
    Math.floor((whole % 86400) / 3600),
    Math.floor((whole % 3600) / 60),
    whole % 60,
  ];
  const twoDigits = (value: number): string => String(value).padStart(2, "0");
  if (d > 0) return `${d} d ${twoDigits(h)} h`;
  if (h > 0) return `${h} h ${twoDigits(m)} min`;
  if (m > 0) return `${m} min ${twoDigits(s)} s`;
  if (whole >= 10 || whole === seconds) return `${s} s`;
  return seconds < 1 ? formatNs(Math.round(seconds * 1e9)) : `${formatSignificant(seconds, 3)} s`;
}

/** Start of a capture on its host's clock, and the host's offset from UTC. */
export interface Clock {
  begin_ns: number;
  zone_s: number;
}

const NS = 1e9;
const DAY_S = 86400;

/** Returns the decimals of a second that a step needs. */
function decimals(step_ns: number): number {
  return step_ns >= NS ? 0 : Math.min(9, Math.ceil(-Math.log10(step_ns / NS) - 1e-9));
}

/** Formats a time of a capture: by the clock of its host if it is known, else since the start. */
export function formatTime(ns: number, clock: Clock | undefined, step_ns = 1e6): string {
  return clock ? formatTimeOfDay(ns, clock, step_ns) : formatSinceStart(ns, step_ns);
}

function formatSinceStart(ns: number, step_ns: number): string {
  const seconds = ns / NS;
  if (step_ns >= 60 * NS && Math.abs(ns % (60 * NS)) < 1) return formatMinutes(Math.round(seconds));
  return `${groupThousands(seconds.toFixed(decimals(step_ns)))} s`;
}

function formatMinutes(seconds: number): string {
  if (seconds === 0) return "0";
  const [h, m] = [Math.floor(seconds / 3600), Math.round((seconds % 3600) / 60)];
  return h === 0 ? `${m} min` : m === 0 ? `${h} h` : `${h} h ${String(m).padStart(2, "0")}`;
}

function groupThousands(text: string): string {
  const [whole = "", fraction] = text.split(".");
  const left = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return fraction === undefined ? left : `${left}.${fraction}`;
}

/** Returns the day since 1970 and the nanoseconds since midnight, in the host's local time. */
function localTime(ns: number, clock: Clock): { day: number; ns: number } {
  // Nanoseconds since 1970 exceed the precision of a double, so whole seconds are computed separately.
  const base = Math.floor(clock.begin_ns / NS) + clock.zone_s;
  const rest = clock.begin_ns - Math.floor(clock.begin_ns / NS) * NS + ns;
  const seconds = base + Math.floor(rest / NS);
  const day = Math.floor(seconds / DAY_S);
  return { day, ns: (seconds - day * DAY_S) * NS + (rest - Math.floor(rest / NS) * NS) };
}

function formatTimeOfDay(ns: number, clock: Clock, step_ns: number): string {
  const digits = decimals(step_ns);
  const unit = NS / Math.pow(10, digits);
  const seconds = ((Math.round(localTime(ns, clock).ns / unit) * unit) / NS) % DAY_S;
  const twoDigits = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  const head = `${twoDigits(seconds / 3600)}:${twoDigits((seconds % 3600) / 60)}`;
  if (step_ns >= 60 * NS) return head;
  const s = (seconds % 60).toFixed(digits);
  return `${head}:${s.padStart(digits ? 3 + digits : 2, "0")}`;
}

/** Formats the date of a time of a capture. */
export function formatDate(ns: number, clock: Clock): string {
  const { day } = localTime(ns, clock);
  return new Date(day * DAY_S * 1000).toISOString().slice(0, 10);
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];

/** Returns the ticks of a time axis in nanoseconds, with labels; about `maxTicks` at most. */
export function timeTicks(from: number, to: number, clock: Clock | undefined, maxTicks: number): [number, string][] {
  const seconds = (to - from) / NS;
  const minStep = seconds / Math.max(1, maxTicks);
  const step =
    minStep < 1
      ? subSecondStep(minStep)
      : (STEPS.find((candidate) => candidate >= minStep) ?? Math.ceil(minStep / DAY_S) * DAY_S);
  const step_ns = Math.max(1, step * NS);
  const sinceMidnight = clock ? localTime(0, clock).ns : 0;
  const ticks: [number, string][] = [];
  for (let n = Math.ceil((from + sinceMidnight) / step_ns - 1e-9); ticks.length < 60; n += 1) {
    const ns = n * step_ns - sinceMidnight;
    if (ns > to + step_ns * 1e-9) break;
    ticks.push([ns, tickLabel(ns, clock, step_ns)]);
  }
  return ticks;
}

function subSecondStep(minStep: number): number {
  const step = niceStep(minStep * 6);
  return step >= minStep ? step : step * 2;
}

function tickLabel(ns: number, clock: Clock | undefined, step_ns: number): string {
  if (!clock) return formatSinceStart(ns, step_ns);
  // Rounding may put a tick slightly before midnight; half a second moves it past it.
  if (step_ns >= 60 * NS && localTime(ns + NS / 2, clock).ns < NS) return formatDate(ns + NS / 2, clock).slice(5);
  return formatTimeOfDay(ns, clock, step_ns);
}
