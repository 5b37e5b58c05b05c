/**
 * Colors that color-blind readers can distinguish, the same as in reports
 * (crates/report/src/svg/paint.rs; a test compares them), and the color ramp of heat maps.
 */

export const COLORS = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#000000",
  "#b8860b",
  "#56b4e9",
  "#7b3294",
  "#666666",
  "#8c510a",
] as const;

/** Color of the band that merges all small ones. */
export const OTHERS = "#9a9a9a";

/** Returns the color of a series; on a dark background lighter, and white instead of black. */
export function seriesColor(index: number, dark: boolean): string {
  const light = COLORS[index % COLORS.length] ?? "#000000";
  if (!dark) return light;
  return light === "#000000" ? "#f2f2f2" : lighten(light, 0.22);
}

export function rgb(hex: string): [number, number, number] {
  const channel = (from: number): number => Number.parseInt(hex.slice(from, from + 2), 16) || 0;
  return [channel(1), channel(3), channel(5)];
}

export function lighten(hex: string, share: number): string {
  const mixed = rgb(hex).map((c) => Math.round(c + (255 - c) * share));
  return `#${mixed.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
}

/** Stops of the ramp, from few to many. They differ in lightness, so that hue is not needed to read them. */
const LIGHT = ["#d6e6f4", "#7fb8dc", "#0072b2", "#08306b"];
const DARK = ["#15324a", "#0072b2", "#56b4e9", "#fdf3c0"];

/** Returns the ramp as 256 colors (red, green, blue), from few to many. */
export function heatRamp(dark: boolean): [number, number, number][] {
  const stops = (dark ? DARK : LIGHT).map(rgb);
  return Array.from({ length: 256 }, (_, index) => {
    const position = (index / 255) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(position));
    const [a, b] = [stops[low] ?? [0, 0, 0], stops[low + 1] ?? [0, 0, 0]];
    return [0, 1, 2].map((c) => Math.round((a[c] ?? 0) + ((b[c] ?? 0) - (a[c] ?? 0)) * (position - low))) as [
      number,
      number,
      number,
    ];
  });
}
