/** The page of a capture, alone or next to another one on the same time axis. */
import { alignCaptures, emptyHeatMap, emptySeries, captureRange, shiftAnswer, alignmentOptions } from "./align";
import { getAnswer, isExported, errorMessage } from "./answers";
import { clockOf, itemOf, shortName, type App, type Page } from "./app";
import { showTextDialog } from "./dialog";
import { announce, button, buttonGroup, h } from "./dom";
import { bandAt, findExtreme, type Band } from "./fold";
import { formatSeconds, formatTime, formatNs } from "./format";
import { maxCountOf } from "./heat";
import { ChartPanel, type Chart } from "./panel";
import { Brush, rangeAfterKey } from "./overview";
import { captureParams, apiUrl } from "./query";
import {
  hasFilters,
  FACETS,
  clampRange,
  toggleFilter,
  removeFilter,
  type Facet,
  noFilters,
  type Filters,
  type CaptureView,
} from "./state";
import { Tables } from "./tables";
import {
  ColorAssignment,
  queueDepthChart,
  hitMapChart,
  responseTimeChart,
  streamMapChart,
  subsecondChart,
  overviewChart,
  type StreamMap,
  type ViewContext,
} from "./views";
import type { HeatAnswer, Item, ReadOutAnswer, SeriesAnswer } from "./types";

type Kind = "map" | "rt" | "qd" | "lba" | "subsecond";

const TITLES: Record<Kind, string> = {
  map: "IO Stream Map",
  rt: "Response time",
  qd: "Queue depth and idle time",
  lba: "Address hit map",
  subsecond: "Offset in the second",
};
const HEIGHTS: Record<Kind, number> = { map: 260, rt: 240, qd: 160, lba: 240, subsecond: 180 };
const KINDS: readonly Kind[] = ["map", "rt", "qd", "lba", "subsecond"];
/** Facets as shown to the reader. */
const FACET_NAMES: Record<Facet, string> = {
  op: "Operation",
  device: "Device",
  layer: "Layer",
  process: "Process",
  pid: "Process",
  stream: "Stream",
  event: "Mark",
  file: "File",
  cgroup: "Cgroup",
  tid: "Thread",
};

const OUTSIDE_MESSAGE = "This capture has no time in this part. Press Esc to go back.";

type TimeRange = { from: number; to: number };

interface CaptureColumn {
  view: CaptureView;
  item: Item;
  letter: string;
  /** Offset from the capture's own time to the axis. */
  shift: number;
  panels: Map<Kind, ChartPanel>;
  map: StreamMap | undefined;
  hitMapSwitches: HTMLElement;
  /** Device chosen for the hit map, if the capture has several and no filter selects one. */
  hitMapDevice: string | undefined;
}

export class CapturePage implements Page {
  readonly root = h("div", { class: "page" });
  private readonly bar = h("div", { class: "bar" });
  private readonly facts = h("div", { class: "facts" });
  private readonly drawings = h("div", { class: "drawings" });
  private readonly overview: ChartPanel;
  private readonly brush: Brush;
  private readonly colors = new ColorAssignment();
  private readonly tables: Tables;
  private columns: CaptureColumn[] = [];
  private layout = "";
  private drawnOverview = "";

  constructor(private readonly app: App) {
    this.overview = new ChartPanel("Overview", () => this.fileName(), "time", 96, {});
    this.overview.root.classList.add("overview");
    this.brush = new Brush(this.overview.pane, {
      range: () => this.range(),
      duration: () => this.duration(),
      describe: (from, to) => this.describeRange(from, to),
      onChange: (range) => this.zoom(range),
    });
    this.tables = new Tables(
      app,
      () =>
        this.columns.map((column) => ({
          view: column.view,
          item: column.item,
          letter: column.letter,
          device: addressDevice(column),
          range: this.ownRange(column),
          isOutside: this.isOutside(column),
        })),
      {
        toggleFilter: (facet, value, shift, view) => this.filter(facet, value, shift, view),
        showRange: (range, view) => this.zoom(this.onAxis(range, this.columnOf(view)?.shift ?? 0)),
        showCommand: (view, tableId) => {
          const column = this.columnOf(view);
          if (column) void this.showCommand(column, tableId);
        },
      },
    );
    this.root.append(this.facts, this.bar, this.overview.root, this.drawings, this.tables.root);
  }

  private columnOf(view: CaptureView): CaptureColumn | undefined {
    return this.columns.find((column) => column.view === view);
  }

  /** Returns the shown range in a capture's own time; undefined for all of it. */
  private ownRange(column: CaptureColumn): TimeRange | undefined {
    const range = captureRange(this.range(), column.shift, column.item.duration_ns ?? 0);
    return range === "outside" ? undefined : range;
  }

  private isOutside(column: CaptureColumn): boolean {
    return captureRange(this.range(), column.shift, column.item.duration_ns ?? 0) === "outside";
  }

  /** Converts a range of a capture's own time to the axis. */
  private onAxis(range: TimeRange, shift: number): TimeRange | undefined {
    return clampRange(range.from + shift, range.to + shift, this.duration());
  }

  private range(): TimeRange | undefined {
    const { from, to } = this.app.state;
    return from !== undefined && to !== undefined ? clampRange(from, to, this.duration()) : undefined;
  }

  private duration(): number {
    return Math.max(1, ...this.columns.map((column) => (column.item.duration_ns ?? 0) + column.shift));
  }

  private xRange(): [number, number] {
    const range = this.range();
    return range ? [range.from, range.to] : this.wholeAxis();
  }

  /** Returns the extent of the axis. That of a single fold file begins with its first capture. */
  private wholeAxis(): [number, number] {
    return [this.columns.length === 1 ? (this.columns[0]?.item.start_ns ?? 0) : 0, this.duration()];
  }

  private describeRange(from: number, to: number): string {
    const first = this.columns[0];
    if (!first) return "";
    const { clock } = this.context(first);
    const step = Math.min(1e9, Math.max(1, (to - from) / 100));
    return `${formatTime(from, clock, step)} to ${formatTime(to, clock, step)} (${formatSeconds((to - from) / 1e9)})`;
  }

  private fileName(): string {
    const first = this.columns[0];
    return first ? shortName(first.item) : "capture";
  }

  update(): void {
    const item = itemOf(this.app, this.app.state.n);
    if (!item) return;
    this.updateColumns(item);
    this.updateBar();
    this.updateFacts(item);
    const [from, to] = this.xRange();
    for (const column of this.columns) for (const panel of column.panels.values()) panel.pane.setRange([from, to]);
    this.brush.position();
    this.loadAll();
  }

  /** Updates the columns of charts, one per capture; rebuilds them only if the captures changed. */
  private updateColumns(item: Item): void {
    const { versus, filters } = this.app.state;
    const views: { view: CaptureView; item: Item }[] = [{ view: { n: item.n, filters }, item }];
    const other = versus && itemOf(this.app, versus.n);
    if (versus && other && other.state === "ready" && other.kind === "capture")
      views.push({ view: versus, item: other });
    const layout = views.map(({ item: one }) => one.n).join(",");
    if (layout !== this.layout) {
      this.columns.forEach((column) => column.panels.forEach((panel) => panel.pane.destroy()));
      this.columns = views.map(({ view, item: one }, index) =>
        this.makeColumn(view, one, views.length > 1 ? (["A", "B"][index] ?? "") : ""),
      );
      this.drawings.replaceChildren(
        ...KINDS.map((kind) =>
          h("div", { class: "pair" }, ...this.columns.flatMap((column) => column.panels.get(kind)?.root ?? [])),
        ),
      );
      this.layout = layout;
    }
    const { shifts } = alignCaptures(
      views.map(({ item: one }) => one),
      this.app.state.align,
    );
    this.columns.forEach((column, index) => {
      column.view = views[index]?.view ?? column.view;
      column.item = views[index]?.item ?? column.item;
      column.shift = shifts[index] ?? 0;
      column.panels.forEach((panel, kind) => panel.setTitle(this.title(column, kind)));
    });
  }

  private title(column: CaptureColumn, kind: Kind): string {
    if (this.columns.length < 2) return TITLES[kind];
    const filters = describeFilters(column.view.filters);
    return `${column.letter}: ${TITLES[kind]}, ${shortName(column.item)}${filters ? `, ${filters}` : ""}`;
  }

  private makeColumn(view: CaptureView, item: Item, letter: string): CaptureColumn {
    const column: CaptureColumn = {
      view,
      item,
      letter,
      shift: 0,
      panels: new Map(),
      map: undefined,
      hitMapSwitches: h("span"),
      hitMapDevice: undefined,
    };
    for (const kind of KINDS) {
      const handlers = {
        onZoom: (from: number, to: number): void => this.zoom(clampRange(from, to, this.duration())),
        ...(kind === "map"
          ? {
              onClick: (index: number, _: number, y: number, shift: boolean): void =>
                this.clickBand(column, index, y, shift),
            }
          : {}),
      };
      const tools =
        kind === "lba" || kind === "subsecond"
          ? []
          : [{ text: "Command", title: "Copy as command", onClick: (): void => void this.showCommand(column, kind) }];
      const title = `${letter ? `${letter}: ` : ""}${TITLES[kind]}`;
      const panel = new ChartPanel(title, () => shortName(column.item), "time", HEIGHTS[kind], handlers, tools);
      panel.root.dataset["view"] = kind;
      if (kind === "lba") panel.toolbar.prepend(column.hitMapSwitches);
      column.panels.set(kind, panel);
    }
    return column;
  }

  private clickBand(column: CaptureColumn, index: number, y: number, shift: boolean): void {
    const match = column.map && bandAt(column.map.tops, index, y);
    const band = match === undefined ? undefined : column.map?.bands[match];
    if (band && !band.others) this.filterByBand(column, band, shift);
  }

  private filterByBand(column: CaptureColumn, band: Band, shift: boolean): void {
    if (this.app.state.by === "stream") return this.filter("stream", band.name, shift, column.view);
    const byNumber = /^\d+$/.test(band.id);
    this.filter(byNumber ? "pid" : "process", band.id, shift, column.view);
  }

  /** Toggles a filter of a view. With Shift, compares the view with a copy that has only this value of the facet. */
  private filter(facet: Facet, value: string, shift: boolean, view: CaptureView): void {
    if (isExported()) return announce("An exported page cannot filter. Open the file with steadfast explore.");
    if (shift) {
      const filters = { ...view.filters, [facet]: [value] };
      return this.app.navigate({ versus: { n: view.n, filters } });
    }
    const filters = toggleFilter(view.filters, facet, value);
    const second = this.app.state.versus;
    if (second && view === this.columns[1]?.view) this.app.navigate({ versus: { ...second, filters } });
    else this.app.navigate({ filters });
  }

  private zoom(range: { from: number; to: number } | undefined): void {
    this.app.navigate({ from: range?.from, to: range?.to });
  }

  private context({ item, shift }: CaptureColumn): ViewContext {
    const clock = clockOf(this.app, item);
    return {
      clock: clock && { ...clock, begin_ns: clock.begin_ns - shift },
      marks: (item.marks ?? []).map((mark) => ({ ...mark, t: mark.t + shift })),
      measure: this.app.state.measure,
    };
  }

  private async series(column: CaptureColumn, by: string): Promise<SeriesAnswer> {
    const [range, whole] = [this.ownRange(column), this.range()];
    if (whole && this.isOutside(column)) return emptySeries(whole);
    return shiftAnswer(
      await getAnswer<SeriesAnswer>(
        apiUrl("series", { ...captureParams(column.view, range?.from, range?.to), by, cells: 1024 }),
      ),
      column.shift,
    );
  }

  private async heat(column: CaptureColumn, kind: string, rows: number, op?: string): Promise<HeatAnswer> {
    const [range, whole] = [this.ownRange(column), this.range()];
    if (column.item.refused?.[kind] !== undefined) return emptyHeatMap({ from: 0, to: this.duration() });
    if (whole && this.isOutside(column)) return emptyHeatMap(whole);
    const ops = op && column.view.filters.op.length === 0 ? { op: [op] } : {};
    const device = kind === "lba" ? addressDevice(column) : undefined;
    const devices = device === undefined ? {} : { device: [device] };
    return shiftAnswer(
      await getAnswer<HeatAnswer>(
        apiUrl("heat", {
          ...captureParams(column.view, range?.from, range?.to),
          kind,
          cells: 512,
          rows,
          ...ops,
          ...devices,
        }),
      ),
      column.shift,
    );
  }

  /** Returns amount and position of each stream within one column of the hit map. */
  private readOut(column: CaptureColumn, from: number, to: number): Promise<ReadOutAnswer> {
    const device = addressDevice(column);
    const op = this.hitOp();
    const ops = op && column.view.filters.op.length === 0 ? { op: [op] } : {};
    const devices = device === undefined ? {} : { device: [device] };
    const [begin, end] = [Math.max(0, Math.round(from - column.shift)), Math.round(to - column.shift)];
    return getAnswer<ReadOutAnswer>(
      apiUrl("read-out", { ...captureParams(column.view, begin, end), ...ops, ...devices }),
    );
  }

  private loadAll(): void {
    void this.loadOverview();
    for (const column of this.columns) {
      void this.load(column, "map", this.mapChart(column));
      void this.load(column, "rt", this.timesChart(column));
      void this.load(
        column,
        "qd",
        this.series(column, "stream").then((answer) => queueDepthChart(answer, this.context(column))),
      );
      void this.load(
        column,
        "lba",
        this.withSharedMaximum(
          column,
          (other) => this.heat(other, "lba", 128, this.hitOp()),
          (heat, scene, maxCount) => hitMapChart(heat, scene, maxCount, (from, to) => this.readOut(column, from, to)),
        ),
      );
      void this.load(
        column,
        "subsecond",
        this.withSharedMaximum(column, (other) => this.heat(other, "subsecond", 50), subsecondChart),
      );
      this.updateHitMapSwitches(column);
    }
    this.tables.load();
  }

  private hitOp(): string | undefined {
    return this.app.state.hits === "all" ? undefined : this.app.state.hits;
  }

  private updateHitMapSwitches(column: CaptureColumn): void {
    const fixed = column.view.filters.op.length > 0;
    column.hitMapSwitches.replaceChildren(
      ...this.deviceSwitch(column),
      ...(fixed
        ? []
        : [
            buttonGroup(
              "Operations in the hit map",
              [
                ["all", "All"],
                ["read", "Reads"],
                ["write", "Writes"],
              ],
              this.app.state.hits,
              (value) => this.app.navigate({ hits: value }),
            ),
          ]),
    );
  }

  /** Returns the selector of the hit map's device if the capture has several. */
  private deviceSwitch(column: CaptureColumn): HTMLElement[] {
    const names = devicesOf(column);
    if (names.length < 2) return [];
    const now = addressDevice(column);
    const select = h(
      "select",
      {
        "aria-label": "Device of the addresses",
        onchange: () => {
          column.hitMapDevice = select.value;
          this.loadAll();
        },
      },
      ...names.map((name) => h("option", { value: name, selected: name === now }, name)),
    );
    return [select];
  }

  private load(column: CaptureColumn, kind: Kind, pending: Promise<Chart | string>): Promise<void> {
    const message = column.item.refused?.[kind] ?? (this.isOutside(column) ? OUTSIDE_MESSAGE : undefined);
    const drawing = message === undefined ? pending : pending.then(() => message);
    return column.panels.get(kind)?.load(drawing, () => this.xRange()) ?? Promise.resolve();
  }

  /** Draws the map of a column. Both columns have the same scales, so that heights can be compared. */
  private async mapChart(column: CaptureColumn): Promise<Chart | string> {
    const { by } = this.app.state;
    const views = await Promise.all(
      this.columns.map(async (other) =>
        streamMapChart(await this.series(other, by), this.context(other), this.colors, by, (band, shift) =>
          this.filterByBand(other, band, shift),
        ),
      ),
    );
    const view = views[this.columns.indexOf(column)];
    if (!view || typeof view === "string") return view ?? "";
    column.map = view;
    const top = (right: boolean): number =>
      Math.max(
        1e-9,
        ...views
          .flatMap((other) => (typeof other === "string" ? [] : other.spec.lines))
          .filter((line) => (line.right ?? false) === right)
          .map((line) => line.y.reduce<number>((maxCount, value) => Math.max(maxCount, value ?? 0), 0)),
      );
    view.spec.left.high = top(false) * 1.05;
    if (view.spec.right) view.spec.right.high = top(true) * 1.05;
    return view;
  }

  private async timesChart(column: CaptureColumn): Promise<Chart | string> {
    const views = await Promise.all(
      this.columns.map(async (other) => {
        const [heat, series] = await Promise.all([this.heat(other, "rt", 64), this.series(other, "stream")]);
        return { heat, series };
      }),
    );
    const maxCount = Math.max(...views.map(({ heat }) => maxCountOf(heat)));
    const drawings = views.map(({ heat, series }, index) =>
      responseTimeChart(heat, series, this.context(this.columns[index] ?? column), maxCount),
    );
    const axes = drawings.flatMap((other) => (typeof other === "string" ? [] : [other.spec.left]));
    const [low, high] = [
      Math.min(...axes.map((axis) => axis.low ?? 1)),
      Math.max(...axes.map((axis) => axis.high ?? 10)),
    ];
    axes.forEach((axis) => ([axis.low, axis.high] = [low, high]));
    return drawings[this.columns.indexOf(column)] ?? "";
  }

  private async withSharedMaximum(
    column: CaptureColumn,
    getHeatMap: (column: CaptureColumn) => Promise<HeatAnswer>,
    draw: (heat: HeatAnswer, scene: ViewContext, maxCount: number) => Chart | string,
  ): Promise<Chart | string> {
    const heats = await Promise.all(this.columns.map((other) => getHeatMap(other)));
    const heat = heats[this.columns.indexOf(column)];
    return heat ? draw(heat, this.context(column), Math.max(...heats.map(maxCountOf))) : "";
  }

  private async loadOverview(): Promise<void> {
    const first = this.columns[0];
    if (!first) return;
    // The overview shows whole captures without filters, so a capture compared with itself is one line.
    // Redrawn only after a change, because a redraw would take the keyboard focus from the brush.
    const now = JSON.stringify([
      this.columns.map((column) => [column.item.n, column.shift]),
      this.app.state.measure,
      this.app.state.time,
    ]);
    if (now === this.drawnOverview) return;
    this.drawnOverview = now;
    const different = this.columns.filter((column, index) => index === 0 || column.item.n !== first.item.n);
    const coming = Promise.all(
      different.map(async (column) => ({
        name: shortName(column.item),
        answer: shiftAnswer(
          await getAnswer<SeriesAnswer>(
            apiUrl("series", {
              ...captureParams({ n: column.view.n, filters: noFilters() }),
              by: "stream",
              cells: 1024,
            }),
          ),
          column.shift,
        ),
      })),
    ).then((answers) => overviewChart(answers, this.context(first), this.duration()));
    await this.overview.load(coming, () => this.wholeAxis());
    this.brush.attach();
  }

  private updateBar(): void {
    const { state } = this.app;
    const range = this.range();
    const chips = this.columns.flatMap((column, index) =>
      FACETS.flatMap((facet) =>
        column.view.filters[facet].map((value) => {
          const text = `${column.letter ? `${column.letter} ` : ""}${FACET_NAMES[facet]}: ${facet === "pid" ? processName(column.item, value) : value} ×`;
          return button(text, () => this.dropFilter(index, facet, value), {
            class: "chip",
            title: "Remove this filter",
          });
        }),
      ),
    );
    if (range)
      chips.push(
        button(`${this.describeRange(range.from, range.to)} ×`, () => this.zoom(undefined), {
          class: "chip",
          title: "Show the whole time",
        }),
      );
    if (state.versus)
      chips.push(button("End comparison ×", () => this.app.navigate({ versus: undefined }), { class: "chip" }));
    const second =
      this.columns[0] && clockOf({ ...this.app, state: { ...state, time: "clock" } } as App, this.columns[0].item);
    const span = this.extremeSpan();
    this.bar.replaceChildren(
      buttonGroup(
        "Measure",
        [
          ["iops", "IOPS"],
          ["mb", "MB/s"],
        ],
        state.measure,
        (measure) => this.app.navigate({ measure }),
      ),
      buttonGroup(
        "Stacked by",
        [
          ["stream", "By stream"],
          ["process", "By process"],
        ],
        state.by,
        (by) => this.app.navigate({ by }),
      ),
      ...(second
        ? [
            buttonGroup(
              "Times",
              [
                ["clock", "Clock"],
                ["start", "From start"],
              ],
              state.time,
              (time) => this.app.navigate({ time }),
            ),
          ]
        : []),
      button(`Slowest ${span.name}`, () => void this.showExtreme("slowest"), {
        title: "Show the part with the longest mean response time (S)",
      }),
      button(`Busiest ${span.name}`, () => void this.showExtreme("busiest"), {
        title: "Show the part with the most I/Os (B)",
      }),
      ...this.filterSelects(),
      ...this.compareWith(),
      button("Derive workload", () => void this.showWorkload(), {
        title: "The I/O streams of what is shown, as a file that steadfast can apply",
      }),
      h("span", { class: "chips", "aria-label": "Filters" }, ...chips),
    );
  }

  /** Returns selectors of device, layer and operation, each only if there is a choice. */
  private filterSelects(): HTMLElement[] {
    const item = this.columns[0]?.item;
    if (!item || isExported()) return [];
    const { filters } = this.app.state;
    const select = (facet: Facet, name: string, all: string, values: readonly string[]): HTMLElement => {
      const now = filters[facet].length === 1 ? filters[facet][0] : "";
      const element = h(
        "select",
        {
          "aria-label": name,
          "data-facet": facet,
          onchange: () => {
            this.app.navigate({ filters: { ...filters, [facet]: element.value === "" ? [] : [element.value] } });
          },
        },
        h("option", { value: "" }, all),
        ...values.map((value) => h("option", { value, selected: value === now }, value)),
      );
      return element;
    };
    const devices = deviceNames(item);
    return [
      ...(devices.length > 1 ? [select("device", "Device", "All devices", devices)] : []),
      ...((item.layers ?? []).length > 1 ? [select("layer", "Layer", "Block layer", ["filesystem", "both"])] : []),
      select("op", "Operation", "All operations", ["read", "write", "discard", "flush"]),
    ];
  }

  private compareWith(): HTMLElement[] {
    const others = this.app.meta.items.filter(
      (item) => item.kind === "capture" && item.state === "ready" && item.n !== this.app.state.n,
    );
    if (others.length === 0 || isExported()) return [];
    const align = this.alignment();
    const select = h(
      "select",
      {
        "aria-label": "Compare with",
        onchange: () => {
          const n = Number(select.value);
          if (select.value !== "") this.app.navigate({ versus: { n, filters: this.app.state.filters } });
        },
      },
      h("option", { value: "" }, "Compare with …"),
      ...others.map((item) => h("option", { value: item.n }, shortName(item))),
    );
    return align ? [select, align] : [select];
  }

  /** Returns the selector of the alignment, if more than one is possible. */
  private alignment(): HTMLElement | undefined {
    const items = this.columns.map((column) => column.item);
    const match = alignmentOptions(items);
    if (items.length < 2 || items[0]?.n === items[1]?.n || match.length < 2) return undefined;
    const now = alignCaptures(items, this.app.state.align).align;
    const select = h(
      "select",
      {
        "aria-label": "Align the captures",
        onchange: () => this.app.navigate({ align: select.value, from: undefined, to: undefined }),
      },
      ...match.map((way) => h("option", { value: way.align, selected: way.align === now }, way.text)),
    );
    return select;
  }

  private dropFilter(index: number, facet: Facet, value: string): void {
    const { filters, versus } = this.app.state;
    if (index === 0) this.app.navigate({ filters: removeFilter(filters, facet, value) });
    else if (versus) this.app.navigate({ versus: { ...versus, filters: removeFilter(versus.filters, facet, value) } });
  }

  /** Returns the length of the slowest and busiest part: a minute, or a twentieth of a short capture. */
  private extremeSpan(): { ns: number; name: string } {
    const item = this.columns[0]?.item;
    const duration = (item?.duration_ns ?? 0) - (item?.start_ns ?? 0);
    if (duration >= 180e9) return { ns: 60e9, name: "minute" };
    const second = Math.max(1, Math.round(duration / 20e9));
    return duration > 20e9
      ? { ns: second * 1e9, name: second === 1 ? "second" : `${second} s` }
      : { ns: duration / 20, name: "twentieth" };
  }

  private async showExtreme(what: "slowest" | "busiest"): Promise<void> {
    const first = this.columns[0];
    if (!first) return;
    try {
      const answer = await getAnswer<SeriesAnswer>(
        apiUrl("series", { ...captureParams(first.view), by: "stream", cells: 1024 }),
      );
      const match = await this.refineExtreme(first.view, answer, what);
      if (!match) return announce("No I/O with these filters.");
      const range = { from: match.from + first.shift, to: match.to + first.shift };
      this.zoom(clampRange(range.from, range.to, this.duration()));
      announce(`The ${what} part: ${this.describeRange(range.from, range.to)}`);
    } catch (error) {
      announce(errorMessage(error));
    }
  }

  /** Finds the extreme part; if cells are wider than it, searches the extreme cell again with finer cells. */
  private async refineExtreme(
    view: CaptureView,
    answer: SeriesAnswer,
    what: "slowest" | "busiest",
  ): Promise<{ from: number; to: number } | undefined> {
    const spanNs = this.extremeSpan().ns;
    const match = findExtreme(answer, spanNs, what);
    if (!match || match.to - match.from <= spanNs * 1.5 || isExported()) return match;
    const inner = await getAnswer<SeriesAnswer>(
      apiUrl("series", {
        ...captureParams(view, Math.floor(match.from), Math.ceil(match.to)),
        by: "stream",
        cells: 1024,
      }),
    );
    return findExtreme(inner, spanNs, what) ?? match;
  }

  private async showCommand(column: CaptureColumn, view: string): Promise<void> {
    const range = this.ownRange(column);
    try {
      if (this.isOutside(column))
        return showTextDialog("Copy as command", OUTSIDE_MESSAGE, "There is no command for this view.");
      const { command } = await getAnswer<{ command: string }>(
        apiUrl("command", { ...captureParams(column.view, range?.from, range?.to), view }),
      );
      showTextDialog("Copy as command", command, "The command that prints the same numbers.");
    } catch (error) {
      showTextDialog("Copy as command", errorMessage(error), "There is no command for this view.");
    }
  }

  private async showWorkload(): Promise<void> {
    const first = this.columns[0];
    if (!first) return;
    const range = this.ownRange(first);
    try {
      const { toml } = await getAnswer<{ toml: string }>(
        apiUrl("workload", captureParams(first.view, range?.from, range?.to)),
      );
      showTextDialog(
        "Derive workload",
        toml,
        "Save this file and apply it: steadfast run replay-native --workload FILE --target DEVICE",
        { name: "workload.toml", type: "application/toml" },
      );
    } catch (error) {
      showTextDialog("Derive workload", errorMessage(error), "No workload of this part.");
    }
  }

  private updateFacts(item: Item): void {
    const text = [item.workload_name, item.comment].filter((text): text is string => Boolean(text)).join(" – ");
    this.facts.replaceChildren(...(text ? [h("p", { class: "quiet" }, text)] : []));
    if (item.step_ns) {
      this.facts.append(
        h(
          "p",
          { class: "quiet" },
          `Totals of capture steps of ${formatNs(item.step_ns)}. I/Os within a step are not kept; parts of the time are whole steps.`,
        ),
      );
    }
    if (isExported()) {
      this.facts.append(
        h(
          "p",
          { class: "notice" },
          "Exported page: its numbers are inside. It cannot filter, compare, recount a part or list single I/Os; open the file with steadfast explore for that.",
        ),
      );
    }
  }

  handleKey(event: KeyboardEvent): boolean {
    const { state } = this.app;
    const [from, to] = this.xRange();
    const moves = ["ArrowLeft", "ArrowRight", "+", "-", "Home"];
    const range = moves.includes(event.key) ? rangeAfterKey(event.key, from, to, this.duration()) : undefined;
    if (range) this.zoom(clampRange(range.from, range.to, this.duration()));
    else if (event.key === "s") void this.showExtreme("slowest");
    else if (event.key === "b") void this.showExtreme("busiest");
    else if (event.key === "m") this.app.navigate({ measure: state.measure === "iops" ? "mb" : "iops" });
    else if (event.key === "p") this.app.navigate({ by: state.by === "stream" ? "process" : "stream" });
    else return false;
    return true;
  }

  redraw(): void {
    [this.layout, this.drawnOverview] = ["", ""];
    this.update();
  }

  close(): void {
    this.overview.pane.destroy();
    this.columns.forEach((column) => column.panels.forEach((panel) => panel.pane.destroy()));
  }
}

function deviceNames(item: Item): string[] {
  return (item.devices ?? []).map((device) => (typeof device === "string" ? device : device.name));
}

/** Returns the devices that the filters of a column leave. */
function devicesOf({ view, item }: CaptureColumn): string[] {
  const chosen = view.filters.device;
  return deviceNames(item).filter((name) => chosen.length === 0 || chosen.includes(name));
}

/** Returns the device of the hit map; undefined if there is only one. */
function addressDevice(column: CaptureColumn): string | undefined {
  const names = devicesOf(column);
  if (names.length < 2) return undefined;
  return names.find((name) => name === column.hitMapDevice) ?? names[0];
}

function describeFilters(filters: Filters): string {
  if (!hasFilters(filters)) return "";
  return FACETS.flatMap((facet) => filters[facet]).join(", ");
}

function processName(item: Item, pid: string): string {
  const match = (item.processes ?? []).find((process) => process.pids?.some((other) => String(other) === pid));
  return match ? `${match.name} (${pid})` : pid;
}
