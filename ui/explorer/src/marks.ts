/** Where the names of marks stand over a drawing. No document here. */

export interface Mark {
  x: number;
  text: string;
}

/** Between a mark and its name, and between a name and the next one. */
const [GAP, APART] = [3, 8];

/**
 * The left edges of names side by side, with marks and widths in the same unit. A name begins at its
 * mark, or ends there where the right edge is near; one that would meet the name before it is left out.
 */
export function placedNames(marks: readonly Mark[], width: number, wide: (text: string) => number): { left: number; text: string }[] {
  const out: { left: number; text: string }[] = [];
  let free = 0;
  for (const { x, text } of [...marks].sort((a, b) => a.x - b.x)) {
    if (x < 0 || x > width) continue;
    const size = wide(text);
    const left = x + GAP + size <= width ? x + GAP : x - GAP - size;
    if (left < free) continue;
    out.push({ left, text });
    free = left + size + APART;
  }
  return out;
}
