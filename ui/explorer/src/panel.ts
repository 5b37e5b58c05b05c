/** A drawing or a table with its name, its key, its files, and words where there is nothing to see. */
import { said } from "./answers";
import { fileName } from "./csv";
import { announce, button, h, save } from "./dom";
import { Pane, type Hands, type Line, type Sheet } from "./pane";
import { asPng, asText, drawn, values } from "./svg";

export interface Key {
  name: string;
  color: string;
  dash?: boolean;
  /** Where it can be chosen. */
  pick?: (shift: boolean) => void;
}

export interface Drawing {
  sheet: Sheet;
  keys: Key[];
  note: string;
  /** What a screen reader is told. */
  spoken: string;
  xName: string;
  /** What the CSV file has of a line, where it is not what is drawn. */
  exact?: (line: Line, at: number) => string | number | null | undefined;
}

export interface Tool {
  text: string;
  title: string;
  act: () => void;
}

let made = 0;

/** The frame that drawings and tables share. */
export class Frame {
  readonly root: HTMLElement;
  protected readonly state = h("p", { class: "state", role: "status" });
  protected readonly tools = h("div", { class: "tools" });
  protected readonly note = h("p", { class: "quiet note" });
  protected readonly heading: HTMLElement;

  constructor(public title: string) {
    made += 1;
    this.heading = h("h3", { id: `panel-${made}` }, title);
    this.root = h("section", { class: "panel", "aria-labelledby": `panel-${made}` },
      h("header", {}, this.heading, this.tools), this.note, this.state);
  }

  /** Room for what belongs to this view alone, such as a switch. */
  get head(): HTMLElement {
    return this.tools;
  }

  name(title: string): void {
    this.title = title;
    this.heading.textContent = title;
  }

  protected wait(): void {
    this.root.setAttribute("aria-busy", "true");
    this.root.classList.remove("failed");
  }

  protected words(text: string, failed = false): void {
    this.root.removeAttribute("aria-busy");
    this.root.classList.toggle("failed", failed);
    this.state.textContent = text;
    this.state.hidden = text === "";
  }

  protected tool(text: string, title: string, act: () => void): void {
    this.tools.append(button(text, act, { title, "aria-label": `${title}: ${this.title}` }));
  }
}

export class DrawingPanel extends Frame {
  readonly pane: Pane;
  private readonly key = h("div", { class: "key" });
  private drawing: Drawing | undefined;
  private turn = 0;

  constructor(title: string, private readonly file: () => string, group: string | undefined, height: number, hands: Hands, extra: Tool[] = []) {
    super(title);
    this.pane = new Pane(group, height, hands);
    this.root.append(this.pane.root, this.key);
    extra.forEach((one) => this.tool(one.text, one.title, one.act));
    this.tool("SVG", "Save as SVG", () => this.svg());
    this.tool("PNG", "Save as PNG", () => void this.png());
    this.tool("CSV", "Save values as CSV", () => this.csv());
  }

  /** Draws what comes; a later call overtakes an earlier one. */
  async load(coming: Promise<Drawing | string>, reach: () => [number, number]): Promise<void> {
    this.turn += 1;
    const turn = this.turn;
    if (!this.drawing) this.words("Loading …");
    this.wait();
    try {
      const found = await coming;
      if (turn === this.turn) this.put(found, reach());
    } catch (error) {
      if (turn === this.turn) this.empty(said(error), true);
    }
  }

  private put(found: Drawing | string, reach: [number, number]): void {
    if (typeof found === "string") return this.empty(found, false);
    this.drawing = found;
    this.words("");
    this.note.textContent = found.note;
    this.pane.root.hidden = false;
    this.pane.root.setAttribute("aria-label", `${this.title}. ${found.spoken}`);
    this.pane.show(found.sheet, reach);
    this.key.replaceChildren(...found.keys.map(keyOf));
  }

  private empty(text: string, failed: boolean): void {
    this.drawing = undefined;
    this.pane.destroy();
    this.pane.root.hidden = true;
    this.key.replaceChildren();
    this.note.textContent = "";
    this.words(text, failed);
  }

  private picture(): SVGSVGElement | undefined {
    const found = drawn(this.pane, this.title, this.drawing?.note ?? "");
    if (!found) announce("There is nothing to save in this view.");
    return found;
  }

  private svg(): void {
    const picture = this.picture();
    if (picture) save(fileName(this.file(), this.title) + ".svg", new Blob([asText(picture)], { type: "image/svg+xml" }));
  }

  private async png(): Promise<void> {
    const picture = this.picture();
    if (!picture) return;
    try {
      save(fileName(this.file(), this.title) + ".png", await asPng(picture));
    } catch (error) {
      announce(said(error));
    }
  }

  private csv(): void {
    if (!this.drawing) return announce("There is nothing to save in this view.");
    const { sheet, xName, exact } = this.drawing;
    const text = values(sheet, xName, exact ?? ((line, at) => line.y[at]));
    save(fileName(this.file(), this.title) + ".csv", new Blob([text], { type: "text/csv" }));
  }
}

function keyOf(key: Key): HTMLElement {
  const mark = h("i", { class: key.dash ? "line" : undefined });
  mark.style.background = key.color;
  if (!key.pick) return h("span", {}, mark, key.name);
  const pick = key.pick;
  return h("button", { type: "button", title: "Click: only this. Shift-click: compare with this.", onclick: (event: MouseEvent) => pick(event.shiftKey) }, mark, key.name);
}

export interface Listed {
  content: HTMLElement;
  csv: string;
  note?: string;
}

export class TablePanel extends Frame {
  private readonly body = h("div");
  private turn = 0;
  private text: string | undefined;

  constructor(title: string, private readonly file: () => string, extra: Tool[] = []) {
    super(title);
    this.root.append(this.body);
    extra.forEach((one) => this.tool(one.text, one.title, one.act));
    this.tool("CSV", "Save values as CSV", () => {
      if (this.text === undefined) return announce("There is nothing to save in this view.");
      save(fileName(this.file(), this.title) + ".csv", new Blob([this.text], { type: "text/csv" }));
    });
  }

  async load(coming: Promise<Listed | string>): Promise<void> {
    this.turn += 1;
    const turn = this.turn;
    if (this.body.childElementCount === 0) this.words("Loading …");
    this.wait();
    try {
      const found = await coming;
      if (turn !== this.turn) return;
      this.put(found);
    } catch (error) {
      if (turn === this.turn) this.put(said(error), true);
    }
  }

  private put(found: Listed | string, failed = false): void {
    if (typeof found === "string") {
      this.body.replaceChildren();
      this.text = undefined;
      this.note.textContent = "";
      return this.words(found, failed);
    }
    this.words("");
    this.text = found.csv;
    this.note.textContent = found.note ?? "";
    this.body.replaceChildren(found.content);
  }
}
