/** What stands beside the pointer: a head, and a line for each value. */

export interface Line {
  /** The color of what the line is about; none where its place says it. */
  color?: string;
  text: string;
}

export class Tip {
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

  /** Shows it beside the pointer, inside the figure; nothing where there is no line. */
  show(event: PointerEvent, title: string, lines: readonly Line[]): void {
    if (lines.length === 0) return this.hide();
    const head = document.createElement("b");
    head.textContent = title;
    this.box.replaceChildren(head, ...lines.map(row));
    this.box.hidden = false;
    const frame = this.figure.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const beside = x + 16 + this.box.offsetWidth > frame.width ? x - 16 - this.box.offsetWidth : x + 16;
    this.box.style.left = `${Math.max(0, beside)}px`;
    this.box.style.top = `${Math.max(0, y - this.box.offsetHeight - 8)}px`;
  }
}

function row(line: Line): HTMLElement {
  const made = document.createElement("div");
  if (line.color !== undefined) {
    const mark = document.createElement("i");
    mark.style.background = line.color;
    made.append(mark);
  }
  made.append(line.text);
  return made;
}
