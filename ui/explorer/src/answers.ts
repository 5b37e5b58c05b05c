/** Answers to queries: from the program, or from the page itself if it was exported with its answers. */
import { sliceHeatMap, sliceSeries } from "./fold";
import { wholeCaptureQuery } from "./query";
import type { HeatAnswer, SeriesAnswer } from "./types";

export class AnswerError extends Error {}

const CACHE_SIZE = 120;
const cache = new Map<string, Promise<unknown>>();
let embedded: Record<string, unknown> | undefined;

/** Reads the answers embedded in an exported page, if there are any. */
export function readEmbeddedAnswers(): void {
  const text = document.getElementById("answers")?.textContent;
  embedded = text ? (JSON.parse(text) as Record<string, unknown>) : undefined;
}

export function isExported(): boolean {
  return embedded !== undefined;
}

/** Returns true if the answer is embedded in this page or can be requested. */
export function isAvailable(address: string): boolean {
  return embedded === undefined || address in embedded;
}

/** Returns the answer to a query, from the cache unless `fresh` is set. */
export function getAnswer<T>(address: string, fresh = false): Promise<T> {
  if (embedded) return Promise.resolve().then(() => embeddedAnswer(address) as T);
  const cached = fresh ? undefined : cache.get(address);
  if (cached) return cached as Promise<T>;
  const answer = fetchJson(address);
  cache.set(address, answer);
  answer.catch(() => cache.delete(address));
  if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value ?? "");
  return answer as Promise<T>;
}

async function fetchJson(address: string): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(address, { headers: { Accept: "application/json" } });
  } catch {
    throw new AnswerError(
      "steadfast does not answer. It may have been stopped; start steadfast explore again and open the address that it prints.",
    );
  }
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new AnswerError(
      `The answer to ${address} is not JSON (status ${response.status}). Reload the page; use the same version of page and program.`,
    );
  }
  const message = (body as { error?: unknown } | null)?.error;
  if (!response.ok)
    throw new AnswerError(typeof message === "string" ? message : `Status ${response.status} for ${address}.`);
  return body;
}

const NOT_EMBEDDED =
  "This exported page does not contain this view. Open the file with steadfast explore to filter, compare and count parts of it.";

function embeddedAnswer(address: string): unknown {
  const answers = embedded ?? {};
  if (address in answers) return answers[address];
  const range = wholeCaptureQuery(address);
  const whole = range && answers[range.whole];
  if (!range || whole === undefined) throw new AnswerError(NOT_EMBEDDED);
  if (address.startsWith("api/series")) return sliceSeries(whole as SeriesAnswer, range.from, range.to);
  if (address.startsWith("api/heat")) return sliceHeatMap(whole as HeatAnswer, range.from, range.to);
  throw new AnswerError(
    "This exported page has this table for the whole capture only. Press Esc, or open the file with steadfast explore to count a part.",
  );
}

export function errorMessage(error: unknown): string {
  return error instanceof AnswerError
    ? error.message
    : `The page failed: ${error instanceof Error ? error.message : String(error)}`;
}
