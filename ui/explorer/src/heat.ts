/** Heat maps: counts as colors, few to many on a logarithmic scale. */
import { ramp } from "./palette";
import type { HeatAnswer } from "./types";

export interface Heat {
  answer: HeatAnswer;
  /** The count that has the last color. */
  most: number;
  image: HTMLCanvasElement;
}

/** The place of a count in the ramp; nothing of nothing. */
export function shade(count: number, most: number): number | undefined {
  if (count <= 0) return undefined;
  if (most <= 1) return 255;
  return Math.min(255, Math.round((Math.log(count) / Math.log(most)) * 235) + 20);
}

export function mostOf(answer: HeatAnswer): number {
  return answer.counts.reduce((most, one) => Math.max(most, one), 0);
}

/** One pixel for each cell and row, the lowest row at the bottom. */
export function paint(answer: HeatAnswer, most: number, dark: boolean): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(1, answer.cells), Math.max(1, answer.rows)];
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  const pixels = context.createImageData(canvas.width, canvas.height);
  const colors = ramp(dark);
  for (let cell = 0; cell < answer.cells; cell += 1) {
    for (let row = 0; row < answer.rows; row += 1) {
      const at = shade(answer.counts[cell * answer.rows + row] ?? 0, most);
      if (at === undefined) continue;
      const to = ((answer.rows - 1 - row) * canvas.width + cell) * 4;
      pixels.data.set([...(colors[at] ?? [0, 0, 0]), 255], to);
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

/** The row that holds a value. */
export function rowOf(edges: readonly number[], value: number): number {
  let [low, high] = [0, edges.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((edges[middle] ?? 0) <= value) low = middle;
    else high = middle;
  }
  return low;
}
