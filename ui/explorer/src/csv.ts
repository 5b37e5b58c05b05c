/** CSV (RFC 4180). Text that a spreadsheet would evaluate as a formula is quoted. */

export type Cell = string | number | null | undefined;

export function csv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function cell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** Returns a file name that is valid on every file system. */
export function fileName(...parts: string[]): string {
  const plain = parts.map((part) => part.replace(/^.*[/\\]/, "").replace(/[^A-Za-z0-9._-]+/g, "-")).join("-");
  return (
    plain
      .replace(/-+/g, "-")
      .replace(/^[-.]+|-+$/g, "")
      .slice(0, 100) || "view"
  );
}
