/** What the parts of the page share: what is shown, and how that changes. */
import type { Clock } from "./format";
import type { State } from "./state";
import type { Item, Meta } from "./types";

export interface App {
  meta: Meta;
  state: State;
  /** Shows something else; Esc and the browser's Back return. */
  go(change: Partial<State>): void;
  back(): void;
}

export interface Page {
  root: HTMLElement;
  /** The state or the list of files changed. */
  update(): void;
  /** The width of the window or the colors changed. */
  redraw(): void;
  close(): void;
  /** Keys that this page understands; whether it did. */
  key(event: KeyboardEvent): boolean;
}

export function itemOf(app: App, n: number | undefined): Item | undefined {
  return app.meta.items.find((item) => item.n === n);
}

export function clockOf(app: App, item: Item): Clock | undefined {
  if (app.state.time === "start" || !item.begin_unix_ns) return undefined;
  return { begin_ns: item.begin_unix_ns, zone_s: item.zone_offset_s ?? 0 };
}

/** The last part of a path, as a name. */
export function shortName(item: Item): string {
  return item.name.split(/[/\\]/).filter((part) => part !== "").pop() ?? item.name;
}
