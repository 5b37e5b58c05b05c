/** The whole time axis, and the part of it that everything else shows. */
import { h } from "./dom";
import type { Pane } from "./pane";
import { inside } from "./state";

export interface Brushed {
  /** The part that is shown; the whole where there is none. */
  part: () => { from: number; to: number } | undefined;
  duration: () => number;
  say: (from: number, to: number) => string;
  chosen: (part: { from: number; to: number } | undefined) => void;
}

/** Part of the width from which a drag takes hold of an end. */
const GRIP = 8;

export class Brush {
  readonly window = h("div", {
    class: "window", tabindex: 0, role: "slider", "aria-label": "Shown part of the time axis",
    "aria-roledescription": "brush", "aria-valuemin": 0, "aria-valuemax": 100,
    title: "Drag: choose a part. Arrows: move. Up and down: wider, narrower. Home: whole.",
  });
  private drag: { how: "new" | "move" | "from" | "to"; at: number; from: number; to: number } | undefined;

  constructor(private readonly pane: Pane, private readonly hands: Brushed) {
    this.window.addEventListener("keydown", (event) => this.key(event));
  }

  /** Puts the window over a drawing that was made anew. */
  attach(): void {
    const over = this.pane.plot?.over;
    if (!over) return;
    over.append(this.window);
    over.classList.add("brush");
    over.addEventListener("pointerdown", (event) => this.pressed(event, over));
    over.addEventListener("pointermove", (event) => this.moved(event));
    over.addEventListener("pointerup", (event) => this.released(event));
    over.addEventListener("pointercancel", () => (this.drag = undefined));
    over.addEventListener("dblclick", () => this.hands.chosen(undefined));
    this.place();
  }

  private now(): { from: number; to: number } {
    return this.hands.part() ?? { from: 0, to: this.hands.duration() };
  }

  place(at = this.now()): void {
    const plot = this.pane.plot;
    if (!plot) return;
    const [left, right] = [plot.valToPos(at.from, "x"), plot.valToPos(at.to, "x")];
    this.window.style.left = `${left}px`;
    this.window.style.width = `${Math.max(3, right - left)}px`;
    this.window.setAttribute("aria-valuetext", this.hands.say(at.from, at.to));
    this.window.setAttribute("aria-valuenow", String(Math.round((at.from / Math.max(1, this.hands.duration())) * 100)));
    this.window.classList.toggle("whole", this.hands.part() === undefined && !this.drag);
  }

  private valueAt(event: PointerEvent): number {
    const plot = this.pane.plot;
    if (!plot) return 0;
    const left = event.clientX - plot.over.getBoundingClientRect().left;
    return Math.min(this.hands.duration(), Math.max(0, plot.posToVal(left, "x")));
  }

  private pressed(event: PointerEvent, over: HTMLElement): void {
    if (event.button !== 0) return;
    const plot = this.pane.plot;
    if (!plot) return;
    over.setPointerCapture(event.pointerId);
    const now = this.now();
    const x = event.clientX - over.getBoundingClientRect().left;
    const [left, right] = [plot.valToPos(now.from, "x"), plot.valToPos(now.to, "x")];
    const shown = this.hands.part() !== undefined;
    const near = (edge: number): boolean => shown && Math.abs(x - edge) <= GRIP;
    const how = near(left) ? "from" : near(right) ? "to" : shown && x > left && x < right ? "move" : "new";
    this.drag = { how, at: this.valueAt(event), ...now };
  }

  private dragged(event: PointerEvent): { from: number; to: number } | undefined {
    if (!this.drag) return undefined;
    const { how, at, from, to } = this.drag;
    const x = this.valueAt(event);
    if (how === "new") return { from: Math.min(at, x), to: Math.max(at, x) };
    if (how === "from") return { from: Math.min(x, to), to: Math.max(x, to) };
    if (how === "to") return { from: Math.min(from, x), to: Math.max(from, x) };
    return shifted(from, to, x - at, this.hands.duration());
  }

  private moved(event: PointerEvent): void {
    const part = this.dragged(event);
    if (part) this.place(part);
  }

  private released(event: PointerEvent): void {
    const part = this.dragged(event);
    this.drag = undefined;
    if (!part) return;
    const pixels = ((part.to - part.from) / Math.max(1, this.hands.duration())) * (this.pane.plot?.over.clientWidth ?? 1);
    if (pixels < 3) return this.place();
    this.hands.chosen(inside(part.from, part.to, this.hands.duration()));
  }

  private key(event: KeyboardEvent): void {
    const { from, to } = this.now();
    const part = byKey(event.key, from, to, this.hands.duration());
    if (!part) return;
    event.preventDefault();
    event.stopPropagation();
    this.hands.chosen(inside(part.from, part.to, this.hands.duration()));
  }
}

/** A part moved along, but not over the ends. */
export function shifted(from: number, to: number, by: number, duration: number): { from: number; to: number } {
  const moved = Math.min(duration - to, Math.max(-from, by));
  return { from: from + moved, to: to + moved };
}

/** What a key makes of a part. */
export function byKey(key: string, from: number, to: number, duration: number): { from: number; to: number } | undefined {
  const wide = to - from;
  const middle = (from + to) / 2;
  const around = (width: number): { from: number; to: number } => {
    const half = Math.min(duration, Math.max(1000, width)) / 2;
    return shifted(middle - half, middle + half, Math.max(0, half - middle), duration);
  };
  if (key === "ArrowLeft") return shifted(from, to, -wide / 4, duration);
  if (key === "ArrowRight") return shifted(from, to, wide / 4, duration);
  if (key === "ArrowDown" || key === "+") return around(wide / 2);
  if (key === "ArrowUp" || key === "-") return around(wide * 2);
  if (key === "Home") return { from: 0, to: duration };
  return undefined;
}
