/** Heat maps: counts as colors on a logarithmic scale. */
import { heatRamp } from "./palette";
import type { HeatAnswer } from "./types";

export interface HeatMap {
  answer: HeatAnswer;
  /** Count drawn in the last color of the ramp. */
  maxCount: number;
  image: HTMLCanvasElement;
}

/** Returns the index of a count in the color ramp; undefined for 0. */
export function rampIndex(count: number, maxCount: number): number | undefined {
  if (count <= 0) return undefined;
  if (maxCount <= 1) return 255;
  return Math.min(255, Math.round((Math.log(count) / Math.log(maxCount)) * 235) + 20);
}

export function maxCountOf(answer: HeatAnswer): number {
  return answer.counts.reduce((max, value) => Math.max(max, value), 0);
}

/** Draws one pixel per cell and row, with the lowest row at the bottom. */
export function drawHeatMap(answer: HeatAnswer, maxCount: number, dark: boolean): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(1, answer.cells), Math.max(1, answer.rows)];
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  const pixels = context.createImageData(canvas.width, canvas.height);
  const colors = heatRamp(dark);
  for (let cell = 0; cell < answer.cells; cell += 1) {
    for (let row = 0; row < answer.rows; row += 1) {
      const index = rampIndex(answer.counts[cell * answer.rows + row] ?? 0, maxCount);
      if (index === undefined) continue;
      const offset = ((answer.rows - 1 - row) * canvas.width + cell) * 4;
      pixels.data.set([...(colors[index] ?? [0, 0, 0]), 255], offset);
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}
