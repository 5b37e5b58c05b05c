/** URLs of the program's answers. Parameters are sorted, so that exported pages find embedded answers by URL. */
import { FACETS, type CaptureView } from "./state";

export type Params = Record<string, string | number | undefined | readonly string[]>;

export function apiUrl(path: string, params: Params): string {
  const pairs: string[] = [];
  for (const key of Object.keys(params).sort()) {
    const value = params[key];
    const values = Array.isArray(value) ? [...(value as string[])].sort() : value === undefined ? [] : [String(value)];
    values.forEach((item) => pairs.push(`${key}=${encodeURIComponent(item)}`));
  }
  return pairs.length > 0 ? `api/${path}?${pairs.join("&")}` : `api/${path}`;
}

/** Returns the parameters that all queries of a capture have. */
export function captureParams(side: CaptureView, from?: number, to?: number): Params {
  const params: Params = { c: side.n, from, to };
  for (const facet of FACETS) params[facet] = side.filters[facet];
  return params;
}

/** Splits a query into the same query of the whole capture and the requested range. */
export function wholeCaptureQuery(address: string): { whole: string; from: number; to: number } | undefined {
  const [path = "", query = ""] = address.split("?");
  const pairs = query.split("&").map((pair) => pair.split("=") as [string, string]);
  const numberOf = (key: string): number => Number(pairs.find(([name]) => name === key)?.[1] ?? Number.NaN);
  const [from, to] = [numberOf("from"), numberOf("to")];
  if (!Number.isFinite(from) || !Number.isFinite(to)) return undefined;
  const rest = pairs.filter(([name]) => name !== "from" && name !== "to").map((pair) => pair.join("="));
  return { whole: rest.length > 0 ? `${path}?${rest.join("&")}` : path, from, to };
}
