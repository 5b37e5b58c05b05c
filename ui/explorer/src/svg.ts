/** A drawing as SVG, PNG and CSV: what is on the screen, with its name and its key. */
import uPlot from "uplot";
import { csv, type Cell } from "./csv";
import { ink } from "./dom";
import { placedNames } from "./marks";
import { fitted, heatReach, type Line, type Pane, type Sheet } from "./pane";

const SVG = "http://www.w3.org/2000/svg";

function element(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Width of a letter of a mark's name, rounded up. */
const NAME_LETTER = 6.5;
const HEAD = 44;
const ROW = 20;

/** The drawing as an SVG document. */
export function drawn(pane: Pane, title: string, note: string): SVGSVGElement | undefined {
  const { plot, sheet } = pane;
  if (!plot || !sheet) return undefined;
  const [width, tall] = [plot.width, plot.height];
  const key = keyRows(sheet, width);
  const height = HEAD + tall + key.length * ROW + 8;
  const svg = element("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 12 }) as SVGSVGElement;
  svg.append(element("rect", { width, height, fill: ink("paper") }));
  svg.append(element("text", { x: 8, y: 18, "font-size": 15, "font-weight": "bold", fill: ink("ink") }, title));
  svg.append(element("text", { x: 8, y: 35, fill: ink("quiet") }, note));
  const area = element("g", { transform: `translate(0 ${HEAD})` });
  area.append(...frame(plot, sheet), ...content(plot, sheet));
  svg.append(area);
  key.forEach((row, at) => row.forEach((part) => svg.append(...keyPart(part, HEAD + tall + at * ROW + 14))));
  return svg;
}

interface KeyPart {
  x: number;
  line: Line;
}

function keyRows(sheet: Sheet, width: number): KeyPart[][] {
  const rows: KeyPart[][] = [[]];
  let x = 10;
  for (const line of [...sheet.lines].reverse().filter((one) => !one.halo)) {
    const wide = 30 + line.name.length * 7;
    if (x + wide > width && x > 10) {
      rows.push([]);
      x = 10;
    }
    rows[rows.length - 1]?.push({ x, line });
    x += wide;
  }
  return rows;
}

function keyPart(part: KeyPart, y: number): SVGElement[] {
  const mark = element("rect", { x: part.x, y: y - 9, width: 12, height: 10, fill: part.line.color });
  return [mark, element("text", { x: part.x + 17, y, fill: ink("ink") }, part.line.name)];
}

/** In pixels of the page, from the drawing's own corner. */
function box(plot: uPlot): { left: number; top: number; width: number; height: number } {
  const ratio = uPlot.pxRatio;
  return { left: plot.bbox.left / ratio, top: plot.bbox.top / ratio, width: plot.bbox.width / ratio, height: plot.bbox.height / ratio };
}

function frame(plot: uPlot, sheet: Sheet): SVGElement[] {
  const { left, top, width, height } = box(plot);
  const out: SVGElement[] = [element("rect", { x: left, y: top, width, height, fill: "none", stroke: ink("grid") })];
  // uPlot has chosen where the values of every axis stand.
  const named = (scale: string): [number, string][] => {
    const own = plot.axes.find((one) => one.scale === scale) as { _splits?: (number | null)[]; _values?: (string | null)[] } | undefined;
    return (own?._splits ?? []).flatMap((value, at): [number, string][] => {
      const name = own?._values?.[at];
      return value === null || !name ? [] : [[value, name]];
    });
  };
  for (const [value, name] of named("x")) {
    const x = left + plot.valToPos(value, "x");
    out.push(element("line", { x1: x, x2: x, y1: top, y2: top + height, stroke: ink("grid") }));
    out.push(element("text", { x, y: top + height + 16, "text-anchor": "middle", fill: ink("axis") }, name));
  }
  const sides = [["y", sheet.left, left - 6, "end"], ["right", sheet.right, left + width + 6, "start"]] as const;
  for (const [scale, axis, x, anchor] of sides) {
    if (!axis) continue;
    for (const [value, name] of named(scale)) {
      const y = top + plot.valToPos(value, scale);
      if (scale === "y") out.push(element("line", { x1: left, x2: left + width, y1: y, y2: y, stroke: ink("grid") }));
      out.push(element("text", { x, y: y + 4, "text-anchor": anchor, fill: ink("axis") }, name));
    }
  }
  return out;
}

function content(plot: uPlot, sheet: Sheet): SVGElement[] {
  const { left, top, width, height } = box(plot);
  const inner = element("svg", { x: left, y: top, width, height, overflow: "hidden" });
  if (sheet.shaded) {
    const x = plot.valToPos(sheet.shaded.from, "x");
    inner.append(element("rect", { x, y: 0, width: plot.valToPos(sheet.shaded.to, "x") - x, height, fill: "#0072b2", "fill-opacity": 0.1 }));
  }
  if (sheet.heat) {
    const [x, wide] = heatReach(plot, sheet.heat, false);
    const href = fitted(plot, sheet.heat).toDataURL();
    inner.append(element("image", { x, y: 0, width: wide, height, preserveAspectRatio: "none", "image-rendering": "pixelated", href }));
  }
  sheet.lines.forEach((line) => inner.append(...path(plot, sheet, line)));
  for (const mark of sheet.marks) {
    const x = plot.valToPos(mark.x, "x");
    inner.append(element("line", { x1: x, x2: x, y1: 0, y2: height, stroke: ink("bad"), "stroke-dasharray": "4 3" }));
  }
  const marks = sheet.marks.map(({ x, text }) => ({ x: plot.valToPos(x, "x"), text }));
  const names = placedNames(marks, width, (text) => text.length * NAME_LETTER);
  const y = sheet.named ? top - 3 : top + 12;
  return [inner, ...names.map((name) => element("text", { x: left + name.left, y, fill: ink("bad"), "font-size": 11 }, name.text))];
}

function path(plot: uPlot, sheet: Sheet, line: Line): SVGElement[] {
  const scale = line.right ? "right" : "y";
  const [parts, dots]: [string[], SVGElement[]] = [[], []];
  const floor = plot.bbox.height / uPlot.pxRatio;
  const steps = line.kind === "area" || line.kind === "step";
  let before: number | undefined;
  line.y.forEach((value, at) => {
    if (value === undefined) return;
    if (value === null || !Number.isFinite(value)) {
      if (before !== undefined && line.kind === "area") parts.push(`V${floor}`);
      before = undefined;
      return;
    }
    const [x, y] = [plot.valToPos(sheet.x[at] ?? 0, "x").toFixed(1), plot.valToPos(value, scale)];
    const text = y.toFixed(1);
    if (before === undefined) parts.push(line.kind === "area" ? `M${x},${floor}V${text}` : `M${x},${text}`);
    else parts.push(steps ? `H${x}V${text}` : `L${x},${text}`);
    before = y;
    if (line.kind === "points") dots.push(element("circle", { cx: x, cy: text, r: 2.5, fill: line.color }));
  });
  if (parts.length === 0) return dots;
  if (line.kind === "area") return [element("path", { d: `${parts.join("")}V${floor}Z`, fill: line.color })];
  const stroke = element("path", { d: parts.join(""), fill: "none", stroke: line.color, "stroke-width": line.width ?? 1.5 });
  if (line.dash) stroke.setAttribute("stroke-dasharray", line.dash.join(" "));
  return [stroke, ...dots];
}

export function asText(svg: SVGSVGElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

/** The drawing as an image of twice its size. */
export async function asPng(svg: SVGSVGElement): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([asText(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    const loaded = new Promise<void>((done, failed) => {
      image.onload = () => done();
      image.onerror = () => failed(new Error("the drawing could not be made an image"));
    });
    image.src = address;
    await loaded;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth * 2, image.naturalHeight * 2];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("no image")))));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** The values of a drawing; of a heat map a row for every cell that holds I/Os. */
export function values(sheet: Sheet, xName: string, perCell: (line: Line, at: number) => Cell): string {
  const lines = [...sheet.lines].reverse().filter((line) => !line.halo);
  if (sheet.heat) return heatValues(sheet.heat.answer, xName, sheet.left.name);
  const cells = sheet.lines.some((line) => line.kind === "area" || line.kind === "step") ? sheet.x.length - 1 : sheet.x.length;
  const rows = Array.from({ length: cells }, (_, at): Cell[] => [sheet.x[at], ...lines.map((line) => perCell(line, at))]);
  return csv([[xName, ...lines.map((line) => line.name)], ...rows]);
}

function heatValues(answer: { from: number; width_ns: number; cells: number; rows: number; row_edges: number[]; counts: number[] }, xName: string, yName: string): string {
  const rows: Cell[][] = [[xName, "width_ns", `${yName} from`, `${yName} to`, "I/Os"]];
  for (let cell = 0; cell < answer.cells; cell += 1) {
    for (let row = 0; row < answer.rows; row += 1) {
      const count = answer.counts[cell * answer.rows + row] ?? 0;
      if (count > 0) rows.push([answer.from + cell * answer.width_ns, answer.width_ns, answer.row_edges[row], answer.row_edges[row + 1], count]);
    }
  }
  return csv(rows);
}
