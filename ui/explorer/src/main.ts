/** Entry point of the explorer: list of files, navigation, keys. */
import "uplot/dist/uPlot.min.css";
import "./explorer.css";
import { themeButton } from "../../src/theme";
import { getAnswer, isExported, readEmbeddedAnswers, errorMessage } from "./answers";
import { shortName, type App, type Page } from "./app";
import { CapturePage } from "./capture";
import { showHelp } from "./dialog";
import { announce, button, h } from "./dom";
import { formatPercent } from "./format";
import { RunPage } from "./run";
import { toHash, noFilters, parseHash, type State } from "./state";
import type { Item, Meta } from "./types";

/** Intervals at which the list of files is polled while a file is indexed, and during a run. */
const READING_MS = 500;
const LIVE_MS = 5000;

class Explorer implements App {
  meta: Meta = { version: "", items: [] };
  state: State;
  private readonly fileList = h("nav", { class: "files", "aria-label": "Captures and runs" });
  private readonly view = h("main", { id: "view", tabindex: -1 });
  private page: Page | undefined;
  private shownItem: string | undefined;
  private depth = 0;

  constructor() {
    this.state = parseHash(location.hash);
    const title = h("h1", {}, "Steadfast explorer");
    const theme = themeButton();
    theme.addEventListener("click", () => this.page?.redraw());
    const back = button("Back", () => this.back(), { title: "Back to what was shown before (Esc)", id: "back" });
    const about = button("?", () => showHelp(isExported()), { title: "Help (?)", "aria-label": "Help" });
    const top = h("header", { class: "top" }, title, this.fileList, h("div", { class: "tools" }, back, about, theme));
    document.body.append(
      h(
        "a",
        { class: "skip", href: "#view", onclick: (event: Event) => this.skipToView(event) },
        "Skip to the drawings",
      ),
      top,
      this.view,
    );
    window.addEventListener("popstate", () => this.handlePopState());
    window.addEventListener("keydown", (event) => this.handleKey(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.page?.redraw());
    this.redrawOnResize();
  }

  /** Moves the focus without following the link, because the URL's hash holds the state. */
  private skipToView(event: Event): void {
    event.preventDefault();
    this.view.focus();
  }

  /** Redraws when the view's width changes: with the window, or because a scroll bar appeared. */
  private redrawOnResize(): void {
    let [width, timer] = [this.view.clientWidth, 0];
    new ResizeObserver(() => {
      if (this.view.clientWidth === width) return;
      width = this.view.clientWidth;
      window.clearTimeout(timer);
      timer = window.setTimeout(() => this.page?.redraw(), 150);
    }).observe(this.view);
  }

  async start(): Promise<void> {
    try {
      readEmbeddedAnswers();
      await this.poll();
    } catch (error) {
      this.showMessage(errorMessage(error));
    }
  }

  /** Requests the list of files; repeats this while a file is indexed and during a run. */
  private async poll(): Promise<void> {
    const before = itemStates(this.meta);
    this.meta = await getAnswer<Meta>("api/meta", true);
    if (this.meta.items.length === 0)
      return this.showMessage("No file is open. Start steadfast explore with a capture or a run directory.");
    if (this.state.n === undefined || !this.meta.items.some((item) => item.n === this.state.n)) {
      this.state.n = this.meta.items[0]?.n;
    }
    const reading = this.meta.items.some((item) => item.state === "indexing");
    // Progress of another file must not redraw the current page.
    if (itemStates(this.meta) === before && this.shownItem !== undefined) this.renderFileList();
    else this.show();
    if (reading || this.meta.items.some((item) => item.live)) this.pollAfter(reading ? READING_MS : LIVE_MS);
  }

  private pollAfter(delay_ms: number): void {
    if (isExported()) return;
    window.setTimeout(
      () =>
        void this.poll().catch((error: unknown) => {
          if (this.shownItem === undefined) this.showMessage(errorMessage(error));
          else announce(errorMessage(error));
        }),
      delay_ms,
    );
  }

  navigate(change: Partial<State>): void {
    const next = { ...this.state, ...change };
    if (toHash(next) === toHash(this.state)) return;
    this.state = next;
    this.depth += 1;
    history.pushState({ depth: this.depth }, "", toHash(next));
    this.show();
  }

  back(): void {
    if (document.querySelector("dialog[open]")) return;
    if (this.depth > 0) return history.back();
    this.state = { ...parseHash(""), n: this.state.n };
    history.replaceState({ depth: 0 }, "", toHash(this.state));
    this.show();
  }

  private handlePopState(): void {
    const now = history.state as { depth?: number } | null;
    this.depth = now?.depth ?? 0;
    const n = this.state.n;
    this.state = parseHash(location.hash);
    this.state.n ??= this.meta.items[0]?.n ?? n;
    this.show();
  }

  private handleKey(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.ctrlKey || event.metaKey || event.altKey || typing || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") this.back();
    else if (event.key === "?") showHelp(isExported());
    else if (
      event.target instanceof HTMLElement &&
      event.target.closest(".scroll, pre") &&
      event.key.startsWith("Arrow")
    )
      return;
    else if (!this.page?.handleKey(event)) return;
    event.preventDefault();
  }

  private show(): void {
    this.renderFileList();
    const item = this.meta.items.find((one) => one.n === this.state.n);
    if (!item) return;
    document.title = `${shortName(item)} – Steadfast explorer`;
    if (item.state === "failed") return this.showMessage(`${item.name}: ${item.error ?? "it could not be read."}`);
    if (item.state === "indexing") return this.showProgress(item);
    const key = `${item.kind} ${item.n}`;
    if (this.shownItem !== key) {
      this.page?.close();
      this.page = item.kind === "run" ? new RunPage(this) : new CapturePage(this);
      this.view.replaceChildren(this.page.root);
      this.shownItem = key;
    }
    this.page?.update();
  }

  private showMessage(text: string): void {
    this.page?.close();
    [this.page, this.shownItem] = [undefined, undefined];
    this.view.replaceChildren(h("p", { class: "notice", role: "alert" }, text));
  }

  private showProgress(item: Item): void {
    this.page?.close();
    [this.page, this.shownItem] = [undefined, undefined];
    const share = item.progress ?? 0;
    const bar = h("progress", { max: 1, value: share, "aria-label": "Index" });
    this.view.replaceChildren(
      h(
        "p",
        { class: "notice" },
        `Reading ${shortName(item)} once, to answer quickly from then on: ${formatPercent(share)}`,
      ),
      bar,
    );
  }

  private renderFileList(): void {
    this.fileList.replaceChildren(
      ...this.meta.items.map((item) => {
        const now = item.n === this.state.n;
        const isCompared = this.state.versus?.n === item.n || this.state.runs.includes(item.n);
        const live = item.live
          ? " (running)"
          : item.state === "indexing"
            ? " (reading)"
            : item.state === "failed"
              ? " (failed)"
              : "";
        return button(`${shortName(item)}${live}`, (event) => this.openItem(item, event.shiftKey), {
          "aria-current": now ? "page" : undefined,
          class: isCompared && !now ? "beside" : undefined,
          title: `${item.kind === "run" ? "Run" : "Capture"}: ${item.name}\nShift-click: beside what is shown`,
        });
      }),
    );
  }

  private openItem(item: Item, shift: boolean): void {
    const now = this.meta.items.find((one) => one.n === this.state.n);
    if (!shift || !now || now.n === item.n)
      return this.navigate({
        n: item.n,
        filters: noFilters(),
        versus: undefined,
        runs: [],
        from: undefined,
        to: undefined,
        step: undefined,
      });
    if (isExported()) return announce("An exported page cannot compare. Open the files with steadfast explore.");
    if (now.kind !== item.kind) return announce("A capture cannot be compared with a run.");
    if (item.kind === "run") this.navigate({ runs: [...new Set([...this.state.runs, item.n])] });
    else this.navigate({ versus: { n: item.n, filters: this.state.filters } });
  }
}

/** Returns a text that changes whenever an item is added or changes its state. */
function itemStates(meta: Meta): string {
  return JSON.stringify(meta.items.map((item) => [item.n, item.state]));
}

document.body.append(h("p", { id: "said", class: "said", role: "status", "aria-live": "polite" }));
void new Explorer().start();
