/** State and navigation that the parts of the page share. */
import type { Clock } from "./format";
import type { State } from "./state";
import type { Item, Meta } from "./types";

export interface App {
  meta: Meta;
  state: State;
  /** Changes the view. Esc and the browser's Back return to the previous one. */
  navigate(change: Partial<State>): void;
  back(): void;
}

export interface Page {
  root: HTMLElement;
  /** Called after a change of the state or of the list of files. */
  update(): void;
  /** Called after a change of the window's width or of the colors. */
  redraw(): void;
  close(): void;
  /** Handles a key; returns false if the page has no use for it. */
  handleKey(event: KeyboardEvent): boolean;
}

export function itemOf(app: App, n: number | undefined): Item | undefined {
  return app.meta.items.find((item) => item.n === n);
}

export function clockOf(app: App, item: Item): Clock | undefined {
  if (app.state.time === "start" || !item.begin_unix_ns) return undefined;
  return { begin_ns: item.begin_unix_ns, zone_s: item.zone_offset_s ?? 0 };
}

/** Returns the last component of an item's path. */
export function shortName(item: Item): string {
  return (
    item.name
      .split(/[/\\]/)
      .filter((part) => part !== "")
      .pop() ?? item.name
  );
}
