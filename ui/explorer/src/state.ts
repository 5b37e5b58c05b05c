/** What the page shows, and how its address says it. No document here. */

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

export const FACETS: readonly Facet[] = ["op", "device", "layer", "process", "pid", "stream", "event", "file", "cgroup", "tid"];

export interface Side {
  n: number;
  filters: Filters;
}

export interface State {
  /** The capture or run that is looked at; the first where none is named. */
  n: number | undefined;
  filters: Filters;
  /** What it is compared with. */
  versus: Side | undefined;
  /** How both stand on the axis: `start`, `clock` or `mark:NAME`; chosen for the reader where it is not said. */
  align: string | undefined;
  /** Runs laid over the first. */
  runs: number[];
  from: number | undefined;
  to: number | undefined;
  measure: "iops" | "mb";
  by: "stream" | "process";
  time: "clock" | "start";
  table: string;
  hits: "all" | "read" | "write";
  /** Rows of the processes' table. */
  group: "pid" | "name";
  step: number | undefined;
}

export function noFilters(): Filters {
  return { op: [], device: [], layer: [], process: [], pid: [], stream: [], event: [], file: [], cgroup: [], tid: [] };
}

export function initial(): State {
  return {
    n: undefined, filters: noFilters(), versus: undefined, align: undefined, runs: [], from: undefined, to: undefined,
    measure: "iops", by: "stream", time: "clock", table: "streams", hits: "all", group: "pid", step: undefined,
  };
}

function whole(text: string | null): number | undefined {
  if (text === null || !/^\d{1,15}$/.test(text)) return undefined;
  return Number(text);
}

function oneOf<T extends string>(text: string | null, allowed: readonly T[], otherwise: T): T {
  return allowed.find((one) => one === text) ?? otherwise;
}

function filtersOf(params: URLSearchParams, prefix: string): Filters {
  const filters = noFilters();
  for (const facet of FACETS) filters[facet] = params.getAll(prefix + facet).filter((text) => text !== "" && text.length < 300);
  return filters;
}

/** The state that an address holds; what it does not understand is left out. */
export function parse(hash: string): State {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const state = initial();
  state.n = whole(params.get("n"));
  state.filters = filtersOf(params, "");
  const versus = whole(params.get("vs"));
  if (versus !== undefined) state.versus = { n: versus, filters: filtersOf(params, "vs.") };
  const align = params.get("align") ?? "";
  if (align.length < 300 && /^(start|clock|mark:.)/.test(align)) state.align = align;
  state.runs = params.getAll("with").flatMap((text) => whole(text) ?? []);
  const [from, to] = [whole(params.get("from")), whole(params.get("to"))];
  if (from !== undefined && to !== undefined && from < to) [state.from, state.to] = [from, to];
  state.measure = oneOf(params.get("measure"), ["iops", "mb"], "iops");
  state.by = oneOf(params.get("by"), ["stream", "process"], "stream");
  state.time = oneOf(params.get("time"), ["clock", "start"], "clock");
  state.hits = oneOf(params.get("hits"), ["all", "read", "write"], "all");
  state.group = oneOf(params.get("group"), ["pid", "name"], "pid");
  state.table = params.get("table") ?? "streams";
  state.step = whole(params.get("step"));
  return state;
}

/** The address of a state, shortest first: defaults are left out. */
export function address(state: State): string {
  const params = new URLSearchParams();
  const usual = initial();
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
    if (state[key] !== usual[key]) params.set(key, state[key]);
  }
  if (state.step !== undefined) params.set("step", String(state.step));
  return `#${params.toString()}`;
}

export function anyFilter(filters: Filters): boolean {
  return FACETS.some((facet) => filters[facet].length > 0);
}

/** The filters with one facet set to one value, or freed of it where it has just that value. */
export function toggled(filters: Filters, facet: Facet, value: string): Filters {
  const alone = filters[facet].length === 1 && filters[facet][0] === value;
  const changed = { ...filters, [facet]: alone ? [] : [value] };
  // A process is chosen by its number or by its name, never by both.
  if (facet === "pid") changed.process = [];
  if (facet === "process") changed.pid = [];
  // Only the file-system layer has files.
  if (facet === "file") changed.layer = alone ? [] : ["filesystem"];
  return changed;
}

export function without(filters: Filters, facet: Facet, value: string): Filters {
  return { ...filters, [facet]: filters[facet].filter((one) => one !== value) };
}

/** A part of the time axis inside the whole; undefined where it is the whole. */
export function inside(from: number, to: number, duration: number): { from: number; to: number } | undefined {
  const low = Math.max(0, Math.floor(Math.min(from, to)));
  const high = Math.min(duration, Math.ceil(Math.max(from, to)));
  if (!(high > low) || (low === 0 && high >= duration)) return undefined;
  return { from: low, to: high };
}
