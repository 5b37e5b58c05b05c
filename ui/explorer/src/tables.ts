/** The tables of a capture: who, what, where, and single I/Os. */
import { ask, exported } from "./answers";
import { clockOf, shortName, type App } from "./app";
import { choice, h, button } from "./dom";
import { amount, count, moment, NONE, number, percent, span } from "./format";
import { TablePanel, type Listed } from "./panel";
import { common, url } from "./query";
import { table, tableCsv, type Choice, type Column } from "./table";
import type { Facet, Side } from "./state";
import type { Caveat, HotRange, Item, Row } from "./types";

interface Part {
  from: number;
  to: number;
}

export interface Shown {
  side: Side;
  item: Item;
  letter: string;
  /** Whose addresses are listed, where the capture has several devices. */
  device: string | undefined;
  /** What is shown, in the capture's own time; all of it where there is none. */
  part: Part | undefined;
  /** Whether the capture has no time in what is shown. */
  outside: boolean;
}

export interface Hands {
  /** Shows a part of a capture's own time. */
  show: (part: Part, side: Side) => void;
  pick: (facet: Facet, value: string, shift: boolean, side: Side) => void;
  command: (side: Side, view: string) => void;
}

const NAMES: readonly (readonly [string, string])[] = [
  ["streams", "I/O streams"], ["processes", "Processes"], ["hot", "Hot addresses"], ["cumulative", "Cumulative workload"],
  ["steps", "Capture steps"], ["ios", "Single I/Os"], ["file", "Files"], ["cgroup", "Cgroups"], ["thread", "Threads"],
  ["marks", "Marks and caveats"],
];
/** Tables that are there only where the capture recorded what they list. */
const GROUPS: readonly string[] = ["file", "cgroup", "thread"];
const PAGE = 200;
const HINT = "Click: only this. Shift-click: compare with this.";

export class Tables {
  readonly root = h("section", { class: "tables", "aria-label": "Tables" });
  private readonly tabs = h("div", { class: "tabs" });
  private readonly places = h("div", { class: "pair" });
  private panels: { panel: TablePanel; key: string }[] = [];
  private readonly grouping = h("span");
  private offset = 0;
  private asked = "";

  constructor(private readonly app: App, private readonly sides: () => Shown[], private readonly hands: Hands) {
    this.root.append(this.tabs, this.places);
  }

  load(): void {
    const recorded = this.sides().flatMap(({ item }) => item.groups ?? []);
    const names = NAMES.filter(([id]) => !GROUPS.includes(id) || recorded.includes(id));
    const now = names.find(([id]) => id === this.app.state.table) ?? names[0] ?? ["streams", "I/O streams"];
    const [id, title] = now;
    this.tabs.replaceChildren(choice("Table", names.map(([one, text]) => [one, text] as [string, string]), id, (value) => this.app.go({ table: value })));
    this.grouping.replaceChildren(choice("Rows of the table", [["pid", "Each process"], ["name", "By name"]], this.app.state.group, (group) => this.app.go({ group })));
    const sides = this.sides();
    const keys = sides.map(({ item, letter }) => `${id}/${item.n}/${letter}`);
    if (keys.join() !== this.panels.map(({ key }) => key).join()) {
      this.panels = sides.map((shown, at) => ({ key: keys[at] ?? "", panel: this.make(id, title, shown, at) }));
      this.places.replaceChildren(...this.panels.map(({ panel }) => panel.root));
    }
    const question = JSON.stringify([sides.map(({ side, part }) => [side, part]), id]);
    if (question !== this.asked) this.offset = 0;
    this.asked = question;
    sides.forEach((shown, at) => void this.panels[at]?.panel.load(this.listed(id, shown)));
  }

  private make(id: string, title: string, shown: Shown, at: number): TablePanel {
    const tools = id === "marks" || id === "ios" || id === "hot" ? [] : [{ text: "Command", title: "Copy as command", act: (): void => {
      const side = this.sides()[at]?.side;
      if (side) this.hands.command(side, id);
    } }];
    const panel = new TablePanel(shown.letter ? `${shown.letter}: ${title}, ${shortName(shown.item)}` : title, () => shortName(shown.item), tools);
    panel.root.dataset["view"] = id;
    if (id === "processes" && at === 0 && !exported()) panel.head.prepend(this.grouping);
    return panel;
  }

  private async listed(id: string, shown: Shown): Promise<Listed | string> {
    const params = common(shown.side, shown.part?.from, shown.part?.to);
    const refused = shown.item.refused?.[id];
    if (refused !== undefined) return refused;
    if (id === "marks") return this.marks(shown);
    if (shown.outside) return "This capture has no time in this part. Press Esc to go back.";
    if (id === "hot") return this.hot(await ask<unknown>(url("hot", shown.device === undefined ? params : { ...params, device: [shown.device] })), shown.device);
    if (GROUPS.includes(id)) return this.groups(id, shown, rowsOf(await ask<Row>(url("groups", { ...params, by: id })), "groups"));
    if (id === "ios") return this.ios(shown, params);
    const byName = id === "processes" && this.app.state.group === "name" ? { by_command: "true" } : {};
    const answer = await ask<Row>(url(id, { ...params, ...byName }));
    if (id === "processes") return this.processes(shown, rowsOf(answer, "processes"));
    if (id === "cumulative") return cumulative(rowsOf(answer["workload"] as Row, "streams"));
    if (id === "steps") return this.steps(shown, rowsOf(answer, "steps"));
    return this.streams(shown, rowsOf(answer, "streams"));
  }

  private choice(shown: Shown, facet: Facet, value: (row: Row) => string): Choice<Row> {
    return {
      pick: (row, shift) => this.hands.pick(facet, value(row), shift, shown.side),
      title: HINT,
      chosen: (row) => shown.side.filters[facet].includes(value(row)),
    };
  }

  private streams(shown: Shown, rows: Row[]): Listed | string {
    const columns: Column<Row>[] = [
      { head: "Stream", value: text("stream") },
      counted("I/Os", "count"),
      shared("I/Os %", "share_of_count"),
      amounted("Amount", "amount"),
      shared("Amount %", "share_of_bytes"),
      { head: "QD", value: num("qd_mean"), text: (row) => number(num("qd_mean")(row)) },
      timed("Mean", nested("response", "mean_ns")),
      timed("99 %", nested("response", "p99_ns")),
      timed("99.9 %", nested("response", "p99_9_ns")),
      timed("Maximum", nested("response", "max_ns")),
      summed(nested("response", "mean_ns")),
    ];
    return rows.length === 0 ? nothing() : listed("I/O streams of what is shown, with response times", columns, rows, this.choice(shown, "stream", (row) => String(row["stream"])));
  }

  private processes(shown: Shown, rows: Row[]): Listed | string {
    const columns: Column<Row>[] = [
      { head: "Process", value: text("process") },
      counted("I/Os", "count"),
      shared("I/Os %", "share"),
      amounted("Amount", "amount"),
      counted("Reads", "reads"),
      counted("Writes", "writes"),
      counted("SEQ", "sequential"),
      timed("Mean", num("response_mean_ns")),
      timed("Maximum", num("response_max_ns")),
      summed(num("response_mean_ns")),
    ];
    const choose: Choice<Row> = {
      pick: (row, shift) => this.hands.pick(...processOf(row), shift, shown.side),
      title: HINT,
      chosen: (row) => {
        const [facet, value] = processOf(row);
        return shown.side.filters[facet].includes(value);
      },
    };
    return rows.length === 0 ? nothing() : listed("Processes of what is shown, with response times", columns, rows, choose);
  }

  /** I/Os by what they belong to. */
  private groups(by: string, shown: Shown, rows: Row[]): Listed | string {
    const head = GROUP_HEADS[by] ?? by;
    const columns: Column<Row>[] = [
      { head, value: (row) => groupName(by, row) },
      counted("I/Os", "count"),
      shared("I/Os %", "share_of_count"),
      amounted("Amount", "amount"),
      timed("Mean", nested("response", "mean_ns")),
      timed("99 %", nested("response", "p99_ns")),
      timed("Maximum", nested("response", "max_ns")),
      summed(nested("response", "mean_ns")),
    ];
    const value = (row: Row): string | null => groupFilter(by, row);
    const facet = by === "thread" ? "tid" : (by as Facet);
    const choose: Choice<Row> = {
      pick: (row, shift) => this.hands.pick(facet, value(row) ?? "", shift, shown.side),
      title: HINT,
      chosen: (row) => shown.side.filters[facet].includes(value(row) ?? ""),
      can: (row) => value(row) !== null,
    };
    if (rows.length === 0) return nothing();
    const note = by === "file" ? { note: "I/Os of the file-system layer." } : {};
    return { ...listed(`${head}s of what is shown, with response times`, columns, rows, choose), ...note };
  }

  private steps({ side, item, part }: Shown, rows: Row[]): Listed | string {
    const clock = clockOf(this.app, item);
    const columns: Column<Row>[] = [
      { head: "Begin", value: num("begin_ns"), text: (row) => moment(Number(row["begin_ns"]), clock, 1e9) },
      counted("I/Os", "count"),
      { head: "IOPS", value: num("iops"), text: (row) => number(num("iops")(row)) },
      { head: "MB/s", value: (row) => per(num("bytes_per_second")(row), 1e6), text: (row) => number(per(num("bytes_per_second")(row), 1e6)) },
      counted("Reads", "reads"),
      counted("Writes", "writes"),
      shared("SEQ %", "sequential_share"),
      { head: "QD", value: num("qd_mean"), text: (row) => number(num("qd_mean")(row)) },
      timed("Mean", num("response_mean_ns")),
      timed("99 %", num("response_p99_ns")),
      timed("Maximum", num("response_max_ns")),
      shared("Busy", "utilisation"),
      ...(rows.some((row) => row["host_cpu_share"] !== null) ? [shared("Host CPU", "host_cpu_share"), shared("I/O wait", "host_io_wait_share")] : []),
    ];
    const choose: Choice<Row> = {
      pick: (row) => {
        const at = rows.indexOf(row);
        const [from, next] = [Number(row["begin_ns"]), rows[at + 1]?.["begin_ns"]];
        this.hands.show({ from, to: typeof next === "number" ? next : (item.duration_ns ?? from + 1) }, side);
      },
      title: "Show this step",
      chosen: (row) => part !== undefined && part.from === row["begin_ns"],
    };
    return rows.length === 0 ? nothing() : listed("Capture steps of what is shown", columns, rows, choose);
  }

  private hot(answer: unknown, device: string | undefined): Listed | string {
    const rows = (Array.isArray(answer) ? answer : ((answer as { ranges?: HotRange[] }).ranges ?? [])) as HotRange[];
    if (rows.length === 0) return "No I/O with an address in this part with these filters.";
    const devices = rows.some((row) => row.device);
    const columns: Column<HotRange>[] = [
      { head: "Addresses", value: (row) => `${row.low}-${row.high}`, text: (row) => `${amount(row.low)} – ${amount(row.high)}` },
      ...(devices ? [{ head: "Device", value: (row: HotRange) => row.device ?? null }] : []),
      { head: "First byte", value: (row) => row.low, text: (row) => count(row.low) },
      { head: "I/Os", value: (row) => row.ios, text: (row) => count(row.ios) },
      { head: "Share", value: (row) => row.share, text: (row) => percent(row.share) },
      { head: "Processes", value: (row) => row.processes.map((one) => `${one.name}: ${one.ios}`).join("; "),
        text: (row) => row.processes.map((one) => `${one.name} (${count(one.ios)})`).join(", ") || NONE },
    ];
    return {
      content: table("Address ranges with the most I/Os of what is shown, and who issued them", columns, rows),
      csv: tableCsv(columns, rows),
      note: (device === undefined ? "" : `Addresses of ${device}. `) + "The ranges with the most I/Os come first. A process's number of I/Os in the range stands behind its name.",
    };
  }

  private async ios(shown: Shown, params: ReturnType<typeof common>): Promise<Listed | string> {
    if (exported()) return "An exported page has no single I/Os. Open the file with steadfast explore.";
    const answer = await ask<{ total?: number | null; columns: string[]; rows: unknown[][] }>(url("ios", { ...params, limit: PAGE, offset: this.offset }));
    if (answer.rows.length === 0) return nothing();
    const columns = answer.columns.map((head, at): Column<unknown[]> => ({
      head: plainHead(head),
      value: (row) => row[at] as string | number | null,
      text: (row) => this.single(shown.item, head, row[at]),
    }));
    const last = this.offset + answer.rows.length;
    const go = (by: number): void => {
      this.offset = Math.max(0, this.offset + by);
      void this.panels[this.sides().findIndex((one) => one.letter === shown.letter)]?.panel.load(this.ios(shown, params));
    };
    const more = answer.total === undefined || answer.total === null ? answer.rows.length === PAGE : last < answer.total;
    const pages = h("div", { class: "tools" },
      button("Earlier", () => go(-PAGE), { disabled: this.offset === 0 }),
      h("span", {}, `${count(this.offset + 1)} to ${count(last)}${answer.total ? ` of ${count(answer.total)}` : ""}`),
      button("Later", () => go(PAGE), { disabled: !more }));
    return {
      content: h("div", {}, table("Single I/Os in order of issue", columns, answer.rows), pages),
      csv: tableCsv(columns, answer.rows),
      note: "Single I/Os in order of issue. The CSV file has those listed here.",
    };
  }

  private single(item: Item, head: string, value: unknown): string {
    if (value === null || value === undefined) return NONE;
    if (typeof value !== "number") return String(value);
    if (head === "time_ns" || head === "issue_ns") return moment(value, clockOf(this.app, item), 1e3);
    if (head.endsWith("_ns")) return span(value);
    return count(value);
  }

  private marks({ side, item, part }: Shown): Listed | string {
    const clock = clockOf(this.app, item);
    const marks = item.marks ?? [];
    const caveats = item.caveats ?? [];
    if (marks.length + caveats.length === 0) return "No marks and no caveats in this capture.";
    const columns: Column<Row>[] = [
      { head: "Mark", value: text("text") },
      { head: "Time", value: num("t"), text: (row) => moment(Number(row["t"]), clock, 1e9) },
    ];
    const rows = marks.map((mark) => ({ ...mark }) as unknown as Row);
    const choose: Choice<Row> = {
      pick: (row) => {
        const from = Number(row["t"]);
        const next = marks.map((mark) => mark.t).filter((t) => t > from).sort((a, b) => a - b)[0];
        this.hands.show({ from, to: next ?? item.duration_ns ?? from + 1 }, side);
      },
      title: "Show from this mark to the next",
      chosen: (row) => part !== undefined && part.from === row["t"],
    };
    return {
      content: h("div", {}, marks.length > 0 ? table("Marks", columns, rows, choose) : h("p", {}, "No marks."), caveatList(caveats)),
      csv: tableCsv(columns, rows),
    };
  }
}

/** Caveats with their remedies. */
export function caveatList(caveats: readonly Caveat[], pick?: (caveat: Caveat) => void): HTMLElement {
  if (caveats.length === 0) return h("p", { class: "quiet" }, "No caveats.");
  return h("ul", { class: "caveats" }, ...caveats.map((caveat) => {
    const where = pick && caveat.step !== null && caveat.step !== undefined
      ? button(`Step ${caveat.step}`, () => pick(caveat)) : undefined;
    return h("li", {}, h("b", {}, caveat.text), " ", caveat.remedy ?? "", " ", where);
  }));
}

function processOf(row: Row): [Facet, string] {
  const pid = row["pid"];
  return typeof pid === "number" && pid > 0 ? ["pid", String(pid)] : ["process", String(row["command"] ?? row["process"])];
}

/** Files that had one inode after the other have their number in its upper bits. */
function inodeName(number: number): string {
  const file = Math.floor(number / 2 ** 48);
  const inode = `inode ${number % 2 ** 48}`;
  if (file === 0) return inode;
  return file === 0xffff ? `one of several files of ${inode}` : `file ${file + 1} of ${inode}`;
}

/** A file by its path, else by its inode; a thread with its process. */
function groupName(by: string, row: Row): string | null {
  if (by === "file") {
    const inode = num("inode")(row);
    const device = text("device")(row) ?? NONE;
    return text("path")(row) ?? (inode === null ? "no file" : `${inodeName(inode)} on ${device}`);
  }
  if (by === "cgroup") return text("cgroup")(row) ?? "no cgroup";
  const [tid, thread] = [num("tid")(row), text("thread")(row)];
  const own = thread === null ? String(tid ?? NONE) : `${thread} (${tid ?? NONE})`;
  return `${text("process")(row) ?? NONE}, ${own}`;
}

/** What filters a group; null where the program has no name for it. */
function groupFilter(by: string, row: Row): string | null {
  if (by === "cgroup") return text("cgroup")(row);
  if (by === "thread") return text("tid")(row);
  const inode = num("inode")(row);
  // A path of a renamed file is two; an inode that several files had does not fit into a number.
  return row["path"] === null || row["path"] === undefined
    ? (inode !== null && Number.isSafeInteger(inode) ? String(inode) : null)
    : String(row["path"]).split(" or ")[0] ?? null;
}

const GROUP_HEADS: Record<string, string> = { file: "File", cgroup: "Cgroup", thread: "Thread" };

function cumulative(rows: Row[]): Listed | string {
  const columns: Column<Row>[] = [
    { head: "Stream", value: text("stream") },
    counted("I/Os", "count"),
    amounted("Amount", "amount"),
    shared("Share of all", "share"),
    shared("Share when applied", "normalized"),
    { head: "Alignment", value: num("alignment"), text: (row) => number(num("alignment")(row), "B") },
    { head: "QD", value: num("qd_mean"), text: (row) => number(num("qd_mean")(row)) },
  ];
  if (rows.length === 0) return nothing();
  return { ...listed("Cumulative workload: the I/O streams at or above the threshold", columns, rows), note: "The streams that a derived workload applies, with their shares of all I/Os and of those applied." };
}

function listed(caption: string, columns: Column<Row>[], rows: Row[], choose?: Choice<Row>): Listed {
  return { content: table(caption, columns, rows, choose), csv: tableCsv(columns, rows) };
}

function nothing(): string {
  return "No I/O in this part with these filters. Press Esc to go back.";
}

function rowsOf(answer: Row | undefined, key: string): Row[] {
  const rows = answer?.[key];
  return Array.isArray(rows) ? (rows as Row[]) : [];
}

function text(key: string): (row: Row) => string | null {
  return (row) => (row[key] === null || row[key] === undefined ? null : String(row[key]));
}

function num(key: string): (row: Row) => number | null {
  return (row) => (typeof row[key] === "number" ? (row[key] as number) : null);
}

function nested(outer: string, key: string): (row: Row) => number | null {
  return (row) => {
    const value = (row[outer] as Row | null | undefined)?.[key];
    return typeof value === "number" ? value : null;
  };
}

function per(value: number | null, by: number): number | null {
  return value === null ? null : value / by;
}

function counted(head: string, key: string): Column<Row> {
  return { head, value: num(key), text: (row) => count(num(key)(row)) };
}

function shared(head: string, key: string): Column<Row> {
  return { head, value: num(key), text: (row) => percent(num(key)(row)) };
}

function amounted(head: string, key: string): Column<Row> {
  return { head, value: num(key), text: (row) => amount(num(key)(row)) };
}

function timed(head: string, value: (row: Row) => number | null): Column<Row> {
  return { head, value, text: (row) => span(value(row)) };
}

/** What all I/Os of a row took together: whose I/Os were outstanding how long. */
function summed(mean: (row: Row) => number | null): Column<Row> {
  const value = (row: Row): number | null => {
    const [one, ios] = [mean(row), num("count")(row)];
    return one === null || ios === null ? null : one * ios;
  };
  return { head: "Sum of times", value, text: (row) => span(value(row)) };
}

function plainHead(name: string): string {
  const words = name.replace(/_ns$/, "").replace(/_/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
