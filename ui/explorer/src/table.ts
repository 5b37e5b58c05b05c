/** Sortable tables. Rows are sorted by value, not by the printed text. */
import { csv, type Cell } from "./csv";
import { button, h } from "./dom";
import { NONE } from "./format";

export interface Column<R> {
  header: string;
  value: (row: R) => Cell;
  /** Returns the printed text if it differs from the value. */
  text?: (row: R) => string;
}

export interface RowSelection<R> {
  /** Called on a click in the first column; `shift` asks for a comparison. */
  onSelect: (row: R, shift: boolean) => void;
  title: string;
  isSelected: (row: R) => boolean;
  /** Returns true if a row can be selected; by default all can. */
  isSelectable?: (row: R) => boolean;
}

/** Maximum number of rows on the page. CSV files have all. */
const MAX_ROWS = 200;

function compareCells(a: Cell, b: Cell, ascending: boolean): number {
  const missing = (value: Cell): boolean => value === null || value === undefined || value === "";
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  const difference =
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true });
  return ascending ? difference : -difference;
}

/** Returns the rows sorted by a column. */
export function sortRows<R>(rows: readonly R[], column: Column<R>, ascending: boolean): R[] {
  return [...rows].sort((a, b) => compareCells(column.value(a), column.value(b), ascending));
}

export function tableCsv<R>(columns: readonly Column<R>[], rows: readonly R[]): string {
  return csv([
    columns.map((column) => column.header),
    ...rows.map((row) => columns.map((column) => column.value(row))),
  ]);
}

export function renderTable<R>(
  caption: string,
  columns: readonly Column<R>[],
  rows: readonly R[],
  selection?: RowSelection<R>,
): HTMLElement {
  const body = h("tbody");
  const numeric = columns.map(
    (column, columnIndex) => columnIndex > 0 && rows.every((row) => typeof column.value(row) !== "string"),
  );
  const headers = columns.map((column) => h("th", { scope: "col" }, column.header));
  const showRows = (list: readonly R[]): void =>
    body.replaceChildren(...list.slice(0, MAX_ROWS).map((row) => renderRow(columns, row, numeric, selection)));
  headers.forEach((head, index) => {
    const column = columns[index];
    if (!column) return;
    head.replaceChildren(
      button(
        column.header,
        () => {
          const next = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
          headers.forEach((other) => other.removeAttribute("aria-sort"));
          head.setAttribute("aria-sort", next);
          showRows(sortRows(rows, column, next === "ascending"));
        },
        { title: "Sort" },
      ),
    );
    if (numeric[index]) head.className = "number";
  });
  showRows(rows);
  const element = h(
    "table",
    { class: "values" },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ...headers)),
    body,
  );
  const truncationNote =
    rows.length > MAX_ROWS
      ? h("p", { class: "quiet" }, `The first ${MAX_ROWS} of ${rows.length} rows. The CSV file has all.`)
      : undefined;
  return h(
    "div",
    {},
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, element),
    truncationNote,
  );
}

function renderRow<R>(
  columns: readonly Column<R>[],
  row: R,
  numeric: readonly boolean[],
  selection: RowSelection<R> | undefined,
): HTMLElement {
  const cells = columns.map((column, index) => {
    const value = column.value(row);
    const text = column.text
      ? column.text(row)
      : value === null || value === undefined || value === ""
        ? NONE
        : String(value);
    if (index > 0 || !selection || selection.isSelectable?.(row) === false)
      return h(
        index === 0 ? "th" : "td",
        { class: numeric[index] ? "number" : undefined, scope: index === 0 ? "row" : undefined },
        text,
      );
    const selectButton = button(text, (event) => selection.onSelect(row, event.shiftKey), {
      title: selection.title,
      "aria-pressed": String(selection.isSelected(row)),
    });
    return h("th", { scope: "row" }, selectButton);
  });
  return h("tr", { class: selection?.isSelected(row) ? "chosen" : undefined }, ...cells);
}
