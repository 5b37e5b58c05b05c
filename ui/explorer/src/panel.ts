/** Frames of charts and tables: title, toolbar, legend, and a message if there is nothing to show. */
import { errorMessage } from "./answers";
import { fileName } from "./csv";
import { announce, button, h, download } from "./dom";
import { Pane, type PaneHandlers, type Line, type ChartSpec } from "./pane";
import { renderPng, serializeSvg, renderSvg, chartCsv } from "./svg";

export interface LegendItem {
  name: string;
  color: string;
  dash?: boolean;
  /** Called on a click, if the item can be selected. */
  onClick?: (shift: boolean) => void;
}

export interface Chart {
  spec: ChartSpec;
  legend: LegendItem[];
  note: string;
  /** Text for screen readers. */
  ariaLabel: string;
  xName: string;
  /** Returns the value for CSV files if it differs from what is drawn. */
  csvValue?: (line: Line, at: number) => string | number | null | undefined;
}

export interface Tool {
  text: string;
  title: string;
  onClick: () => void;
}

let panelCount = 0;

/** Frame that charts and tables share. */
export class Panel {
  readonly root: HTMLElement;
  protected readonly status = h("p", { class: "state", role: "status" });
  protected readonly tools = h("div", { class: "tools" });
  protected readonly note = h("p", { class: "quiet note" });
  protected readonly heading: HTMLElement;

  constructor(public title: string) {
    panelCount += 1;
    this.heading = h("h3", { id: `panel-${panelCount}` }, title);
    this.root = h(
      "section",
      { class: "panel", "aria-labelledby": `panel-${panelCount}` },
      h("header", {}, this.heading, this.tools),
      this.note,
      this.status,
    );
  }

  /** Returns the toolbar, for controls of a single view. */
  get toolbar(): HTMLElement {
    return this.tools;
  }

  setTitle(title: string): void {
    this.title = title;
    this.heading.textContent = title;
  }

  protected setBusy(): void {
    this.root.setAttribute("aria-busy", "true");
    this.root.classList.remove("failed");
  }

  protected setStatus(text: string, failed = false): void {
    this.root.removeAttribute("aria-busy");
    this.root.classList.toggle("failed", failed);
    this.status.textContent = text;
    this.status.hidden = text === "";
  }

  protected addTool(text: string, title: string, onClick: () => void): void {
    this.tools.append(button(text, onClick, { title, "aria-label": `${title}: ${this.title}` }));
  }
}

export class ChartPanel extends Panel {
  readonly pane: Pane;
  private readonly legend = h("div", { class: "key" });
  private chart: Chart | undefined;
  private lastLoad = 0;

  constructor(
    title: string,
    private readonly file: () => string,
    group: string | undefined,
    height: number,
    handlers: PaneHandlers,
    extra: Tool[] = [],
  ) {
    super(title);
    this.pane = new Pane(group, height, handlers);
    this.root.append(this.pane.root, this.legend);
    extra.forEach((tool) => this.addTool(tool.text, tool.title, tool.onClick));
    this.addTool("SVG", "Save as SVG", () => this.svg());
    this.addTool("PNG", "Save as PNG", () => void this.savePng());
    this.addTool("CSV", "Save values as CSV", () => this.saveCsv());
  }

  /** Draws a chart once it is ready, unless a later call came first. */
  async load(pending: Promise<Chart | string>, xRange: () => [number, number]): Promise<void> {
    this.lastLoad += 1;
    const thisLoad = this.lastLoad;
    if (!this.chart) this.setStatus("Loading …");
    this.setBusy();
    try {
      const result = await pending;
      if (thisLoad === this.lastLoad) this.show(result, xRange());
    } catch (error) {
      if (thisLoad === this.lastLoad) this.showMessage(errorMessage(error), true);
    }
  }

  private show(result: Chart | string, xRange: [number, number]): void {
    if (typeof result === "string") return this.showMessage(result, false);
    this.chart = result;
    this.setStatus("");
    this.note.textContent = result.note;
    this.pane.root.hidden = false;
    this.pane.root.setAttribute("aria-label", `${this.title}. ${result.ariaLabel}`);
    this.pane.show(result.spec, xRange);
    this.legend.replaceChildren(...result.legend.map(renderLegendItem));
  }

  private showMessage(text: string, failed: boolean): void {
    this.chart = undefined;
    this.pane.destroy();
    this.pane.root.hidden = true;
    this.legend.replaceChildren();
    this.note.textContent = "";
    this.setStatus(text, failed);
  }

  private renderSvg(): SVGSVGElement | undefined {
    const saveSvg = renderSvg(this.pane, this.title, this.chart?.note ?? "");
    if (!saveSvg) announce("There is nothing to save in this view.");
    return saveSvg;
  }

  private svg(): void {
    const picture = this.renderSvg();
    if (picture)
      download(
        fileName(this.file(), this.title) + ".svg",
        new Blob([serializeSvg(picture)], { type: "image/svg+xml" }),
      );
  }

  private async savePng(): Promise<void> {
    const svg = this.renderSvg();
    if (!svg) return;
    try {
      download(fileName(this.file(), this.title) + ".png", await renderPng(svg));
    } catch (error) {
      announce(errorMessage(error));
    }
  }

  private saveCsv(): void {
    if (!this.chart) return announce("There is nothing to save in this view.");
    const { spec, xName, csvValue: exact } = this.chart;
    const text = chartCsv(spec, xName, exact ?? ((line, at) => line.y[at]));
    download(fileName(this.file(), this.title) + ".csv", new Blob([text], { type: "text/csv" }));
  }
}

function renderLegendItem(item: LegendItem): HTMLElement {
  const swatch = h("i", { class: item.dash ? "line" : undefined });
  swatch.style.background = item.color;
  if (!item.onClick) return h("span", {}, swatch, item.name);
  const pick = item.onClick;
  return h(
    "button",
    {
      type: "button",
      title: "Click: only this. Shift-click: compare with this.",
      onclick: (event: MouseEvent) => pick(event.shiftKey),
    },
    swatch,
    item.name,
  );
}

export interface TableContent {
  content: HTMLElement;
  csv: string;
  note?: string;
}

export class TablePanel extends Panel {
  private readonly body = h("div");
  private lastLoad = 0;
  private csvText: string | undefined;

  constructor(
    title: string,
    private readonly file: () => string,
    extra: Tool[] = [],
  ) {
    super(title);
    this.root.append(this.body);
    extra.forEach((tool) => this.addTool(tool.text, tool.title, tool.onClick));
    this.addTool("CSV", "Save values as CSV", () => {
      if (this.csvText === undefined) return announce("There is nothing to save in this view.");
      download(fileName(this.file(), this.title) + ".csv", new Blob([this.csvText], { type: "text/csv" }));
    });
  }

  async load(pending: Promise<TableContent | string>): Promise<void> {
    this.lastLoad += 1;
    const thisLoad = this.lastLoad;
    if (this.body.childElementCount === 0) this.setStatus("Loading …");
    this.setBusy();
    try {
      const result = await pending;
      if (thisLoad !== this.lastLoad) return;
      this.show(result);
    } catch (error) {
      if (thisLoad === this.lastLoad) this.show(errorMessage(error), true);
    }
  }

  private show(result: TableContent | string, failed = false): void {
    if (typeof result === "string") {
      this.body.replaceChildren();
      this.csvText = undefined;
      this.note.textContent = "";
      return this.setStatus(result, failed);
    }
    this.setStatus("");
    this.csvText = result.csv;
    this.note.textContent = result.note ?? "";
    this.body.replaceChildren(result.content);
  }
}
