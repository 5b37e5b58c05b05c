/** Tables that are sorted by their values, not by what is printed. */
import { csv, type Cell } from "./csv";
import { button, h } from "./dom";
import { NONE } from "./format";

export interface Column<R> {
  head: string;
  value: (row: R) => Cell;
  /** What is printed, where it is not the value. */
  text?: (row: R) => string;
}

export interface Choice<R> {
  /** Of the first column: a click chooses the row, a click with Shift compares it. */
  pick: (row: R, shift: boolean) => void;
  title: string;
  chosen: (row: R) => boolean;
  /** Which rows can be chosen; all where it is not said. */
  can?: (row: R) => boolean;
}

/** Rows that are printed; a file has all. */
const SHOWN = 200;

function order(a: Cell, b: Cell, up: boolean): number {
  const missing = (value: Cell): boolean => value === null || value === undefined || value === "";
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  const by = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
  return up ? by : -by;
}

/** Rows in the order of a column's values. */
export function sorted<R>(rows: readonly R[], column: Column<R>, up: boolean): R[] {
  return [...rows].sort((a, b) => order(column.value(a), column.value(b), up));
}

export function tableCsv<R>(columns: readonly Column<R>[], rows: readonly R[]): string {
  return csv([columns.map((column) => column.head), ...rows.map((row) => columns.map((column) => column.value(row)))]);
}

export function table<R>(caption: string, columns: readonly Column<R>[], rows: readonly R[], choice?: Choice<R>): HTMLElement {
  const body = h("tbody");
  const numeric = columns.map((column, at) => at > 0 && rows.every((row) => typeof column.value(row) !== "string"));
  const heads = columns.map((column) => h("th", { scope: "col" }, column.head));
  const fill = (list: readonly R[]): void => body.replaceChildren(...list.slice(0, SHOWN).map((row) => line(columns, row, numeric, choice)));
  heads.forEach((head, at) => {
    const column = columns[at];
    if (!column) return;
    head.replaceChildren(button(column.head, () => {
      const next = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", next);
      fill(sorted(rows, column, next === "ascending"));
    }, { title: "Sort" }));
    if (numeric[at]) head.className = "number";
  });
  fill(rows);
  const made = h("table", { class: "values" }, h("caption", {}, caption), h("thead", {}, h("tr", {}, ...heads)), body);
  const more = rows.length > SHOWN ? h("p", { class: "quiet" }, `The first ${SHOWN} of ${rows.length} rows. The CSV file has all.`) : undefined;
  return h("div", {}, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, made), more);
}

function line<R>(columns: readonly Column<R>[], row: R, numeric: readonly boolean[], choice: Choice<R> | undefined): HTMLElement {
  const cells = columns.map((column, at) => {
    const value = column.value(row);
    const text = column.text ? column.text(row) : value === null || value === undefined || value === "" ? NONE : String(value);
    if (at > 0 || !choice || choice.can?.(row) === false) return h(at === 0 ? "th" : "td", { class: numeric[at] ? "number" : undefined, scope: at === 0 ? "row" : undefined }, text);
    const pick = button(text, (event) => choice.pick(row, event.shiftKey), { title: choice.title, "aria-pressed": String(choice.chosen(row)) });
    return h("th", { scope: "row" }, pick);
  });
  return h("tr", { class: choice?.chosen(row) ? "chosen" : undefined }, ...cells);
}
