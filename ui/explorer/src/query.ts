/** Addresses of the program's answers. Their keys are sorted, so that an exported page finds them. */
import { FACETS, type Side } from "./state";

export type Params = Record<string, string | number | undefined | readonly string[]>;

export function url(path: string, params: Params): string {
  const pairs: string[] = [];
  for (const key of Object.keys(params).sort()) {
    const value = params[key];
    const values = Array.isArray(value) ? [...(value as string[])].sort() : value === undefined ? [] : [String(value)];
    values.forEach((one) => pairs.push(`${key}=${encodeURIComponent(one)}`));
  }
  return pairs.length > 0 ? `api/${path}?${pairs.join("&")}` : `api/${path}`;
}

/** What every question about a capture says. */
export function common(side: Side, from?: number, to?: number): Params {
  const params: Params = { c: side.n, from, to };
  for (const facet of FACETS) params[facet] = side.filters[facet];
  return params;
}

/** The same question about the whole capture, and the part that was asked for. */
export function widened(asked: string): { whole: string; from: number; to: number } | undefined {
  const [path = "", query = ""] = asked.split("?");
  const pairs = query.split("&").map((pair) => pair.split("=") as [string, string]);
  const of = (key: string): number => Number(pairs.find(([name]) => name === key)?.[1] ?? Number.NaN);
  const [from, to] = [of("from"), of("to")];
  if (!Number.isFinite(from) || !Number.isFinite(to)) return undefined;
  const rest = pairs.filter(([name]) => name !== "from" && name !== "to").map((pair) => pair.join("="));
  return { whole: rest.length > 0 ? `${path}?${rest.join("&")}` : path, from, to };
}
