/**
 * Makes a chart of a report page interactive: values under the pointer, a cursor shared by all charts with
 * the same x axis, series that can be hidden or shown alone, zoom. The chart itself is part of the page; only
 * a zoomed view is drawn here.
 */
import { attachColumnTips, cellAt, type Grid } from "./cells";
import { formatValue, nearestIndex, fractionOf, formatSignificant, ticks, valueAt, type Axis } from "./scale";
import { Tooltip } from "./tip";

export interface Series {
  name: string;
  color: string;
  width: number;
  dash?: string;
  right?: boolean;
  x: number[];
  y: (number | null)[];
  /** Upper edge of a band, whose lower edge is y. */
  upper?: (number | null)[];
}

export interface ChartData {
  area: [number, number, number, number];
  zoom: boolean;
  /** True for columns in perspective, which have no plot area. */
  solid?: boolean;
  x: Axis;
  y: Axis;
  right?: Axis;
  /** Cells of a heat map under the lines. */
  grid?: Grid;
  series: Series[];
}

const SVG = "http://www.w3.org/2000/svg";
/** Maximum number of lines of a tooltip; of more series, those with the largest values are listed. */
const MAX_TOOLTIP_LINES = 12;
/** Fraction of the axis below which a drag is a click. */
const MIN_ZOOM = 0.01;

function element<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number>,
): SVGElementTagNameMap[K] {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  return node;
}

export class Chart {
  readonly data: ChartData;
  private readonly figure: HTMLElement;
  private readonly svg: SVGSVGElement;
  private readonly tip: Tooltip;
  private readonly cursorLine: SVGLineElement;
  private readonly selection: SVGRectElement;
  private readonly zoomedView: SVGGElement;
  private readonly hidden = new Set<number>();
  private readonly seriesGroups: (SVGGElement | undefined)[];
  private buttons: HTMLButtonElement[] = [];
  private wholeAxisButton: HTMLButtonElement | undefined;
  private x: Axis;
  private dragFrom: number | undefined;
  /** Called with the x value under the pointer; undefined if the pointer has left. */
  onPoint: (x: number | undefined) => void = () => undefined;
  /** Called with the range to zoom to. */
  onZoom: (low: number, high: number) => void = () => undefined;

  constructor(figure: HTMLElement, svg: SVGSVGElement, data: ChartData) {
    this.figure = figure;
    this.svg = svg;
    this.data = data;
    this.x = { ...data.x };
    const [handlePointerLeave, top, width, height] = data.area;
    this.seriesGroups = data.series.map(
      (_, index) => svg.querySelector<SVGGElement>(`g[data-series="${index}"]`) ?? undefined,
    );
    this.zoomedView = element("g", {});
    this.selection = element("rect", {
      y: top,
      height,
      width: 0,
      x: handlePointerLeave,
      fill: "#0072b2",
      "fill-opacity": 0.15,
    });
    this.cursorLine = element("line", {
      y1: top,
      y2: top + height,
      x1: handlePointerLeave,
      x2: handlePointerLeave,
      stroke: "#444444",
      "stroke-dasharray": "3 3",
    });
    this.cursorLine.style.display = "none";
    const cover = element("rect", { x: handlePointerLeave, y: top, width, height, fill: "transparent" });
    svg.append(this.zoomedView, this.selection, this.cursorLine, cover);
    this.tip = new Tooltip(figure);
    cover.addEventListener("pointermove", (event) => this.handlePointerMove(event));
    cover.addEventListener("pointerleave", () => this.handlePointerLeave());
    if (data.zoom) {
      cover.style.cursor = "crosshair";
      cover.addEventListener("pointerdown", (event) => this.handlePointerDown(event, cover));
      cover.addEventListener("pointerup", (event) => this.handlePointerUp(event));
      cover.addEventListener("dblclick", () => this.onZoom(data.x.low, data.x.high));
    }
    this.addButtons();
  }

  /** Returns true if both charts have the same quantity on their x axes, and overlapping ranges. */
  sharesAxis(other: Chart): boolean {
    const [a, b] = [this.data.x, other.data.x];
    const sameClock = JSON.stringify(a.clock) === JSON.stringify(b.clock);
    return (
      sameClock &&
      a.label === b.label &&
      a.log === b.log &&
      a.low < b.high &&
      b.low < a.high &&
      !a.names?.length &&
      !b.names?.length
    );
  }

  /** Adds a button for each series, and one that ends the zoom. */
  private addButtons(): void {
    const bar = document.createElement("div");
    bar.className = "keys";
    const drawn = this.seriesGroups.filter(Boolean).length;
    if (drawn > 1) {
      this.buttons = this.data.series.map((series, index) => {
        const button = document.createElement("button");
        button.type = "button";
        button.setAttribute("aria-pressed", "true");
        button.title = "Click to hide or show; double-click to show alone";
        button.append(this.legendMark(index), series.name);
        button.addEventListener("click", () => this.toggle(index));
        button.addEventListener("dblclick", () => this.isolate(index));
        bar.append(button);
        return button;
      });
    }
    if (this.data.zoom) {
      this.wholeAxisButton = document.createElement("button");
      this.wholeAxisButton.type = "button";
      this.wholeAxisButton.textContent = "Whole axis";
      this.wholeAxisButton.hidden = true;
      this.wholeAxisButton.addEventListener("click", () => this.onZoom(this.data.x.low, this.data.x.high));
      bar.append(this.wholeAxisButton);
    }
    if (bar.childElementCount > 0) this.figure.querySelector("figcaption")?.before(bar);
    if (this.buttons.length > 0) this.hideLegendOnScreen();
  }

  /** Returns the mark of a series in the chart's legend, with its dash and its marker. */
  private legendMark(index: number): SVGSVGElement {
    const entry = this.svg.querySelectorAll<SVGGElement>("g.legend > g")[index];
    const [handlePointerLeave, middle] = (entry?.dataset["mark"] ?? "0 0").split(" ").map(Number);
    const mark = element("svg", {
      viewBox: `${handlePointerLeave ?? 0} ${(middle ?? 0) - 6} 26 12`,
      width: 26,
      height: 12,
      "aria-hidden": "true",
    });
    const shapes = [...(entry?.children ?? [])].filter((shape) => shape.tagName !== "text");
    mark.append(...shapes.map((shape) => shape.cloneNode()));
    return mark;
  }

  /** Shows the chart's legend on paper only, because on the screen the buttons are the legend. */
  private hideLegendOnScreen(): void {
    const legend = this.svg.querySelector<SVGGElement>("g.legend");
    if (!legend) return;
    const [sheet, whole] = [this.svg.viewBox.baseVal, this.svg.viewBox.baseVal.height];
    const under = Number(legend.dataset["under"]);
    const show = (paper: boolean): void => {
      legend.style.display = paper ? "" : "none";
      sheet.height = paper ? whole : whole - under;
      this.svg.setAttribute("height", String(sheet.height));
    };
    show(false);
    addEventListener("beforeprint", () => show(true));
    addEventListener("afterprint", () => show(false));
  }

  private toggle(index: number): void {
    if (!this.hidden.delete(index)) this.hidden.add(index);
    this.updateVisibility();
  }

  private isolate(index: number): void {
    const alone = this.hidden.size === this.data.series.length - 1 && !this.hidden.has(index);
    this.hidden.clear();
    if (!alone) this.data.series.forEach((_, other) => other !== index && this.hidden.add(other));
    this.updateVisibility();
  }

  private updateVisibility(): void {
    this.seriesGroups.forEach((group, index) => {
      if (group) group.style.display = this.hidden.has(index) ? "none" : "";
    });
    this.buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(!this.hidden.has(index))));
    if (this.isZoomed()) this.drawZoomed();
  }

  private isZoomed(): boolean {
    return this.x.low !== this.data.x.low || this.x.high !== this.data.x.high;
  }

  /** Returns the pointer's position along the x axis, from 0 to 1. */
  private fractionX(event: PointerEvent): number {
    const box = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.width / box.width;
    const [left, , width] = this.data.area;
    return Math.min(1, Math.max(0, ((event.clientX - box.left) * scale - left) / width));
  }

  /** Returns the pointer's position along the y axis, from 0 at the bottom to 1. */
  private fractionY(event: PointerEvent): number {
    const box = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.height / box.height;
    const [, top, , height] = this.data.area;
    return 1 - Math.min(1, Math.max(0, ((event.clientY - box.top) * scale - top) / height));
  }

  private handlePointerDown(event: PointerEvent, cover: SVGRectElement): void {
    if (event.pointerType === "touch") return;
    this.dragFrom = this.fractionX(event);
    cover.setPointerCapture(event.pointerId);
  }

  private handlePointerUp(event: PointerEvent): void {
    const [from, to] = [this.dragFrom, this.fractionX(event)];
    this.dragFrom = undefined;
    this.selection.setAttribute("width", "0");
    if (from === undefined || Math.abs(to - from) < MIN_ZOOM) return;
    this.onZoom(valueAt(this.x, Math.min(from, to)), valueAt(this.x, Math.max(from, to)));
  }

  private handlePointerMove(event: PointerEvent): void {
    const fraction = this.fractionX(event);
    const [left, , width] = this.data.area;
    if (this.dragFrom !== undefined) {
      const [low, high] = [Math.min(this.dragFrom, fraction), Math.max(this.dragFrom, fraction)];
      this.selection.setAttribute("x", String(left + low * width));
      this.selection.setAttribute("width", String((high - low) * width));
    }
    const x = valueAt(this.x, fraction);
    this.onPoint(x);
    if (this.data.grid) this.showCell(event, this.data.grid, fraction, x);
    else this.showValues(event, x);
  }

  private handlePointerLeave(): void {
    this.tip.hide();
    this.onPoint(undefined);
  }

  /** Moves the cursor to an x value; hides it if the value is undefined or not shown. */
  setCursor(x: number | undefined): void {
    const [left, , width] = this.data.area;
    const fraction = x === undefined ? -1 : fractionOf(this.x, x);
    const inside = fraction >= 0 && fraction <= 1;
    this.cursorLine.style.display = inside ? "" : "none";
    if (!inside) return;
    this.cursorLine.setAttribute("x1", String(left + fraction * width));
    this.cursorLine.setAttribute("x2", String(left + fraction * width));
  }

  /** Shows the values of all series at the point nearest to x. */
  private showValues(event: PointerEvent, x: number): void {
    const rows: { series: Series; at: number; x: number; y: number }[] = [];
    this.data.series.forEach((series, index) => {
      if (this.hidden.has(index)) return;
      const at = nearestIndex(series.x, x);
      const [found, y] = [series.x[at], series.upper?.[at] ?? series.y[at]];
      if (found !== undefined && y !== null && y !== undefined) rows.push({ series, at, x: found, y });
    });
    if (rows.length === 0) return this.tip.hide();
    const distance = (row: { x: number }): number => Math.abs(fractionOf(this.x, row.x) - fractionOf(this.x, x));
    const nearestRow = rows.reduce((best, row) => (distance(row) < distance(best) ? row : best));
    const at = rows.filter((row) => Math.abs(distance(row) - distance(nearestRow)) < 0.01);
    const listed = at.length > MAX_TOOLTIP_LINES ? [...at].sort((a, b) => b.y - a.y).slice(0, MAX_TOOLTIP_LINES) : at;
    const lines = listed.map((row) => {
      const from = row.series.upper ? row.series.y[row.at] : undefined;
      const value =
        typeof from === "number"
          ? `${formatSignificant(from)} to ${formatSignificant(row.y)}`
          : formatSignificant(row.y);
      return { color: row.series.color, text: `${row.series.name}: ${value}` };
    });
    this.tip.show(event, `${this.data.x.label}: ${formatValue(this.data.x, nearestRow.x)}`, lines);
  }

  /** Shows the cell under the pointer, and the row of each line at its column. */
  private showCell(event: PointerEvent, grid: Grid, fraction: number, x: number): void {
    const cell = cellAt(grid, this.data.x, this.data.y, fraction, this.fractionY(event));
    if (!cell) return this.tip.hide();
    const lines = this.data.series.flatMap((series) => {
      const y = series.y[nearestIndex(series.x, x)];
      const row = y === null || y === undefined ? undefined : grid.names[Math.round(y)];
      return row === undefined ? [] : [{ color: series.color, text: `${series.name}: ${row}` }];
    });
    this.tip.show(event, cell.head, [...cell.lines, ...lines]);
  }

  /** Zooms to a range of the x axis. */
  zoom(low: number, high: number): void {
    if (!this.data.zoom || !(high > low)) return;
    this.x = { ...this.data.x, low: Math.max(low, this.data.x.low), high: Math.min(high, this.data.x.high) };
    if (this.wholeAxisButton) this.wholeAxisButton.hidden = !this.isZoomed();
    this.drawZoomed();
  }

  /** Draws the zoomed range over the chart. */
  private drawZoomed(): void {
    this.zoomedView.replaceChildren();
    const zoomed = this.isZoomed();
    this.seriesGroups.forEach((group, index) => {
      if (group) group.style.display = zoomed || this.hidden.has(index) ? "none" : "";
    });
    if (!zoomed) return;
    const [left, top, width, height] = this.data.area;
    const isVisible = (x: number): boolean => x >= this.x.low && x <= this.x.high;
    this.zoomedView.append(
      element("rect", { x: left - 1, y: top + height + 1, width: width + 2, height: 25, fill: "#ffffff" }),
    );
    this.zoomedView.append(
      element("rect", { x: left + 0.5, y: top + 0.5, width: width - 1, height: height - 1, fill: "#ffffff" }),
    );
    for (const [value, name] of ticks(this.x)) {
      const x = left + fractionOf(this.x, value) * width;
      this.zoomedView.append(element("line", { x1: x, x2: x, y1: top, y2: top + height, stroke: "#dddddd" }));
      const label = element("text", { x, y: top + height + 19, "font-size": 13, "text-anchor": "middle" });
      label.textContent = name;
      this.zoomedView.append(label);
    }
    for (const [value] of ticks(this.data.y)) {
      const y = top + (1 - fractionOf(this.data.y, value)) * height;
      this.zoomedView.append(element("line", { x1: left, x2: left + width, y1: y, y2: y, stroke: "#dddddd" }));
    }
    this.data.series.forEach((series, index) => {
      if (!this.hidden.has(index)) this.zoomedView.append(...this.linesOf(series, isVisible));
    });
  }

  /** Returns the polygons of a band; a missing value interrupts it. */
  private bandsOf(series: Series, upper: (number | null)[], isVisible: (x: number) => boolean): SVGElement[] {
    const [left, top, width, height] = this.data.area;
    const axis = (series.right ? this.data.right : undefined) ?? this.data.y;
    const polygons: SVGElement[] = [];
    let [low, high]: [string[], string[]] = [[], []];
    const finish = (): void => {
      if (low.length > 1) {
        const points = [...high, ...low.reverse()].join(" ");
        polygons.push(element("polygon", { points, fill: series.color, "fill-opacity": 0.45 }));
      }
      [low, high] = [[], []];
    };
    const yOf = (y: number | null | undefined): number =>
      y === null || y === undefined ? Number.NaN : top + (1 - fractionOf(axis, y)) * height;
    series.x.forEach((x, at) => {
      const isDrawn = isVisible(x) || isVisible(series.x[at + 1] ?? x) || isVisible(series.x[at - 1] ?? x);
      const [below, above] = [yOf(series.y[at]), yOf(upper[at])];
      if (!isDrawn || !Number.isFinite(below) || !Number.isFinite(above)) return finish();
      const px = (left + Math.min(1, Math.max(0, fractionOf(this.x, x))) * width).toFixed(1);
      low.push(`${px},${below.toFixed(1)}`);
      high.push(`${px},${above.toFixed(1)}`);
    });
    finish();
    return polygons;
  }

  private linesOf(series: Series, isVisible: (x: number) => boolean): SVGElement[] {
    if (series.upper) return this.bandsOf(series, series.upper, isVisible);
    const [left, top, width, height] = this.data.area;
    const axis = (series.right ? this.data.right : undefined) ?? this.data.y;
    const elements: SVGElement[] = [];
    let points: string[] = [];
    const finish = (): void => {
      if (points.length > 1 && series.width > 0) {
        const line = element("polyline", {
          points: points.join(" "),
          fill: "none",
          stroke: series.color,
          "stroke-width": series.width,
        });
        if (series.dash) line.setAttribute("stroke-dasharray", series.dash);
        elements.push(line);
      }
      points = [];
    };
    series.x.forEach((x, at) => {
      const y = series.y[at];
      const isDrawn = isVisible(x) || isVisible(series.x[at + 1] ?? x) || isVisible(series.x[at - 1] ?? x);
      const fraction = y === null || y === undefined ? Number.NaN : fractionOf(axis, y);
      if (!isDrawn || !Number.isFinite(fraction)) return finish();
      const across = Math.min(1.0, Math.max(0, fractionOf(this.x, x)));
      const [px, py] = [left + across * width, top + (1 - fraction) * height];
      points.push(`${px.toFixed(1)},${py.toFixed(1)}`);
      if (isVisible(x) && (series.width === 0 || series.x.length < 80)) {
        elements.push(element("circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 3, fill: series.color }));
      }
    });
    finish();
    return elements;
  }
}

/** Creates the chart of a figure if the page has its values. Columns in perspective get tooltips only. */
export function chartOf(figure: HTMLElement): Chart | undefined {
  const text = figure.querySelector('script[type="application/json"]')?.textContent;
  const svg = figure.querySelector("svg");
  if (!text || !svg) return undefined;
  const data = JSON.parse(text) as ChartData;
  if (!data.solid) return new Chart(figure, svg, data);
  attachColumnTips(figure, svg, data.x, data.y, data.series);
  return undefined;
}

/** Links charts with the same x axis: they share cursor and zoom. */
export function linkCharts(charts: readonly Chart[]): void {
  for (const chart of charts) {
    const others = charts.filter((other) => other === chart || chart.sharesAxis(other));
    chart.onPoint = (x) => others.forEach((other) => other.setCursor(x));
    chart.onZoom = (low, high) => others.forEach((other) => other.zoom(low, high));
  }
}
