/** The answers of the program, as the page reads them. Absent values are null. */

export interface Mark {
  t: number;
  text: string;
}

export interface NamedCount {
  name: string;
  ios: number;
  bytes?: number;
}

export interface Caveat {
  id?: string;
  text: string;
  remedy?: string | null;
  t?: number | null;
  step?: number | null;
}

export interface Item {
  n: number;
  kind: "capture" | "run";
  name: string;
  state: "indexing" | "ready" | "failed";
  progress?: number;
  error?: string | null;
  begin_unix_ns?: number | null;
  zone_offset_s?: number | null;
  /** Begin of the first capture of a fold file; 0 for one capture. */
  start_ns?: number;
  duration_ns?: number;
  /** Width of the steps of which only sums were kept; null for single I/Os. */
  step_ns?: number | null;
  /** Why views cannot be shown, by view. */
  refused?: Record<string, string>;
  ios?: number;
  bytes?: number;
  devices?: (string | { name: string })[];
  layers?: string[];
  /** What its I/Os can be grouped by: file, cgroup, thread. */
  groups?: string[];
  processes?: { name: string; pids?: number[]; ios: number }[];
  streams?: NamedCount[];
  marks?: Mark[];
  caveats?: Caveat[];
  workload_name?: string | null;
  comment?: string | null;
  procedure?: string;
  device?: string;
  live?: boolean;
  state_text?: string;
}

export interface Meta {
  version: string | number;
  items: Item[];
}

/** Null: there is no value. Undefined: this is a place of another line. */
export type Values = (number | null | undefined)[];

export interface SeriesAnswer {
  from: number;
  width_ns: number;
  cells: number;
  /** The observed time of each cell, of which rates are; null where it is too short for one. */
  observed_ns: Values;
  keys: { id: string | number; name: string }[];
  ios: number[][];
  bytes: number[][];
  rt_mean_ns: Values;
  rt_p50: Values;
  rt_p99: Values;
  rt_p999: Values;
  rt_max: Values;
  qd_mean: Values;
  qd_max: Values;
  busy: Values;
}

export interface HeatAnswer {
  from: number;
  width_ns: number;
  cells: number;
  rows: number;
  row_edges: number[];
  counts: number[];
}

export interface ReadOutAnswer {
  tolerance_percent: number;
  streams: { stream: string; bytes: number; bytes_there: number; percent: number }[];
}

export type Row = Record<string, unknown>;

export interface HotRange {
  low: number;
  high: number;
  ios: number;
  share: number;
  device?: string;
  processes: { name: string; ios: number }[];
}

export interface Track {
  name: string;
  unit: string;
  rounds: { round: number; value: number | null }[];
  window?: {
    from: number;
    to: number;
    average: number;
    low: number;
    high: number;
    slope_from: number;
    slope_to: number;
  } | null;
  verdict?: string | null;
}

export interface RunStep {
  i: number;
  place: string;
  name: string;
  start_s: number | null;
  seconds: number | null;
  ios: number | null;
  bytes: number | null;
  iops: number | null;
  mb_s: number | null;
  rt_mean_ns: number | null;
  rt_p99_ns?: number | null;
  rt_max_ns?: number | null;
  caveats?: (string | Caveat)[];
}

export interface RunAnswer {
  procedure: string;
  device: unknown;
  state: string;
  state_text?: string;
  time_left_s?: number | null;
  elapsed_s?: number | null;
  steps: RunStep[];
  tracks: Track[];
  caveats: Caveat[];
  /** Flushes are I/Os as well, as in the report of a replay. */
  counts_flushes?: boolean;
  sensors?: { t: number[]; temperature: Values; load: Values } | null;
}

export interface StepAnswer {
  intervals: Record<string, Values>;
  /** Buckets with I/Os: where each begins, and the longest time that it can hold. */
  histogram: { edges_ns: number[]; upper_ns: number[]; counts: number[] };
  /** Percentiles (99) and their times. */
  percentiles: [number, number | null][];
  diskstats?: Record<string, unknown> | null;
}
