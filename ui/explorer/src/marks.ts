/** Placement of the names of marks above a chart. Does not use the DOM. */

export interface Mark {
  x: number;
  text: string;
}

/** CSS pixels between a mark and its name, and between two names. */
const MARK_GAP = 3;
const NAME_GAP = 8;

/**
 * Returns the left edge of each name, in pixels like all arguments. `pixelRatio` is their number per CSS pixel.
 * A name begins at its mark, or ends there if it would cross the right edge. Names that would overlap the
 * previous one are omitted.
 */
export function placeMarkNames(
  marks: readonly Mark[],
  width: number,
  textWidth: (text: string) => number,
  pixelRatio = 1,
): { left: number; text: string }[] {
  const placed: { left: number; text: string }[] = [];
  const markGap = MARK_GAP * pixelRatio;
  let nextFree = 0;
  for (const { x, text } of [...marks].sort((a, b) => a.x - b.x)) {
    if (x < 0 || x > width) continue;
    const nameWidth = textWidth(text);
    const left = x + markGap + nameWidth <= width ? x + markGap : x - markGap - nameWidth;
    if (left < nextFree) continue;
    placed.push({ left, text });
    nextFree = left + nameWidth + NAME_GAP * pixelRatio;
  }
  return placed;
}
