/** Tables of a capture: streams, processes, addresses, steps, single I/Os, marks. */
import { getAnswer, isExported } from "./answers";
import { clockOf, shortName, type App } from "./app";
import { buttonGroup, h, button } from "./dom";
import { formatBytes, formatCount, formatTime, NONE, formatNumber, formatPercent, formatNs } from "./format";
import { TablePanel, type TableContent } from "./panel";
import { captureParams, apiUrl } from "./query";
import { renderTable, tableCsv, type RowSelection, type Column } from "./table";
import type { Facet, CaptureView } from "./state";
import type { Caveat, HotRange, Item, Row } from "./types";

interface TimeRange {
  from: number;
  to: number;
}

export interface ShownCapture {
  view: CaptureView;
  item: Item;
  letter: string;
  /** Device whose addresses are listed, if the capture has several. */
  device: string | undefined;
  /** Shown range in the capture's own time; undefined for all of it. */
  range: TimeRange | undefined;
  /** True if the shown range lies outside of the capture. */
  isOutside: boolean;
}

export interface TableHandlers {
  /** Zooms to a range given in the capture's own time. */
  showRange: (range: TimeRange, view: CaptureView) => void;
  toggleFilter: (facet: Facet, value: string, shift: boolean, view: CaptureView) => void;
  showCommand: (view: CaptureView, tableId: string) => void;
}

const TABLES: readonly (readonly [string, string])[] = [
  ["streams", "I/O streams"],
  ["processes", "Processes"],
  ["hot", "Hot addresses"],
  ["cumulative", "Cumulative workload"],
  ["steps", "Capture steps"],
  ["ios", "Single I/Os"],
  ["file", "Files"],
  ["cgroup", "Cgroups"],
  ["thread", "Threads"],
  ["marks", "Marks and caveats"],
];
/** Tables that are available only if the capture recorded what they list. */
const GROUP_TABLES: readonly string[] = ["file", "cgroup", "thread"];
const PAGE_SIZE = 200;
const HINT = "Click: only this. Shift-click: compare with this.";

export class Tables {
  readonly root = h("section", { class: "tables", "aria-label": "Tables" });
  private readonly tabs = h("div", { class: "tabs" });
  private readonly panelRow = h("div", { class: "pair" });
  private panels: { panel: TablePanel; key: string }[] = [];
  private readonly groupSwitch = h("span");
  private offset = 0;
  private lastQuestion = "";

  constructor(
    private readonly app: App,
    private readonly shownCaptures: () => ShownCapture[],
    private readonly handlers: TableHandlers,
  ) {
    this.root.append(this.tabs, this.panelRow);
  }

  load(): void {
    const recorded = this.shownCaptures().flatMap(({ item }) => item.groups ?? []);
    const names = TABLES.filter(([id]) => !GROUP_TABLES.includes(id) || recorded.includes(id));
    const current = names.find(([id]) => id === this.app.state.table) ?? names[0] ?? ["streams", "I/O streams"];
    const [id, title] = current;
    this.tabs.replaceChildren(
      buttonGroup(
        "Table",
        names.map(([id, text]) => [id, text] as [string, string]),
        id,
        (value) => this.app.navigate({ table: value }),
      ),
    );
    this.groupSwitch.replaceChildren(
      buttonGroup(
        "Rows of the table",
        [
          ["pid", "Each process"],
          ["name", "By name"],
        ],
        this.app.state.group,
        (group) => this.app.navigate({ group }),
      ),
    );
    const shownCaptures = this.shownCaptures();
    const keys = shownCaptures.map(({ item, letter }) => `${id}/${item.n}/${letter}`);
    if (keys.join() !== this.panels.map(({ key }) => key).join()) {
      this.panels = shownCaptures.map((shown, index) => ({
        key: keys[index] ?? "",
        panel: this.makePanel(id, title, shown, index),
      }));
      this.panelRow.replaceChildren(...this.panels.map(({ panel }) => panel.root));
    }
    const question = JSON.stringify([shownCaptures.map(({ view, range }) => [view, range]), id]);
    if (question !== this.lastQuestion) this.offset = 0;
    this.lastQuestion = question;
    shownCaptures.forEach((shown, index) => void this.panels[index]?.panel.load(this.tableContent(id, shown)));
  }

  private makePanel(id: string, title: string, shown: ShownCapture, index: number): TablePanel {
    const tools =
      id === "marks" || id === "ios" || id === "hot"
        ? []
        : [
            {
              text: "Command",
              title: "Copy as command",
              onClick: (): void => {
                const view = this.shownCaptures()[index]?.view;
                if (view) this.handlers.showCommand(view, id);
              },
            },
          ];
    const panel = new TablePanel(
      shown.letter ? `${shown.letter}: ${title}, ${shortName(shown.item)}` : title,
      () => shortName(shown.item),
      tools,
    );
    panel.root.dataset["view"] = id;
    if (id === "processes" && index === 0 && !isExported()) panel.toolbar.prepend(this.groupSwitch);
    return panel;
  }

  private async tableContent(id: string, shown: ShownCapture): Promise<TableContent | string> {
    const params = captureParams(shown.view, shown.range?.from, shown.range?.to);
    const refused = shown.item.refused?.[id];
    if (refused !== undefined) return refused;
    if (id === "marks") return this.markTable(shown);
    if (shown.isOutside) return "This capture has no time in this part. Press Esc to go back.";
    if (id === "hot")
      return this.hotTable(
        await getAnswer<unknown>(
          apiUrl("hot", shown.device === undefined ? params : { ...params, device: [shown.device] }),
        ),
        shown.device,
      );
    if (GROUP_TABLES.includes(id))
      return this.groupTable(
        id,
        shown,
        rowsOf(await getAnswer<Row>(apiUrl("groups", { ...params, by: id })), "groups"),
      );
    if (id === "ios") return this.ioTable(shown, params);
    const byName = id === "processes" && this.app.state.group === "name" ? { by_command: "true" } : {};
    const answer = await getAnswer<Row>(apiUrl(id, { ...params, ...byName }));
    if (id === "processes") return this.processTable(shown, rowsOf(answer, "processes"));
    if (id === "cumulative") return cumulativeTable(rowsOf(answer["workload"] as Row, "streams"));
    if (id === "steps") return this.stepTable(shown, rowsOf(answer, "steps"));
    return this.streamTable(shown, rowsOf(answer, "streams"));
  }

  private filterSelection(shown: ShownCapture, facet: Facet, value: (row: Row) => string): RowSelection<Row> {
    return {
      onSelect: (row, shift) => this.handlers.toggleFilter(facet, value(row), shift, shown.view),
      title: HINT,
      isSelected: (row) => shown.view.filters[facet].includes(value(row)),
    };
  }

  private streamTable(shown: ShownCapture, rows: Row[]): TableContent | string {
    const columns: Column<Row>[] = [
      { header: "Stream", value: stringField("stream") },
      countColumn("I/Os", "count"),
      percentColumn("I/Os %", "share_of_count"),
      bytesColumn("Amount", "amount"),
      percentColumn("Amount %", "share_of_bytes"),
      { header: "QD", value: numberField("qd_mean"), text: (row) => formatNumber(numberField("qd_mean")(row)) },
      timeColumn("Mean", nestedNumber("response", "mean_ns")),
      timeColumn("99 %", nestedNumber("response", "p99_ns")),
      timeColumn("99.9 %", nestedNumber("response", "p99_9_ns")),
      timeColumn("Maximum", nestedNumber("response", "max_ns")),
      timeSumColumn(nestedNumber("response", "mean_ns")),
    ];
    return rows.length === 0
      ? emptyMessage()
      : tableWithCsv(
          "I/O streams of what is shown, with response times",
          columns,
          rows,
          this.filterSelection(shown, "stream", (row) => String(row["stream"])),
        );
  }

  private processTable(shown: ShownCapture, rows: Row[]): TableContent | string {
    const columns: Column<Row>[] = [
      { header: "Process", value: stringField("process") },
      countColumn("I/Os", "count"),
      percentColumn("I/Os %", "share"),
      bytesColumn("Amount", "amount"),
      countColumn("Reads", "reads"),
      countColumn("Writes", "writes"),
      countColumn("SEQ", "sequential"),
      timeColumn("Mean", numberField("response_mean_ns")),
      timeColumn("Maximum", numberField("response_max_ns")),
      timeSumColumn(numberField("response_mean_ns")),
    ];
    const selection: RowSelection<Row> = {
      onSelect: (row, shift) => this.handlers.toggleFilter(...processFilter(row), shift, shown.view),
      title: HINT,
      isSelected: (row) => {
        const [facet, value] = processFilter(row);
        return shown.view.filters[facet].includes(value);
      },
    };
    return rows.length === 0
      ? emptyMessage()
      : tableWithCsv("Processes of what is shown, with response times", columns, rows, selection);
  }

  /** Returns the table of I/Os by file, cgroup or thread. */
  private groupTable(by: string, shown: ShownCapture, rows: Row[]): TableContent | string {
    const head = GROUP_HEADS[by] ?? by;
    const columns: Column<Row>[] = [
      { header: head, value: (row) => groupName(by, row) },
      countColumn("I/Os", "count"),
      percentColumn("I/Os %", "share_of_count"),
      bytesColumn("Amount", "amount"),
      timeColumn("Mean", nestedNumber("response", "mean_ns")),
      timeColumn("99 %", nestedNumber("response", "p99_ns")),
      timeColumn("Maximum", nestedNumber("response", "max_ns")),
      timeSumColumn(nestedNumber("response", "mean_ns")),
    ];
    const value = (row: Row): string | null => groupFilter(by, row);
    const facet = by === "thread" ? "tid" : (by as Facet);
    const selection: RowSelection<Row> = {
      onSelect: (row, shift) => this.handlers.toggleFilter(facet, value(row) ?? "", shift, shown.view),
      title: HINT,
      isSelected: (row) => shown.view.filters[facet].includes(value(row) ?? ""),
      isSelectable: (row) => value(row) !== null,
    };
    if (rows.length === 0) return emptyMessage();
    const note = by === "file" ? { note: "I/Os of the file-system layer." } : {};
    return { ...tableWithCsv(`${head}s of what is shown, with response times`, columns, rows, selection), ...note };
  }

  private stepTable({ view, item, range }: ShownCapture, rows: Row[]): TableContent | string {
    const clock = clockOf(this.app, item);
    const columns: Column<Row>[] = [
      {
        header: "Begin",
        value: numberField("begin_ns"),
        text: (row) => formatTime(Number(row["begin_ns"]), clock, 1e9),
      },
      countColumn("I/Os", "count"),
      { header: "IOPS", value: numberField("iops"), text: (row) => formatNumber(numberField("iops")(row)) },
      {
        header: "MB/s",
        value: (row) => divide(numberField("bytes_per_second")(row), 1e6),
        text: (row) => formatNumber(divide(numberField("bytes_per_second")(row), 1e6)),
      },
      countColumn("Reads", "reads"),
      countColumn("Writes", "writes"),
      percentColumn("SEQ %", "sequential_share"),
      { header: "QD", value: numberField("qd_mean"), text: (row) => formatNumber(numberField("qd_mean")(row)) },
      timeColumn("Mean", numberField("response_mean_ns")),
      timeColumn("99 %", numberField("response_p99_ns")),
      timeColumn("Maximum", numberField("response_max_ns")),
      percentColumn("Busy", "utilisation"),
      ...(rows.some((row) => row["host_cpu_share"] !== null)
        ? [percentColumn("Host CPU", "host_cpu_share"), percentColumn("I/O wait", "host_io_wait_share")]
        : []),
    ];
    const selection: RowSelection<Row> = {
      onSelect: (row) => {
        const index = rows.indexOf(row);
        const [from, next] = [Number(row["begin_ns"]), rows[index + 1]?.["begin_ns"]];
        this.handlers.showRange({ from, to: typeof next === "number" ? next : (item.duration_ns ?? from + 1) }, view);
      },
      title: "Show this step",
      isSelected: (row) => range !== undefined && range.from === row["begin_ns"],
    };
    return rows.length === 0
      ? emptyMessage()
      : tableWithCsv("Capture steps of what is shown", columns, rows, selection);
  }

  private hotTable(answer: unknown, device: string | undefined): TableContent | string {
    const rows = (Array.isArray(answer) ? answer : ((answer as { ranges?: HotRange[] }).ranges ?? [])) as HotRange[];
    if (rows.length === 0) return "No I/O with an address in this part with these filters.";
    const devices = rows.some((row) => row.device);
    const columns: Column<HotRange>[] = [
      {
        header: "Addresses",
        value: (row) => `${row.low}-${row.high}`,
        text: (row) => `${formatBytes(row.low)} – ${formatBytes(row.high)}`,
      },
      ...(devices ? [{ header: "Device", value: (row: HotRange) => row.device ?? null }] : []),
      { header: "First byte", value: (row) => row.low, text: (row) => formatCount(row.low) },
      { header: "I/Os", value: (row) => row.ios, text: (row) => formatCount(row.ios) },
      { header: "Share", value: (row) => row.share, text: (row) => formatPercent(row.share) },
      {
        header: "Processes",
        value: (row) => row.processes.map((item) => `${item.name}: ${item.ios}`).join("; "),
        text: (row) => row.processes.map((item) => `${item.name} (${formatCount(item.ios)})`).join(", ") || NONE,
      },
    ];
    return {
      content: renderTable("Address ranges with the most I/Os of what is shown, and who issued them", columns, rows),
      csv: tableCsv(columns, rows),
      note:
        (device === undefined ? "" : `Addresses of ${device}. `) +
        "The ranges with the most I/Os come first. A process's number of I/Os in the range stands behind its name.",
    };
  }

  private async ioTable(shown: ShownCapture, params: ReturnType<typeof captureParams>): Promise<TableContent | string> {
    if (isExported()) return "An exported page has no single I/Os. Open the file with steadfast explore.";
    const answer = await getAnswer<{ total?: number | null; columns: string[]; rows: unknown[][] }>(
      apiUrl("ios", { ...params, limit: PAGE_SIZE, offset: this.offset }),
    );
    if (answer.rows.length === 0) return emptyMessage();
    const columns = answer.columns.map(
      (head, index): Column<unknown[]> => ({
        header: readableHeader(head),
        value: (row) => row[index] as string | number | null,
        text: (row) => this.formatIoValue(shown.item, head, row[index]),
      }),
    );
    const last = this.offset + answer.rows.length;
    const turnPage = (by: number): void => {
      this.offset = Math.max(0, this.offset + by);
      void this.panels[this.shownCaptures().findIndex((item) => item.letter === shown.letter)]?.panel.load(
        this.ioTable(shown, params),
      );
    };
    const hasMore =
      answer.total === undefined || answer.total === null ? answer.rows.length === PAGE_SIZE : last < answer.total;
    const pages = h(
      "div",
      { class: "tools" },
      button("Earlier", () => turnPage(-PAGE_SIZE), { disabled: this.offset === 0 }),
      h(
        "span",
        {},
        `${formatCount(this.offset + 1)} to ${formatCount(last)}${answer.total ? ` of ${formatCount(answer.total)}` : ""}`,
      ),
      button("Later", () => turnPage(PAGE_SIZE), { disabled: !hasMore }),
    );
    return {
      content: h("div", {}, renderTable("Single I/Os in order of issue", columns, answer.rows), pages),
      csv: tableCsv(columns, answer.rows),
      note: "Single I/Os in order of issue. The CSV file has those listed here.",
    };
  }

  private formatIoValue(item: Item, head: string, value: unknown): string {
    if (value === null || value === undefined) return NONE;
    if (typeof value !== "number") return String(value);
    if (head === "time_ns" || head === "issue_ns") return formatTime(value, clockOf(this.app, item), 1e3);
    if (head.endsWith("_ns")) return formatNs(value);
    return formatCount(value);
  }

  private markTable({ view, item, range }: ShownCapture): TableContent | string {
    const clock = clockOf(this.app, item);
    const marks = item.marks ?? [];
    const caveats = item.caveats ?? [];
    if (marks.length + caveats.length === 0) return "No marks and no caveats in this capture.";
    const columns: Column<Row>[] = [
      { header: "Mark", value: stringField("text") },
      { header: "Time", value: numberField("t"), text: (row) => formatTime(Number(row["t"]), clock, 1e9) },
    ];
    const rows = marks.map((mark) => ({ ...mark }) as unknown as Row);
    const selection: RowSelection<Row> = {
      onSelect: (row) => {
        const from = Number(row["t"]);
        const next = marks
          .map((mark) => mark.t)
          .filter((t) => t > from)
          .sort((a, b) => a - b)[0];
        this.handlers.showRange({ from, to: next ?? item.duration_ns ?? from + 1 }, view);
      },
      title: "Show from this mark to the next",
      isSelected: (row) => range !== undefined && range.from === row["t"],
    };
    return {
      content: h(
        "div",
        {},
        marks.length > 0 ? renderTable("Marks", columns, rows, selection) : h("p", {}, "No marks."),
        caveatList(caveats),
      ),
      csv: tableCsv(columns, rows),
    };
  }
}

/** Lists caveats with their remedies. */
export function caveatList(caveats: readonly Caveat[], onStep?: (caveat: Caveat) => void): HTMLElement {
  if (caveats.length === 0) return h("p", { class: "quiet" }, "No caveats.");
  return h(
    "ul",
    { class: "caveats" },
    ...caveats.map((caveat) => {
      const where =
        onStep && caveat.step !== null && caveat.step !== undefined
          ? button(`Step ${caveat.step}`, () => onStep(caveat))
          : undefined;
      return h("li", {}, h("b", {}, caveat.text), " ", caveat.remedy ?? "", " ", where);
    }),
  );
}

function processFilter(row: Row): [Facet, string] {
  const pid = row["pid"];
  return typeof pid === "number" && pid > 0
    ? ["pid", String(pid)]
    : ["process", String(row["command"] ?? row["process"])];
}

/** Returns the name of an inode. Its upper 16 bits count the files that had this inode one after another. */
function inodeName(number: number): string {
  const file = Math.floor(number / 2 ** 48);
  const inode = `inode ${number % 2 ** 48}`;
  if (file === 0) return inode;
  return file === 0xffff ? `one of several files of ${inode}` : `file ${file + 1} of ${inode}`;
}

/** Returns the name of a group: a file's path or inode, a cgroup, or a thread with its process. */
function groupName(by: string, row: Row): string | null {
  if (by === "file") {
    const inode = numberField("inode")(row);
    const device = stringField("device")(row) ?? NONE;
    return stringField("path")(row) ?? (inode === null ? "no file" : `${inodeName(inode)} on ${device}`);
  }
  if (by === "cgroup") return stringField("cgroup")(row) ?? "no cgroup";
  const [tid, thread] = [numberField("tid")(row), stringField("thread")(row)];
  const own = thread === null ? String(tid ?? NONE) : `${thread} (${tid ?? NONE})`;
  return `${stringField("process")(row) ?? NONE}, ${own}`;
}

/** Returns the filter value of a group; null if it cannot be filtered. */
function groupFilter(by: string, row: Row): string | null {
  if (by === "cgroup") return stringField("cgroup")(row);
  if (by === "thread") return stringField("tid")(row);
  const inode = numberField("inode")(row);
  // A renamed file has two paths; an inode that several files had exceeds the precision of a number.
  return row["path"] === null || row["path"] === undefined
    ? inode !== null && Number.isSafeInteger(inode)
      ? String(inode)
      : null
    : (String(row["path"]).split(" or ")[0] ?? null);
}

const GROUP_HEADS: Record<string, string> = { file: "File", cgroup: "Cgroup", thread: "Thread" };

function cumulativeTable(rows: Row[]): TableContent | string {
  const columns: Column<Row>[] = [
    { header: "Stream", value: stringField("stream") },
    countColumn("I/Os", "count"),
    bytesColumn("Amount", "amount"),
    percentColumn("Share of all", "share"),
    percentColumn("Share when applied", "normalized"),
    {
      header: "Alignment",
      value: numberField("alignment"),
      text: (row) => formatNumber(numberField("alignment")(row), "B"),
    },
    { header: "QD", value: numberField("qd_mean"), text: (row) => formatNumber(numberField("qd_mean")(row)) },
  ];
  if (rows.length === 0) return emptyMessage();
  return {
    ...tableWithCsv("Cumulative workload: the I/O streams at or above the threshold", columns, rows),
    note: "The streams that a derived workload applies, with their shares of all I/Os and of those applied.",
  };
}

function tableWithCsv(
  caption: string,
  columns: Column<Row>[],
  rows: Row[],
  selection?: RowSelection<Row>,
): TableContent {
  return { content: renderTable(caption, columns, rows, selection), csv: tableCsv(columns, rows) };
}

function emptyMessage(): string {
  return "No I/O in this part with these filters. Press Esc to go back.";
}

function rowsOf(answer: Row | undefined, key: string): Row[] {
  const rows = answer?.[key];
  return Array.isArray(rows) ? (rows as Row[]) : [];
}

function stringField(key: string): (row: Row) => string | null {
  return (row) => (row[key] === null || row[key] === undefined ? null : String(row[key]));
}

function numberField(key: string): (row: Row) => number | null {
  return (row) => (typeof row[key] === "number" ? (row[key] as number) : null);
}

function nestedNumber(outer: string, key: string): (row: Row) => number | null {
  return (row) => {
    const value = (row[outer] as Row | null | undefined)?.[key];
    return typeof value === "number" ? value : null;
  };
}

function divide(value: number | null, by: number): number | null {
  return value === null ? null : value / by;
}

function countColumn(head: string, key: string): Column<Row> {
  return { header: head, value: numberField(key), text: (row) => formatCount(numberField(key)(row)) };
}

function percentColumn(head: string, key: string): Column<Row> {
  return { header: head, value: numberField(key), text: (row) => formatPercent(numberField(key)(row)) };
}

function bytesColumn(head: string, key: string): Column<Row> {
  return { header: head, value: numberField(key), text: (row) => formatBytes(numberField(key)(row)) };
}

function timeColumn(head: string, value: (row: Row) => number | null): Column<Row> {
  return { header: head, value, text: (row) => formatNs(value(row)) };
}

/** Returns a column of the response times of all I/Os of a row, added up. */
function timeSumColumn(mean: (row: Row) => number | null): Column<Row> {
  const value = (row: Row): number | null => {
    const [item, ios] = [mean(row), numberField("count")(row)];
    return item === null || ios === null ? null : item * ios;
  };
  return { header: "Sum of times", value, text: (row) => formatNs(value(row)) };
}

function readableHeader(name: string): string {
  const text = name.replace(/_ns$/, "").replace(/_/g, " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
