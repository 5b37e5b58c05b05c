/** Tables that are sorted by a click on a column's head. */

/** The number that a cell prints; `undefined` of what is none. */
export function numberOf(text: string): number | undefined {
  const plain = text.trim().replace(/,/g, "").replace(/−/g, "-");
  const match = /^-?\d+(\.\d+)?(e[+-]?\d+)?/i.exec(plain);
  return match ? Number(match[0]) : undefined;
}

/** Which of two cells comes first: numbers by size, texts by letters, what is missing last. */
export function compare(a: string, b: string, up: boolean): number {
  const [x, y] = [numberOf(a), numberOf(b)];
  const missing = (text: string): boolean => text === "" || text === "–";
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  const order = x !== undefined && y !== undefined ? x - y : a.localeCompare(b);
  return up ? order : -order;
}

/** Lets a table be sorted. A row without a head belongs to the one above it: such a table has one order only. */
export function sortable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  const heads = [...(table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? [])];
  if (!body || body.rows.length < 3 || [...body.rows].some((row) => row.cells[0]?.textContent === "")) return;
  const first = [...body.rows];
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
      const rows = [...first];
      if (next) rows.sort((a, b) => compare(text(a), text(b), next === "ascending"));
      body.append(...rows);
    });
  });
}
