/** Asks the program, or the page itself where it was exported with its answers inside. */
import { partOfHeat, partOfSeries } from "./fold";
import { widened } from "./query";
import type { HeatAnswer, SeriesAnswer } from "./types";

export class Failure extends Error {}

const KEPT = 120;
const kept = new Map<string, Promise<unknown>>();
let stored: Record<string, unknown> | undefined;

/** Finds the answers inside an exported page. */
export function open(): void {
  const text = document.getElementById("answers")?.textContent;
  stored = text ? (JSON.parse(text) as Record<string, unknown>) : undefined;
}

export function exported(): boolean {
  return stored !== undefined;
}

/** Whether this page has the answer, or can ask for it. */
export function has(address: string): boolean {
  return stored === undefined || address in stored;
}

/** An answer; the same question is asked once, unless it is to be fresh. */
export function ask<T>(address: string, fresh = false): Promise<T> {
  if (stored) return Promise.resolve().then(() => fromPage(address) as T);
  const found = fresh ? undefined : kept.get(address);
  if (found) return found as Promise<T>;
  const asked = fetched(address);
  kept.set(address, asked);
  asked.catch(() => kept.delete(address));
  if (kept.size > KEPT) kept.delete(kept.keys().next().value ?? "");
  return asked as Promise<T>;
}

async function fetched(address: string): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(address, { headers: { Accept: "application/json" } });
  } catch {
    throw new Failure("steadfast does not answer. It may have been stopped; start steadfast explore again and open the address that it prints.");
  }
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Failure(`The answer to ${address} is not JSON (status ${response.status}). Reload the page; use the same version of page and program.`);
  }
  const said = (body as { error?: unknown } | null)?.error;
  if (!response.ok) throw new Failure(typeof said === "string" ? said : `Status ${response.status} for ${address}.`);
  return body;
}

const MISSING = "This exported page does not contain this view. Open the file with steadfast explore to filter, compare and count parts of it.";

function fromPage(address: string): unknown {
  const answers = stored ?? {};
  if (address in answers) return answers[address];
  const part = widened(address);
  const whole = part && answers[part.whole];
  if (!part || whole === undefined) throw new Failure(MISSING);
  if (address.startsWith("api/series")) return partOfSeries(whole as SeriesAnswer, part.from, part.to);
  if (address.startsWith("api/heat")) return partOfHeat(whole as HeatAnswer, part.from, part.to);
  throw new Failure("This exported page has this table for the whole capture only. Press Esc, or open the file with steadfast explore to count a part.");
}

export function said(error: unknown): string {
  return error instanceof Failure ? error.message : `The page failed: ${error instanceof Error ? error.message : String(error)}`;
}
