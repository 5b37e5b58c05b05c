/**
 * One chart: uPlot's lines and areas over a heat map, marks, and a tooltip with exact values. Charts of one
 * group share their cursor.
 */
import uPlot from "uplot";
import { isDark, h, cssColor, isNarrow } from "./dom";
import type { HeatMap } from "./heat";
import { placeMarkNames, type Mark } from "./marks";
import type { Values } from "./types";
import { intervalIndex, nearestIndex, ticks } from "../../src/scale";

export interface Line {
  name: string;
  color: string;
  y: Values;
  kind: "area" | "line" | "points" | "step";
  right?: boolean;
  dash?: number[] | undefined;
  width?: number;
  /** True for the outline of another line, which has no legend entry. */
  isHalo?: boolean;
}

export interface Axis {
  /** Quantity of the axis, for CSV headers and screen readers. */
  name: string;
  log?: boolean;
  low?: number;
  high?: number;
  format: (value: number) => string;
}

export interface TooltipRow {
  name: string;
  value: string;
  color?: string;
}

export interface ChartSpec {
  /** Start of each value. Cells have one more x than values, and repeat the last value. */
  x: number[];
  lines: Line[];
  left: Axis;
  right?: Axis;
  heat?: HeatMap;
  /** Named points in time. */
  marks: Mark[];
  /** True if the names of marks are drawn above the chart. */
  showMarkNames?: boolean;
  /** Shaded range of x. */
  shaded?: { from: number; to: number };
  ticks: (from: number, to: number, maxTicks: number) => [number, string][];
  /** Returns the tooltip at a position: index of the value, x, and the value of the left axis. */
  tooltip: (at: number, x: number, y: number) => { head: string; rows: TooltipRow[] };
  /** Requests further rows of the tooltip; called once the pointer rests. */
  loadDetails?: (at: number) => Promise<TooltipRow[]>;
}

export interface PaneHandlers {
  onZoom?: (from: number, to: number) => void;
  onClick?: (at: number, x: number, y: number, shift: boolean) => void;
}

const AXIS_WIDTHS = { wide: [66, 62], narrow: [58, 54] } as const;
/** Drags shorter than this are clicks. */
const CLICK_PX = 4;
/** Time for which the pointer must rest before details are requested. */
const HOVER_MS = 150;
/** Height of the strip for names of marks, in pixels. */
const NAME_STRIP = 12;
/** Minimum distance between two labels of the time axis, in pixels. */
const LABEL_GAP = 12;
const FONT = "12px system-ui, sans-serif";

export class Pane {
  readonly root: HTMLElement;
  plot: uPlot | undefined;
  spec: ChartSpec | undefined;
  /** Range of x that is drawn. */
  xRange: [number, number] = [0, 1];
  private readonly tooltip = h("div", { class: "tip", hidden: true });
  /** Details last requested, and their rows once they have arrived. */
  private details: { column: number; spec: ChartSpec; rows: TooltipRow[] } | undefined;
  private hovered = false;

  constructor(
    private readonly group: string | undefined,
    private readonly height: number,
    private readonly handlers: PaneHandlers,
  ) {
    this.root = h("div", { class: "pane", role: "img" });
    this.root.append(this.tooltip);
  }

  /** Replaces the chart. */
  show(spec: ChartSpec, xRange: [number, number]): void {
    this.plot?.destroy();
    this.spec = spec;
    this.xRange = xRange;
    const width = Math.max(240, this.root.clientWidth || this.root.parentElement?.clientWidth || 600);
    this.plot = new uPlot(this.options(spec, width), [spec.x, ...spec.lines.map((line) => line.y)], this.root);
    const overlay = this.plot.over;
    overlay.addEventListener("pointerenter", () => (this.hovered = true));
    overlay.addEventListener("pointerleave", () => this.hideTooltip());
    let pressedAt: number | undefined;
    overlay.addEventListener("pointerdown", (event) => (pressedAt = event.clientX));
    overlay.addEventListener("click", (event) => {
      if (pressedAt !== undefined && Math.abs(event.clientX - pressedAt) < CLICK_PX) this.handleClick(event);
    });
    this.root.append(this.tooltip);
  }

  /** Shows another range of the current values. */
  setRange(xRange: [number, number]): void {
    this.xRange = xRange;
    this.plot?.setScale("x", { min: xRange[0], max: xRange[1] });
  }

  resize(): void {
    if (this.plot && this.root.clientWidth > 0 && this.spec) this.show(this.spec, this.xRange);
  }

  destroy(): void {
    this.plot?.destroy();
    this.plot = undefined;
  }

  private hideTooltip(): void {
    this.hovered = false;
    this.tooltip.hidden = true;
  }

  private handleClick(event: MouseEvent): void {
    const position = this.locate(event.offsetX, event.offsetY);
    if (position) this.handlers.onClick?.(position.cell, position.x, position.y, event.shiftKey);
  }

  private locate(left: number, top: number): { cell: number; x: number; y: number } | undefined {
    if (!this.plot || !this.spec) return undefined;
    const [x, y] = [this.plot.posToVal(left, "x"), this.plot.posToVal(top, "y")];
    return { cell: this.indexAt(x), x, y };
  }

  /** Returns the index of the value at x: the cell that contains it, or the nearest point. */
  private indexAt(x: number): number {
    const xs = this.spec?.x ?? [];
    const isPointChart =
      this.spec?.lines.every((line) => line.kind === "points" || line.kind === "line") && !this.spec.heat;
    return isPointChart ? nearestIndex(xs, x) : intervalIndex(xs, x);
  }

  private options(spec: ChartSpec, width: number): uPlot.Options {
    const { handlers } = this;
    const nameStrip = spec.showMarkNames && spec.marks.length > 0 ? NAME_STRIP : 0;
    const options: uPlot.Options = {
      width,
      height: this.height + nameStrip,
      // Charts of a group are stacked, so their plot areas must have the same width.
      padding: [
        8 + nameStrip,
        spec.right ? 0 : this.group === undefined ? 16 : isNarrow() ? AXIS_WIDTHS.narrow[1] : AXIS_WIDTHS.wide[1],
        0,
        0,
      ],
      legend: { show: false },
      scales: this.scales(spec),
      axes: this.axes(spec),
      series: [{}, ...spec.lines.map((line) => this.series(line))],
      cursor: {
        drag: { x: handlers.onZoom !== undefined, y: false, setScale: false, dist: CLICK_PX },
        points: { show: false },
        x: true,
        y: spec.heat !== undefined,
      },
      hooks: {
        drawAxes: [(plot) => this.drawBackground(plot)],
        draw: [(plot) => this.drawMarks(plot)],
        setCursor: [(plot) => this.updateTooltip(plot)],
        setSelect: [(plot) => this.handleSelection(plot)],
      },
    };
    if (this.group && options.cursor) {
      const isPointerMove = (type: string): boolean =>
        type === "mousemove" || type === "mouseleave" || type === "mouseenter";
      options.cursor.sync = {
        key: this.group,
        setSeries: false,
        scales: ["x", null],
        filters: { pub: isPointerMove, sub: isPointerMove },
      };
    }
    return options;
  }

  private handleSelection(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < CLICK_PX) return;
    const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.tooltip.hidden = true;
    this.handlers.onZoom?.(from, to);
  }

  private scales(spec: ChartSpec): uPlot.Scales {
    const scale = (axis: Axis, right: boolean): uPlot.Scale => {
      const [low, high] = axisLimits(spec, axis, right);
      return { distr: axis.log ? 3 : 1, log: 10, range: () => [low, high] };
    };
    const scales: uPlot.Scales = { x: { time: false, range: () => [...this.xRange] }, y: scale(spec.left, false) };
    if (spec.right) scales["right"] = scale(spec.right, true);
    return scales;
  }

  private axes(spec: ChartSpec): uPlot.Axis[] {
    const [left, right] = isNarrow() ? AXIS_WIDTHS.narrow : AXIS_WIDTHS.wide;
    const common = {
      stroke: cssColor("axis"),
      font: FONT,
      grid: { stroke: cssColor("grid"), width: 1 },
      ticks: { stroke: cssColor("grid"), width: 1, size: 4 },
    };
    const fittingTicks = (plot: uPlot, from: number, to: number): [number, string][] => {
      const width = plot.bbox.width / uPlot.pxRatio;
      plot.ctx.font = `${12 * uPlot.pxRatio}px system-ui, sans-serif`;
      const textWidth = (text: string): number => plot.ctx.measureText(text).width / uPlot.pxRatio;
      // Start with as many ticks as the width allows, and reduce them until the labels fit.
      for (let maxTicks = Math.floor(width / (isNarrow() ? 52 : 104)); ; maxTicks -= 1) {
        const ticks = spec.ticks(from, to, Math.max(2, maxTicks));
        const step = (((ticks[1]?.[0] ?? to) - (ticks[0]?.[0] ?? from)) / (to - from)) * width;
        if (maxTicks <= 2 || ticks.every(([, text]) => textWidth(text) + LABEL_GAP <= step)) return ticks;
      }
    };
    const x: uPlot.Axis = {
      ...common,
      size: 26,
      gap: 2,
      splits: (plot, _, min, max) => fittingTicks(plot, min, max).map(([value]) => value),
      values: (plot, splits) => {
        const labels = new Map(fittingTicks(plot, plot.scales["x"]?.min ?? 0, plot.scales["x"]?.max ?? 1));
        return splits.map((value) => labels.get(value) ?? "");
      },
    };
    const sideAxis = (axis: Axis, size: number): uPlot.Axis => ({
      ...common,
      size,
      gap: 4,
      values: (_, splits) => splits.map((value) => (value === null ? "" : axis.format(value))),
      ...(axis.log
        ? {
            splits: (_: uPlot, __: number, low: number, high: number) => logTicks(low, high),
            filter: (_: uPlot, all: number[]) => all,
          }
        : {}),
    });
    const axes = [x, { ...sideAxis(spec.left, left), scale: "y" }];
    if (spec.right) axes.push({ ...sideAxis(spec.right, right), scale: "right", side: 1, grid: { show: false } });
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

  /** Draws the heat map and the shaded range under the lines. */
  private drawBackground(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const [heat, shaded] = [this.spec?.heat, this.spec?.shaded];
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (shaded) {
      const [from, to] = [plot.valToPos(shaded.from, "x", true), plot.valToPos(shaded.to, "x", true)];
      ctx.fillStyle = isDark() ? "#56b4e922" : "#0072b218";
      ctx.fillRect(from, bbox.top, to - from, bbox.height);
    }
    if (heat && heat.answer.cells > 0) {
      const [left, width] = heatMapExtent(plot, heat, true);
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(fitHeatMap(plot, heat), left, bbox.top, width, bbox.height);
    }
    ctx.restore();
  }

  private drawMarks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = cssColor("bad");
    ctx.setLineDash([4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
    for (const mark of this.spec?.marks ?? []) {
      const x = Math.round(plot.valToPos(mark.x, "x", true)) + 0.5;
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    if (this.spec?.showMarkNames) this.drawMarkNames(plot);
    ctx.restore();
  }

  /** Draws the names of marks in the strip above the plot area. */
  private drawMarkNames(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const ratio = uPlot.pxRatio;
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    ctx.fillStyle = cssColor("bad");
    const marks = (this.spec?.marks ?? []).map(({ x, text }) => ({
      x: plot.valToPos(x, "x", true) - bbox.left,
      text,
    }));
    for (const { left, text } of placeMarkNames(marks, bbox.width, (text) => ctx.measureText(text).width, ratio)) {
      ctx.fillText(text, bbox.left + left, bbox.top - 2 * ratio);
    }
  }

  /** Returns the details of the column under the pointer, and requests them if it is a new column. */
  private detailRows(plot: uPlot, x: number): TooltipRow[] {
    const spec = this.spec;
    if (!spec?.loadDetails || !spec.heat) return [];
    const column = Math.floor((x - spec.heat.answer.from) / spec.heat.answer.width_ns);
    if (this.details?.column === column && this.details.spec === spec) return this.details.rows;
    const pending = { column, spec, rows: [] as TooltipRow[] };
    this.details = pending;
    const isCurrent = (): boolean => this.details === pending && this.spec === spec;
    window.setTimeout(() => {
      if (!isCurrent() || !this.hovered) return;
      void spec.loadDetails?.(column).then(
        (rows) => {
          if (!isCurrent()) return;
          pending.rows = rows;
          this.updateTooltip(plot);
        },
        () => undefined,
      );
    }, HOVER_MS);
    return [];
  }

  /** Shows the exact values next to the pointer. */
  private updateTooltip(plot: uPlot): void {
    const { left, top } = plot.cursor;
    if (!this.hovered || left === undefined || top === undefined || left < 0 || !this.spec) {
      this.tooltip.hidden = true;
      return;
    }
    const position = this.locate(left, top);
    if (!position) return;
    const { head, rows } = this.spec.tooltip(position.cell, position.x, position.y);
    rows.push(...this.detailRows(plot, position.x));
    const nearMarks = this.spec.marks.filter((mark) => Math.abs(plot.valToPos(mark.x, "x") - left) < 6);
    const lines = [...nearMarks.map((mark) => ({ name: "Mark", value: mark.text })), ...rows].map((row: TooltipRow) => {
      const swatch = h("i");
      if (row.color) swatch.style.background = row.color;
      return h("div", {}, swatch, h("span", {}, row.name), h("b", {}, row.value));
    });
    this.tooltip.replaceChildren(h("strong", {}, head), ...lines);
    this.tooltip.hidden = false;
    const [x, y] = [plot.over.offsetLeft + left, plot.over.offsetTop + top];
    const tooltipLeft =
      x + 16 + this.tooltip.offsetWidth > this.root.clientWidth ? x - 16 - this.tooltip.offsetWidth : x + 16;
    this.tooltip.style.left = `${Math.max(0, tooltipLeft)}px`;
    this.tooltip.style.top = `${Math.max(0, Math.min(y - 10, this.height - this.tooltip.offsetHeight))}px`;
  }
}

/** Returns left edge and width of a heat map, in canvas or CSS pixels. */
export function heatMapExtent(plot: uPlot, heat: HeatMap, canvas: boolean): [number, number] {
  const { answer } = heat;
  const left = plot.valToPos(answer.from, "x", canvas);
  return [left, plot.valToPos(answer.from + answer.cells * answer.width_ns, "x", canvas) - left];
}

/** Returns the heat map stretched to the height of the plot area, with rows positioned by the y axis. */
export function fitHeatMap(plot: uPlot, heat: HeatMap): HTMLCanvasElement {
  const { answer, image } = heat;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, Math.max(1, Math.round(plot.bbox.height))];
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  context.imageSmoothingEnabled = false;
  const log = plot.scales["y"]?.distr === 3;
  const yOf = (value: number): number =>
    log && value <= 0
      ? canvas.height
      : Math.round((plot.valToPos(value, "y") * canvas.height) / (plot.bbox.height / uPlot.pxRatio));
  for (let row = 0; row < answer.rows; row += 1) {
    const [low, high] = [yOf(answer.row_edges[row] ?? 0), yOf(answer.row_edges[row + 1] ?? 0)];
    context.drawImage(image, 0, answer.rows - 1 - row, image.width, 1, 0, high, image.width, Math.max(1, low - high));
  }
  return canvas;
}

/** Returns the limits of an axis: those of the chart, or else those of its lines with some margin. */
function axisLimits(spec: ChartSpec, axis: Axis, right: boolean): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const line of spec.lines) {
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

/** Returns the ticks of a logarithmic axis. */
function logTicks(low: number, high: number): number[] {
  return ticks({ label: "", low, high, log: true }).map(([value]) => value);
}
