/** The tooltip: a heading, and a line per value. */

export interface TooltipLine {
  /** Color of the series, shown as a swatch. */
  color?: string;
  text: string;
}

export class Tooltip {
  private readonly figure: HTMLElement;
  private readonly box: HTMLElement;

  constructor(figure: HTMLElement) {
    this.figure = figure;
    this.box = document.createElement("div");
    this.box.className = "tip";
    this.box.hidden = true;
    figure.append(this.box);
  }

  hide(): void {
    this.box.hidden = true;
  }

  /** Shows the tooltip next to the pointer, inside the figure; hides it if there are no lines. */
  show(event: PointerEvent, title: string, lines: readonly TooltipLine[]): void {
    if (lines.length === 0) return this.hide();
    const head = document.createElement("b");
    head.textContent = title;
    this.box.replaceChildren(head, ...lines.map(renderLine));
    this.box.hidden = false;
    const frame = this.figure.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const left = x + 16 + this.box.offsetWidth > frame.width ? x - 16 - this.box.offsetWidth : x + 16;
    this.box.style.left = `${Math.max(0, left)}px`;
    this.box.style.top = `${Math.max(0, y - this.box.offsetHeight - 8)}px`;
  }
}

function renderLine(line: TooltipLine): HTMLElement {
  const made = document.createElement("div");
  if (line.color !== undefined) {
    const mark = document.createElement("i");
    mark.style.background = line.color;
    made.append(mark);
  }
  made.append(line.text);
  return made;
}
