/** Tooltips of heat maps and of columns in perspective. */
import { formatValue, formatSignificant, valueAt, type Axis } from "./scale";
import { Tooltip, type TooltipLine } from "./tip";

export interface Grid {
  /** Quantity of the rows. */
  label: string;
  /** Name at the start of each row, bottom row first. */
  names: string[];
  /** Values by row and group of columns; null if there is none. */
  values: (number | null)[][];
  /** Number of columns in the drawing. */
  columns: number;
  /** Number of adjacent columns that share one value. */
  together: number;
  /** True if a value is the maximum of several. */
  folded?: boolean;
}

/**
 * Returns the tooltip of the cell at a position, or undefined if there is no cell: `across` is 0 at the left and 1 at
 * the right, `up` is 0 at the bottom and 1 at the top. `y` is the axis of the values.
 */
export function cellAt(
  grid: Grid,
  x: Axis,
  y: Axis,
  across: number,
  up: number,
): { head: string; lines: TooltipLine[] } | undefined {
  const rows = grid.values.length;
  const row = Math.min(rows - 1, Math.max(0, Math.floor(up * rows)));
  const column = Math.min(grid.columns - 1, Math.max(0, Math.floor(across * grid.columns)));
  const slot = Math.floor(column / grid.together);
  const value = grid.values[row]?.[slot];
  if (value === undefined) return undefined;
  const first = slot * grid.together;
  const edgeName = (at: number): string => formatValue(x, valueAt(x, Math.min(1, at / grid.columns)));
  const columnName = x.names?.length
    ? (x.names[column] ?? "")
    : `${edgeName(first)} to ${edgeName(first + grid.together)}`;
  const text = value === null ? "none" : (y.names?.[value] ?? formatSignificant(value));
  const prefix = grid.folded && value !== null && !y.names?.length ? "at most " : "";
  return {
    head: `${x.label}: ${columnName}`,
    lines: [{ text: `${grid.label}: ${grid.names[row] ?? ""}` }, { text: `${y.label}: ${prefix}${text}` }],
  };
}

/** The columns of one series. */
interface ColumnSeries {
  name: string;
  color: string;
  x: number[];
  y: (number | null)[];
}

/** Shows the value of the column in perspective that is under the pointer. */
export function attachColumnTips(
  figure: HTMLElement,
  svg: SVGSVGElement,
  x: Axis,
  y: Axis,
  allSeries: readonly ColumnSeries[],
): void {
  const tip = new Tooltip(figure);
  svg.addEventListener("pointerleave", () => tip.hide());
  svg.addEventListener("pointermove", (event) => {
    // The attribute is the index of the series, a comma, and the column's place on the x axis.
    const attribute = (event.target as Element).closest("[data-value]")?.getAttribute("data-value");
    const [seriesIndex, at] = (attribute ?? "").split(",").map(Number);
    const series = at === undefined ? undefined : allSeries[seriesIndex ?? -1];
    const value = at === undefined ? undefined : series?.y[series.x.indexOf(at)];
    if (!series || at === undefined || value === undefined || value === null) return tip.hide();
    tip.show(event, `${x.label}: ${formatValue(x, at)}`, [
      { color: series.color, text: series.name },
      { text: `${y.label}: ${formatSignificant(value)}` },
    ]);
  });
}
