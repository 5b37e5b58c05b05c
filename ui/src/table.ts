/** Sorting of tables by a click on a column's header. */

/** Parses the number at the start of a cell's text; undefined if there is none. */
export function parseNumber(text: string): number | undefined {
  const plain = text.trim().replace(/,/g, "").replace(/−/g, "-");
  const match = /^-?\d+(\.\d+)?(e[+-]?\d+)?/i.exec(plain);
  return match ? Number(match[0]) : undefined;
}

/** Compares two cells: numbers by value, texts alphabetically, missing values last. */
export function compare(a: string, b: string, ascending: boolean): number {
  const [x, y] = [parseNumber(a), parseNumber(b)];
  const missing = (text: string): boolean => text === "" || text === "–";
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  const order = x !== undefined && y !== undefined ? x - y : a.localeCompare(b);
  return ascending ? order : -order;
}

/** Makes a table sortable, unless it has rows without a first cell, which belong to the row above. */
export function makeSortable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  const heads = [...(table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? [])];
  if (!body || body.rows.length < 3 || [...body.rows].some((row) => row.cells[0]?.textContent === "")) return;
  const original = [...body.rows];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.title = "Sort";
    head.append(button);
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const next = now === "descending" ? "ascending" : now === "ascending" ? undefined : "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      const text = (row: HTMLTableRowElement): string => row.cells[column]?.textContent ?? "";
      const rows = [...original];
      if (next) rows.sort((a, b) => compare(text(a), text(b), next === "ascending"));
      body.append(...rows);
    });
  });
}
