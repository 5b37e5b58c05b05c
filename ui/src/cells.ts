/** Values that have a place of their own instead of a line: the cells of a heat map, columns in perspective. */
import { nameAt, readable, valueAt, type Reach } from "./scale";
import { Tip, type Line } from "./tip";

export interface Grid {
  /** What the rows are. */
  label: string;
  /** Where each row begins, from the foot. */
  names: string[];
  values: (number | null)[][];
  /** Columns of the drawing, and how many of them have one value together. */
  columns: number;
  together: number;
  /** Whether a value is the greatest of several. */
  folded?: boolean;
}

/** The head and the value of the cell at a place, both from 0 to 1; across, and from the foot. */
export function cellAt(grid: Grid, x: Reach, y: Reach, across: number, up: number): { head: string; lines: Line[] } | undefined {
  const rows = grid.values.length;
  const row = Math.min(rows - 1, Math.max(0, Math.floor(up * rows)));
  const column = Math.min(grid.columns - 1, Math.max(0, Math.floor(across * grid.columns)));
  const slot = Math.floor(column / grid.together);
  const value = grid.values[row]?.[slot];
  if (value === undefined) return undefined;
  const first = slot * grid.together;
  const edge = (at: number): string => nameAt(x, valueAt(x, Math.min(1, at / grid.columns)));
  const place = x.names?.length ? (x.names[column] ?? "") : `${edge(first)} to ${edge(first + grid.together)}`;
  const text = value === null ? "none" : (y.names?.[value] ?? readable(value));
  const greatest = grid.folded && value !== null && !y.names?.length ? "at most " : "";
  return {
    head: `${x.label}: ${place}`,
    lines: [{ text: `${grid.label}: ${grid.names[row] ?? ""}` }, { text: `${y.label}: ${greatest}${text}` }],
  };
}

interface Row {
  name: string;
  color: string;
  x: number[];
  y: (number | null)[];
}

/** Columns in perspective: each tells its value where the pointer is on it. */
export function columns(figure: HTMLElement, svg: SVGSVGElement, x: Reach, y: Reach, rows: readonly Row[]): void {
  const tip = new Tip(figure);
  svg.addEventListener("pointerleave", () => tip.hide());
  svg.addEventListener("pointermove", (event) => {
    const place = (event.target as Element).closest("[data-value]")?.getAttribute("data-value")?.split(",").map(Number);
    const [series, at] = place ?? [];
    const row = series === undefined ? undefined : rows[series];
    const value = row?.y[row.x.indexOf(at ?? Number.NaN)];
    if (!row || at === undefined || value === undefined || value === null) return tip.hide();
    tip.show(event, `${x.label}: ${nameAt(x, at)}`, [
      { color: row.color, text: row.name },
      { text: `${y.label}: ${readable(value)}` },
    ]);
  });
}
