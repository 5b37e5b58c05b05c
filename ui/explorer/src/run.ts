/** The page of a run, alone or with other runs overlaid. Refreshes itself during the run. */
import { getAnswer, isExported, isAvailable, errorMessage } from "./answers";
import { itemOf, shortName, type App, type Page } from "./app";
import { button, buttonGroup, h } from "./dom";
import { formatBytes, formatCount, formatSeconds, formatNumber, formatNs } from "./format";
import { ChartPanel, TablePanel, type Chart, type TableContent } from "./panel";
import type { PaneHandlers } from "./pane";
import { apiUrl } from "./query";
import { clampRange } from "./state";
import { percentilesChart, secondsChart, sensorsChart, stepsChart, trackChart, type NamedRun } from "./runs";
import { caveatList } from "./tables";
import { renderTable, tableCsv, type Column } from "./table";
import type { RunAnswer, RunStep, StepAnswer } from "./types";

/** Interval of refreshes during a run. */
const REFRESH_MS = 2000;
/** Number of tracking variables that are drawn at first. */
const FIRST_TRACKS = 9;

export class RunPage implements Page {
  readonly root = h("div", { class: "page" });
  private readonly facts = h("div", { class: "facts", role: "status" });
  private readonly bar = h("div", { class: "bar" });
  private readonly trackGrid = h("div", { class: "grid" });
  private readonly file = (): string => shortNameOf(this.app);
  private readonly rate = new ChartPanel("Steps", this.file, "run", 220, this.handlers());
  private readonly times = new ChartPanel("Response time of steps", this.file, "run", 180, this.handlers());
  private readonly sensors = new ChartPanel("Temperature and host load", this.file, "run", 150, {
    onZoom: (from, to) => this.zoom(from, to),
  });
  private readonly stepList = new TablePanel("Step list", this.file);
  private readonly caveats = h("section", { class: "panel" });
  private readonly detail = h("section", { class: "detail", "aria-label": "Step" });
  private readonly stepPanels = {
    ios: new ChartPanel("Seconds of the step", this.file, "second", 180, {}),
    rt: new ChartPanel("Response times by second", this.file, "second", 180, {}),
    nines: new ChartPanel("Response time by percentile", this.file, undefined, 220, {}),
    table: new TablePanel("Percentiles and disk statistics", this.file),
  };
  private tracks = new Map<string, ChartPanel>();
  private showAllTracks = false;
  private runs: NamedRun<RunAnswer>[] = [];
  private timer: number | undefined;
  private closed = false;
  private lastLoad = 0;
  /** Fingerprint of the data that was last drawn. */
  private drawnState = "";
  /** Step that was last scrolled into view. */
  private scrolledStep: number | undefined;
  /** End of the percentile axis. */
  private lastNines = 3;

  constructor(private readonly app: App) {
    this.rate.root.dataset["view"] = "steps";
    this.times.root.dataset["view"] = "times";
    this.sensors.root.dataset["view"] = "sensors";
    this.stepList.root.dataset["view"] = "list";
    this.stepPanels.nines.root.dataset["view"] = "nines";
    this.stepPanels.ios.root.dataset["view"] = "seconds";
    this.detail.append(
      h("h2", {}, "Step"),
      this.stepPanels.ios.root,
      this.stepPanels.rt.root,
      this.stepPanels.nines.root,
      this.stepPanels.table.root,
    );
    this.root.append(
      this.facts,
      this.bar,
      this.trackGrid,
      this.rate.root,
      this.times.root,
      this.sensors.root,
      this.detail,
      this.stepList.root,
      this.caveats,
    );
  }

  private handlers(): PaneHandlers {
    return { onClick: (_, x) => this.openNearestStep(x), onZoom: (from, to) => this.zoom(from, to) };
  }

  /** Shows a range of the run given in seconds. The state has nanoseconds, as for captures. */
  private zoom(from: number, to: number): void {
    const range = clampRange(from * 1e9, to * 1e9, this.duration() * 1e9);
    this.app.navigate({ from: range?.from, to: range?.to });
  }

  update(): void {
    void this.load(false);
  }

  private async load(refresh: boolean): Promise<void> {
    this.lastLoad += 1;
    const thisLoad = this.lastLoad;
    window.clearTimeout(this.timer);
    const { n, runs } = this.app.state;
    const wanted = [n, ...runs].filter(
      (one): one is number => one !== undefined && itemOf(this.app, one)?.kind === "run",
    );
    try {
      const answers = await Promise.all(
        [...new Set(wanted)].map(async (n, colorIndex) => {
          const item = itemOf(this.app, n);
          const answer = await getAnswer<RunAnswer>(apiUrl("run", { n }), refresh || item?.live === true);
          return { name: item ? shortName(item) : String(n), colorIndex, answer, n };
        }),
      );
      if (this.closed || thisLoad !== this.lastLoad) return;
      this.runs = withDistinctNames(answers);
      // A refresh without news must not redraw: it would remove the tooltip under the pointer.
      const now = JSON.stringify(
        answers.map(({ n, answer }) => [n, answer.steps.length, answer.tracks, answer.caveats.length, answer.state]),
      );
      if (refresh && now === this.drawnState) this.drawFacts();
      else
        this.draw(
          answers.map((one) => one.n),
          refresh,
        );
      this.drawnState = now;
    } catch (error) {
      if (!this.closed && thisLoad === this.lastLoad)
        this.facts.replaceChildren(h("p", { class: "notice" }, errorMessage(error)));
    }
    if (this.closed || thisLoad !== this.lastLoad || isExported()) return;
    const live =
      this.runs.some((run) => run.answer.state === "live") || wanted.some((one) => itemOf(this.app, one)?.live);
    if (live) this.timer = window.setTimeout(() => void this.load(true), document.hidden ? REFRESH_MS * 5 : REFRESH_MS);
  }

  private draw(numbers: number[], isRefresh: boolean): void {
    this.drawFacts();
    this.drawControls();
    this.drawTracks();
    const xRange = this.xRange();
    const { measure } = this.app.state;
    this.rate.setTitle(measure === "iops" ? "IOPS of steps" : "MB/s of steps");
    void this.rate.load(Promise.resolve(stepsChart(this.runs, measure)), () => xRange);
    void this.times.load(Promise.resolve(stepsChart(this.runs, "rt")), () => xRange);
    void this.sensors.load(Promise.resolve(sensorsChart(this.runs)), () => xRange);
    void this.stepList.load(Promise.resolve(this.stepTable()));
    const first = this.runs[0]?.answer;
    this.caveats.replaceChildren(
      h("h3", {}, "Caveats"),
      caveatList(first?.caveats ?? [], (caveat) => this.app.navigate({ step: caveat.step ?? undefined })),
    );
    void this.drawStep(numbers, isRefresh);
  }

  private xRange(): [number, number] {
    const { from, to } = this.app.state;
    return from !== undefined && to !== undefined ? [from / 1e9, to / 1e9] : [0, this.duration()];
  }

  private duration(): number {
    const ends = this.runs.flatMap(({ answer }) =>
      answer.steps.map((step) => (step.start_s ?? 0) + (step.seconds ?? 0)),
    );
    return ends.reduce((last, item) => Math.max(last, item), 1);
  }

  private drawFacts(): void {
    const first = this.runs[0]?.answer;
    if (!first) return;
    const timeLeft =
      first.state === "live" && first.time_left_s !== null && first.time_left_s !== undefined
        ? `about ${formatSeconds(first.time_left_s)} left`
        : "";
    const facts = [
      first.procedure,
      deviceText(first.device),
      first.state_text ?? first.state,
      timeLeft,
      `${formatCount(first.steps.length)} steps`,
    ].filter(Boolean);
    this.facts.replaceChildren(h("p", { class: "headline" }, facts.join(" · ")));
    if (first.counts_flushes)
      this.facts.append(h("p", { class: "quiet" }, "Flushes count as I/Os, as in the report of a replay."));
    if (first.state === "live")
      this.facts.append(h("p", { class: "quiet" }, "This run is still in progress. The page refreshes by itself."));
    if (isExported())
      this.facts.append(
        h(
          "p",
          { class: "notice" },
          "Exported page: its numbers are inside. Steps without stored details and runs in progress need steadfast explore.",
        ),
      );
  }

  private drawControls(): void {
    const { state, meta } = this.app;
    const others = meta.items.filter(
      (item) => item.kind === "run" && item.n !== state.n && !state.runs.includes(item.n),
    );
    const select = h(
      "select",
      {
        "aria-label": "Overlay a run",
        onchange: () => {
          if (select.value !== "") this.app.navigate({ runs: [...state.runs, Number(select.value)] });
        },
      },
      h("option", { value: "" }, "Overlay a run …"),
      ...others.map((item) => h("option", { value: item.n }, shortName(item))),
    );
    const chips = state.runs.flatMap((n) => {
      const item = itemOf(this.app, n);
      return item
        ? [
            button(`${shortName(item)} ×`, () => this.app.navigate({ runs: state.runs.filter((one) => one !== n) }), {
              class: "chip",
              title: "Remove this run",
            }),
          ]
        : [];
    });
    const [from, to] = this.xRange();
    if (state.from !== undefined) {
      chips.push(
        button(
          `${formatSeconds(from)} to ${formatSeconds(to)} ×`,
          () => this.app.navigate({ from: undefined, to: undefined }),
          { class: "chip", title: "Show the whole run" },
        ),
      );
    }
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
      ...(others.length > 0 && !isExported() ? [select] : []),
      h("span", { class: "chips" }, ...chips),
    );
  }

  private drawTracks(): void {
    const names = [...new Set(this.runs.flatMap(({ answer }) => answer.tracks.map((item) => item.name)))];
    const shown = this.showAllTracks ? names : names.slice(0, FIRST_TRACKS);
    for (const name of shown) {
      if (this.tracks.has(name)) continue;
      const panel = new ChartPanel(name, this.file, undefined, 190, {});
      panel.root.dataset["view"] = "track";
      this.tracks.set(name, panel);
    }
    const showAllButton =
      names.length > shown.length
        ? button(`Show all ${names.length} variables`, () => {
            this.showAllTracks = true;
            this.drawTracks();
          })
        : undefined;
    const panels = shown.flatMap((name) => this.tracks.get(name)?.root ?? []);
    const isUnchanged =
      panels.length > 0 &&
      panels.every((panel, index) => this.trackGrid.children[index] === panel) &&
      this.trackGrid.children.length === panels.length + Number(showAllButton !== undefined);
    if (!isUnchanged) this.trackGrid.replaceChildren(...panels, ...(showAllButton ? [showAllButton] : []));
    this.trackGrid.hidden = panels.length === 0;
    for (const name of shown) {
      const rounds = this.runs.flatMap(
        ({ answer }) => answer.tracks.find((item) => item.name === name)?.rounds.map((each) => each.round) ?? [],
      );
      const roundRange: [number, number] = [Math.min(1, ...rounds) - 0.5, Math.max(5, ...rounds) + 0.5];
      void this.tracks.get(name)?.load(Promise.resolve(trackChart(name, this.runs)), () => roundRange);
    }
  }

  private stepTable(): TableContent | string {
    const steps = this.runs[0]?.answer.steps ?? [];
    if (steps.length === 0) return "No step is finished yet.";
    const columns: Column<RunStep>[] = [
      { header: "Step", value: (step) => step.i, text: (step) => `${step.i} ${step.name}` },
      { header: "Place", value: (step) => step.place },
      { header: "Start", value: (step) => step.start_s, text: (step) => formatSeconds(step.start_s) },
      { header: "Time", value: (step) => step.seconds, text: (step) => formatSeconds(step.seconds) },
      { header: "I/Os", value: (step) => step.ios, text: (step) => formatCount(step.ios) },
      { header: "Amount", value: (step) => step.bytes, text: (step) => formatBytes(step.bytes) },
      { header: "IOPS", value: (step) => step.iops, text: (step) => formatNumber(step.iops) },
      { header: "MB/s", value: (step) => step.mb_s, text: (step) => formatNumber(step.mb_s) },
      { header: "Mean", value: (step) => step.rt_mean_ns, text: (step) => formatNs(step.rt_mean_ns) },
      { header: "99 %", value: (step) => step.rt_p99_ns, text: (step) => formatNs(step.rt_p99_ns) },
      { header: "Maximum", value: (step) => step.rt_max_ns, text: (step) => formatNs(step.rt_max_ns) },
      {
        header: "Caveats",
        value: (step) => step.caveats?.length ?? 0,
        text: (step) =>
          (step.caveats ?? []).map((item) => (typeof item === "string" ? item : item.text)).join("; ") || "–",
      },
    ];
    const selection = {
      onSelect: (step: RunStep): void => this.app.navigate({ step: step.i }),
      title: "Show this step closely",
      isSelected: (step: RunStep): boolean => step.i === this.app.state.step,
    };
    return { content: renderTable("Steps in their order", columns, steps, selection), csv: tableCsv(columns, steps) };
  }

  private openNearestStep(x: number): void {
    const started = this.runs.flatMap(({ answer }) => answer.steps.filter((step) => step.start_s !== null));
    const nearest = started.reduce<RunStep | undefined>(
      (best, step) => (!best || Math.abs((step.start_s ?? 0) - x) < Math.abs((best.start_s ?? 0) - x) ? step : best),
      undefined,
    );
    if (nearest) this.app.navigate({ step: nearest.i });
  }

  private async drawStep(numbers: number[], isRefresh: boolean): Promise<void> {
    const { step } = this.app.state;
    const first = this.runs[0]?.answer.steps.find((item) => item.i === step);
    this.detail.hidden = first === undefined;
    if (step === undefined || first === undefined || isRefresh) return;
    const title = this.detail.querySelector("h2");
    if (title) title.textContent = `Step ${step}: ${first.place} ${first.name}`;
    const pending = this.stepAnswers(numbers, step, first);
    const chartOf = (make: (answers: NamedRun<StepAnswer>[]) => Chart | string): Promise<Chart | string> =>
      pending.then(make);
    const stepSeconds = first.seconds ?? 1;
    const ends = (await pending.catch(() => [])).flatMap(({ answer }) =>
      (answer.intervals["t"] ?? []).map((value) => value ?? 0),
    );
    const timeRange: [number, number] = [
      Math.min(0, ...ends),
      Math.max(ends.length > 0 ? 0 : stepSeconds, ...ends) + 0.5,
    ];
    void this.stepPanels.ios.load(
      chartOf((answers) => secondsChart(answers, "ios")),
      () => timeRange,
    );
    void this.stepPanels.rt.load(
      chartOf((answers) => secondsChart(answers, "rt")),
      () => timeRange,
    );
    void this.stepPanels.nines.load(chartOf(percentilesChart), () => [0, this.lastNines]);
    void this.stepPanels.table.load(pending.then((answers) => stepDetailTable(answers)));
    if (this.scrolledStep === step) return;
    this.scrolledStep = step;
    this.detail.scrollIntoView({ block: "nearest" });
  }

  /** Returns the answers for a step and for the steps of other runs that have the same place and name. */
  private async stepAnswers(numbers: number[], i: number, first: RunStep | undefined): Promise<NamedRun<StepAnswer>[]> {
    const answersByRun = await Promise.all(
      this.runs.map(async (run, index) => {
        const stepIndex =
          index === 0 ? i : run.answer.steps.find((item) => item.place === first?.place && item.name === first.name)?.i;
        const n = numbers[index];
        if (stepIndex === undefined || n === undefined) return [];
        const address = apiUrl("run/step", { n, i: stepIndex });
        if (index > 0 && !isAvailable(address)) return [];
        return [{ ...run, answer: await getAnswer<StepAnswer>(address) }];
      }),
    );
    const answers = answersByRun.flat();
    const mostIos = Math.max(
      10,
      ...answers.map(({ answer }) => answer.histogram.counts.reduce((sum, item) => sum + item, 0)),
    );
    this.lastNines = Math.max(2, Math.min(7, Math.log10(mostIos)));
    return answers;
  }

  redraw(): void {
    for (const panel of [
      this.rate,
      this.times,
      this.sensors,
      ...this.tracks.values(),
      this.stepPanels.ios,
      this.stepPanels.rt,
      this.stepPanels.nines,
    ])
      panel.pane.resize();
    this.update();
  }

  close(): void {
    this.closed = true;
    window.clearTimeout(this.timer);
    for (const panel of [
      this.rate,
      this.times,
      this.sensors,
      ...this.tracks.values(),
      this.stepPanels.ios,
      this.stepPanels.rt,
      this.stepPanels.nines,
    ])
      panel.pane.destroy();
  }

  handleKey(event: KeyboardEvent): boolean {
    const steps = this.runs[0]?.answer.steps ?? [];
    const index = steps.findIndex((step) => step.i === this.app.state.step);
    const next =
      event.key === "ArrowRight"
        ? steps[index + 1]
        : event.key === "ArrowLeft"
          ? steps[Math.max(0, index - 1)]
          : undefined;
    if (next) this.app.navigate({ step: next.i });
    else if (event.key === "Home") this.app.navigate({ from: undefined, to: undefined });
    else if (event.key === "m") this.app.navigate({ measure: this.app.state.measure === "iops" ? "mb" : "iops" });
    else return false;
    return true;
  }
}

function shortNameOf(app: App): string {
  const item = itemOf(app, app.state.n);
  return item ? shortName(item) : "run";
}

/** Appends a number to the names of runs that have the same name. */
function withDistinctNames<T extends { name: string }>(runs: T[]): T[] {
  return runs.map((run, index) => {
    const same = runs.filter((other) => other.name === run.name);
    return same.length > 1 ? { ...run, name: `${run.name} (${index + 1})` } : run;
  });
}

function deviceText(device: unknown): string {
  if (typeof device === "string") return device;
  if (device === null || typeof device !== "object") return "";
  const facts = device as Record<string, unknown>;
  const size = typeof facts["capacity"] === "number" ? formatBytes(facts["capacity"]) : "";
  return [facts["model"] ?? facts["name"], facts["path"], size]
    .filter((item): item is string => typeof item === "string" && item !== "")
    .join(", ");
}

function stepDetailTable(answers: NamedRun<StepAnswer>[]): TableContent | string {
  const first = answers[0]?.answer;
  if (!first) return "No details of this step.";
  const columns: Column<[string, ...(number | null)[]]>[] = [
    { header: "Percentile", value: (row) => row[0] },
    ...answers.map((run, index) => ({
      header: run.name,
      value: (row: [string, ...(number | null)[]]) => row[index + 1] as number | null,
      text: (row: [string, ...(number | null)[]]) => formatNs(row[index + 1] as number | null),
    })),
  ];
  const rows = first.percentiles.map(([p]): [string, ...(number | null)[]] => [
    `${Number(p.toFixed(6))} %`,
    ...answers.map(({ answer }) => answer.percentiles.find(([q]) => q === p)?.[1] ?? null),
  ]);
  const disk = Object.entries(first.diskstats ?? {}).map(([name, value]): [string, string] => [
    name.replace(/_/g, " "),
    typeof value === "number" ? formatCount(value) : String(value ?? "–"),
  ]);
  const diskColumns: Column<[string, string]>[] = [
    { header: "Disk statistics (/proc/diskstats)", value: (row) => row[0] },
    { header: "Value", value: (row) => row[1] },
  ];
  return {
    content: h(
      "div",
      { class: "pair" },
      renderTable("Percentiles", columns, rows),
      disk.length > 0
        ? renderTable("Disk statistics of the step", diskColumns, disk)
        : h("p", { class: "quiet" }, "No disk statistics of this step."),
    ),
    csv: tableCsv(columns, rows) + "\r\n" + tableCsv(diskColumns, disk),
  };
}
