/** The page of a capture, alone or beside another one, on one time axis. */
import { aligned, noHeat, noSeries, ownPart, placed, ways } from "./align";
import { ask, exported, said } from "./answers";
import { clockOf, itemOf, shortName, type App, type Page } from "./app";
import { textDialog } from "./dialog";
import { announce, button, choice, h } from "./dom";
import { bandAt, extreme, type Band } from "./fold";
import { lasting, moment, span } from "./format";
import { mostOf } from "./heat";
import { DrawingPanel, type Drawing } from "./panel";
import { Brush, byKey } from "./overview";
import { common, url } from "./query";
import { anyFilter, FACETS, inside, toggled, without, type Facet, noFilters, type Filters, type Side } from "./state";
import { Tables } from "./tables";
import { Colors, depth, hits, responseTimes, streamMap, subsecond, whole, type MapView, type Scene } from "./views";
import type { HeatAnswer, Item, ReadOutAnswer, SeriesAnswer } from "./types";

type Kind = "map" | "rt" | "qd" | "lba" | "subsecond";

const TITLES: Record<Kind, string> = {
  map: "IO Stream Map", rt: "Response time", qd: "Queue depth and idle time", lba: "Address hit map", subsecond: "Offset in the second",
};
const HEIGHTS: Record<Kind, number> = { map: 260, rt: 240, qd: 160, lba: 240, subsecond: 180 };
const KINDS: readonly Kind[] = ["map", "rt", "qd", "lba", "subsecond"];
/** Names of facets as people read them. */
const FACET_NAMES: Record<Facet, string> = {
  op: "Operation", device: "Device", layer: "Layer", process: "Process", pid: "Process", stream: "Stream", event: "Mark",
  file: "File", cgroup: "Cgroup", tid: "Thread",
};

const OUTSIDE = "This capture has no time in this part. Press Esc to go back.";

type Part = { from: number; to: number };

interface Row {
  side: Side;
  item: Item;
  letter: string;
  /** What is added to its own times on the axis. */
  shift: number;
  panels: Map<Kind, DrawingPanel>;
  map: MapView | undefined;
  hitChoice: HTMLElement;
  /** Whose addresses are drawn, where the capture has several devices and no filter names one. */
  hitDevice: string | undefined;
}

export class CapturePage implements Page {
  readonly root = h("div", { class: "page" });
  private readonly bar = h("div", { class: "bar" });
  private readonly facts = h("div", { class: "facts" });
  private readonly drawings = h("div", { class: "drawings" });
  private readonly overview: DrawingPanel;
  private readonly brush: Brush;
  private readonly colors = new Colors();
  private readonly tables: Tables;
  private rows: Row[] = [];
  private layout = "";
  private overviewShown = "";

  constructor(private readonly app: App) {
    this.overview = new DrawingPanel("Overview", () => this.fileName(), "time", 96, {});
    this.overview.root.classList.add("overview");
    this.brush = new Brush(this.overview.pane, {
      part: () => this.part(),
      duration: () => this.duration(),
      say: (from, to) => this.say(from, to),
      chosen: (part) => this.zoom(part),
    });
    this.tables = new Tables(app, () => this.rows.map((row) => ({ side: row.side, item: row.item, letter: row.letter, device: addressDevice(row), part: this.own(row), outside: this.isOutside(row) })), {
      pick: (facet, value, shift, side) => this.pick(facet, value, shift, side),
      show: (part, side) => this.zoom(this.onAxis(part, this.rowOf(side)?.shift ?? 0)),
      command: (side, view) => {
        const row = this.rowOf(side);
        if (row) void this.command(row, view);
      },
    });
    this.root.append(this.facts, this.bar, this.overview.root, this.drawings, this.tables.root);
  }

  private rowOf(side: Side): Row | undefined {
    return this.rows.find((row) => row.side === side);
  }

  /** The part that is shown, in a capture's own time; the whole where there is none. */
  private own(row: Row): Part | undefined {
    const part = ownPart(this.part(), row.shift, row.item.duration_ns ?? 0);
    return part === "outside" ? undefined : part;
  }

  private isOutside(row: Row): boolean {
    return ownPart(this.part(), row.shift, row.item.duration_ns ?? 0) === "outside";
  }

  /** A part of a capture's own time as a part of the axis. */
  private onAxis(part: Part, shift: number): Part | undefined {
    return inside(part.from + shift, part.to + shift, this.duration());
  }

  private part(): Part | undefined {
    const { from, to } = this.app.state;
    return from !== undefined && to !== undefined ? inside(from, to, this.duration()) : undefined;
  }

  private duration(): number {
    return Math.max(1, ...this.rows.map((row) => (row.item.duration_ns ?? 0) + row.shift));
  }

  private reach(): [number, number] {
    const part = this.part();
    return part ? [part.from, part.to] : this.whole();
  }

  /** The whole axis; a fold file alone begins with its first capture. */
  private whole(): [number, number] {
    return [this.rows.length === 1 ? (this.rows[0]?.item.start_ns ?? 0) : 0, this.duration()];
  }

  private say(from: number, to: number): string {
    const first = this.rows[0];
    if (!first) return "";
    const { clock } = this.scene(first);
    const step = Math.min(1e9, Math.max(1, (to - from) / 100));
    return `${moment(from, clock, step)} to ${moment(to, clock, step)} (${lasting((to - from) / 1e9)})`;
  }

  private fileName(): string {
    const first = this.rows[0];
    return first ? shortName(first.item) : "capture";
  }

  update(): void {
    const item = itemOf(this.app, this.app.state.n);
    if (!item) return;
    this.sides(item);
    this.chips();
    this.about(item);
    const [from, to] = this.reach();
    for (const row of this.rows) for (const panel of row.panels.values()) panel.pane.look([from, to]);
    this.brush.place();
    this.loadAll();
  }

  /** One row of drawings for each side; made anew only where the sides changed. */
  private sides(item: Item): void {
    const { versus, filters } = this.app.state;
    const sides: { side: Side; item: Item }[] = [{ side: { n: item.n, filters }, item }];
    const other = versus && itemOf(this.app, versus.n);
    if (versus && other && other.state === "ready" && other.kind === "capture") sides.push({ side: versus, item: other });
    const layout = sides.map(({ item: one }) => one.n).join(",");
    if (layout !== this.layout) {
      this.rows.forEach((row) => row.panels.forEach((panel) => panel.pane.destroy()));
      this.rows = sides.map(({ side, item: one }, at) => this.makeRow(side, one, sides.length > 1 ? ["A", "B"][at] ?? "" : ""));
      this.drawings.replaceChildren(...KINDS.map((kind) => h("div", { class: "pair" },
        ...this.rows.flatMap((row) => row.panels.get(kind)?.root ?? []))));
      this.layout = layout;
    }
    const { shifts } = aligned(sides.map(({ item: one }) => one), this.app.state.align);
    this.rows.forEach((row, at) => {
      row.side = sides[at]?.side ?? row.side;
      row.item = sides[at]?.item ?? row.item;
      row.shift = shifts[at] ?? 0;
      row.panels.forEach((panel, kind) => panel.name(this.title(row, kind)));
    });
  }

  private title(row: Row, kind: Kind): string {
    if (this.rows.length < 2) return TITLES[kind];
    const filters = describe(row.side.filters);
    return `${row.letter}: ${TITLES[kind]}, ${shortName(row.item)}${filters ? `, ${filters}` : ""}`;
  }

  private makeRow(side: Side, item: Item, letter: string): Row {
    const row: Row = { side, item, letter, shift: 0, panels: new Map(), map: undefined, hitChoice: h("span"), hitDevice: undefined };
    for (const kind of KINDS) {
      const hands = {
        zoom: (from: number, to: number): void => this.zoom(inside(from, to, this.duration())),
        ...(kind === "map" ? { pick: (at: number, _: number, y: number, shift: boolean): void => this.pickArea(row, at, y, shift) } : {}),
      };
      const tools = kind === "lba" || kind === "subsecond" ? [] : [{ text: "Command", title: "Copy as command", act: (): void => void this.command(row, kind) }];
      const title = `${letter ? `${letter}: ` : ""}${TITLES[kind]}`;
      const panel = new DrawingPanel(title, () => shortName(row.item), "time", HEIGHTS[kind], hands, tools);
      panel.root.dataset["view"] = kind;
      if (kind === "lba") panel.head.prepend(row.hitChoice);
      row.panels.set(kind, panel);
    }
    return row;
  }

  private pickArea(row: Row, at: number, y: number, shift: boolean): void {
    const found = row.map && bandAt(row.map.tops, at, y);
    const band = found === undefined ? undefined : row.map?.list[found];
    if (band && !band.others) this.pickBand(row, band, shift);
  }

  private pickBand(row: Row, band: Band, shift: boolean): void {
    if (this.app.state.by === "stream") return this.pick("stream", band.name, shift, row.side);
    const byNumber = /^\d+$/.test(band.id);
    this.pick(byNumber ? "pid" : "process", band.id, shift, row.side);
  }

  /** A click filters its side; with Shift the second side becomes the first one with this instead. */
  private pick(facet: Facet, value: string, shift: boolean, side: Side): void {
    if (exported()) return announce("An exported page cannot filter. Open the file with steadfast explore.");
    if (shift) {
      const filters = { ...side.filters, [facet]: [value] };
      return this.app.go({ versus: { n: side.n, filters } });
    }
    const filters = toggled(side.filters, facet, value);
    const second = this.app.state.versus;
    if (second && side === this.rows[1]?.side) this.app.go({ versus: { ...second, filters } });
    else this.app.go({ filters });
  }

  private zoom(part: { from: number; to: number } | undefined): void {
    this.app.go({ from: part?.from, to: part?.to });
  }

  private scene({ item, shift }: Row): Scene {
    const clock = clockOf(this.app, item);
    return {
      clock: clock && { ...clock, begin_ns: clock.begin_ns - shift },
      marks: (item.marks ?? []).map((mark) => ({ ...mark, t: mark.t + shift })),
      measure: this.app.state.measure,
    };
  }

  private async series(row: Row, by: string): Promise<SeriesAnswer> {
    const [part, whole] = [this.own(row), this.part()];
    if (whole && this.isOutside(row)) return noSeries(whole);
    return placed(await ask<SeriesAnswer>(url("series", { ...common(row.side, part?.from, part?.to), by, cells: 1024 })), row.shift);
  }

  private async heat(row: Row, kind: string, rows: number, op?: string): Promise<HeatAnswer> {
    const [part, whole] = [this.own(row), this.part()];
    if (row.item.refused?.[kind] !== undefined) return noHeat({ from: 0, to: this.duration() });
    if (whole && this.isOutside(row)) return noHeat(whole);
    const ops = op && row.side.filters.op.length === 0 ? { op: [op] } : {};
    const device = kind === "lba" ? addressDevice(row) : undefined;
    const devices = device === undefined ? {} : { device: [device] };
    return placed(await ask<HeatAnswer>(url("heat", { ...common(row.side, part?.from, part?.to), kind, cells: 512, rows, ...ops, ...devices })), row.shift);
  }

  /** What each stream moved in a column of the hit map, and where. */
  private readOut(row: Row, from: number, to: number): Promise<ReadOutAnswer> {
    const device = addressDevice(row);
    const op = this.hitOp();
    const ops = op && row.side.filters.op.length === 0 ? { op: [op] } : {};
    const devices = device === undefined ? {} : { device: [device] };
    const [begin, end] = [Math.max(0, Math.round(from - row.shift)), Math.round(to - row.shift)];
    return ask<ReadOutAnswer>(url("read-out", { ...common(row.side, begin, end), ...ops, ...devices }));
  }

  private loadAll(): void {
    void this.loadOverview();
    for (const row of this.rows) {
      void this.load(row, "map", this.map(row));
      void this.load(row, "rt", this.times(row));
      void this.load(row, "qd", this.series(row, "stream").then((answer) => depth(answer, this.scene(row))));
      void this.load(row, "lba", this.common(row, (one) => this.heat(one, "lba", 128, this.hitOp()),
        (heat, scene, most) => hits(heat, scene, most, (from, to) => this.readOut(row, from, to))));
      void this.load(row, "subsecond", this.common(row, (one) => this.heat(one, "subsecond", 50), subsecond));
      this.hitSwitch(row);
    }
    this.tables.load();
  }

  private hitOp(): string | undefined {
    return this.app.state.hits === "all" ? undefined : this.app.state.hits;
  }

  private hitSwitch(row: Row): void {
    const fixed = row.side.filters.op.length > 0;
    row.hitChoice.replaceChildren(...this.deviceSwitch(row), ...(fixed ? [] : [choice("Operations in the hit map",
      [["all", "All"], ["read", "Reads"], ["write", "Writes"]], this.app.state.hits, (value) => this.app.go({ hits: value }))]));
  }

  /** Addresses are those of one device: which, where there are several. */
  private deviceSwitch(row: Row): HTMLElement[] {
    const names = devicesOf(row);
    if (names.length < 2) return [];
    const now = addressDevice(row);
    const select = h("select", { "aria-label": "Device of the addresses", onchange: () => {
      row.hitDevice = select.value;
      this.loadAll();
    } }, ...names.map((name) => h("option", { value: name, selected: name === now }, name)));
    return [select];
  }

  private load(row: Row, kind: Kind, coming: Promise<Drawing | string>): Promise<void> {
    const instead = row.item.refused?.[kind] ?? (this.isOutside(row) ? OUTSIDE : undefined);
    const drawing = instead === undefined ? coming : coming.then(() => instead);
    return row.panels.get(kind)?.load(drawing, () => this.reach()) ?? Promise.resolve();
  }

  /** The same scales on both sides, so that heights can be compared. */
  private async map(row: Row): Promise<Drawing | string> {
    const { by } = this.app.state;
    const views = await Promise.all(this.rows.map(async (one) => streamMap(await this.series(one, by), this.scene(one), this.colors, by, (band, shift) => this.pickBand(one, band, shift))));
    const view = views[this.rows.indexOf(row)];
    if (!view || typeof view === "string") return view ?? "";
    row.map = view;
    const top = (right: boolean): number => Math.max(1e-9, ...views.flatMap((one) => (typeof one === "string" ? [] : one.sheet.lines))
      .filter((line) => (line.right ?? false) === right).map((line) => line.y.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)));
    view.sheet.left.high = top(false) * 1.05;
    if (view.sheet.right) view.sheet.right.high = top(true) * 1.05;
    return view;
  }

  private async times(row: Row): Promise<Drawing | string> {
    const views = await Promise.all(this.rows.map(async (one) => {
      const [heat, series] = await Promise.all([this.heat(one, "rt", 64), this.series(one, "stream")]);
      return { heat, series };
    }));
    const most = Math.max(...views.map(({ heat }) => mostOf(heat)));
    const drawings = views.map(({ heat, series }, at) => responseTimes(heat, series, this.scene(this.rows[at] ?? row), most));
    const axes = drawings.flatMap((one) => (typeof one === "string" ? [] : [one.sheet.left]));
    const [low, high] = [Math.min(...axes.map((axis) => axis.low ?? 1)), Math.max(...axes.map((axis) => axis.high ?? 10))];
    axes.forEach((axis) => ([axis.low, axis.high] = [low, high]));
    return drawings[this.rows.indexOf(row)] ?? "";
  }

  private async common(row: Row, asked: (row: Row) => Promise<HeatAnswer>, draw: (heat: HeatAnswer, scene: Scene, most: number) => Drawing | string): Promise<Drawing | string> {
    const heats = await Promise.all(this.rows.map((one) => asked(one)));
    const heat = heats[this.rows.indexOf(row)];
    return heat ? draw(heat, this.scene(row), Math.max(...heats.map(mostOf))) : "";
  }

  private async loadOverview(): Promise<void> {
    const first = this.rows[0];
    if (!first) return;
    // The overview is of the whole captures, whatever is filtered: two sides of one capture are one line.
    // Drawn again only where it changed, so that the brush keeps the focus of the keyboard.
    const now = JSON.stringify([this.rows.map((row) => [row.item.n, row.shift]), this.app.state.measure, this.app.state.time]);
    if (now === this.overviewShown) return;
    this.overviewShown = now;
    const different = this.rows.filter((row, at) => at === 0 || row.item.n !== first.item.n);
    const coming = Promise.all(different.map(async (row) => ({
      name: shortName(row.item), answer: placed(await ask<SeriesAnswer>(url("series", { ...common({ n: row.side.n, filters: noFilters() }), by: "stream", cells: 1024 })), row.shift),
    }))).then((answers) => whole(answers, this.scene(first), this.duration()));
    await this.overview.load(coming, () => this.whole());
    this.brush.attach();
  }

  private chips(): void {
    const { state } = this.app;
    const part = this.part();
    const chips = this.rows.flatMap((row, at) => FACETS.flatMap((facet) => row.side.filters[facet].map((value) => {
      const text = `${row.letter ? `${row.letter} ` : ""}${FACET_NAMES[facet]}: ${facet === "pid" ? nameOfPid(row.item, value) : value} ×`;
      return button(text, () => this.drop(at, facet, value), { class: "chip", title: "Remove this filter" });
    })));
    if (part) chips.push(button(`${this.say(part.from, part.to)} ×`, () => this.zoom(undefined), { class: "chip", title: "Show the whole time" }));
    if (state.versus) chips.push(button("End comparison ×", () => this.app.go({ versus: undefined }), { class: "chip" }));
    const second = this.rows[0] && clockOf({ ...this.app, state: { ...state, time: "clock" } } as App, this.rows[0].item);
    const span = this.minute();
    this.bar.replaceChildren(
      choice("Measure", [["iops", "IOPS"], ["mb", "MB/s"]], state.measure, (measure) => this.app.go({ measure })),
      choice("Stacked by", [["stream", "By stream"], ["process", "By process"]], state.by, (by) => this.app.go({ by })),
      ...(second ? [choice("Times", [["clock", "Clock"], ["start", "From start"]], state.time, (time) => this.app.go({ time }))] : []),
      button(`Slowest ${span.name}`, () => void this.find("slowest"), { title: "Show the part with the longest mean response time (S)" }),
      button(`Busiest ${span.name}`, () => void this.find("busiest"), { title: "Show the part with the most I/Os (B)" }),
      ...this.filterSelects(),
      ...this.compareWith(),
      button("Derive workload", () => void this.workload(), { title: "The I/O streams of what is shown, as a file that steadfast can apply" }),
      h("span", { class: "chips", "aria-label": "Filters" }, ...chips),
    );
  }

  /** Device, layer and direction, where there is a choice. */
  private filterSelects(): HTMLElement[] {
    const item = this.rows[0]?.item;
    if (!item || exported()) return [];
    const { filters } = this.app.state;
    const select = (facet: Facet, name: string, all: string, values: readonly string[]): HTMLElement => {
      const now = filters[facet].length === 1 ? filters[facet][0] : "";
      const made = h("select", { "aria-label": name, "data-facet": facet, onchange: () => {
        this.app.go({ filters: { ...filters, [facet]: made.value === "" ? [] : [made.value] } });
      } }, h("option", { value: "" }, all), ...values.map((value) => h("option", { value, selected: value === now }, value)));
      return made;
    };
    const devices = deviceNames(item);
    return [
      ...(devices.length > 1 ? [select("device", "Device", "All devices", devices)] : []),
      ...((item.layers ?? []).length > 1 ? [select("layer", "Layer", "Block layer", ["filesystem", "both"])] : []),
      select("op", "Operation", "All operations", ["read", "write", "discard", "flush"]),
    ];
  }

  private compareWith(): HTMLElement[] {
    const others = this.app.meta.items.filter((item) => item.kind === "capture" && item.state === "ready" && item.n !== this.app.state.n);
    if (others.length === 0 || exported()) return [];
    const align = this.alignment();
    const select = h("select", { "aria-label": "Compare with", onchange: () => {
      const n = Number(select.value);
      if (select.value !== "") this.app.go({ versus: { n, filters: this.app.state.filters } });
    } }, h("option", { value: "" }, "Compare with …"), ...others.map((item) => h("option", { value: item.n }, shortName(item))));
    return align ? [select, align] : [select];
  }

  /** How two captures stand on the axis, where there is a choice. */
  private alignment(): HTMLElement | undefined {
    const items = this.rows.map((row) => row.item);
    const found = ways(items);
    if (items.length < 2 || items[0]?.n === items[1]?.n || found.length < 2) return undefined;
    const now = aligned(items, this.app.state.align).align;
    const select = h("select", { "aria-label": "Align the captures", onchange: () => this.app.go({ align: select.value, from: undefined, to: undefined }) },
      ...found.map((way) => h("option", { value: way.align, selected: way.align === now }, way.text)));
    return select;
  }

  private drop(at: number, facet: Facet, value: string): void {
    const { filters, versus } = this.app.state;
    if (at === 0) this.app.go({ filters: without(filters, facet, value) });
    else if (versus) this.app.go({ versus: { ...versus, filters: without(versus.filters, facet, value) } });
  }

  /** A minute; of a short capture a twentieth of it. */
  private minute(): { ns: number; name: string } {
    const item = this.rows[0]?.item;
    const duration = (item?.duration_ns ?? 0) - (item?.start_ns ?? 0);
    if (duration >= 180e9) return { ns: 60e9, name: "minute" };
    const second = Math.max(1, Math.round(duration / 20e9));
    return duration > 20e9 ? { ns: second * 1e9, name: second === 1 ? "second" : `${second} s` } : { ns: duration / 20, name: "twentieth" };
  }

  private async find(what: "slowest" | "busiest"): Promise<void> {
    const first = this.rows[0];
    if (!first) return;
    try {
      const answer = await ask<SeriesAnswer>(url("series", { ...common(first.side), by: "stream", cells: 1024 }));
      const found = await this.closer(first.side, answer, what);
      if (!found) return announce("No I/O with these filters.");
      const part = { from: found.from + first.shift, to: found.to + first.shift };
      this.zoom(inside(part.from, part.to, this.duration()));
      announce(`The ${what} part: ${this.say(part.from, part.to)}`);
    } catch (error) {
      announce(said(error));
    }
  }

  /** Where cells are wider than a minute, the minute is looked for inside the extreme cell. */
  private async closer(side: Side, answer: SeriesAnswer, what: "slowest" | "busiest"): Promise<{ from: number; to: number } | undefined> {
    const wide = this.minute().ns;
    const found = extreme(answer, wide, what);
    if (!found || found.to - found.from <= wide * 1.5 || exported()) return found;
    const inner = await ask<SeriesAnswer>(url("series", { ...common(side, Math.floor(found.from), Math.ceil(found.to)), by: "stream", cells: 1024 }));
    return extreme(inner, wide, what) ?? found;
  }

  private async command(row: Row, view: string): Promise<void> {
    const part = this.own(row);
    try {
      if (this.isOutside(row)) return textDialog("Copy as command", OUTSIDE, "There is no command for this view.");
      const { command } = await ask<{ command: string }>(url("command", { ...common(row.side, part?.from, part?.to), view }));
      textDialog("Copy as command", command, "The command that prints the same numbers.");
    } catch (error) {
      textDialog("Copy as command", said(error), "There is no command for this view.");
    }
  }

  private async workload(): Promise<void> {
    const first = this.rows[0];
    if (!first) return;
    const part = this.own(first);
    try {
      const { toml } = await ask<{ toml: string }>(url("workload", common(first.side, part?.from, part?.to)));
      textDialog("Derive workload", toml, "Save this file and apply it: steadfast run replay-native --workload FILE --target DEVICE", { name: "workload.toml", type: "application/toml" });
    } catch (error) {
      textDialog("Derive workload", said(error), "No workload of this part.");
    }
  }

  private about(item: Item): void {
    const text = [item.workload_name, item.comment].filter((one): one is string => Boolean(one)).join(" – ");
    this.facts.replaceChildren(...(text ? [h("p", { class: "quiet" }, text)] : []));
    if (item.step_ns) {
      this.facts.append(h("p", { class: "quiet" }, `Totals of capture steps of ${span(item.step_ns)}. I/Os within a step are not kept; parts of the time are whole steps.`));
    }
    if (exported()) {
      this.facts.append(h("p", { class: "notice" }, "Exported page: its numbers are inside. It cannot filter, compare, count a part again or list single I/Os; open the file with steadfast explore for that."));
    }
  }

  key(event: KeyboardEvent): boolean {
    const { state } = this.app;
    const [from, to] = this.reach();
    const moves = ["ArrowLeft", "ArrowRight", "+", "-", "Home"];
    const part = moves.includes(event.key) ? byKey(event.key, from, to, this.duration()) : undefined;
    if (part) this.zoom(inside(part.from, part.to, this.duration()));
    else if (event.key === "s") void this.find("slowest");
    else if (event.key === "b") void this.find("busiest");
    else if (event.key === "m") this.app.go({ measure: state.measure === "iops" ? "mb" : "iops" });
    else if (event.key === "p") this.app.go({ by: state.by === "stream" ? "process" : "stream" });
    else return false;
    return true;
  }

  redraw(): void {
    [this.layout, this.overviewShown] = ["", ""];
    this.update();
  }

  close(): void {
    this.overview.pane.destroy();
    this.rows.forEach((row) => row.panels.forEach((panel) => panel.pane.destroy()));
  }
}

function deviceNames(item: Item): string[] {
  return (item.devices ?? []).map((device) => (typeof device === "string" ? device : device.name));
}

/** The devices whose addresses count. */
function devicesOf({ side, item }: Row): string[] {
  const chosen = side.filters.device;
  return deviceNames(item).filter((name) => chosen.length === 0 || chosen.includes(name));
}

/** The device whose addresses are drawn; undefined where there is no choice. */
function addressDevice(row: Row): string | undefined {
  const names = devicesOf(row);
  if (names.length < 2) return undefined;
  return names.find((name) => name === row.hitDevice) ?? names[0];
}

function describe(filters: Filters): string {
  if (!anyFilter(filters)) return "";
  return FACETS.flatMap((facet) => filters[facet]).join(", ");
}

function nameOfPid(item: Item, pid: string): string {
  const found = (item.processes ?? []).find((process) => process.pids?.some((one) => String(one) === pid));
  return found ? `${found.name} (${pid})` : pid;
}
