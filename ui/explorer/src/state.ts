/** State of the page, and its encoding in the URL's hash. Does not use the DOM. */

export interface Filters {
  op: string[];
  device: string[];
  layer: string[];
  process: string[];
  pid: string[];
  stream: string[];
  event: string[];
  file: string[];
  cgroup: string[];
  tid: string[];
}

export type Facet = keyof Filters;

export const FACETS: readonly Facet[] = [
  "op",
  "device",
  "layer",
  "process",
  "pid",
  "stream",
  "event",
  "file",
  "cgroup",
  "tid",
];

export interface CaptureView {
  n: number;
  filters: Filters;
}

export interface State {
  /** The shown capture or run; undefined for the first. */
  n: number | undefined;
  filters: Filters;
  /** Capture and filters on the right in a comparison. */
  versus: CaptureView | undefined;
  /** Alignment of both captures: `start`, `clock` or `mark:NAME`; undefined for the default. */
  align: string | undefined;
  /** Runs overlaid on the first. */
  runs: number[];
  from: number | undefined;
  to: number | undefined;
  measure: "iops" | "mb";
  by: "stream" | "process";
  time: "clock" | "start";
  table: string;
  hits: "all" | "read" | "write";
  /** Grouping of the table of processes. */
  group: "pid" | "name";
  step: number | undefined;
}

export function noFilters(): Filters {
  return { op: [], device: [], layer: [], process: [], pid: [], stream: [], event: [], file: [], cgroup: [], tid: [] };
}

export function defaultState(): State {
  return {
    n: undefined,
    filters: noFilters(),
    versus: undefined,
    align: undefined,
    runs: [],
    from: undefined,
    to: undefined,
    measure: "iops",
    by: "stream",
    time: "clock",
    table: "streams",
    hits: "all",
    group: "pid",
    step: undefined,
  };
}

function parseInteger(text: string | null): number | undefined {
  if (text === null || !/^\d{1,15}$/.test(text)) return undefined;
  return Number(text);
}

function oneOf<T extends string>(text: string | null, allowed: readonly T[], fallback: T): T {
  return allowed.find((item) => item === text) ?? fallback;
}

function parseFilters(params: URLSearchParams, prefix: string): Filters {
  const filters = noFilters();
  for (const facet of FACETS)
    filters[facet] = params.getAll(prefix + facet).filter((text) => text !== "" && text.length < 300);
  return filters;
}

/** Parses the URL's hash; ignores what is invalid. */
export function parseHash(hash: string): State {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const state = defaultState();
  state.n = parseInteger(params.get("n"));
  state.filters = parseFilters(params, "");
  const versus = parseInteger(params.get("vs"));
  if (versus !== undefined) state.versus = { n: versus, filters: parseFilters(params, "vs.") };
  const align = params.get("align") ?? "";
  if (align.length < 300 && /^(start|clock|mark:.)/.test(align)) state.align = align;
  state.runs = params.getAll("with").flatMap((text) => parseInteger(text) ?? []);
  const [from, to] = [parseInteger(params.get("from")), parseInteger(params.get("to"))];
  if (from !== undefined && to !== undefined && from < to) [state.from, state.to] = [from, to];
  state.measure = oneOf(params.get("measure"), ["iops", "mb"], "iops");
  state.by = oneOf(params.get("by"), ["stream", "process"], "stream");
  state.time = oneOf(params.get("time"), ["clock", "start"], "clock");
  state.hits = oneOf(params.get("hits"), ["all", "read", "write"], "all");
  state.group = oneOf(params.get("group"), ["pid", "name"], "pid");
  state.table = params.get("table") ?? "streams";
  state.step = parseInteger(params.get("step"));
  return state;
}

/** Encodes a state as a URL's hash. Defaults are omitted. */
export function toHash(state: State): string {
  const params = new URLSearchParams();
  const defaults = defaultState();
  if (state.n !== undefined) params.set("n", String(state.n));
  for (const facet of FACETS) state.filters[facet].forEach((value) => params.append(facet, value));
  if (state.versus) {
    params.set("vs", String(state.versus.n));
    for (const facet of FACETS) state.versus.filters[facet].forEach((value) => params.append(`vs.${facet}`, value));
  }
  if (state.align !== undefined) params.set("align", state.align);
  state.runs.forEach((n) => params.append("with", String(n)));
  if (state.from !== undefined && state.to !== undefined) {
    params.set("from", String(state.from));
    params.set("to", String(state.to));
  }
  for (const key of ["measure", "by", "time", "hits", "group", "table"] as const) {
    if (state[key] !== defaults[key]) params.set(key, state[key]);
  }
  if (state.step !== undefined) params.set("step", String(state.step));
  return `#${params.toString()}`;
}

export function hasFilters(filters: Filters): boolean {
  return FACETS.some((facet) => filters[facet].length > 0);
}

/** Sets a facet to one value, or clears it if that is its only value already. */
export function toggleFilter(filters: Filters, facet: Facet, value: string): Filters {
  const isOnlyValue = filters[facet].length === 1 && filters[facet][0] === value;
  const changed = { ...filters, [facet]: isOnlyValue ? [] : [value] };
  // A process is selected by its ID or by its name, never by both.
  if (facet === "pid") changed.process = [];
  if (facet === "process") changed.pid = [];
  // Only I/Os of the file-system layer have files.
  if (facet === "file") changed.layer = isOnlyValue ? [] : ["filesystem"];
  return changed;
}

export function removeFilter(filters: Filters, facet: Facet, value: string): Filters {
  return { ...filters, [facet]: filters[facet].filter((item) => item !== value) };
}

/** Clamps a range to the axis; undefined if it is empty or the whole axis. */
export function clampRange(from: number, to: number, duration: number): { from: number; to: number } | undefined {
  const low = Math.max(0, Math.floor(Math.min(from, to)));
  const high = Math.min(duration, Math.ceil(Math.max(from, to)));
  if (!(high > low) || (low === 0 && high >= duration)) return undefined;
  return { from: low, to: high };
}
