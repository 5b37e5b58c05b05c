/** The brush: selects on the overview the time range that all other charts show. */
import { h } from "./dom";
import type { Pane } from "./pane";
import { clampRange } from "./state";

export interface BrushHandlers {
  /** Returns the selected range; undefined for the whole axis. */
  range: () => { from: number; to: number } | undefined;
  duration: () => number;
  describe: (from: number, to: number) => string;
  onChange: (part: { from: number; to: number } | undefined) => void;
}

/** Distance in pixels within which a drag grabs an end of the selection. */
const GRIP_PX = 8;

export class Brush {
  readonly window = h("div", {
    class: "window",
    tabindex: 0,
    role: "slider",
    "aria-label": "Shown part of the time axis",
    "aria-roledescription": "brush",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
    title: "Drag: choose a part. Arrows: move. Up and down: wider, narrower. Home: whole.",
  });
  private drag: { mode: "new" | "move" | "from" | "to"; start: number; from: number; to: number } | undefined;

  constructor(
    private readonly pane: Pane,
    private readonly handlers: BrushHandlers,
  ) {
    this.window.addEventListener("keydown", (event) => this.handleKey(event));
  }

  /** Attaches the selection to a redrawn overview. */
  attach(): void {
    const over = this.pane.plot?.over;
    if (!over) return;
    over.append(this.window);
    over.classList.add("brush");
    over.addEventListener("pointerdown", (event) => this.handlePointerDown(event, over));
    over.addEventListener("pointermove", (event) => this.handlePointerMove(event));
    over.addEventListener("pointerup", (event) => this.handlePointerUp(event));
    over.addEventListener("pointercancel", () => (this.drag = undefined));
    over.addEventListener("dblclick", () => this.handlers.onChange(undefined));
    this.position();
  }

  private current(): { from: number; to: number } {
    return this.handlers.range() ?? { from: 0, to: this.handlers.duration() };
  }

  position(range = this.current()): void {
    const plot = this.pane.plot;
    if (!plot) return;
    const [left, right] = [plot.valToPos(range.from, "x"), plot.valToPos(range.to, "x")];
    this.window.style.left = `${left}px`;
    this.window.style.width = `${Math.max(3, right - left)}px`;
    this.window.setAttribute("aria-valuetext", this.handlers.describe(range.from, range.to));
    this.window.setAttribute(
      "aria-valuenow",
      String(Math.round((range.from / Math.max(1, this.handlers.duration())) * 100)),
    );
    this.window.classList.toggle("whole", this.handlers.range() === undefined && !this.drag);
  }

  private valueAt(event: PointerEvent): number {
    const plot = this.pane.plot;
    if (!plot) return 0;
    const left = event.clientX - plot.over.getBoundingClientRect().left;
    return Math.min(this.handlers.duration(), Math.max(0, plot.posToVal(left, "x")));
  }

  private handlePointerDown(event: PointerEvent, over: HTMLElement): void {
    if (event.button !== 0) return;
    const plot = this.pane.plot;
    if (!plot) return;
    over.setPointerCapture(event.pointerId);
    const current = this.current();
    const x = event.clientX - over.getBoundingClientRect().left;
    const [left, right] = [plot.valToPos(current.from, "x"), plot.valToPos(current.to, "x")];
    const hasRange = this.handlers.range() !== undefined;
    const isNear = (edge: number): boolean => hasRange && Math.abs(x - edge) <= GRIP_PX;
    const mode = isNear(left) ? "from" : isNear(right) ? "to" : hasRange && x > left && x < right ? "move" : "new";
    this.drag = { mode, start: this.valueAt(event), ...current };
  }

  private draggedRange(event: PointerEvent): { from: number; to: number } | undefined {
    if (!this.drag) return undefined;
    const { mode, start, from, to } = this.drag;
    const x = this.valueAt(event);
    if (mode === "new") return { from: Math.min(start, x), to: Math.max(start, x) };
    if (mode === "from") return { from: Math.min(x, to), to: Math.max(x, to) };
    if (mode === "to") return { from: Math.min(from, x), to: Math.max(from, x) };
    return shiftRange(from, to, x - start, this.handlers.duration());
  }

  private handlePointerMove(event: PointerEvent): void {
    const range = this.draggedRange(event);
    if (range) this.position(range);
  }

  private handlePointerUp(event: PointerEvent): void {
    const range = this.draggedRange(event);
    this.drag = undefined;
    if (!range) return;
    const pixels =
      ((range.to - range.from) / Math.max(1, this.handlers.duration())) * (this.pane.plot?.over.clientWidth ?? 1);
    if (pixels < 3) return this.position();
    this.handlers.onChange(clampRange(range.from, range.to, this.handlers.duration()));
  }

  private handleKey(event: KeyboardEvent): void {
    const { from, to } = this.current();
    const range = rangeAfterKey(event.key, from, to, this.handlers.duration());
    if (!range) return;
    event.preventDefault();
    event.stopPropagation();
    this.handlers.onChange(clampRange(range.from, range.to, this.handlers.duration()));
  }
}

/** Moves a range, but not beyond the ends of the axis. */
export function shiftRange(from: number, to: number, by: number, duration: number): { from: number; to: number } {
  const shift = Math.min(duration - to, Math.max(-from, by));
  return { from: from + shift, to: to + shift };
}

/** Returns the range after a key; undefined if the key has no effect. */
export function rangeAfterKey(
  key: string,
  from: number,
  to: number,
  duration: number,
): { from: number; to: number } | undefined {
  const width = to - from;
  const middle = (from + to) / 2;
  const resized = (width: number): { from: number; to: number } => {
    const half = Math.min(duration, Math.max(1000, width)) / 2;
    return shiftRange(middle - half, middle + half, Math.max(0, half - middle), duration);
  };
  if (key === "ArrowLeft") return shiftRange(from, to, -width / 4, duration);
  if (key === "ArrowRight") return shiftRange(from, to, width / 4, duration);
  if (key === "ArrowDown" || key === "+") return resized(width / 2);
  if (key === "ArrowUp" || key === "-") return resized(width * 2);
  if (key === "Home") return { from: 0, to: duration };
  return undefined;
}
