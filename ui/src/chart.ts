/**
 * Makes a drawing answer: values under the pointer, a common cursor on all drawings against the
 * same axis, series that can be hidden or shown alone, and a closer look at a part of the axis.
 * The drawing itself is the page's; here its lines are only drawn again where they change.
 */
import { attachColumnTips, cellAt, type Grid } from "./cells";
import { nameAt, nearest, part, readable, ticks, valueAt, type Reach } from "./scale";
import { Tip } from "./tip";

export interface Series {
  name: string;
  color: string;
  width: number;
  dash?: string;
  right?: boolean;
  x: number[];
  y: (number | null)[];
  /** The upper edge of a band; its lower one is y. */
  upper?: (number | null)[];
}

export interface ChartData {
  area: [number, number, number, number];
  zoom: boolean;
  /** Every value is a body of its own; there is no area. */
  solid?: boolean;
  x: Reach;
  y: Reach;
  right?: Reach;
  /** Cells under the lines. */
  grid?: Grid;
  series: Series[];
}

const SVG = "http://www.w3.org/2000/svg";
/** Lines of a tip; of more series the greatest are named. */
const LINES = 12;
/** Part of the axis, below which a drag is a click. */
const CLICK = 0.01;

function element<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number>,
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

export class Chart {
  readonly data: ChartData;
  private readonly figure: HTMLElement;
  private readonly svg: SVGSVGElement;
  private readonly tip: Tip;
  private readonly cursor: SVGLineElement;
  private readonly band: SVGRectElement;
  private readonly overlay: SVGGElement;
  private readonly hidden = new Set<number>();
  private readonly groups: (SVGGElement | undefined)[];
  private buttons: HTMLButtonElement[] = [];
  private back: HTMLButtonElement | undefined;
  private x: Reach;
  private dragFrom: number | undefined;
  /** Called with the value under the pointer, or nothing where there is none. */
  onPoint: (x: number | undefined) => void = () => undefined;
  /** Called with a part of the axis that is to be looked at. */
  onZoom: (low: number, high: number) => void = () => undefined;

  constructor(figure: HTMLElement, svg: SVGSVGElement, data: ChartData) {
    this.figure = figure;
    this.svg = svg;
    this.data = data;
    this.x = { ...data.x };
    const [left, top, width, height] = data.area;
    this.groups = data.series.map(
      (_, index) => svg.querySelector<SVGGElement>(`g[data-series="${index}"]`) ?? undefined,
    );
    this.overlay = element("g", {});
    this.band = element("rect", { y: top, height, width: 0, x: left, fill: "#0072b2", "fill-opacity": 0.15 });
    this.cursor = element("line", { y1: top, y2: top + height, x1: left, x2: left, stroke: "#444444", "stroke-dasharray": "3 3" });
    this.cursor.style.display = "none";
    const cover = element("rect", { x: left, y: top, width, height, fill: "transparent" });
    svg.append(this.overlay, this.band, this.cursor, cover);
    this.tip = new Tip(figure);
    cover.addEventListener("pointermove", (event) => this.moved(event));
    cover.addEventListener("pointerleave", () => this.left());
    if (data.zoom) {
      cover.style.cursor = "crosshair";
      cover.addEventListener("pointerdown", (event) => this.pressed(event, cover));
      cover.addEventListener("pointerup", (event) => this.released(event));
      cover.addEventListener("dblclick", () => this.onZoom(data.x.low, data.x.high));
    }
    this.keys();
  }

  /** Whether both show the same quantity over the same values. */
  sharesAxis(other: Chart): boolean {
    const [a, b] = [this.data.x, other.data.x];
    const sameClock = JSON.stringify(a.clock) === JSON.stringify(b.clock);
    return sameClock && a.label === b.label && a.log === b.log && a.low < b.high && b.low < a.high && !a.names?.length && !b.names?.length;
  }

  /** The buttons of the series, and the way back from a closer look. */
  private keys(): void {
    const bar = document.createElement("div");
    bar.className = "keys";
    const drawn = this.groups.filter(Boolean).length;
    if (drawn > 1) {
      this.buttons = this.data.series.map((series, index) => {
        const button = document.createElement("button");
        button.type = "button";
        button.setAttribute("aria-pressed", "true");
        button.title = "Click to hide or show; double-click to show alone";
        button.append(this.markOf(index), series.name);
        button.addEventListener("click", () => this.toggle(index));
        button.addEventListener("dblclick", () => this.isolate(index));
        bar.append(button);
        return button;
      });
    }
    if (this.data.zoom) {
      this.back = document.createElement("button");
      this.back.type = "button";
      this.back.textContent = "Whole axis";
      this.back.hidden = true;
      this.back.addEventListener("click", () => this.onZoom(this.data.x.low, this.data.x.high));
      bar.append(this.back);
    }
    if (bar.childElementCount > 0) this.figure.querySelector("figcaption")?.before(bar);
    if (this.buttons.length > 0) this.withoutLegend();
  }

  /** The mark of a series as the drawing's legend shows it, with its dash and its marker. */
  private markOf(index: number): SVGSVGElement {
    const entry = this.svg.querySelectorAll<SVGGElement>("g.legend > g")[index];
    const [left, middle] = (entry?.dataset["mark"] ?? "0 0").split(" ").map(Number);
    const mark = element("svg", { viewBox: `${left ?? 0} ${(middle ?? 0) - 6} 26 12`, width: 26, height: 12, "aria-hidden": "true" });
    const shapes = [...(entry?.children ?? [])].filter((shape) => shape.tagName !== "text");
    mark.append(...shapes.map((shape) => shape.cloneNode()));
    return mark;
  }

  /** The buttons are the legend: the drawing's own is shown on paper only. */
  private withoutLegend(): void {
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
    this.shown();
  }

  private isolate(index: number): void {
    const alone = this.hidden.size === this.data.series.length - 1 && !this.hidden.has(index);
    this.hidden.clear();
    if (!alone) this.data.series.forEach((_, other) => other !== index && this.hidden.add(other));
    this.shown();
  }

  private shown(): void {
    this.groups.forEach((group, index) => {
      if (group) group.style.display = this.hidden.has(index) ? "none" : "";
    });
    this.buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(!this.hidden.has(index))));
    if (this.isZoomed()) this.draw();
  }

  private isZoomed(): boolean {
    return this.x.low !== this.data.x.low || this.x.high !== this.data.x.high;
  }

  /** The place of the pointer on the horizontal axis, from 0 to 1. */
  private placeOf(event: PointerEvent): number {
    const box = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.width / box.width;
    const [left, , width] = this.data.area;
    return Math.min(1, Math.max(0, ((event.clientX - box.left) * scale - left) / width));
  }

  /** The same on the vertical axis, from the foot. */
  private heightOf(event: PointerEvent): number {
    const box = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.height / box.height;
    const [, top, , height] = this.data.area;
    return 1 - Math.min(1, Math.max(0, ((event.clientY - box.top) * scale - top) / height));
  }

  private pressed(event: PointerEvent, cover: SVGRectElement): void {
    if (event.pointerType === "touch") return;
    this.dragFrom = this.placeOf(event);
    cover.setPointerCapture(event.pointerId);
  }

  private released(event: PointerEvent): void {
    const [from, to] = [this.dragFrom, this.placeOf(event)];
    this.dragFrom = undefined;
    this.band.setAttribute("width", "0");
    if (from === undefined || Math.abs(to - from) < CLICK) return;
    this.onZoom(valueAt(this.x, Math.min(from, to)), valueAt(this.x, Math.max(from, to)));
  }

  private moved(event: PointerEvent): void {
    const place = this.placeOf(event);
    const [left, , width] = this.data.area;
    if (this.dragFrom !== undefined) {
      const [low, high] = [Math.min(this.dragFrom, place), Math.max(this.dragFrom, place)];
      this.band.setAttribute("x", String(left + low * width));
      this.band.setAttribute("width", String((high - low) * width));
    }
    const x = valueAt(this.x, place);
    this.onPoint(x);
    if (this.data.grid) this.tellCell(event, this.data.grid, place, x);
    else this.tell(event, x);
  }

  private left(): void {
    this.tip.hide();
    this.onPoint(undefined);
  }

  /** Puts the cursor at a value. */
  point(x: number | undefined): void {
    const [left, , width] = this.data.area;
    const place = x === undefined ? -1 : part(this.x, x);
    const inside = place >= 0 && place <= 1;
    this.cursor.style.display = inside ? "" : "none";
    if (!inside) return;
    this.cursor.setAttribute("x1", String(left + place * width));
    this.cursor.setAttribute("x2", String(left + place * width));
  }

  /** The values of the series at the point that is nearest to x. */
  private tell(event: PointerEvent, x: number): void {
    const rows: { series: Series; at: number; x: number; y: number }[] = [];
    this.data.series.forEach((series, index) => {
      if (this.hidden.has(index)) return;
      const at = nearest(series.x, x);
      const [found, y] = [series.x[at], series.upper?.[at] ?? series.y[at]];
      if (found !== undefined && y !== null && y !== undefined) rows.push({ series, at, x: found, y });
    });
    if (rows.length === 0) return this.tip.hide();
    const distance = (row: { x: number }): number => Math.abs(part(this.x, row.x) - part(this.x, x));
    const closest = rows.reduce((best, row) => (distance(row) < distance(best) ? row : best));
    const at = rows.filter((row) => Math.abs(distance(row) - distance(closest)) < 0.01);
    const named = at.length > LINES ? [...at].sort((a, b) => b.y - a.y).slice(0, LINES) : at;
    const lines = named.map((row) => {
      const from = row.series.upper ? row.series.y[row.at] : undefined;
      const value = typeof from === "number" ? `${readable(from)} to ${readable(row.y)}` : readable(row.y);
      return { color: row.series.color, text: `${row.series.name}: ${value}` };
    });
    this.tip.show(event, `${this.data.x.label}: ${nameAt(this.data.x, closest.x)}`, lines);
  }

  /** The cell under the pointer, and in which row each line over the cells is there. */
  private tellCell(event: PointerEvent, grid: Grid, place: number, x: number): void {
    const cell = cellAt(grid, this.data.x, this.data.y, place, this.heightOf(event));
    if (!cell) return this.tip.hide();
    const lines = this.data.series.flatMap((series) => {
      const y = series.y[nearest(series.x, x)];
      const row = y === null || y === undefined ? undefined : grid.names[Math.round(y)];
      return row === undefined ? [] : [{ color: series.color, text: `${series.name}: ${row}` }];
    });
    this.tip.show(event, cell.head, [...cell.lines, ...lines]);
  }

  /** Looks at a part of the horizontal axis. */
  zoom(low: number, high: number): void {
    if (!this.data.zoom || !(high > low)) return;
    this.x = { ...this.data.x, low: Math.max(low, this.data.x.low), high: Math.min(high, this.data.x.high) };
    if (this.back) this.back.hidden = !this.isZoomed();
    this.draw();
  }

  /** The part that is looked at, over the page's own drawing of the whole. */
  private draw(): void {
    this.overlay.replaceChildren();
    const zoomed = this.isZoomed();
    this.groups.forEach((group, index) => {
      if (group) group.style.display = zoomed || this.hidden.has(index) ? "none" : "";
    });
    if (!zoomed) return;
    const [left, top, width, height] = this.data.area;
    const inside = (x: number): boolean => x >= this.x.low && x <= this.x.high;
    this.overlay.append(element("rect", { x: left - 1, y: top + height + 1, width: width + 2, height: 25, fill: "#ffffff" }));
    this.overlay.append(element("rect", { x: left + 0.5, y: top + 0.5, width: width - 1, height: height - 1, fill: "#ffffff" }));
    for (const [value, name] of ticks(this.x)) {
      const x = left + part(this.x, value) * width;
      this.overlay.append(element("line", { x1: x, x2: x, y1: top, y2: top + height, stroke: "#dddddd" }));
      const label = element("text", { x, y: top + height + 19, "font-size": 13, "text-anchor": "middle" });
      label.textContent = name;
      this.overlay.append(label);
    }
    for (const [value] of ticks(this.data.y)) {
      const y = top + (1 - part(this.data.y, value)) * height;
      this.overlay.append(element("line", { x1: left, x2: left + width, y1: y, y2: y, stroke: "#dddddd" }));
    }
    this.data.series.forEach((series, index) => {
      if (!this.hidden.has(index)) this.overlay.append(...this.lines(series, inside));
    });
  }

  /** A band between its edges; a missing value breaks it. */
  private bands(series: Series, upper: (number | null)[], inside: (x: number) => boolean): SVGElement[] {
    const [left, top, width, height] = this.data.area;
    const reach = (series.right ? this.data.right : undefined) ?? this.data.y;
    const out: SVGElement[] = [];
    let [low, high]: [string[], string[]] = [[], []];
    const finish = (): void => {
      if (low.length > 1) {
        const points = [...high, ...low.reverse()].join(" ");
        out.push(element("polygon", { points, fill: series.color, "fill-opacity": 0.45 }));
      }
      [low, high] = [[], []];
    };
    const place = (y: number | null | undefined): number => (y === null || y === undefined ? Number.NaN : top + (1 - part(reach, y)) * height);
    series.x.forEach((x, at) => {
      const seen = inside(x) || inside(series.x[at + 1] ?? x) || inside(series.x[at - 1] ?? x);
      const [below, above] = [place(series.y[at]), place(upper[at])];
      if (!seen || !Number.isFinite(below) || !Number.isFinite(above)) return finish();
      const px = (left + Math.min(1, Math.max(0, part(this.x, x))) * width).toFixed(1);
      low.push(`${px},${below.toFixed(1)}`);
      high.push(`${px},${above.toFixed(1)}`);
    });
    finish();
    return out;
  }

  private lines(series: Series, inside: (x: number) => boolean): SVGElement[] {
    if (series.upper) return this.bands(series, series.upper, inside);
    const [left, top, width, height] = this.data.area;
    const reach = (series.right ? this.data.right : undefined) ?? this.data.y;
    const out: SVGElement[] = [];
    let run: string[] = [];
    const finish = (): void => {
      if (run.length > 1 && series.width > 0) {
        const line = element("polyline", { points: run.join(" "), fill: "none", stroke: series.color, "stroke-width": series.width });
        if (series.dash) line.setAttribute("stroke-dasharray", series.dash);
        out.push(line);
      }
      run = [];
    };
    series.x.forEach((x, at) => {
      const y = series.y[at];
      const seen = inside(x) || inside(series.x[at + 1] ?? x) || inside(series.x[at - 1] ?? x);
      const place = y === null || y === undefined ? Number.NaN : part(reach, y);
      if (!seen || !Number.isFinite(place)) return finish();
      const across = Math.min(1.0, Math.max(0, part(this.x, x)));
      const [px, py] = [left + across * width, top + (1 - place) * height];
      run.push(`${px.toFixed(1)},${py.toFixed(1)}`);
      if (inside(x) && (series.width === 0 || series.x.length < 80)) {
        out.push(element("circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 3, fill: series.color }));
      }
    });
    finish();
    return out;
  }
}

/** The chart of a figure, if the page gave its values over two axes. Columns answer alone. */
export function chartOf(figure: HTMLElement): Chart | undefined {
  const text = figure.querySelector('script[type="application/json"]')?.textContent;
  const svg = figure.querySelector("svg");
  if (!text || !svg) return undefined;
  const data = JSON.parse(text) as ChartData;
  if (!data.solid) return new Chart(figure, svg, data);
  attachColumnTips(figure, svg, data.x, data.y, data.series);
  return undefined;
}

/** Charts against the same axis point at the same value and look at the same part. */
export function linked(charts: readonly Chart[]): void {
  for (const chart of charts) {
    const others = charts.filter((other) => other === chart || chart.sharesAxis(other));
    chart.onPoint = (x) => others.forEach((other) => other.point(x));
    chart.onZoom = (low, high) => others.forEach((other) => other.zoom(low, high));
  }
}
