/**
 * Colors that color-blind readers can tell apart, the same as the report's
 * (crates/report/src/svg/paint.rs; a test compares them), and the ramp of heat maps.
 */

export const COLORS = [
  "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#b8860b", "#56b4e9", "#7b3294", "#666666", "#8c510a",
] as const;

/** The rest, after those that have a color of their own. */
export const OTHERS = "#9a9a9a";

/** The color of a series on light or dark paper: black is white there. */
export function color(index: number, dark: boolean): string {
  const found = COLORS[index % COLORS.length] ?? "#000000";
  if (!dark) return found;
  return found === "#000000" ? "#f2f2f2" : lighter(found, 0.22);
}

export function channels(hex: string): [number, number, number] {
  const at = (from: number): number => Number.parseInt(hex.slice(from, from + 2), 16) || 0;
  return [at(1), at(3), at(5)];
}

export function lighter(hex: string, share: number): string {
  const mixed = channels(hex).map((c) => Math.round(c + (255 - c) * share));
  return `#${mixed.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
}

/** Stops from few to many: lightness alone tells them apart. */
const LIGHT = ["#d6e6f4", "#7fb8dc", "#0072b2", "#08306b"];
const DARK = ["#15324a", "#0072b2", "#56b4e9", "#fdf3c0"];

/** 256 colors from few to many, as red, green, blue. */
export function ramp(dark: boolean): [number, number, number][] {
  const stops = (dark ? DARK : LIGHT).map(channels);
  return Array.from({ length: 256 }, (_, at) => {
    const place = (at / 255) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(place));
    const [a, b] = [stops[low] ?? [0, 0, 0], stops[low + 1] ?? [0, 0, 0]];
    return [0, 1, 2].map((c) => Math.round((a[c] ?? 0) + ((b[c] ?? 0) - (a[c] ?? 0)) * (place - low))) as [number, number, number];
  });
}
