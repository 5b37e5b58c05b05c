/** Starts the page: which files there are, which is looked at, keys, the way back. */
import "uplot/dist/uPlot.min.css";
import "./explorer.css";
import { themeButton } from "../../src/theme";
import { ask, exported, open, said } from "./answers";
import { shortName, type App, type Page } from "./app";
import { CapturePage } from "./capture";
import { help } from "./dialog";
import { announce, button, h } from "./dom";
import { percent } from "./format";
import { RunPage } from "./run";
import { address, noFilters, parse, type State } from "./state";
import type { Item, Meta } from "./types";

/** How often the list is asked for while a file is read, and while a run goes on. */
const READING_MS = 500;
const LIVE_MS = 5000;

class Explorer implements App {
  meta: Meta = { version: "", items: [] };
  state: State;
  private readonly files = h("nav", { class: "files", "aria-label": "Captures and runs" });
  private readonly place = h("main", { id: "view", tabindex: -1 });
  private page: Page | undefined;
  private shown: string | undefined;
  private depth = 0;

  constructor() {
    this.state = parse(location.hash);
    const title = h("h1", {}, "Steadfast explorer");
    const theme = themeButton();
    theme.addEventListener("click", () => this.page?.redraw());
    const back = button("Back", () => this.back(), { title: "Back to what was shown before (Esc)", id: "back" });
    const about = button("?", () => help(exported()), { title: "Help (?)", "aria-label": "Help" });
    const top = h("header", { class: "top" }, title, this.files, h("div", { class: "tools" }, back, about, theme));
    document.body.append(h("a", { class: "skip", href: "#view", onclick: (event: Event) => this.skip(event) }, "Skip to the drawings"), top, this.place);
    window.addEventListener("popstate", () => this.returned());
    window.addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.page?.redraw());
    this.watchWidth();
  }

  /** The address holds the state, so this link must not change it. */
  private skip(event: Event): void {
    event.preventDefault();
    this.place.focus();
  }

  private watchWidth(): void {
    let [width, timer] = [window.innerWidth, 0];
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      window.clearTimeout(timer);
      timer = window.setTimeout(() => this.page?.redraw(), 150);
    });
  }

  async start(): Promise<void> {
    try {
      open();
      await this.poll();
    } catch (error) {
      this.words(said(error));
    }
  }

  /** The list of files, again while one is being read or a run goes on. */
  private async poll(): Promise<void> {
    const before = states(this.meta);
    this.meta = await ask<Meta>("api/meta", true);
    if (this.meta.items.length === 0) return this.words("No file is open. Start steadfast explore with a capture or a run directory.");
    if (this.state.n === undefined || !this.meta.items.some((item) => item.n === this.state.n)) {
      this.state.n = this.meta.items[0]?.n;
    }
    const reading = this.meta.items.some((item) => item.state === "indexing");
    // What is looked at is not drawn again because another file is being read.
    if (states(this.meta) === before && this.shown !== undefined) this.list();
    else this.show();
    if (reading || this.meta.items.some((item) => item.live)) this.again(reading ? READING_MS : LIVE_MS);
  }

  private again(after: number): void {
    if (exported()) return;
    window.setTimeout(() => void this.poll().catch((error: unknown) => {
      if (this.shown === undefined) this.words(said(error));
      else announce(said(error));
    }), after);
  }

  go(change: Partial<State>): void {
    const next = { ...this.state, ...change };
    if (address(next) === address(this.state)) return;
    this.state = next;
    this.depth += 1;
    history.pushState({ depth: this.depth }, "", address(next));
    this.show();
  }

  back(): void {
    if (document.querySelector("dialog[open]")) return;
    if (this.depth > 0) return history.back();
    this.state = { ...parse(""), n: this.state.n };
    history.replaceState({ depth: 0 }, "", address(this.state));
    this.show();
  }

  private returned(): void {
    const now = history.state as { depth?: number } | null;
    this.depth = now?.depth ?? 0;
    const n = this.state.n;
    this.state = parse(location.hash);
    this.state.n ??= this.meta.items[0]?.n ?? n;
    this.show();
  }

  private key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.ctrlKey || event.metaKey || event.altKey || typing || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") this.back();
    else if (event.key === "?") help(exported());
    else if (event.target instanceof HTMLElement && event.target.closest(".scroll, pre") && event.key.startsWith("Arrow")) return;
    else if (!this.page?.key(event)) return;
    event.preventDefault();
  }

  private show(): void {
    this.list();
    const item = this.meta.items.find((one) => one.n === this.state.n);
    if (!item) return;
    document.title = `${shortName(item)} – Steadfast explorer`;
    if (item.state === "failed") return this.words(`${item.name}: ${item.error ?? "it could not be read."}`);
    if (item.state === "indexing") return this.progress(item);
    const wanted = `${item.kind} ${item.n}`;
    if (this.shown !== wanted) {
      this.page?.close();
      this.page = item.kind === "run" ? new RunPage(this) : new CapturePage(this);
      this.place.replaceChildren(this.page.root);
      this.shown = wanted;
    }
    this.page?.update();
  }

  private words(text: string): void {
    this.page?.close();
    [this.page, this.shown] = [undefined, undefined];
    this.place.replaceChildren(h("p", { class: "notice", role: "alert" }, text));
  }

  private progress(item: Item): void {
    this.page?.close();
    [this.page, this.shown] = [undefined, undefined];
    const share = item.progress ?? 0;
    const bar = h("progress", { max: 1, value: share, "aria-label": "Index" });
    this.place.replaceChildren(h("p", { class: "notice" }, `Reading ${shortName(item)} once, to answer quickly from then on: ${percent(share)}`), bar);
  }

  private list(): void {
    this.files.replaceChildren(...this.meta.items.map((item) => {
      const now = item.n === this.state.n;
      const beside = this.state.versus?.n === item.n || this.state.runs.includes(item.n);
      const live = item.live ? " (running)" : item.state === "indexing" ? " (reading)" : item.state === "failed" ? " (failed)" : "";
      return button(`${shortName(item)}${live}`, (event) => this.choose(item, event.shiftKey), {
        "aria-current": now ? "page" : undefined, class: beside && !now ? "beside" : undefined,
        title: `${item.kind === "run" ? "Run" : "Capture"}: ${item.name}\nShift-click: beside what is shown`,
      });
    }));
  }

  private choose(item: Item, shift: boolean): void {
    const now = this.meta.items.find((one) => one.n === this.state.n);
    if (!shift || !now || now.n === item.n) return this.go({ n: item.n, filters: noFilters(), versus: undefined, runs: [], from: undefined, to: undefined, step: undefined });
    if (exported()) return announce("An exported page cannot compare. Open the files with steadfast explore.");
    if (now.kind !== item.kind) return announce("A capture cannot be compared with a run.");
    if (item.kind === "run") this.go({ runs: [...new Set([...this.state.runs, item.n])] });
    else this.go({ versus: { n: item.n, filters: this.state.filters } });
  }
}

/** What a change of the list is known by. */
function states(meta: Meta): string {
  return JSON.stringify(meta.items.map((item) => [item.n, item.state]));
}

document.body.append(h("p", { id: "said", class: "said", role: "status", "aria-live": "polite" }));
void new Explorer().start();
