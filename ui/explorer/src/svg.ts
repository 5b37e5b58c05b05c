/** Export of a chart as SVG, PNG and CSV, with title and legend. */
import uPlot from "uplot";
import { csv, type Cell } from "./csv";
import { cssColor } from "./dom";
import { placeMarkNames } from "./marks";
import { fitHeatMap, heatMapExtent, type Line, type Pane, type ChartSpec } from "./pane";

const SVG = "http://www.w3.org/2000/svg";

function element(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  if (text !== undefined) node.textContent = text;
  return node;
}

/** Width of a character in the name of a mark, in pixels, rounded up. */
const MARK_CHAR_WIDTH = 6.5;
const HEADER_HEIGHT = 44;
const LEGEND_ROW_HEIGHT = 20;

/** Renders a chart as an SVG document. */
export function renderSvg(pane: Pane, title: string, note: string): SVGSVGElement | undefined {
  const { plot, spec } = pane;
  if (!plot || !spec) return undefined;
  const [width, chartHeight] = [plot.width, plot.height];
  const legend = legendRows(spec, width);
  const height = HEADER_HEIGHT + chartHeight + legend.length * LEGEND_ROW_HEIGHT + 8;
  const svg = element("svg", {
    xmlns: SVG,
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "font-family": "system-ui, sans-serif",
    "font-size": 12,
  }) as SVGSVGElement;
  svg.append(element("rect", { width, height, fill: cssColor("paper") }));
  svg.append(element("text", { x: 8, y: 18, "font-size": 15, "font-weight": "bold", fill: cssColor("ink") }, title));
  svg.append(element("text", { x: 8, y: 35, fill: cssColor("quiet") }, note));
  const chart = element("g", { transform: `translate(0 ${HEADER_HEIGHT})` });
  chart.append(...renderAxes(plot, spec), ...renderContent(plot, spec));
  svg.append(chart);
  legend.forEach((row, index) =>
    row.forEach((part) =>
      svg.append(...renderLegendEntry(part, HEADER_HEIGHT + chartHeight + index * LEGEND_ROW_HEIGHT + 14)),
    ),
  );
  return svg;
}

interface LegendEntry {
  x: number;
  line: Line;
}

function legendRows(spec: ChartSpec, width: number): LegendEntry[][] {
  const rows: LegendEntry[][] = [[]];
  let x = 10;
  for (const line of [...spec.lines].reverse().filter((one) => !one.isHalo)) {
    const entryWidth = 30 + line.name.length * 7;
    if (x + entryWidth > width && x > 10) {
      rows.push([]);
      x = 10;
    }
    rows[rows.length - 1]?.push({ x, line });
    x += entryWidth;
  }
  return rows;
}

function renderLegendEntry(entry: LegendEntry, y: number): SVGElement[] {
  const swatch = element("rect", { x: entry.x, y: y - 9, width: 12, height: 10, fill: entry.line.color });
  return [swatch, element("text", { x: entry.x + 17, y, fill: cssColor("ink") }, entry.line.name)];
}

/** Returns the plot area in CSS pixels, relative to the chart. */
function plotArea(plot: uPlot): { left: number; top: number; width: number; height: number } {
  const ratio = uPlot.pxRatio;
  return {
    left: plot.bbox.left / ratio,
    top: plot.bbox.top / ratio,
    width: plot.bbox.width / ratio,
    height: plot.bbox.height / ratio,
  };
}

function renderAxes(plot: uPlot, spec: ChartSpec): SVGElement[] {
  const { left, top, width, height } = plotArea(plot);
  const elements: SVGElement[] = [
    element("rect", { x: left, y: top, width, height, fill: "none", stroke: cssColor("grid") }),
  ];
  // Ticks and labels are those that uPlot has chosen for the screen.
  const axisLabels = (scale: string): [number, string][] => {
    const axis = plot.axes.find((line) => line.scale === scale) as
      | { _splits?: (number | null)[]; _values?: (string | null)[] }
      | undefined;
    return (axis?._splits ?? []).flatMap((value, index): [number, string][] => {
      const name = axis?._values?.[index];
      return value === null || !name ? [] : [[value, name]];
    });
  };
  for (const [value, name] of axisLabels("x")) {
    const x = left + plot.valToPos(value, "x");
    elements.push(element("line", { x1: x, x2: x, y1: top, y2: top + height, stroke: cssColor("grid") }));
    elements.push(element("text", { x, y: top + height + 16, "text-anchor": "middle", fill: cssColor("axis") }, name));
  }
  const sides = [
    ["y", spec.left, left - 6, "end"],
    ["right", spec.right, left + width + 6, "start"],
  ] as const;
  for (const [scale, axis, x, anchor] of sides) {
    if (!axis) continue;
    for (const [value, name] of axisLabels(scale)) {
      const y = top + plot.valToPos(value, scale);
      if (scale === "y")
        elements.push(element("line", { x1: left, x2: left + width, y1: y, y2: y, stroke: cssColor("grid") }));
      elements.push(element("text", { x, y: y + 4, "text-anchor": anchor, fill: cssColor("axis") }, name));
    }
  }
  return elements;
}

function renderContent(plot: uPlot, spec: ChartSpec): SVGElement[] {
  const { left, top, width, height } = plotArea(plot);
  const inner = element("svg", { x: left, y: top, width, height, overflow: "hidden" });
  if (spec.shaded) {
    const x = plot.valToPos(spec.shaded.from, "x");
    inner.append(
      element("rect", {
        x,
        y: 0,
        width: plot.valToPos(spec.shaded.to, "x") - x,
        height,
        fill: "#0072b2",
        "fill-opacity": 0.1,
      }),
    );
  }
  if (spec.heat) {
    const [x, heatWidth] = heatMapExtent(plot, spec.heat, false);
    const href = fitHeatMap(plot, spec.heat).toDataURL();
    inner.append(
      element("image", {
        x,
        y: 0,
        width: heatWidth,
        height,
        preserveAspectRatio: "none",
        "image-rendering": "pixelated",
        href,
      }),
    );
  }
  spec.lines.forEach((line) => inner.append(...renderLine(plot, spec, line)));
  for (const mark of spec.marks) {
    const x = plot.valToPos(mark.x, "x");
    inner.append(
      element("line", { x1: x, x2: x, y1: 0, y2: height, stroke: cssColor("bad"), "stroke-dasharray": "4 3" }),
    );
  }
  const marks = spec.marks.map(({ x, text }) => ({ x: plot.valToPos(x, "x"), text }));
  const names = placeMarkNames(marks, width, (text) => text.length * MARK_CHAR_WIDTH);
  const y = spec.showMarkNames ? top - 3 : top + 12;
  return [
    inner,
    ...names.map((name) =>
      element("text", { x: left + name.left, y, fill: cssColor("bad"), "font-size": 11 }, name.text),
    ),
  ];
}

function renderLine(plot: uPlot, spec: ChartSpec, line: Line): SVGElement[] {
  const scale = line.right ? "right" : "y";
  const [commands, dots]: [string[], SVGElement[]] = [[], []];
  const floor = plot.bbox.height / uPlot.pxRatio;
  const isStepped = line.kind === "area" || line.kind === "step";
  let previousY: number | undefined;
  line.y.forEach((value, index) => {
    if (value === undefined) return;
    if (value === null || !Number.isFinite(value)) {
      if (previousY !== undefined && line.kind === "area") commands.push(`V${floor}`);
      previousY = undefined;
      return;
    }
    const [x, y] = [plot.valToPos(spec.x[index] ?? 0, "x").toFixed(1), plot.valToPos(value, scale)];
    const text = y.toFixed(1);
    if (previousY === undefined) commands.push(line.kind === "area" ? `M${x},${floor}V${text}` : `M${x},${text}`);
    else commands.push(isStepped ? `H${x}V${text}` : `L${x},${text}`);
    previousY = y;
    if (line.kind === "points") dots.push(element("circle", { cx: x, cy: text, r: 2.5, fill: line.color }));
  });
  if (commands.length === 0) return dots;
  if (line.kind === "area") return [element("path", { d: `${commands.join("")}V${floor}Z`, fill: line.color })];
  const stroke = element("path", {
    d: commands.join(""),
    fill: "none",
    stroke: line.color,
    "stroke-width": line.width ?? 1.5,
  });
  if (line.dash) stroke.setAttribute("stroke-dasharray", line.dash.join(" "));
  return [stroke, ...dots];
}

export function serializeSvg(svg: SVGSVGElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

/** Renders an SVG document as a PNG of twice its size. */
export async function renderPng(svg: SVGSVGElement): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([serializeSvg(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    const loaded = new Promise<void>((done, failed) => {
      image.onload = () => done();
      image.onerror = () => failed(new Error("the drawing could not be made an image"));
    });
    image.src = url;
    await loaded;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth * 2, image.naturalHeight * 2];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) =>
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("no image")))),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Returns the values of a chart as CSV; those of a heat map with one row per cell that contains I/Os. */
export function chartCsv(spec: ChartSpec, xName: string, valueAt: (line: Line, index: number) => Cell): string {
  const lines = [...spec.lines].reverse().filter((line) => !line.isHalo);
  if (spec.heat) return heatMapCsv(spec.heat.answer, xName, spec.left.name);
  const cells = spec.lines.some((line) => line.kind === "area" || line.kind === "step")
    ? spec.x.length - 1
    : spec.x.length;
  const rows = Array.from({ length: cells }, (_, index): Cell[] => [
    spec.x[index],
    ...lines.map((line) => valueAt(line, index)),
  ]);
  return csv([[xName, ...lines.map((line) => line.name)], ...rows]);
}

function heatMapCsv(
  answer: { from: number; width_ns: number; cells: number; rows: number; row_edges: number[]; counts: number[] },
  xName: string,
  yName: string,
): string {
  const rows: Cell[][] = [[xName, "width_ns", `${yName} from`, `${yName} to`, "I/Os"]];
  for (let cell = 0; cell < answer.cells; cell += 1) {
    for (let row = 0; row < answer.rows; row += 1) {
      const count = answer.counts[cell * answer.rows + row] ?? 0;
      if (count > 0)
        rows.push([
          answer.from + cell * answer.width_ns,
          answer.width_ns,
          answer.row_edges[row],
          answer.row_edges[row + 1],
          count,
        ]);
    }
  }
  return csv(rows);
}
