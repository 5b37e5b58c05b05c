/**
 * One drawing: uPlot's lines and areas, a heat map beneath, marks, a tip with exact numbers. Drawings
 * of one axis share their cursor.
 */
import uPlot from "uplot";
import { dark, h, ink, narrow } from "./dom";
import type { Heat } from "./heat";
import { placedNames, type Mark } from "./marks";
import type { Values } from "./types";
import { ticks } from "../../src/scale";

export interface Line {
  name: string;
  color: string;
  y: Values;
  kind: "area" | "line" | "points" | "step";
  right?: boolean;
  dash?: number[] | undefined;
  width?: number;
  /** Only sets another line apart from what lies beneath it. */
  halo?: boolean;
}

export interface Axis {
  /** What the axis shows, for CSV and for who cannot see it. */
  name: string;
  log?: boolean;
  low?: number;
  high?: number;
  format: (value: number) => string;
}

export interface Tip {
  name: string;
  value: string;
  color?: string;
}

export interface Sheet {
  /** Where values begin. Cells have one place more than values, and their last value twice. */
  x: number[];
  lines: Line[];
  left: Axis;
  right?: Axis;
  heat?: Heat;
  /** Moments with names. */
  marks: Mark[];
  /** Whether their names stand over the drawing. */
  named?: boolean;
  /** Part of x that is shaded. */
  shaded?: { from: number; to: number };
  ticks: (from: number, to: number, most: number) => [number, string][];
  /** What stands under the pointer; `y` is the value of the left axis there. */
  tips: (at: number, x: number, y: number) => { head: string; rows: Tip[] };
  /** What must be asked for first; it is told once the pointer rests. */
  more?: (at: number) => Promise<Tip[]>;
}

export interface Hands {
  zoom?: (from: number, to: number) => void;
  pick?: (at: number, x: number, y: number, shift: boolean) => void;
}

const SIDES = { wide: [66, 62], narrow: [58, 54] } as const;
/** Pixels below which a drag is a click. */
const CLICK = 4;
/** How long the pointer rests until what stands there is asked for. */
const REST_MS = 150;
/** Height of the strip for the names of marks. */
const NAMES = 12;
/** Between the names of two moments on the axis. */
const APART = 12;
const FONT = "12px system-ui, sans-serif";

export class Pane {
  readonly root: HTMLElement;
  plot: uPlot | undefined;
  sheet: Sheet | undefined;
  /** The part of the axis that is drawn. */
  reach: [number, number] = [0, 1];
  private readonly tip = h("div", { class: "tip", hidden: true });
  /** What was asked for last, and what came. */
  private more: { at: number; sheet: Sheet; rows: Tip[] } | undefined;
  private over = false;

  constructor(
    private readonly group: string | undefined,
    private readonly height: number,
    private readonly hands: Hands,
  ) {
    this.root = h("div", { class: "pane", role: "img" });
    this.root.append(this.tip);
  }

  /** Draws a sheet anew. */
  show(sheet: Sheet, reach: [number, number]): void {
    this.plot?.destroy();
    this.sheet = sheet;
    this.reach = reach;
    const width = Math.max(240, this.root.clientWidth || this.root.parentElement?.clientWidth || 600);
    this.plot = new uPlot(this.options(sheet, width), [sheet.x, ...sheet.lines.map((line) => line.y)], this.root);
    const over = this.plot.over;
    over.addEventListener("pointerenter", () => (this.over = true));
    over.addEventListener("pointerleave", () => this.left());
    let pressed: number | undefined;
    over.addEventListener("pointerdown", (event) => (pressed = event.clientX));
    over.addEventListener("click", (event) => {
      if (pressed !== undefined && Math.abs(event.clientX - pressed) < CLICK) this.clicked(event);
    });
    this.root.append(this.tip);
  }

  /** Looks at another part with what is there. */
  look(reach: [number, number]): void {
    this.reach = reach;
    this.plot?.setScale("x", { min: reach[0], max: reach[1] });
  }

  resize(): void {
    if (this.plot && this.root.clientWidth > 0 && this.sheet) this.show(this.sheet, this.reach);
  }

  destroy(): void {
    this.plot?.destroy();
    this.plot = undefined;
  }

  private left(): void {
    this.over = false;
    this.tip.hidden = true;
  }

  private clicked(event: MouseEvent): void {
    const at = this.under(event.offsetX, event.offsetY);
    if (at) this.hands.pick?.(at.cell, at.x, at.y, event.shiftKey);
  }

  private under(left: number, top: number): { cell: number; x: number; y: number } | undefined {
    if (!this.plot || !this.sheet) return undefined;
    const [x, y] = [this.plot.posToVal(left, "x"), this.plot.posToVal(top, "y")];
    return { cell: this.cellOf(x), x, y };
  }

  /** The value that holds at a place: of cells the one it lies in, of points the nearest. */
  private cellOf(x: number): number {
    const xs = this.sheet?.x ?? [];
    let [low, high] = [0, xs.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((xs[middle] ?? 0) <= x) low = middle;
      else high = middle;
    }
    const points = this.sheet?.lines.every((line) => line.kind === "points" || line.kind === "line") && !this.sheet.heat;
    return points && Math.abs((xs[high] ?? 0) - x) < Math.abs((xs[low] ?? 0) - x) ? high : low;
  }

  private options(sheet: Sheet, width: number): uPlot.Options {
    const hands = this.hands;
    const strip = sheet.named && sheet.marks.length > 0 ? NAMES : 0;
    const options: uPlot.Options = {
      width,
      height: this.height + strip,
      // Drawings of a group stand under one another, with the same sides.
      padding: [8 + strip, sheet.right ? 0 : this.group === undefined ? 16 : narrow() ? SIDES.narrow[1] : SIDES.wide[1], 0, 0],
      legend: { show: false },
      scales: this.scales(sheet),
      axes: this.axes(sheet),
      series: [{}, ...sheet.lines.map((line) => this.series(line))],
      cursor: {
        drag: { x: hands.zoom !== undefined, y: false, setScale: false, dist: CLICK },
        points: { show: false },
        x: true,
        y: sheet.heat !== undefined,
      },
      hooks: {
        drawAxes: [(plot) => this.beneath(plot)],
        draw: [(plot) => this.marks(plot)],
        setCursor: [(plot) => this.tell(plot)],
        setSelect: [(plot) => this.selected(plot)],
      },
    };
    if (this.group && options.cursor) {
      const moves = (type: string): boolean => type === "mousemove" || type === "mouseleave" || type === "mouseenter";
      options.cursor.sync = { key: this.group, setSeries: false, scales: ["x", null], filters: { pub: moves, sub: moves } };
    }
    return options;
  }

  private selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < CLICK) return;
    const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.tip.hidden = true;
    this.hands.zoom?.(from, to);
  }

  private scales(sheet: Sheet): uPlot.Scales {
    const scale = (axis: Axis, right: boolean): uPlot.Scale => {
      const [low, high] = limits(sheet, axis, right);
      return { distr: axis.log ? 3 : 1, log: 10, range: () => [low, high] };
    };
    const scales: uPlot.Scales = { x: { time: false, range: () => [...this.reach] }, y: scale(sheet.left, false) };
    if (sheet.right) scales["right"] = scale(sheet.right, true);
    return scales;
  }

  private axes(sheet: Sheet): uPlot.Axis[] {
    const [left, right] = narrow() ? SIDES.narrow : SIDES.wide;
    const common = { stroke: ink("axis"), font: FONT, grid: { stroke: ink("grid"), width: 1 }, ticks: { stroke: ink("grid"), width: 1, size: 4 } };
    const named = (plot: uPlot, from: number, to: number): [number, string][] => {
      const width = plot.bbox.width / uPlot.pxRatio;
      plot.ctx.font = `${12 * uPlot.pxRatio}px system-ui, sans-serif`;
      const wide = (text: string): number => plot.ctx.measureText(text).width / uPlot.pxRatio;
      // On a narrow screen as many as have room, whatever they say.
      for (let most = Math.floor(width / (narrow() ? 52 : 104)); ; most -= 1) {
        const found = sheet.ticks(from, to, Math.max(2, most));
        const step = (((found[1]?.[0] ?? to) - (found[0]?.[0] ?? from)) / (to - from)) * width;
        if (most <= 2 || found.every(([, text]) => wide(text) + APART <= step)) return found;
      }
    };
    const x: uPlot.Axis = {
      ...common,
      size: 26,
      gap: 2,
      splits: (plot, _, min, max) => named(plot, min, max).map(([value]) => value),
      values: (plot, splits) => {
        const names = new Map(named(plot, plot.scales["x"]?.min ?? 0, plot.scales["x"]?.max ?? 1));
        return splits.map((value) => names.get(value) ?? "");
      },
    };
    const side = (axis: Axis, size: number): uPlot.Axis => ({
      ...common, size, gap: 4, values: (_, splits) => splits.map((value) => (value === null ? "" : axis.format(value))),
      ...(axis.log ? { splits: (_: uPlot, __: number, low: number, high: number) => decades(low, high), filter: (_: uPlot, all: number[]) => all } : {}),
    });
    const axes = [x, { ...side(sheet.left, left), scale: "y" }];
    if (sheet.right) axes.push({ ...side(sheet.right, right), scale: "right", side: 1, grid: { show: false } });
    return axes;
  }

  private series(line: Line): uPlot.Series {
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    const series: uPlot.Series = {
      label: line.name,
      scale: line.right ? "right" : "y",
      stroke: line.color,
      width: line.kind === "area" ? 0 : (line.width ?? 1.5),
      points: { show: line.kind === "points", size: 5, fill: line.color },
    };
    if (line.kind === "area") series.fill = line.color;
    if (line.dash) series.dash = line.dash;
    if (line.kind !== "line" && line.kind !== "points" && stepped) series.paths = stepped;
    return series;
  }

  /** The heat map and what is shaded, under the lines. */
  private beneath(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const [heat, shaded] = [this.sheet?.heat, this.sheet?.shaded];
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (shaded) {
      const [from, to] = [plot.valToPos(shaded.from, "x", true), plot.valToPos(shaded.to, "x", true)];
      ctx.fillStyle = dark() ? "#56b4e922" : "#0072b218";
      ctx.fillRect(from, bbox.top, to - from, bbox.height);
    }
    if (heat && heat.answer.cells > 0) {
      const [left, width] = heatReach(plot, heat, true);
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(fitted(plot, heat), left, bbox.top, width, bbox.height);
    }
    ctx.restore();
  }

  private marks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ink("bad");
    ctx.setLineDash([4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
    for (const mark of this.sheet?.marks ?? []) {
      const x = Math.round(plot.valToPos(mark.x, "x", true)) + 0.5;
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    if (this.sheet?.named) this.markNames(plot);
    ctx.restore();
  }

  /** Names of marks in the strip over the drawing, where no value and no other mark is. */
  private markNames(plot: uPlot): void {
    const { ctx, bbox } = plot;
    ctx.font = `${12 * uPlot.pxRatio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    ctx.fillStyle = ink("bad");
    const marks = (this.sheet?.marks ?? []).map(({ x, text }) => ({ x: plot.valToPos(x, "x", true) - bbox.left, text }));
    for (const { left, text } of placedNames(marks, bbox.width, (text) => ctx.measureText(text).width)) {
      ctx.fillText(text, bbox.left + left, bbox.top - 2 * uPlot.pxRatio);
    }
  }

  /** What came for the column under the pointer; asks for it where it is another one. */
  private further(plot: uPlot, x: number): Tip[] {
    const sheet = this.sheet;
    if (!sheet?.more || !sheet.heat) return [];
    const at = Math.floor((x - sheet.heat.answer.from) / sheet.heat.answer.width_ns);
    if (this.more?.at === at && this.more.sheet === sheet) return this.more.rows;
    const asked = { at, sheet, rows: [] as Tip[] };
    this.more = asked;
    const isStill = (): boolean => this.more === asked && this.sheet === sheet;
    window.setTimeout(() => {
      if (!isStill() || !this.over) return;
      void sheet.more?.(at).then((rows) => {
        if (!isStill()) return;
        asked.rows = rows;
        this.tell(plot);
      }, () => undefined);
    }, REST_MS);
    return [];
  }

  /** Exact numbers beside the pointer. */
  private tell(plot: uPlot): void {
    const { left, top } = plot.cursor;
    if (!this.over || left === undefined || top === undefined || left < 0 || !this.sheet) {
      this.tip.hidden = true;
      return;
    }
    const at = this.under(left, top);
    if (!at) return;
    const { head, rows } = this.sheet.tips(at.cell, at.x, at.y);
    rows.push(...this.further(plot, at.x));
    const near = this.sheet.marks.filter((mark) => Math.abs(plot.valToPos(mark.x, "x") - left) < 6);
    const lines = [...near.map((mark) => ({ name: "Mark", value: mark.text })), ...rows].map((row: Tip) => {
      const swatch = h("i");
      if (row.color) swatch.style.background = row.color;
      return h("div", {}, swatch, h("span", {}, row.name), h("b", {}, row.value));
    });
    this.tip.replaceChildren(h("strong", {}, head), ...lines);
    this.tip.hidden = false;
    const [x, y] = [plot.over.offsetLeft + left, plot.over.offsetTop + top];
    const beside = x + 16 + this.tip.offsetWidth > this.root.clientWidth ? x - 16 - this.tip.offsetWidth : x + 16;
    this.tip.style.left = `${Math.max(0, beside)}px`;
    this.tip.style.top = `${Math.max(0, Math.min(y - 10, this.height - this.tip.offsetHeight))}px`;
  }
}

/** Where a heat map begins, and how wide it is, in pixels of the canvas or of the page. */
export function heatReach(plot: uPlot, heat: Heat, canvas: boolean): [number, number] {
  const { answer } = heat;
  const left = plot.valToPos(answer.from, "x", canvas);
  return [left, plot.valToPos(answer.from + answer.cells * answer.width_ns, "x", canvas) - left];
}

/** The heat map with each row where the axis has it, as high as the drawing. */
export function fitted(plot: uPlot, heat: Heat): HTMLCanvasElement {
  const { answer, image } = heat;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, Math.max(1, Math.round(plot.bbox.height))];
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  context.imageSmoothingEnabled = false;
  const log = plot.scales["y"]?.distr === 3;
  const place = (value: number): number =>
    log && value <= 0 ? canvas.height : Math.round((plot.valToPos(value, "y") * canvas.height) / (plot.bbox.height / uPlot.pxRatio));
  for (let row = 0; row < answer.rows; row += 1) {
    const [low, high] = [place(answer.row_edges[row] ?? 0), place(answer.row_edges[row + 1] ?? 0)];
    context.drawImage(image, 0, answer.rows - 1 - row, image.width, 1, 0, high, image.width, Math.max(1, low - high));
  }
  return canvas;
}

/** The ends of an axis: what the sheet says, else what its lines need. */
function limits(sheet: Sheet, axis: Axis, right: boolean): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const line of sheet.lines) {
    if ((line.right ?? false) !== right) continue;
    for (const value of line.y) {
      if (typeof value !== "number" || !Number.isFinite(value)) continue;
      if (value > high) high = value;
      if (value < low && (!axis.log || value > 0)) low = value;
    }
  }
  if (axis.log) {
    const bottom = axis.low ?? (Number.isFinite(low) && low > 0 ? low / 1.3 : 1);
    return [bottom, Math.max(axis.high ?? high * 1.3, bottom * 10)];
  }
  const bottom = axis.low ?? 0;
  const top = axis.high ?? high * 1.06;
  return [bottom, top > bottom ? top : bottom + 1];
}

/** On a logarithmic axis powers of ten have names; of few powers also what lies between. */
function decades(low: number, high: number): number[] {
  return ticks({ label: "", low, high, log: true }).map(([value]) => value);
}
