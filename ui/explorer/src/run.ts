/** The page of a run, alone or with others laid over it; a run that goes on is asked again. */
import { ask, exported, has, said } from "./answers";
import { itemOf, shortName, type App, type Page } from "./app";
import { button, choice, h } from "./dom";
import { amount, count, lasting, number, span } from "./format";
import { DrawingPanel, TablePanel, type Drawing, type Listed } from "./panel";
import type { Hands } from "./pane";
import { url } from "./query";
import { inside } from "./state";
import { percentiles, seconds, sensors, stepsOver, track, type Named } from "./runs";
import { caveatList } from "./tables";
import { table, tableCsv, type Column } from "./table";
import type { RunAnswer, RunStep, StepAnswer } from "./types";

/** How often a run that goes on is asked. */
const AGAIN_MS = 2000;
/** Tracks that are drawn before the reader asks for all. */
const TRACKS = 9;

export class RunPage implements Page {
  readonly root = h("div", { class: "page" });
  private readonly facts = h("div", { class: "facts", role: "status" });
  private readonly bar = h("div", { class: "bar" });
  private readonly rounds = h("div", { class: "grid" });
  private readonly file = (): string => shortNameOf(this.app);
  private readonly rate = new DrawingPanel("Steps", this.file, "run", 220, this.hands());
  private readonly times = new DrawingPanel("Response time of steps", this.file, "run", 180, this.hands());
  private readonly sense = new DrawingPanel("Temperature and host load", this.file, "run", 150, { zoom: (from, to) => this.zoom(from, to) });
  private readonly list = new TablePanel("Step list", this.file);
  private readonly caveats = h("section", { class: "panel" });
  private readonly detail = h("section", { class: "detail", "aria-label": "Step" });
  private readonly closer = {
    ios: new DrawingPanel("Seconds of the step", this.file, "second", 180, {}),
    rt: new DrawingPanel("Response times by second", this.file, "second", 180, {}),
    nines: new DrawingPanel("Response time by percentile", this.file, undefined, 220, {}),
    table: new TablePanel("Percentiles and disk statistics", this.file),
  };
  private tracks = new Map<string, DrawingPanel>();
  private all = false;
  private runs: Named<RunAnswer>[] = [];
  private timer: number | undefined;
  private closed = false;
  private turn = 0;
  /** What the drawings show. */
  private drawn = "";
  /** The step that was last brought into view. */
  private closely: number | undefined;
  /** The end of the axis of percentiles. */
  private lastNines = 3;

  constructor(private readonly app: App) {
    this.rate.root.dataset["view"] = "steps";
    this.times.root.dataset["view"] = "times";
    this.sense.root.dataset["view"] = "sensors";
    this.list.root.dataset["view"] = "list";
    this.closer.nines.root.dataset["view"] = "nines";
    this.closer.ios.root.dataset["view"] = "seconds";
    this.detail.append(h("h2", {}, "Step"), this.closer.ios.root, this.closer.rt.root, this.closer.nines.root, this.closer.table.root);
    this.root.append(this.facts, this.bar, this.rounds, this.rate.root, this.times.root, this.sense.root, this.detail, this.list.root, this.caveats);
  }

  private hands(): Hands {
    return { pick: (_, x) => this.pickAt(x), zoom: (from, to) => this.zoom(from, to) };
  }

  /** Shows a part of the run, in seconds; the address has nanoseconds, as for captures. */
  private zoom(from: number, to: number): void {
    const part = inside(from * 1e9, to * 1e9, this.end() * 1e9);
    this.app.go({ from: part?.from, to: part?.to });
  }

  update(): void {
    void this.load(false);
  }

  private async load(fresh: boolean): Promise<void> {
    this.turn += 1;
    const turn = this.turn;
    window.clearTimeout(this.timer);
    const { n, runs } = this.app.state;
    const wanted = [n, ...runs].filter((one): one is number => one !== undefined && itemOf(this.app, one)?.kind === "run");
    try {
      const answers = await Promise.all([...new Set(wanted)].map(async (one, place) => {
        const item = itemOf(this.app, one);
        const answer = await ask<RunAnswer>(url("run", { n: one }), fresh || item?.live === true);
        return { name: item ? shortName(item) : String(one), place, answer, n: one };
      }));
      if (this.closed || turn !== this.turn) return;
      this.runs = distinct(answers);
      // A tip under the pointer outlives a refresh that brings nothing new.
      const now = JSON.stringify(answers.map(({ n: one, answer }) => [one, answer.steps.length, answer.tracks, answer.caveats.length, answer.state]));
      if (fresh && now === this.drawn) this.about();
      else this.draw(answers.map((one) => one.n), fresh);
      this.drawn = now;
    } catch (error) {
      if (!this.closed && turn === this.turn) this.facts.replaceChildren(h("p", { class: "notice" }, said(error)));
    }
    if (this.closed || turn !== this.turn || exported()) return;
    const live = this.runs.some((run) => run.answer.state === "live") || wanted.some((one) => itemOf(this.app, one)?.live);
    if (live) this.timer = window.setTimeout(() => void this.load(true), document.hidden ? AGAIN_MS * 5 : AGAIN_MS);
  }

  private draw(numbers: number[], refreshed: boolean): void {
    this.about();
    this.controls();
    this.drawTracks();
    const reach = this.reach();
    const { measure } = this.app.state;
    this.rate.name(measure === "iops" ? "IOPS of steps" : "MB/s of steps");
    void this.rate.load(Promise.resolve(stepsOver(this.runs, measure)), () => reach);
    void this.times.load(Promise.resolve(stepsOver(this.runs, "rt")), () => reach);
    void this.sense.load(Promise.resolve(sensors(this.runs)), () => reach);
    void this.list.load(Promise.resolve(this.listed()));
    const first = this.runs[0]?.answer;
    this.caveats.replaceChildren(h("h3", {}, "Caveats"), caveatList(first?.caveats ?? [], (caveat) => this.app.go({ step: caveat.step ?? undefined })));
    void this.drawStep(numbers, refreshed);
  }

  private reach(): [number, number] {
    const { from, to } = this.app.state;
    return from !== undefined && to !== undefined ? [from / 1e9, to / 1e9] : [0, this.end()];
  }

  private end(): number {
    const ends = this.runs.flatMap(({ answer }) => answer.steps.map((step) => (step.start_s ?? 0) + (step.seconds ?? 0)));
    return ends.reduce((last, one) => Math.max(last, one), 1);
  }

  private about(): void {
    const first = this.runs[0]?.answer;
    if (!first) return;
    const left = first.state === "live" && first.time_left_s !== null && first.time_left_s !== undefined ? `about ${lasting(first.time_left_s)} left` : "";
    const words = [first.procedure, deviceText(first.device), first.state_text ?? first.state, left, `${count(first.steps.length)} steps`].filter(Boolean);
    this.facts.replaceChildren(h("p", { class: "headline" }, words.join(" · ")));
    if (first.counts_flushes) this.facts.append(h("p", { class: "quiet" }, "Flushes count as I/Os, as in the report of a replay."));
    if (first.state === "live") this.facts.append(h("p", { class: "quiet" }, "This run goes on. The page refreshes by itself."));
    if (exported()) this.facts.append(h("p", { class: "notice" }, "Exported page: its numbers are inside. Steps without stored details, and a run that goes on, need steadfast explore."));
  }

  private controls(): void {
    const { state, meta } = this.app;
    const others = meta.items.filter((item) => item.kind === "run" && item.n !== state.n && !state.runs.includes(item.n));
    const select = h("select", { "aria-label": "Overlay a run", onchange: () => {
      if (select.value !== "") this.app.go({ runs: [...state.runs, Number(select.value)] });
    } }, h("option", { value: "" }, "Overlay a run …"), ...others.map((item) => h("option", { value: item.n }, shortName(item))));
    const chips = state.runs.flatMap((n) => {
      const item = itemOf(this.app, n);
      return item ? [button(`${shortName(item)} ×`, () => this.app.go({ runs: state.runs.filter((one) => one !== n) }), { class: "chip", title: "Remove this run" })] : [];
    });
    const [from, to] = this.reach();
    if (state.from !== undefined) {
      chips.push(button(`${lasting(from)} to ${lasting(to)} ×`, () => this.app.go({ from: undefined, to: undefined }), { class: "chip", title: "Show the whole run" }));
    }
    this.bar.replaceChildren(
      choice("Measure", [["iops", "IOPS"], ["mb", "MB/s"]], state.measure, (measure) => this.app.go({ measure })),
      ...(others.length > 0 && !exported() ? [select] : []),
      h("span", { class: "chips" }, ...chips),
    );
  }

  private drawTracks(): void {
    const names = [...new Set(this.runs.flatMap(({ answer }) => answer.tracks.map((one) => one.name)))];
    const shown = this.all ? names : names.slice(0, TRACKS);
    for (const name of shown) {
      if (this.tracks.has(name)) continue;
      const panel = new DrawingPanel(name, this.file, undefined, 190, {});
      panel.root.dataset["view"] = "track";
      this.tracks.set(name, panel);
    }
    const more = names.length > shown.length ? button(`Show all ${names.length} variables`, () => {
      this.all = true;
      this.drawTracks();
    }) : undefined;
    const panels = shown.flatMap((name) => this.tracks.get(name)?.root ?? []);
    const same = panels.length > 0 && panels.every((panel, at) => this.rounds.children[at] === panel) && this.rounds.children.length === panels.length + Number(more !== undefined);
    if (!same) this.rounds.replaceChildren(...panels, ...(more ? [more] : []));
    this.rounds.hidden = panels.length === 0;
    for (const name of shown) {
      const rounds = this.runs.flatMap(({ answer }) => answer.tracks.find((one) => one.name === name)?.rounds.map((each) => each.round) ?? []);
      const reach: [number, number] = [Math.min(1, ...rounds) - 0.5, Math.max(5, ...rounds) + 0.5];
      void this.tracks.get(name)?.load(Promise.resolve(track(name, this.runs)), () => reach);
    }
  }

  private listed(): Listed | string {
    const steps = this.runs[0]?.answer.steps ?? [];
    if (steps.length === 0) return "No step is finished yet.";
    const columns: Column<RunStep>[] = [
      { head: "Step", value: (step) => step.i, text: (step) => `${step.i} ${step.name}` },
      { head: "Place", value: (step) => step.place },
      { head: "Start", value: (step) => step.start_s, text: (step) => lasting(step.start_s) },
      { head: "Time", value: (step) => step.seconds, text: (step) => lasting(step.seconds) },
      { head: "I/Os", value: (step) => step.ios, text: (step) => count(step.ios) },
      { head: "Amount", value: (step) => step.bytes, text: (step) => amount(step.bytes) },
      { head: "IOPS", value: (step) => step.iops, text: (step) => number(step.iops) },
      { head: "MB/s", value: (step) => step.mb_s, text: (step) => number(step.mb_s) },
      { head: "Mean", value: (step) => step.rt_mean_ns, text: (step) => span(step.rt_mean_ns) },
      { head: "99 %", value: (step) => step.rt_p99_ns, text: (step) => span(step.rt_p99_ns) },
      { head: "Maximum", value: (step) => step.rt_max_ns, text: (step) => span(step.rt_max_ns) },
      { head: "Caveats", value: (step) => step.caveats?.length ?? 0, text: (step) => (step.caveats ?? []).map((one) => (typeof one === "string" ? one : one.text)).join("; ") || "–" },
    ];
    const choose = {
      pick: (step: RunStep): void => this.app.go({ step: step.i }),
      title: "Show this step closely",
      chosen: (step: RunStep): boolean => step.i === this.app.state.step,
    };
    return { content: table("Steps in their order", columns, steps, choose), csv: tableCsv(columns, steps) };
  }

  private pickAt(x: number): void {
    const placed = this.runs.flatMap(({ answer }) => answer.steps.filter((step) => step.start_s !== null));
    const nearest = placed.reduce<RunStep | undefined>((best, step) => (!best || Math.abs((step.start_s ?? 0) - x) < Math.abs((best.start_s ?? 0) - x) ? step : best), undefined);
    if (nearest) this.app.go({ step: nearest.i });
  }

  private async drawStep(numbers: number[], refreshed: boolean): Promise<void> {
    const { step } = this.app.state;
    const first = this.runs[0]?.answer.steps.find((one) => one.i === step);
    this.detail.hidden = first === undefined;
    if (step === undefined || first === undefined || refreshed) return;
    const title = this.detail.querySelector("h2");
    if (title) title.textContent = `Step ${step}: ${first.place} ${first.name}`;
    const coming = this.stepAnswers(numbers, step, first);
    const drawn = (make: (found: Named<StepAnswer>[]) => Drawing | string): Promise<Drawing | string> => coming.then(make);
    const long = first.seconds ?? 1;
    const ends = (await coming.catch(() => [])).flatMap(({ answer }) => (answer.intervals["t"] ?? []).map((value) => value ?? 0));
    const time: [number, number] = [Math.min(0, ...ends), Math.max(ends.length > 0 ? 0 : long, ...ends) + 0.5];
    void this.closer.ios.load(drawn((found) => seconds(found, "ios")), () => time);
    void this.closer.rt.load(drawn((found) => seconds(found, "rt")), () => time);
    void this.closer.nines.load(drawn(percentiles), () => [0, this.lastNines]);
    void this.closer.table.load(coming.then((found) => tableOf(found)));
    if (this.closely === step) return;
    this.closely = step;
    this.detail.scrollIntoView({ block: "nearest" });
  }

  /** The same step of every run: that of the same place and name, else none. */
  private async stepAnswers(numbers: number[], i: number, first: RunStep | undefined): Promise<Named<StepAnswer>[]> {
    const found = await Promise.all(this.runs.map(async (run, at) => {
      const same = at === 0 ? i : run.answer.steps.find((one) => one.place === first?.place && one.name === first.name)?.i;
      const n = numbers[at];
      if (same === undefined || n === undefined) return [];
      const address = url("run/step", { n, i: same });
      if (at > 0 && !has(address)) return [];
      return [{ ...run, answer: await ask<StepAnswer>(address) }];
    }));
    const all = found.flat();
    const most = Math.max(10, ...all.map(({ answer }) => answer.histogram.counts.reduce((sum, one) => sum + one, 0)));
    this.lastNines = Math.max(2, Math.min(7, Math.log10(most)));
    return all;
  }

  redraw(): void {
    for (const panel of [this.rate, this.times, this.sense, ...this.tracks.values(), this.closer.ios, this.closer.rt, this.closer.nines]) panel.pane.resize();
    this.update();
  }

  close(): void {
    this.closed = true;
    window.clearTimeout(this.timer);
    for (const panel of [this.rate, this.times, this.sense, ...this.tracks.values(), this.closer.ios, this.closer.rt, this.closer.nines]) panel.pane.destroy();
  }

  key(event: KeyboardEvent): boolean {
    const steps = this.runs[0]?.answer.steps ?? [];
    const at = steps.findIndex((step) => step.i === this.app.state.step);
    const next = event.key === "ArrowRight" ? steps[at + 1] : event.key === "ArrowLeft" ? steps[Math.max(0, at - 1)] : undefined;
    if (next) this.app.go({ step: next.i });
    else if (event.key === "Home") this.app.go({ from: undefined, to: undefined });
    else if (event.key === "m") this.app.go({ measure: this.app.state.measure === "iops" ? "mb" : "iops" });
    else return false;
    return true;
  }
}

function shortNameOf(app: App): string {
  const item = itemOf(app, app.state.n);
  return item ? shortName(item) : "run";
}

/** Runs of one name are told apart by a number. */
function distinct<T extends { name: string }>(runs: T[]): T[] {
  return runs.map((run, at) => {
    const same = runs.filter((other) => other.name === run.name);
    return same.length > 1 ? { ...run, name: `${run.name} (${at + 1})` } : run;
  });
}

function deviceText(device: unknown): string {
  if (typeof device === "string") return device;
  if (device === null || typeof device !== "object") return "";
  const facts = device as Record<string, unknown>;
  const size = typeof facts["capacity"] === "number" ? amount(facts["capacity"]) : "";
  return [facts["model"] ?? facts["name"], facts["path"], size].filter((one): one is string => typeof one === "string" && one !== "").join(", ");
}

function tableOf(found: Named<StepAnswer>[]): Listed | string {
  const first = found[0]?.answer;
  if (!first) return "No details of this step.";
  const columns: Column<[string, ...(number | null)[]]>[] = [
    { head: "Percentile", value: (row) => row[0] },
    ...found.map((run, at) => ({ head: run.name, value: (row: [string, ...(number | null)[]]) => row[at + 1] as number | null, text: (row: [string, ...(number | null)[]]) => span(row[at + 1] as number | null) })),
  ];
  const rows = first.percentiles.map(([p]): [string, ...(number | null)[]] => [`${Number(p.toFixed(6))} %`, ...found.map(({ answer }) => answer.percentiles.find(([q]) => q === p)?.[1] ?? null)]);
  const disk = Object.entries(first.diskstats ?? {}).map(([name, value]): [string, string] => [name.replace(/_/g, " "), typeof value === "number" ? count(value) : String(value ?? "–")]);
  const diskColumns: Column<[string, string]>[] = [{ head: "Disk statistics (/proc/diskstats)", value: (row) => row[0] }, { head: "Value", value: (row) => row[1] }];
  return {
    content: h("div", { class: "pair" }, table("Percentiles", columns, rows),
      disk.length > 0 ? table("Disk statistics of the step", diskColumns, disk) : h("p", { class: "quiet" }, "No disk statistics of this step.")),
    csv: tableCsv(columns, rows) + "\r\n" + tableCsv(diskColumns, disk),
  };
}
