// Made of ui/explorer 2cdc147b13663814 by make ui. Includes uPlot (MIT license, github.com/leeoniya/uPlot).
(function() {
  "use strict";
  function themeButton() {
    const root = document.documentElement;
    const bar = document.createElement("div");
    bar.className = "keys theme";
    const button2 = document.createElement("button");
    button2.type = "button";
    const isDark2 = () => {
      const chosen = root.dataset["theme"];
      return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    };
    const updateLabel = () => {
      button2.textContent = isDark2() ? "Light" : "Dark";
    };
    button2.addEventListener("click", () => {
      root.dataset["theme"] = isDark2() ? "light" : "dark";
      updateLabel();
    });
    updateLabel();
    bar.append(button2);
    return bar;
  }
  function rateFactors(answer, measure) {
    const unit = measure === "iops" ? 1 : 1e-6;
    return answer.observed_ns.map((ns) => typeof ns === "number" && ns > 0 ? unit / (ns * 1e-9) : 0);
  }
  function observedValues(answer, values) {
    return values.map((value, cell2) => typeof answer.observed_ns[cell2] === "number" ? value : null);
  }
  function stackBands(answer, measure, maxBands) {
    const values = measure === "iops" ? answer.ios : answer.bytes;
    const factors = rateFactors(answer, measure);
    const all = answer.keys.map((key, index) => {
      const counts = values[index] ?? [];
      const total = counts.reduce((sum, value) => sum + value, 0);
      return {
        id: String(key.id),
        name: key.name,
        rate: counts.map((value, cell2) => value * (factors[cell2] ?? 0)),
        total,
        others: key.id === "others"
      };
    });
    const named = all.filter((band) => band.total > 0 && !band.others).sort((a, b) => b.total - a.total);
    const kept = named.slice(0, maxBands);
    const rest = [...named.slice(maxBands), ...all.filter((band) => band.others && band.total > 0)];
    if (rest.length === 0) return kept;
    const [only] = rest;
    if (rest.length === 1 && only && !only.others) return [...kept, only];
    return [...kept, mergeBands(rest, answer.cells)];
  }
  function mergeBands(bands, cells) {
    const rate = Array.from({ length: cells }, (_2, cell2) => bands.reduce((sum, band) => sum + (band.rate[cell2] ?? 0), 0));
    return { id: "others", name: "others", rate, total: bands.reduce((sum, band) => sum + band.total, 0), others: true };
  }
  function bandTops(bands) {
    const tops = [];
    bands.forEach((band, index) => {
      const below = tops[index - 1];
      tops.push(band.rate.map((value, cell2) => value + (below?.[cell2] ?? 0)));
    });
    return tops;
  }
  function bandAt(tops, cell2, height) {
    const index = tops.findIndex((top) => height <= (top[cell2] ?? 0));
    return index < 0 || height < 0 ? void 0 : index;
  }
  function totalRate(answer, measure) {
    const values = measure === "iops" ? answer.ios : answer.bytes;
    const factors = rateFactors(answer, measure);
    return Array.from(
      { length: answer.cells },
      (_2, cell2) => values.reduce((sum, key) => sum + (key[cell2] ?? 0), 0) * (factors[cell2] ?? 0)
    );
  }
  const COARSE_CELLS = 300;
  function coarseMean(answer) {
    const group = Math.max(1, Math.ceil(answer.cells / COARSE_CELLS));
    const means = [];
    for (let first = 0; first < answer.cells; first += group) {
      let [ioSum, timeSum] = [0, 0];
      const last = Math.min(answer.cells, first + group);
      for (let cell2 = first; cell2 < last; cell2 += 1) {
        const mean = answer.rt_mean_ns[cell2];
        const ios = answer.ios.reduce((sum, key) => sum + (key[cell2] ?? 0), 0);
        if (mean === null || mean === void 0) continue;
        ioSum += ios;
        timeSum += ios * mean;
      }
      for (let cell2 = first; cell2 < last; cell2 += 1) means.push(ioSum > 0 ? timeSum / ioSum : null);
    }
    return means;
  }
  function cellEdges(answer) {
    return Array.from({ length: answer.cells + 1 }, (_2, cell2) => answer.from + cell2 * answer.width_ns);
  }
  function repeatLast(values) {
    const last = values[values.length - 1];
    return last === void 0 ? [] : [...values, last];
  }
  function maxOf(values) {
    return values.reduce((max2, value) => typeof value === "number" && value > max2 ? value : max2, 0);
  }
  function idleShares(busy) {
    return busy.map((share) => typeof share === "number" ? Math.max(0, 1 - share) : null);
  }
  function cellRange(answer, from, to) {
    const first = Math.min(answer.cells - 1, Math.max(0, Math.floor((from - answer.from) / answer.width_ns)));
    return [first, Math.max(first + 1, Math.min(answer.cells, Math.ceil((to - answer.from) / answer.width_ns)))];
  }
  function sliceSeries(answer, from, to) {
    const [first, last] = cellRange(answer, from, to);
    const out = { ...answer, from: answer.from + first * answer.width_ns, cells: last - first };
    for (const [key, value] of Object.entries(answer)) {
      if (key === "ios" || key === "bytes") out[key] = value.map((row) => row.slice(first, last));
      else if (key !== "keys" && Array.isArray(value)) out[key] = value.slice(first, last);
    }
    return out;
  }
  function sliceHeatMap(answer, from, to) {
    const [first, last] = cellRange(answer, from, to);
    const counts = answer.counts.slice(first * answer.rows, last * answer.rows);
    return { ...answer, from: answer.from + first * answer.width_ns, cells: last - first, counts };
  }
  function alignByX(lines) {
    const x = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
    const rowOfX = new Map(x.map((value, index) => [value, index]));
    const y = lines.map((line) => {
      const out = new Array(x.length).fill(void 0);
      line.x.forEach((value, index) => out[rowOfX.get(value) ?? 0] = line.y[index] ?? null);
      return out;
    });
    return { x, y };
  }
  const MIN_BEYOND = 10;
  function percentileCurve(upper_ns, counts) {
    const total = counts.reduce((sum, value) => sum + value, 0);
    const [x, y] = [[], []];
    let below = 0;
    counts.forEach((value, index) => {
      below += value;
      const edge = upper_ns[index];
      if (value > 0 && total - below >= MIN_BEYOND && edge !== void 0) {
        x.push(nines(below / total));
        y.push(edge);
      }
    });
    return { x, y };
  }
  function nines(share) {
    return -Math.log10(1 - share);
  }
  function findExtreme(answer, span_ns, by) {
    const windowCells = Math.max(1, Math.min(answer.cells, Math.round(span_ns / answer.width_ns)));
    const ios = Array.from(
      { length: answer.cells },
      (_2, cell2) => answer.ios.reduce((sum, key) => sum + (key[cell2] ?? 0), 0)
    );
    let best;
    let bestValue = -1;
    for (let first = 0; first + windowCells <= answer.cells; first += 1) {
      let [ioSum, timeSum] = [0, 0];
      for (let cell2 = first; cell2 < first + windowCells; cell2 += 1) {
        ioSum += ios[cell2] ?? 0;
        timeSum += (ios[cell2] ?? 0) * (answer.rt_mean_ns[cell2] ?? 0);
      }
      const value = by === "busiest" ? ioSum : ioSum > 0 ? timeSum / ioSum : 0;
      if (value > bestValue && ioSum > 0) [best, bestValue] = [first, value];
    }
    if (best === void 0) return void 0;
    const from = answer.from + best * answer.width_ns;
    return { from, to: from + windowCells * answer.width_ns };
  }
  const FACETS = [
    "op",
    "device",
    "layer",
    "process",
    "pid",
    "stream",
    "event",
    "file",
    "cgroup",
    "tid"
  ];
  function noFilters() {
    return { op: [], device: [], layer: [], process: [], pid: [], stream: [], event: [], file: [], cgroup: [], tid: [] };
  }
  function defaultState() {
    return {
      n: void 0,
      filters: noFilters(),
      versus: void 0,
      align: void 0,
      runs: [],
      from: void 0,
      to: void 0,
      measure: "iops",
      by: "stream",
      time: "clock",
      table: "streams",
      hits: "all",
      group: "pid",
      step: void 0
    };
  }
  function parseInteger(text) {
    if (text === null || !/^\d{1,15}$/.test(text)) return void 0;
    return Number(text);
  }
  function oneOf(text, allowed, fallback) {
    return allowed.find((item) => item === text) ?? fallback;
  }
  function parseFilters(params, prefix) {
    const filters = noFilters();
    for (const facet2 of FACETS)
      filters[facet2] = params.getAll(prefix + facet2).filter((text) => text !== "" && text.length < 300);
    return filters;
  }
  function parseHash(hash) {
    const params = new URLSearchParams(hash.replace(/^#/, ""));
    const state = defaultState();
    state.n = parseInteger(params.get("n"));
    state.filters = parseFilters(params, "");
    const versus = parseInteger(params.get("vs"));
    if (versus !== void 0) state.versus = { n: versus, filters: parseFilters(params, "vs.") };
    const align = params.get("align") ?? "";
    if (align.length < 300 && /^(start|clock|mark:.)/.test(align)) state.align = align;
    state.runs = params.getAll("with").flatMap((text) => parseInteger(text) ?? []);
    const [from, to] = [parseInteger(params.get("from")), parseInteger(params.get("to"))];
    if (from !== void 0 && to !== void 0 && from < to) [state.from, state.to] = [from, to];
    state.measure = oneOf(params.get("measure"), ["iops", "mb"], "iops");
    state.by = oneOf(params.get("by"), ["stream", "process"], "stream");
    state.time = oneOf(params.get("time"), ["clock", "start"], "clock");
    state.hits = oneOf(params.get("hits"), ["all", "read", "write"], "all");
    state.group = oneOf(params.get("group"), ["pid", "name"], "pid");
    state.table = params.get("table") ?? "streams";
    state.step = parseInteger(params.get("step"));
    return state;
  }
  function toHash(state) {
    const params = new URLSearchParams();
    const defaults = defaultState();
    if (state.n !== void 0) params.set("n", String(state.n));
    for (const facet2 of FACETS) state.filters[facet2].forEach((value) => params.append(facet2, value));
    if (state.versus) {
      params.set("vs", String(state.versus.n));
      for (const facet2 of FACETS) state.versus.filters[facet2].forEach((value) => params.append(`vs.${facet2}`, value));
    }
    if (state.align !== void 0) params.set("align", state.align);
    state.runs.forEach((n) => params.append("with", String(n)));
    if (state.from !== void 0 && state.to !== void 0) {
      params.set("from", String(state.from));
      params.set("to", String(state.to));
    }
    for (const key of ["measure", "by", "time", "hits", "group", "table"]) {
      if (state[key] !== defaults[key]) params.set(key, state[key]);
    }
    if (state.step !== void 0) params.set("step", String(state.step));
    return `#${params.toString()}`;
  }
  function hasFilters(filters) {
    return FACETS.some((facet2) => filters[facet2].length > 0);
  }
  function toggleFilter(filters, facet2, value) {
    const isOnlyValue = filters[facet2].length === 1 && filters[facet2][0] === value;
    const changed = { ...filters, [facet2]: isOnlyValue ? [] : [value] };
    if (facet2 === "pid") changed.process = [];
    if (facet2 === "process") changed.pid = [];
    if (facet2 === "file") changed.layer = isOnlyValue ? [] : ["filesystem"];
    return changed;
  }
  function removeFilter(filters, facet2, value) {
    return { ...filters, [facet2]: filters[facet2].filter((item) => item !== value) };
  }
  function clampRange(from, to, duration) {
    const low = Math.max(0, Math.floor(Math.min(from, to)));
    const high = Math.min(duration, Math.ceil(Math.max(from, to)));
    if (!(high > low) || low === 0 && high >= duration) return void 0;
    return { from: low, to: high };
  }
  function apiUrl(path, params) {
    const pairs = [];
    for (const key of Object.keys(params).sort()) {
      const value = params[key];
      const values = Array.isArray(value) ? [...value].sort() : value === void 0 ? [] : [String(value)];
      values.forEach((item) => pairs.push(`${key}=${encodeURIComponent(item)}`));
    }
    return pairs.length > 0 ? `api/${path}?${pairs.join("&")}` : `api/${path}`;
  }
  function captureParams(side, from, to) {
    const params = { c: side.n, from, to };
    for (const facet2 of FACETS) params[facet2] = side.filters[facet2];
    return params;
  }
  function wholeCaptureQuery(address) {
    const [path = "", query2 = ""] = address.split("?");
    const pairs = query2.split("&").map((pair) => pair.split("="));
    const numberOf = (key) => Number(pairs.find(([name]) => name === key)?.[1] ?? Number.NaN);
    const [from, to] = [numberOf("from"), numberOf("to")];
    if (!Number.isFinite(from) || !Number.isFinite(to)) return void 0;
    const rest = pairs.filter(([name]) => name !== "from" && name !== "to").map((pair) => pair.join("="));
    return { whole: rest.length > 0 ? `${path}?${rest.join("&")}` : path, from, to };
  }
  class AnswerError extends Error {
  }
  const CACHE_SIZE = 120;
  const cache = /* @__PURE__ */ new Map();
  let embedded;
  function readEmbeddedAnswers() {
    const text = document.getElementById("answers")?.textContent;
    embedded = text ? JSON.parse(text) : void 0;
  }
  function isExported() {
    return embedded !== void 0;
  }
  function isAvailable(address) {
    return embedded === void 0 || address in embedded;
  }
  function getAnswer(address, fresh = false) {
    if (embedded) return Promise.resolve().then(() => embeddedAnswer(address));
    const cached = fresh ? void 0 : cache.get(address);
    if (cached) return cached;
    const answer = fetchJson(address);
    cache.set(address, answer);
    answer.catch(() => cache.delete(address));
    if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value ?? "");
    return answer;
  }
  async function fetchJson(address) {
    let response;
    try {
      response = await fetch(address, { headers: { Accept: "application/json" } });
    } catch {
      throw new AnswerError(
        "steadfast does not answer. It may have been stopped; start steadfast explore again and open the address that it prints."
      );
    }
    const text = await response.text();
    let body;
    try {
      body = JSON.parse(text);
    } catch {
      throw new AnswerError(
        `The answer to ${address} is not JSON (status ${response.status}). Reload the page; use the same version of page and program.`
      );
    }
    const message = body?.error;
    if (!response.ok)
      throw new AnswerError(typeof message === "string" ? message : `Status ${response.status} for ${address}.`);
    return body;
  }
  const NOT_EMBEDDED = "This exported page does not contain this view. Open the file with steadfast explore to filter, compare and count parts of it.";
  function embeddedAnswer(address) {
    const answers = embedded ?? {};
    if (address in answers) return answers[address];
    const range = wholeCaptureQuery(address);
    const whole = range && answers[range.whole];
    if (!range || whole === void 0) throw new AnswerError(NOT_EMBEDDED);
    if (address.startsWith("api/series")) return sliceSeries(whole, range.from, range.to);
    if (address.startsWith("api/heat")) return sliceHeatMap(whole, range.from, range.to);
    throw new AnswerError(
      "This exported page has this table for the whole capture only. Press Esc, or open the file with steadfast explore to count a part."
    );
  }
  function errorMessage(error) {
    return error instanceof AnswerError ? error.message : `The page failed: ${error instanceof Error ? error.message : String(error)}`;
  }
  function itemOf(app, n) {
    return app.meta.items.find((item) => item.n === n);
  }
  function clockOf(app, item) {
    if (app.state.time === "start" || !item.begin_unix_ns) return void 0;
    return { begin_ns: item.begin_unix_ns, zone_s: item.zone_offset_s ?? 0 };
  }
  function shortName(item) {
    return item.name.split(/[/\\]/).filter((part) => part !== "").pop() ?? item.name;
  }
  const START = { align: "start", text: "Align at the start" };
  function alignmentOptions(items) {
    const first = items[0]?.marks ?? [];
    const sharedMarks = [...new Set(first.map((mark) => mark.text))].filter(
      (name) => items.every((item) => firstMark(item, name) !== void 0)
    );
    return [
      START,
      ...overlapInTime(items) ? [{ align: "clock", text: "Align by the clock" }] : [],
      ...sharedMarks.map((name) => ({ align: `mark:${name}`, text: `Align at the mark ${name}` }))
    ];
  }
  function alignCaptures(items, requested) {
    const available = alignmentOptions(items).map((way) => way.align);
    const align = requested !== void 0 && available.includes(requested) ? requested : available.includes("clock") ? "clock" : "start";
    const references = items.map((item) => referenceTime(item, align));
    const base = align === "clock" ? Math.min(...references) : Math.max(...references);
    return { align, shifts: references.map((zero) => Math.round(align === "clock" ? zero - base : base - zero)) };
  }
  function referenceTime(item, align) {
    if (align === "clock") return item.begin_unix_ns ?? 0;
    return align.startsWith("mark:") ? firstMark(item, align.slice(5)) ?? 0 : 0;
  }
  function firstMark(item, name) {
    const times = (item.marks ?? []).filter((mark) => mark.text === name).map((mark) => mark.t);
    return times.length > 0 ? Math.min(...times) : void 0;
  }
  function overlapInTime(items) {
    const begins = items.map((item) => item.begin_unix_ns);
    if (begins.some((begin) => typeof begin !== "number")) return false;
    const starts = begins;
    const ends = items.map((item, index) => (starts[index] ?? 0) + (item.duration_ns ?? 0));
    return items.length > 1 && Math.max(...starts) < Math.min(...ends);
  }
  function captureRange(range, shift, duration) {
    if (!range) return void 0;
    const [from, to] = [Math.max(0, Math.floor(range.from) - shift), Math.min(duration, Math.ceil(range.to) - shift)];
    return to > from ? clampRange(from, to, duration) : "outside";
  }
  function shiftAnswer(answer, shift) {
    return shift === 0 ? answer : { ...answer, from: answer.from + shift };
  }
  function emptySeries(range) {
    const none = [null];
    return {
      from: range.from,
      width_ns: Math.max(1, range.to - range.from),
      cells: 1,
      observed_ns: none,
      keys: [],
      ios: [],
      bytes: [],
      rt_mean_ns: none,
      rt_p50: none,
      rt_p99: none,
      rt_p999: none,
      rt_max: none,
      qd_mean: none,
      qd_max: none,
      busy: none
    };
  }
  function emptyHeatMap(range) {
    return {
      from: range.from,
      width_ns: Math.max(1, range.to - range.from),
      cells: 1,
      rows: 0,
      row_edges: [],
      counts: []
    };
  }
  function h(tag, properties = {}, ...children) {
    const element2 = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (typeof value === "function") element2.addEventListener(name.slice(2), value);
      else if (value === true) element2.setAttribute(name, "");
      else if (value !== void 0 && value !== false) element2.setAttribute(name, String(value));
    }
    element2.append(...children.filter((child) => child !== void 0 && child !== false));
    return element2;
  }
  function button(text, onclick, properties = {}) {
    return h("button", { type: "button", ...properties, onclick }, text);
  }
  function buttonGroup(name, options, selected, onSelect) {
    return h(
      "span",
      { role: "group", "aria-label": name, class: "choice" },
      ...options.map(
        ([value, text]) => button(text, () => onSelect(value), { "aria-pressed": String(value === selected), "data-value": value })
      )
    );
  }
  const SHOWN_MS = 5e3;
  let hideTimer = 0;
  function announce(text) {
    const status = document.getElementById("said");
    if (!status) return;
    status.textContent = text;
    window.clearTimeout(hideTimer);
    hideTimer = window.setTimeout(() => status.textContent = "", SHOWN_MS);
  }
  function download(name, blob) {
    const url = URL.createObjectURL(blob);
    const link = h("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1e4);
  }
  function isDark() {
    const theme = document.documentElement.dataset["theme"];
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  function cssColor(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#222222";
  }
  function isNarrow() {
    return window.innerWidth < 640;
  }
  function showDialog(title, ...content) {
    const close = button("Close", () => element2.close());
    const element2 = h("dialog", { "aria-label": title }, h("header", {}, h("h2", {}, title), close), ...content);
    element2.addEventListener("close", () => element2.remove());
    element2.addEventListener("click", (event) => event.target === element2 && element2.close());
    document.body.append(element2);
    element2.showModal();
    return element2;
  }
  function showTextDialog(title, text, description, file) {
    const status = h("p", { role: "status", class: "quiet" }, description);
    const copyButton = button("Copy", () => void copyText(text, status));
    const saveButton = file ? button("Save", () => download(file.name, new Blob([text], { type: file.type }))) : void 0;
    showDialog(
      title,
      status,
      h("pre", { tabindex: 0 }, text),
      h("div", { class: "tools" }, copyButton, ...saveButton ? [saveButton] : [])
    );
  }
  async function copyText(text, status) {
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = "Copied.";
    } catch {
      status.textContent = "The browser does not allow copying here. Select the text and copy it.";
    }
    announce(status.textContent);
  }
  const KEYS = [
    ["Drag over a drawing", "show this part of the time in every drawing"],
    ["Click a name or an area", "keep only this stream or process; click again to remove the filter"],
    ["Shift-click a name", "compare with this stream, process, capture or run"],
    ["Esc", "back to what was shown before"],
    ["← →", "move the shown part (also in the overview, with Tab)"],
    ["+ −, ↑ ↓ in the overview", "narrower, wider"],
    ["Home", "the whole time"],
    ["S", "the slowest minute"],
    ["B", "the busiest minute"],
    ["M", "IOPS or MB/s"],
    ["P", "by stream or by process"],
    ["?", "this help"]
  ];
  function showHelp(exported) {
    if (document.querySelector("dialog[open]")) return;
    const rows = KEYS.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, what)));
    const footer = exported ? "This page was exported: its numbers are inside, and it needs no program. It cannot filter, compare, recount a part or list single I/Os." : "Everything that is shown is in the address: copy it to return to the same view. Nothing here changes a file or a device.";
    showDialog("Help", h("table", {}, h("tbody", {}, ...rows)), h("p", {}, footer));
  }
  function formatSignificant(value, digits = 4) {
    if (!Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    const power = Math.floor(Math.log10(size));
    const decimals2 = Math.min(9, Math.max(0, digits - 1 - power));
    const [whole = "0", fraction] = size.toFixed(decimals2).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    const tail = fraction === void 0 ? "" : `.${fraction}`.replace(/\.?0+$/, "");
    return `${value < 0 ? "−" : ""}${grouped}${tail}`;
  }
  const NICE_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];
  function niceStep(span) {
    const rough = span / 6;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const factor = rough / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
  }
  function ticks$1(axis) {
    if (axis.log) return logTicks$1(axis);
    if (axis.time !== void 0) return clockTicks(axis, axis.time);
    const step = niceStep(axis.high - axis.low);
    return multiples(step, axis).map((value) => [value, tickLabel$1(value, step)]);
  }
  function multiples(step, axis) {
    const first = Math.ceil(axis.low / step - 1e-9);
    const values = [];
    for (let n = first; n * step <= axis.high + step * 1e-9 && values.length < 50; n += 1) values.push(n * step);
    return values;
  }
  function tickLabel$1(value, step) {
    const rounded = Math.abs(value) < step / 2 ? 0 : value;
    const digits = rounded === 0 ? 1 : Math.floor(Math.log10(Math.abs(rounded))) - Math.floor(Math.log10(step)) + 1;
    return formatSignificant(rounded, Math.max(1, digits));
  }
  function clockTicks(axis, unit) {
    const span = (axis.high - axis.low) * unit;
    const step = span < 6 ? niceStep(span) : NICE_SECONDS.find((one) => span / one <= 8) ?? niceStep(span / 86400) * 86400;
    const isMultipleOf = (seconds) => step % seconds === 0 && unit < seconds;
    if (axis.clock?.length) return timesOfDay(axis, axis.clock, unit, step);
    return multiples(step / unit, axis).map((value) => {
      const seconds = value * unit;
      if (Math.abs(seconds) < step / 1e6) return [0, "0"];
      if (isMultipleOf(3600)) return [value, `${formatSignificant(seconds / 3600)} h`];
      if (isMultipleOf(60)) return [value, `${formatSignificant(seconds / 60, 5)} min`];
      return [value, formatSignificant(value, 6)];
    });
  }
  function timesOfDay(axis, clock, unit, step) {
    return clock.flatMap(([from, ahead], index) => {
      const end = clock[index + 1]?.[0];
      const low = Math.max(axis.low, index > 0 ? from : axis.low) * unit + ahead;
      const high = Math.min(axis.high, end === void 0 ? axis.high : end - step / unit * 1e-6) * unit + ahead;
      const part = { ...axis, low, high };
      return multiples(step, part).map((seconds) => [(seconds - ahead) / unit, timeLabel(seconds, step)]);
    });
  }
  function timeLabel(seconds, step) {
    const decimals2 = step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
    const ticks2 = Math.round(seconds * Math.pow(10, decimals2));
    const perDay = 86400 * Math.pow(10, decimals2);
    if (ticks2 % perDay === 0 && step >= 60) return dateOf(seconds);
    return timeOf(ticks2 / Math.pow(10, decimals2), step >= 60 ? -1 : decimals2);
  }
  function dateOf(seconds) {
    return new Date(Math.floor(seconds / 86400) * 864e5).toISOString().slice(0, 10);
  }
  function timeOf(seconds, decimals2) {
    const rest = seconds - Math.floor(seconds / 86400) * 86400;
    const two = (value) => String(Math.floor(value)).padStart(2, "0");
    const text = `${two(rest / 3600)}:${two(rest / 60 % 60)}`;
    if (decimals2 < 0) return text;
    const part = (rest % 60).toFixed(decimals2);
    return `${text}:${part.padStart(decimals2 > 0 ? decimals2 + 3 : 2, "0")}`;
  }
  function logTicks$1(axis) {
    const decades = Math.log10(axis.high / axis.low);
    const factors = decades > 2.5 ? [1] : [1, 2, 5];
    const out = [];
    for (let power = Math.floor(Math.log10(axis.low)); power <= Math.ceil(Math.log10(axis.high)); power += 1) {
      for (const factor of factors) {
        const value = factor * Math.pow(10, power);
        if (value >= axis.low * 0.999999 && value <= axis.high * 1.000001) out.push([value, formatSignificant(value)]);
      }
    }
    return out;
  }
  function intervalIndex(edges, x) {
    let [low, high] = [0, edges.length - 1];
    while (high - low > 1) {
      const middle = low + high >> 1;
      if ((edges[middle] ?? 0) <= x) low = middle;
      else high = middle;
    }
    return low;
  }
  function nearestIndex(xs, x) {
    if (xs.length === 0) return -1;
    const low = intervalIndex(xs, x);
    const next = xs[low + 1];
    return next !== void 0 && Math.abs(next - x) < Math.abs((xs[low] ?? 0) - x) ? low + 1 : low;
  }
  const NONE = "–";
  function formatCount(value) {
    if (value === null || value === void 0 || !Number.isFinite(value)) return NONE;
    return String(Math.round(Math.abs(value))).replace(/\B(?=(\d{3})+(?!\d))/g, ",").replace(/^/, value < -0.5 ? "−" : "");
  }
  function formatNumber(value, unit = "") {
    if (value === null || value === void 0 || !Number.isFinite(value)) return NONE;
    return unit ? `${formatSignificant(value)} ${unit}` : formatSignificant(value);
  }
  function withUnit(value, units) {
    const size = Math.abs(value);
    const [factor, name] = units.find(([threshold]) => size >= threshold) ?? units[units.length - 1] ?? [1, ""];
    return `${formatSignificant(value / factor)} ${name}`;
  }
  function formatNs(ns) {
    if (ns === null || ns === void 0 || !Number.isFinite(ns)) return NONE;
    if (ns === 0) return "0";
    return withUnit(ns, [
      [1e9, "s"],
      [1e6, "ms"],
      [1e3, "µs"],
      [1, "ns"]
    ]);
  }
  function formatBytes(bytes) {
    if (bytes === null || bytes === void 0 || !Number.isFinite(bytes)) return NONE;
    if (bytes === 0) return "0";
    return withUnit(bytes, [
      [1e12, "TB"],
      [1e9, "GB"],
      [1e6, "MB"],
      [1e3, "kB"],
      [1, "B"]
    ]);
  }
  function formatAxisValue(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    const [factor, name] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
    return `${formatSignificant(value / factor, 3)}${name}`;
  }
  function formatPercent(share) {
    if (share === null || share === void 0 || !Number.isFinite(share)) return NONE;
    return `${formatSignificant(share * 100, 3)} %`;
  }
  function formatSeconds(seconds) {
    if (seconds === null || seconds === void 0 || !Number.isFinite(seconds)) return NONE;
    const whole = Math.round(seconds);
    const [d, h2, m, s] = [
      Math.floor(whole / 86400),
      Math.floor(whole % 86400 / 3600),
      Math.floor(whole % 3600 / 60),
      whole % 60
    ];
    const twoDigits = (value) => String(value).padStart(2, "0");
    if (d > 0) return `${d} d ${twoDigits(h2)} h`;
    if (h2 > 0) return `${h2} h ${twoDigits(m)} min`;
    if (m > 0) return `${m} min ${twoDigits(s)} s`;
    if (whole >= 10 || whole === seconds) return `${s} s`;
    return seconds < 1 ? formatNs(Math.round(seconds * 1e9)) : `${formatSignificant(seconds, 3)} s`;
  }
  const NS = 1e9;
  const DAY_S = 86400;
  function decimals(step_ns) {
    return step_ns >= NS ? 0 : Math.min(9, Math.ceil(-Math.log10(step_ns / NS) - 1e-9));
  }
  function formatTime(ns, clock, step_ns = 1e6) {
    return clock ? formatTimeOfDay(ns, clock, step_ns) : formatSinceStart(ns, step_ns);
  }
  function formatSinceStart(ns, step_ns) {
    const seconds = ns / NS;
    if (step_ns >= 60 * NS && Math.abs(ns % (60 * NS)) < 1) return formatMinutes(Math.round(seconds));
    return `${groupThousands(seconds.toFixed(decimals(step_ns)))} s`;
  }
  function formatMinutes(seconds) {
    if (seconds === 0) return "0";
    const [h2, m] = [Math.floor(seconds / 3600), Math.round(seconds % 3600 / 60)];
    return h2 === 0 ? `${m} min` : m === 0 ? `${h2} h` : `${h2} h ${String(m).padStart(2, "0")}`;
  }
  function groupThousands(text) {
    const [whole = "", fraction] = text.split(".");
    const left = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    return fraction === void 0 ? left : `${left}.${fraction}`;
  }
  function localTime(ns, clock) {
    const base = Math.floor(clock.begin_ns / NS) + clock.zone_s;
    const rest = clock.begin_ns - Math.floor(clock.begin_ns / NS) * NS + ns;
    const seconds = base + Math.floor(rest / NS);
    const day = Math.floor(seconds / DAY_S);
    return { day, ns: (seconds - day * DAY_S) * NS + (rest - Math.floor(rest / NS) * NS) };
  }
  function formatTimeOfDay(ns, clock, step_ns) {
    const digits = decimals(step_ns);
    const unit = NS / Math.pow(10, digits);
    const seconds = Math.round(localTime(ns, clock).ns / unit) * unit / NS % DAY_S;
    const twoDigits = (value) => String(Math.floor(value)).padStart(2, "0");
    const head = `${twoDigits(seconds / 3600)}:${twoDigits(seconds % 3600 / 60)}`;
    if (step_ns >= 60 * NS) return head;
    const s = (seconds % 60).toFixed(digits);
    return `${head}:${s.padStart(digits ? 3 + digits : 2, "0")}`;
  }
  function formatDate(ns, clock) {
    const { day } = localTime(ns, clock);
    return new Date(day * DAY_S * 1e3).toISOString().slice(0, 10);
  }
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];
  function timeTicks(from, to, clock, maxTicks) {
    const seconds = (to - from) / NS;
    const minStep = seconds / Math.max(1, maxTicks);
    const step = minStep < 1 ? subSecondStep(minStep) : STEPS.find((candidate) => candidate >= minStep) ?? Math.ceil(minStep / DAY_S) * DAY_S;
    const step_ns = Math.max(1, step * NS);
    const sinceMidnight = clock ? localTime(0, clock).ns : 0;
    const ticks2 = [];
    for (let n = Math.ceil((from + sinceMidnight) / step_ns - 1e-9); ticks2.length < 60; n += 1) {
      const ns = n * step_ns - sinceMidnight;
      if (ns > to + step_ns * 1e-9) break;
      ticks2.push([ns, tickLabel(ns, clock, step_ns)]);
    }
    return ticks2;
  }
  function subSecondStep(minStep) {
    const step = niceStep(minStep * 6);
    return step >= minStep ? step : step * 2;
  }
  function tickLabel(ns, clock, step_ns) {
    if (!clock) return formatSinceStart(ns, step_ns);
    if (step_ns >= 60 * NS && localTime(ns + NS / 2, clock).ns < NS) return formatDate(ns + NS / 2, clock).slice(5);
    return formatTimeOfDay(ns, clock, step_ns);
  }
  const COLORS = [
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#000000",
    "#b8860b",
    "#56b4e9",
    "#7b3294",
    "#666666",
    "#8c510a"
  ];
  const OTHERS = "#9a9a9a";
  function seriesColor(index, dark) {
    const light = COLORS[index % COLORS.length] ?? "#000000";
    if (!dark) return light;
    return light === "#000000" ? "#f2f2f2" : lighten(light, 0.22);
  }
  function rgb(hex) {
    const channel = (from) => Number.parseInt(hex.slice(from, from + 2), 16) || 0;
    return [channel(1), channel(3), channel(5)];
  }
  function lighten(hex, share) {
    const mixed = rgb(hex).map((c) => Math.round(c + (255 - c) * share));
    return `#${mixed.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
  }
  const LIGHT = ["#d6e6f4", "#7fb8dc", "#0072b2", "#08306b"];
  const DARK = ["#15324a", "#0072b2", "#56b4e9", "#fdf3c0"];
  function heatRamp(dark) {
    const stops = (dark ? DARK : LIGHT).map(rgb);
    return Array.from({ length: 256 }, (_2, index) => {
      const position = index / 255 * (stops.length - 1);
      const low = Math.min(stops.length - 2, Math.floor(position));
      const [a, b] = [stops[low] ?? [0, 0, 0], stops[low + 1] ?? [0, 0, 0]];
      return [0, 1, 2].map((c) => Math.round((a[c] ?? 0) + ((b[c] ?? 0) - (a[c] ?? 0)) * (position - low)));
    });
  }
  function rampIndex(count, maxCount) {
    if (count <= 0) return void 0;
    if (maxCount <= 1) return 255;
    return Math.min(255, Math.round(Math.log(count) / Math.log(maxCount) * 235) + 20);
  }
  function maxCountOf(answer) {
    return answer.counts.reduce((max2, value) => Math.max(max2, value), 0);
  }
  function drawHeatMap(answer, maxCount, dark) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.max(1, answer.cells), Math.max(1, answer.rows)];
    const context = canvas.getContext("2d");
    if (!context) return canvas;
    const pixels = context.createImageData(canvas.width, canvas.height);
    const colors = heatRamp(dark);
    for (let cell2 = 0; cell2 < answer.cells; cell2 += 1) {
      for (let row = 0; row < answer.rows; row += 1) {
        const index = rampIndex(answer.counts[cell2 * answer.rows + row] ?? 0, maxCount);
        if (index === void 0) continue;
        const offset = ((answer.rows - 1 - row) * canvas.width + cell2) * 4;
        pixels.data.set([...colors[index] ?? [0, 0, 0], 255], offset);
      }
    }
    context.putImageData(pixels, 0, 0);
    return canvas;
  }
  function csv(rows) {
    return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  }
  function cell(value) {
    if (value === null || value === void 0) return "";
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  }
  function fileName(...parts) {
    const plain = parts.map((part) => part.replace(/^.*[/\\]/, "").replace(/[^A-Za-z0-9._-]+/g, "-")).join("-");
    return plain.replace(/-+/g, "-").replace(/^[-.]+|-+$/g, "").slice(0, 100) || "view";
  }
  const FEAT_TIME = true;
  const pre = "u-";
  const UPLOT = "uplot";
  const ORI_HZ = pre + "hz";
  const ORI_VT = pre + "vt";
  const TITLE = pre + "title";
  const WRAP = pre + "wrap";
  const UNDER = pre + "under";
  const OVER = pre + "over";
  const AXIS = pre + "axis";
  const OFF = pre + "off";
  const SELECT = pre + "select";
  const CURSOR_X = pre + "cursor-x";
  const CURSOR_Y = pre + "cursor-y";
  const CURSOR_PT = pre + "cursor-pt";
  const LEGEND = pre + "legend";
  const LEGEND_LIVE = pre + "live";
  const LEGEND_INLINE = pre + "inline";
  const LEGEND_SERIES = pre + "series";
  const LEGEND_MARKER = pre + "marker";
  const LEGEND_LABEL = pre + "label";
  const LEGEND_VALUE = pre + "value";
  const WIDTH = "width";
  const HEIGHT = "height";
  const TOP = "top";
  const BOTTOM = "bottom";
  const LEFT = "left";
  const RIGHT = "right";
  const hexBlack = "#000";
  const transparent = hexBlack + "0";
  const mousemove = "mousemove";
  const mousedown = "mousedown";
  const mouseup = "mouseup";
  const mouseenter = "mouseenter";
  const mouseleave = "mouseleave";
  const dblclick = "dblclick";
  const resize = "resize";
  const scroll = "scroll";
  const change = "change";
  const dppxchange = "dppxchange";
  const LEGEND_DISP = "--";
  const domEnv = typeof window != "undefined";
  const doc = domEnv ? document : null;
  const win = domEnv ? window : null;
  const nav = domEnv ? navigator : null;
  let pxRatio;
  let query;
  function setPxRatio() {
    let _pxRatio = devicePixelRatio;
    if (pxRatio != _pxRatio) {
      pxRatio = _pxRatio;
      query && off(change, query, setPxRatio);
      query = matchMedia(`(min-resolution: ${pxRatio - 1e-3}dppx) and (max-resolution: ${pxRatio + 1e-3}dppx)`);
      on(change, query, setPxRatio);
      win.dispatchEvent(new CustomEvent(dppxchange));
    }
  }
  function addClass(el, c) {
    if (c != null) {
      let cl = el.classList;
      !cl.contains(c) && cl.add(c);
    }
  }
  function remClass(el, c) {
    let cl = el.classList;
    cl.contains(c) && cl.remove(c);
  }
  function setStylePx(el, name, value) {
    el.style[name] = value + "px";
  }
  function placeTag(tag, cls, targ, refEl) {
    let el = doc.createElement(tag);
    if (cls != null)
      addClass(el, cls);
    if (targ != null)
      targ.insertBefore(el, refEl);
    return el;
  }
  function placeDiv(cls, targ) {
    return placeTag("div", cls, targ);
  }
  const xformCache = /* @__PURE__ */ new WeakMap();
  function elTrans(el, xPos, yPos, xMax, yMax) {
    let xform = "translate(" + xPos + "px," + yPos + "px)";
    let xformOld = xformCache.get(el);
    if (xform != xformOld) {
      el.style.transform = xform;
      xformCache.set(el, xform);
      if (xPos < 0 || yPos < 0 || xPos > xMax || yPos > yMax)
        addClass(el, OFF);
      else
        remClass(el, OFF);
    }
  }
  const colorCache = /* @__PURE__ */ new WeakMap();
  function elColor(el, background, borderColor) {
    let newColor = background + borderColor;
    let oldColor = colorCache.get(el);
    if (newColor != oldColor) {
      colorCache.set(el, newColor);
      el.style.background = background;
      el.style.borderColor = borderColor;
    }
  }
  const sizeCache = /* @__PURE__ */ new WeakMap();
  function elSize(el, newWid, newHgt, centered) {
    let newSize = newWid + "" + newHgt;
    let oldSize = sizeCache.get(el);
    if (newSize != oldSize) {
      sizeCache.set(el, newSize);
      el.style.height = newHgt + "px";
      el.style.width = newWid + "px";
      el.style.marginLeft = centered ? -newWid / 2 + "px" : 0;
      el.style.marginTop = centered ? -newHgt / 2 + "px" : 0;
    }
  }
  const evOpts = { passive: true };
  const evOpts2 = { ...evOpts, capture: true };
  function on(ev, el, cb, capt) {
    el.addEventListener(ev, cb, capt ? evOpts2 : evOpts);
  }
  function off(ev, el, cb, capt) {
    el.removeEventListener(ev, cb, evOpts);
  }
  domEnv && setPxRatio();
  function closestIdx(num, arr, lo, hi) {
    let mid;
    lo = lo || 0;
    hi = hi || arr.length - 1;
    let bitwise = hi <= 2147483647;
    while (hi - lo > 1) {
      mid = bitwise ? lo + hi >> 1 : floor((lo + hi) / 2);
      if (arr[mid] < num)
        lo = mid;
      else
        hi = mid;
    }
    if (num - arr[lo] <= arr[hi] - num)
      return lo;
    return hi;
  }
  function makeIndexOfs(predicate) {
    let indexOfs = (data, _i0, _i1) => {
      let i0 = -1;
      let i1 = -1;
      for (let i = _i0; i <= _i1; i++) {
        if (predicate(data[i])) {
          i0 = i;
          break;
        }
      }
      for (let i = _i1; i >= _i0; i--) {
        if (predicate(data[i])) {
          i1 = i;
          break;
        }
      }
      return [i0, i1];
    };
    return indexOfs;
  }
  const notNullish = (v) => v != null;
  const isPositive = (v) => v != null && v > 0;
  const nonNullIdxs = makeIndexOfs(notNullish);
  const positiveIdxs = makeIndexOfs(isPositive);
  function getMinMax(data, _i0, _i1, sorted = 0, log = false) {
    let getEdgeIdxs = log ? positiveIdxs : nonNullIdxs;
    let predicate = log ? isPositive : notNullish;
    [_i0, _i1] = getEdgeIdxs(data, _i0, _i1);
    let _min = data[_i0];
    let _max = data[_i0];
    if (_i0 > -1) {
      if (sorted == 1) {
        _min = data[_i0];
        _max = data[_i1];
      } else if (sorted == -1) {
        _min = data[_i1];
        _max = data[_i0];
      } else {
        for (let i = _i0; i <= _i1; i++) {
          let v = data[i];
          if (predicate(v)) {
            if (v < _min)
              _min = v;
            else if (v > _max)
              _max = v;
          }
        }
      }
    }
    return [_min ?? inf, _max ?? -inf];
  }
  function rangeLog(min2, max2, base, fullMags) {
    let minSign = sign(min2);
    let maxSign = sign(max2);
    if (min2 == max2) {
      if (minSign == -1) {
        min2 *= base;
        max2 /= base;
      } else {
        min2 /= base;
        max2 *= base;
      }
    }
    let logFn = base == 10 ? log10 : log2;
    let growMinAbs = minSign == 1 ? floor : ceil;
    let growMaxAbs = maxSign == 1 ? ceil : floor;
    let minExp = growMinAbs(logFn(abs(min2)));
    let maxExp = growMaxAbs(logFn(abs(max2)));
    let minIncr = pow(base, minExp);
    let maxIncr = pow(base, maxExp);
    if (base == 10) {
      if (minExp < 0)
        minIncr = roundDec(minIncr, -minExp);
      if (maxExp < 0)
        maxIncr = roundDec(maxIncr, -maxExp);
    }
    if (fullMags || base == 2) {
      min2 = minIncr * minSign;
      max2 = maxIncr * maxSign;
    } else {
      min2 = incrRoundDn(min2, minIncr);
      max2 = incrRoundUp(max2, maxIncr);
    }
    return [min2, max2];
  }
  function rangeAsinh(min2, max2, base, fullMags) {
    let minMax = rangeLog(min2, max2, base, fullMags);
    if (min2 == 0)
      minMax[0] = 0;
    if (max2 == 0)
      minMax[1] = 0;
    return minMax;
  }
  const rangePad = 0.1;
  const autoRangePart = {
    mode: 3,
    pad: rangePad
  };
  const _eqRangePart = {
    pad: 0,
    soft: null,
    mode: 0
  };
  const _eqRange = {
    min: _eqRangePart,
    max: _eqRangePart
  };
  function rangeNum(_min, _max, mult, extra) {
    if (isObj(mult))
      return _rangeNum(_min, _max, mult);
    _eqRangePart.pad = mult;
    _eqRangePart.soft = extra ? 0 : null;
    _eqRangePart.mode = extra ? 3 : 0;
    return _rangeNum(_min, _max, _eqRange);
  }
  function ifNull(lh, rh) {
    return lh == null ? rh : lh;
  }
  function hasData(data, idx0, idx1) {
    idx0 = ifNull(idx0, 0);
    idx1 = ifNull(idx1, data.length - 1);
    while (idx0 <= idx1) {
      if (data[idx0] != null)
        return true;
      idx0++;
    }
    return false;
  }
  function _rangeNum(_min, _max, cfg) {
    let cmin = cfg.min;
    let cmax = cfg.max;
    let padMin = ifNull(cmin.pad, 0);
    let padMax = ifNull(cmax.pad, 0);
    let hardMin = ifNull(cmin.hard, -inf);
    let hardMax = ifNull(cmax.hard, inf);
    let softMin = ifNull(cmin.soft, inf);
    let softMax = ifNull(cmax.soft, -inf);
    let softMinMode = ifNull(cmin.mode, 0);
    let softMaxMode = ifNull(cmax.mode, 0);
    let delta = _max - _min;
    let deltaMag = log10(delta);
    let scalarMax = max(abs(_min), abs(_max));
    let scalarMag = log10(scalarMax);
    let scalarMagDelta = abs(scalarMag - deltaMag);
    if (delta < 1e-24 || scalarMagDelta > 10) {
      delta = 0;
      if (_min == 0 || _max == 0) {
        delta = 1e-24;
        if (softMinMode == 2 && softMin != inf)
          padMin = 0;
        if (softMaxMode == 2 && softMax != -inf)
          padMax = 0;
      }
    }
    let nonZeroDelta = delta || scalarMax || 1e3;
    let mag = log10(nonZeroDelta);
    let base = pow(10, floor(mag));
    let _padMin = nonZeroDelta * (delta == 0 ? _min == 0 ? 0.1 : 1 : padMin);
    let _newMin = roundDec(incrRoundDn(_min - _padMin, base / 10), 24);
    let _softMin = _min >= softMin && (softMinMode == 1 || softMinMode == 3 && _newMin <= softMin || softMinMode == 2 && _newMin >= softMin) ? softMin : inf;
    let minLim = max(hardMin, _newMin < _softMin && _min >= _softMin ? _softMin : min(_softMin, _newMin));
    let _padMax = nonZeroDelta * (delta == 0 ? _max == 0 ? 0.1 : 1 : padMax);
    let _newMax = roundDec(incrRoundUp(_max + _padMax, base / 10), 24);
    let _softMax = _max <= softMax && (softMaxMode == 1 || softMaxMode == 3 && _newMax >= softMax || softMaxMode == 2 && _newMax <= softMax) ? softMax : -inf;
    let maxLim = min(hardMax, _newMax > _softMax && _max <= _softMax ? _softMax : max(_softMax, _newMax));
    if (minLim == maxLim && minLim == 0)
      maxLim = 100;
    return [minLim, maxLim];
  }
  const numFormatter = new Intl.NumberFormat(domEnv ? nav.language : "en-US");
  const fmtNum = (val) => numFormatter.format(val);
  const M = Math;
  const PI = M.PI;
  const abs = M.abs;
  const floor = M.floor;
  const round = M.round;
  const ceil = M.ceil;
  const min = M.min;
  const max = M.max;
  const pow = M.pow;
  const sign = M.sign;
  const log10 = M.log10;
  const log2 = M.log2;
  const sinh = (v, linthresh = 1) => M.sinh(v) * linthresh;
  const asinh = (v, linthresh = 1) => M.asinh(v / linthresh);
  const inf = Infinity;
  function numIntDigits(x) {
    return (log10((x ^ x >> 31) - (x >> 31)) | 0) + 1;
  }
  function clamp(num, _min, _max) {
    return min(max(num, _min), _max);
  }
  function isFn(v) {
    return typeof v == "function";
  }
  function fnOrSelf(v) {
    return isFn(v) ? v : () => v;
  }
  const noop = () => {
  };
  const retArg0 = (_0) => _0;
  const retArg1 = (_0, _1) => _1;
  const retNull = (_2) => null;
  const retTrue = (_2) => true;
  const retEq = (a, b) => a == b;
  const regex6 = /\.\d*?(?=9{6,}|0{6,})/gm;
  const fixFloat = (val) => {
    if (isInt(val) || fixedDec.has(val))
      return val;
    const str = `${val}`;
    const match = str.match(regex6);
    if (match == null)
      return val;
    let len = match[0].length - 1;
    if (str.indexOf("e-") != -1) {
      let [num, exp] = str.split("e");
      return +`${fixFloat(num)}e${exp}`;
    }
    return roundDec(val, len);
  };
  function incrRound(num, incr) {
    return fixFloat(roundDec(fixFloat(num / incr)) * incr);
  }
  function incrRoundUp(num, incr) {
    return fixFloat(ceil(fixFloat(num / incr)) * incr);
  }
  function incrRoundDn(num, incr) {
    return fixFloat(floor(fixFloat(num / incr)) * incr);
  }
  function roundDec(val, dec = 0) {
    if (isInt(val))
      return val;
    let p = 10 ** dec;
    let n = val * p * (1 + Number.EPSILON);
    return round(n) / p;
  }
  const fixedDec = /* @__PURE__ */ new Map();
  function guessDec(num) {
    return (("" + num).split(".")[1] || "").length;
  }
  function genIncrs(base, minExp, maxExp, mults) {
    let incrs = [];
    let multDec = mults.map(guessDec);
    for (let exp = minExp; exp < maxExp; exp++) {
      let expa = abs(exp);
      let mag = roundDec(pow(base, exp), expa);
      for (let i = 0; i < mults.length; i++) {
        let _incr = base == 10 ? +`${mults[i]}e${exp}` : mults[i] * mag;
        let dec = (exp >= 0 ? 0 : expa) + (exp >= multDec[i] ? 0 : multDec[i]);
        let incr = base == 10 ? _incr : roundDec(_incr, dec);
        incrs.push(incr);
        fixedDec.set(incr, dec);
      }
    }
    return incrs;
  }
  const EMPTY_OBJ = {};
  const EMPTY_ARR = [];
  const nullNullTuple = [null, null];
  const isArr = Array.isArray;
  const isInt = Number.isInteger;
  const isUndef = (v) => v === void 0;
  function isStr(v) {
    return typeof v == "string";
  }
  function isObj(v) {
    let is = false;
    if (v != null) {
      let c = v.constructor;
      is = c == null || c == Object;
    }
    return is;
  }
  function fastIsObj(v) {
    return v != null && typeof v == "object";
  }
  const TypedArray = Object.getPrototypeOf(Uint8Array);
  const __proto__ = "__proto__";
  function copy(o, _isObj = isObj) {
    let out;
    if (isArr(o)) {
      let val = o.find((v) => v != null);
      if (isArr(val) || _isObj(val)) {
        out = Array(o.length);
        for (let i = 0; i < o.length; i++)
          out[i] = copy(o[i], _isObj);
      } else
        out = o.slice();
    } else if (o instanceof TypedArray)
      out = o.slice();
    else if (_isObj(o)) {
      out = {};
      for (let k in o) {
        if (k != __proto__)
          out[k] = copy(o[k], _isObj);
      }
    } else
      out = o;
    return out;
  }
  function assign(targ) {
    let args = arguments;
    for (let i = 1; i < args.length; i++) {
      let src = args[i];
      for (let key in src) {
        if (key != __proto__) {
          if (isObj(targ[key]))
            assign(targ[key], copy(src[key]));
          else
            targ[key] = copy(src[key]);
        }
      }
    }
    return targ;
  }
  const NULL_REMOVE = 0;
  const NULL_RETAIN = 1;
  const NULL_EXPAND = 2;
  function nullExpand(yVals, nullIdxs, alignedLen) {
    for (let i = 0, xi, lastNullIdx = -1; i < nullIdxs.length; i++) {
      let nullIdx = nullIdxs[i];
      if (nullIdx > lastNullIdx) {
        xi = nullIdx - 1;
        while (xi >= 0 && yVals[xi] == null)
          yVals[xi--] = null;
        xi = nullIdx + 1;
        while (xi < alignedLen && yVals[xi] == null)
          yVals[lastNullIdx = xi++] = null;
      }
    }
  }
  function join(tables, nullModes) {
    if (allHeadersSame(tables)) {
      let table = tables[0].slice();
      for (let i = 1; i < tables.length; i++)
        table.push(...tables[i].slice(1));
      if (!isAsc(table[0]))
        table = sortCols(table);
      return table;
    }
    let xVals = /* @__PURE__ */ new Set();
    for (let ti = 0; ti < tables.length; ti++) {
      let t = tables[ti];
      let xs = t[0];
      let len = xs.length;
      for (let i = 0; i < len; i++)
        xVals.add(xs[i]);
    }
    let data = [Array.from(xVals).sort((a, b) => a - b)];
    let alignedLen = data[0].length;
    let xIdxs = /* @__PURE__ */ new Map();
    for (let i = 0; i < alignedLen; i++)
      xIdxs.set(data[0][i], i);
    for (let ti = 0; ti < tables.length; ti++) {
      let t = tables[ti];
      let xs = t[0];
      for (let si = 1; si < t.length; si++) {
        let ys = t[si];
        let yVals = Array(alignedLen).fill(void 0);
        let nullMode = nullModes ? nullModes[ti][si] : NULL_RETAIN;
        let nullIdxs = [];
        for (let i = 0; i < ys.length; i++) {
          let yVal = ys[i];
          let alignedIdx = xIdxs.get(xs[i]);
          if (yVal === null) {
            if (nullMode != NULL_REMOVE) {
              yVals[alignedIdx] = yVal;
              if (nullMode == NULL_EXPAND)
                nullIdxs.push(alignedIdx);
            }
          } else
            yVals[alignedIdx] = yVal;
        }
        nullExpand(yVals, nullIdxs, alignedLen);
        data.push(yVals);
      }
    }
    return data;
  }
  const microTask = typeof queueMicrotask == "undefined" ? (fn) => Promise.resolve().then(fn) : queueMicrotask;
  function sortCols(table) {
    let head = table[0];
    let rlen = head.length;
    let idxs = Array(rlen);
    for (let i = 0; i < idxs.length; i++)
      idxs[i] = i;
    idxs.sort((i0, i1) => head[i0] - head[i1]);
    let table2 = [];
    for (let i = 0; i < table.length; i++) {
      let row = table[i];
      let row2 = Array(rlen);
      for (let j = 0; j < rlen; j++)
        row2[j] = row[idxs[j]];
      table2.push(row2);
    }
    return table2;
  }
  function allHeadersSame(tables) {
    let vals0 = tables[0][0];
    let len0 = vals0.length;
    for (let i = 1; i < tables.length; i++) {
      let vals1 = tables[i][0];
      if (vals1.length != len0)
        return false;
      if (vals1 != vals0) {
        for (let j = 0; j < len0; j++) {
          if (vals1[j] != vals0[j])
            return false;
        }
      }
    }
    return true;
  }
  function isAsc(vals, samples = 100) {
    const len = vals.length;
    if (len <= 1)
      return true;
    let firstIdx = 0;
    let lastIdx = len - 1;
    while (firstIdx <= lastIdx && vals[firstIdx] == null)
      firstIdx++;
    while (lastIdx >= firstIdx && vals[lastIdx] == null)
      lastIdx--;
    if (lastIdx <= firstIdx)
      return true;
    const stride = max(1, floor((lastIdx - firstIdx + 1) / samples));
    for (let prevVal = vals[firstIdx], i = firstIdx + stride; i <= lastIdx; i += stride) {
      const v = vals[i];
      if (v != null) {
        if (v <= prevVal)
          return false;
        prevVal = v;
      }
    }
    return true;
  }
  const months = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December"
  ];
  const days = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday"
  ];
  function slice3(str) {
    return str.slice(0, 3);
  }
  const days3 = days.map(slice3);
  const months3 = months.map(slice3);
  const engNames = {
    MMMM: months,
    MMM: months3,
    WWWW: days,
    WWW: days3
  };
  function zeroPad2(int) {
    return (int < 10 ? "0" : "") + int;
  }
  function zeroPad3(int) {
    return (int < 10 ? "00" : int < 100 ? "0" : "") + int;
  }
  const subs = {
    // 2019
    YYYY: (d) => d.getFullYear(),
    // 19
    YY: (d) => (d.getFullYear() + "").slice(2),
    // July
    MMMM: (d, names) => names.MMMM[d.getMonth()],
    // Jul
    MMM: (d, names) => names.MMM[d.getMonth()],
    // 07
    MM: (d) => zeroPad2(d.getMonth() + 1),
    // 7
    M: (d) => d.getMonth() + 1,
    // 09
    DD: (d) => zeroPad2(d.getDate()),
    // 9
    D: (d) => d.getDate(),
    // Monday
    WWWW: (d, names) => names.WWWW[d.getDay()],
    // Mon
    WWW: (d, names) => names.WWW[d.getDay()],
    // 03
    HH: (d) => zeroPad2(d.getHours()),
    // 3
    H: (d) => d.getHours(),
    // 9 (12hr, unpadded)
    h: (d) => {
      let h2 = d.getHours();
      return h2 == 0 ? 12 : h2 > 12 ? h2 - 12 : h2;
    },
    // AM
    AA: (d) => d.getHours() >= 12 ? "PM" : "AM",
    // am
    aa: (d) => d.getHours() >= 12 ? "pm" : "am",
    // a
    a: (d) => d.getHours() >= 12 ? "p" : "a",
    // 09
    mm: (d) => zeroPad2(d.getMinutes()),
    // 9
    m: (d) => d.getMinutes(),
    // 09
    ss: (d) => zeroPad2(d.getSeconds()),
    // 9
    s: (d) => d.getSeconds(),
    // 374
    fff: (d) => zeroPad3(d.getMilliseconds())
  };
  function fmtDate(tpl, names) {
    names = names || engNames;
    let parts = [];
    let R = /\{([a-z]+)\}|[^{]+/gi, m;
    while (m = R.exec(tpl))
      parts.push(m[0][0] == "{" ? subs[m[1]] : m[0]);
    return (d) => {
      let out = "";
      for (let i = 0; i < parts.length; i++)
        out += typeof parts[i] == "string" ? parts[i] : parts[i](d, names);
      return out;
    };
  }
  const localTz = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  function tzDate(date, tz) {
    let date2;
    if (tz == "UTC" || tz == "Etc/UTC")
      date2 = new Date(+date + date.getTimezoneOffset() * 6e4);
    else if (tz == localTz)
      date2 = date;
    else {
      date2 = new Date(date.toLocaleString("en-US", { timeZone: tz }));
      date2.setMilliseconds(date.getMilliseconds());
    }
    return date2;
  }
  const onlyWhole = (v) => v % 1 == 0;
  const allMults = [1, 2, 2.5, 5];
  const decIncrs = genIncrs(10, -32, 0, allMults);
  const oneIncrs = genIncrs(10, 0, 32, allMults);
  const wholeIncrs = oneIncrs.filter(onlyWhole);
  const numIncrs = decIncrs.concat(oneIncrs);
  const NL = "\n";
  const yyyy = "{YYYY}";
  const NLyyyy = NL + yyyy;
  const md = "{M}/{D}";
  const NLmd = NL + md;
  const NLmdyy = NLmd + "/{YY}";
  const aa = "{aa}";
  const hmm = "{h}:{mm}";
  const hmmaa = hmm + aa;
  const NLhmmaa = NL + hmmaa;
  const ss = ":{ss}";
  const _ = null;
  function genTimeStuffs(ms) {
    let s = ms * 1e3, m = s * 60, h2 = m * 60, d = h2 * 24, mo = d * 30, y = d * 365;
    let subSecIncrs = ms == 1 ? genIncrs(10, 0, 3, allMults).filter(onlyWhole) : genIncrs(10, -3, 0, allMults);
    let timeIncrs = subSecIncrs.concat([
      // minute divisors (# of secs)
      s,
      s * 5,
      s * 10,
      s * 15,
      s * 30,
      // hour divisors (# of mins)
      m,
      m * 5,
      m * 10,
      m * 15,
      m * 30,
      // day divisors (# of hrs)
      h2,
      h2 * 2,
      h2 * 3,
      h2 * 4,
      h2 * 6,
      h2 * 8,
      h2 * 12,
      // month divisors TODO: need more?
      d,
      d * 2,
      d * 3,
      d * 4,
      d * 5,
      d * 6,
      d * 7,
      d * 8,
      d * 9,
      d * 10,
      d * 15,
      // year divisors (# months, approx)
      mo,
      mo * 2,
      mo * 3,
      mo * 4,
      mo * 6,
      // century divisors
      y,
      y * 2,
      y * 5,
      y * 10,
      y * 25,
      y * 50,
      y * 100
    ]);
    const _timeAxisStamps = [
      //   tick incr    default          year                    month   day                   hour    min       sec   mode
      [y, yyyy, _, _, _, _, _, _, 1],
      [d * 28, "{MMM}", NLyyyy, _, _, _, _, _, 1],
      [d, md, NLyyyy, _, _, _, _, _, 1],
      [h2, "{h}" + aa, NLmdyy, _, NLmd, _, _, _, 1],
      [m, hmmaa, NLmdyy, _, NLmd, _, _, _, 1],
      [s, ss, NLmdyy + " " + hmmaa, _, NLmd + " " + hmmaa, _, NLhmmaa, _, 1],
      [ms, ss + ".{fff}", NLmdyy + " " + hmmaa, _, NLmd + " " + hmmaa, _, NLhmmaa, _, 1]
    ];
    function timeAxisSplits(tzDate2) {
      return (self, axisIdx, scaleMin, scaleMax, foundIncr, foundSpace) => {
        let splits = [];
        let isYr = foundIncr >= y;
        let isMo = foundIncr >= mo && foundIncr < y;
        let minDate = tzDate2(scaleMin);
        let minDateTs = roundDec(minDate * ms, 3);
        let minMin = mkDate(minDate.getFullYear(), isYr ? 0 : minDate.getMonth(), isMo || isYr ? 1 : minDate.getDate());
        let minMinTs = roundDec(minMin * ms, 3);
        if (isMo || isYr) {
          let moIncr = isMo ? foundIncr / mo : 0;
          let yrIncr = isYr ? foundIncr / y : 0;
          let split = minDateTs == minMinTs ? minDateTs : roundDec(mkDate(minMin.getFullYear() + yrIncr, minMin.getMonth() + moIncr, 1) * ms, 3);
          let splitDate = new Date(round(split / ms));
          let baseYear = splitDate.getFullYear();
          let baseMonth = splitDate.getMonth();
          for (let i = 0; split <= scaleMax; i++) {
            let next = mkDate(baseYear + yrIncr * i, baseMonth + moIncr * i, 1);
            let offs = next - tzDate2(roundDec(next * ms, 3));
            split = roundDec((+next + offs) * ms, 3);
            if (split <= scaleMax)
              splits.push(split);
          }
        } else {
          let incr0 = foundIncr >= d ? d : foundIncr;
          let tzOffset = floor(scaleMin) - floor(minDateTs);
          let split = minMinTs + tzOffset + incrRoundUp(minDateTs - minMinTs, incr0);
          splits.push(split);
          let date0 = tzDate2(split);
          let prevHour = date0.getHours() + date0.getMinutes() / m + date0.getSeconds() / h2;
          let incrHours = foundIncr / h2;
          let minSpace = self.axes[axisIdx]._space;
          let pctSpace = foundSpace / minSpace;
          while (1) {
            split = roundDec(split + foundIncr, ms == 1 ? 0 : 3);
            if (split > scaleMax)
              break;
            if (incrHours > 1) {
              let expectedHour = floor(roundDec(prevHour + incrHours, 6)) % 24;
              let splitDate = tzDate2(split);
              let actualHour = splitDate.getHours();
              let dstShift = actualHour - expectedHour;
              if (dstShift > 1)
                dstShift = -1;
              split -= dstShift * h2;
              prevHour = (prevHour + incrHours) % 24;
              let prevSplit = splits[splits.length - 1];
              let pctIncr = roundDec((split - prevSplit) / foundIncr, 3);
              if (pctIncr * pctSpace >= 0.7)
                splits.push(split);
            } else
              splits.push(split);
          }
        }
        return splits;
      };
    }
    return [
      timeIncrs,
      _timeAxisStamps,
      timeAxisSplits
    ];
  }
  const [timeIncrsMs, _timeAxisStampsMs, timeAxisSplitsMs] = genTimeStuffs(1);
  const [timeIncrsS, _timeAxisStampsS, timeAxisSplitsS] = genTimeStuffs(1e-3);
  genIncrs(2, -53, 53, [1]);
  function timeAxisStamps(stampCfg, fmtDate2) {
    return stampCfg.map((s) => s.map(
      (v, i) => i == 0 || i == 8 || v == null ? v : fmtDate2(i == 1 || s[8] == 0 ? v : s[1] + v)
    ));
  }
  function timeAxisVals(tzDate2, stamps) {
    return (self, splits, axisIdx, foundSpace, foundIncr) => {
      let s = stamps.find((s2) => foundIncr >= s2[0]) || stamps[stamps.length - 1];
      let prevYear;
      let prevMnth;
      let prevDate;
      let prevHour;
      let prevMins;
      let prevSecs;
      return splits.map((split) => {
        let date = tzDate2(split);
        let newYear = date.getFullYear();
        let newMnth = date.getMonth();
        let newDate = date.getDate();
        let newHour = date.getHours();
        let newMins = date.getMinutes();
        let newSecs = date.getSeconds();
        let stamp = newYear != prevYear && s[2] || newMnth != prevMnth && s[3] || newDate != prevDate && s[4] || newHour != prevHour && s[5] || newMins != prevMins && s[6] || newSecs != prevSecs && s[7] || s[1];
        prevYear = newYear;
        prevMnth = newMnth;
        prevDate = newDate;
        prevHour = newHour;
        prevMins = newMins;
        prevSecs = newSecs;
        return stamp(date);
      });
    };
  }
  function timeAxisVal(tzDate2, dateTpl) {
    let stamp = fmtDate(dateTpl);
    return (self, splits, axisIdx, foundSpace, foundIncr) => splits.map((split) => stamp(tzDate2(split)));
  }
  function mkDate(y, m, d) {
    return new Date(y, m, d);
  }
  function timeSeriesStamp(stampCfg, fmtDate2) {
    return fmtDate2(stampCfg);
  }
  const _timeSeriesStamp = "{YYYY}-{MM}-{DD} {h}:{mm}{aa}";
  function timeSeriesVal(tzDate2, stamp) {
    return (self, val, seriesIdx, dataIdx) => dataIdx == null ? LEGEND_DISP : stamp(tzDate2(val));
  }
  function legendStroke(self, seriesIdx) {
    let s = self.series[seriesIdx];
    return s.width ? s.stroke(self, seriesIdx) : s.points.width ? s.points.stroke(self, seriesIdx) : null;
  }
  function legendFill(self, seriesIdx) {
    return self.series[seriesIdx].fill(self, seriesIdx);
  }
  const legendOpts = {
    show: true,
    live: true,
    isolate: false,
    mount: noop,
    markers: {
      show: true,
      width: 2,
      stroke: legendStroke,
      fill: legendFill,
      dash: "solid"
    },
    idx: null,
    idxs: null,
    values: []
  };
  function cursorPointShow(self, si) {
    let o = self.cursor.points;
    let pt = placeDiv();
    let size = o.size(self, si);
    setStylePx(pt, WIDTH, size);
    setStylePx(pt, HEIGHT, size);
    let mar = size / -2;
    setStylePx(pt, "marginLeft", mar);
    setStylePx(pt, "marginTop", mar);
    let width = o.width(self, si, size);
    width && setStylePx(pt, "borderWidth", width);
    return pt;
  }
  function cursorPointFill(self, si) {
    let sp = self.series[si].points;
    return sp._fill || sp._stroke;
  }
  function cursorPointStroke(self, si) {
    let sp = self.series[si].points;
    return sp._stroke || sp._fill;
  }
  function cursorPointSize(self, si) {
    let sp = self.series[si].points;
    return sp.size;
  }
  const moveTuple = [0, 0];
  function cursorMove(self, mouseLeft1, mouseTop1) {
    moveTuple[0] = mouseLeft1;
    moveTuple[1] = mouseTop1;
    return moveTuple;
  }
  function filtBtn0(self, targ, handle, onlyTarg = true) {
    return (e) => {
      e.button == 0 && (!onlyTarg || e.target == targ) && handle(e);
    };
  }
  function filtTarg(self, targ, handle, onlyTarg = true) {
    return (e) => {
      (!onlyTarg || e.target == targ) && handle(e);
    };
  }
  const cursorOpts = {
    show: true,
    x: true,
    y: true,
    lock: false,
    move: cursorMove,
    points: {
      one: false,
      show: cursorPointShow,
      size: cursorPointSize,
      width: 0,
      stroke: cursorPointStroke,
      fill: cursorPointFill
    },
    bind: {
      mousedown: filtBtn0,
      mouseup: filtBtn0,
      click: filtBtn0,
      // legend clicks, not .u-over clicks
      dblclick: filtBtn0,
      mousemove: filtTarg,
      mouseleave: filtTarg,
      mouseenter: filtTarg
    },
    drag: {
      setScale: true,
      x: true,
      y: false,
      dist: 0,
      uni: null,
      click: (self, e) => {
        e.stopPropagation();
        e.stopImmediatePropagation();
      },
      _x: false,
      _y: false
    },
    focus: {
      dist: (self, seriesIdx, dataIdx, valPos, curPos) => valPos - curPos,
      prox: -1,
      bias: 0
    },
    hover: {
      skip: [void 0],
      prox: null,
      bias: 0
    },
    left: -10,
    top: -10,
    idx: null,
    dataIdx: null,
    idxs: null,
    event: null
  };
  const axisLines = {
    show: true,
    stroke: "rgba(0,0,0,0.07)",
    width: 2
    //	dash: [],
  };
  const grid = assign({}, axisLines, {
    filter: retArg1
  });
  const ticks = assign({}, grid, {
    size: 10
  });
  const border = assign({}, axisLines, {
    show: false
  });
  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif, "Apple Color Emoji", "Segoe UI Emoji", "Segoe UI Symbol", "Noto Color Emoji"';
  const labelFont = "bold " + font;
  const lineGap = 1.5;
  const xAxisOpts = {
    show: true,
    scale: "x",
    stroke: hexBlack,
    space: 50,
    gap: 5,
    alignTo: 1,
    size: 50,
    labelGap: 0,
    labelSize: 30,
    labelFont,
    side: 2,
    //	class: "x-vals",
    //	incrs: timeIncrs,
    //	values: timeVals,
    //	filter: retArg1,
    grid,
    ticks,
    border,
    font,
    lineGap,
    rotate: 0
  };
  const numSeriesLabel = "Value";
  const timeSeriesLabel = "Time";
  const xSeriesOpts = {
    show: true,
    scale: "x",
    auto: false,
    sorted: 1,
    //	label: "Time",
    //	value: v => stamp(new Date(v * 1e3)),
    // internal caches
    min: inf,
    max: -inf,
    idxs: []
  };
  function numAxisVals(self, splits, axisIdx, foundSpace, foundIncr) {
    return splits.map((v) => v == null ? "" : fmtNum(v));
  }
  function numAxisSplits(self, axisIdx, scaleMin, scaleMax, foundIncr, foundSpace, forceMin) {
    let splits = [];
    let numDec = fixedDec.get(foundIncr) || 0;
    scaleMin = forceMin ? scaleMin : roundDec(incrRoundUp(scaleMin, foundIncr), numDec);
    for (let val = scaleMin; val <= scaleMax; val = roundDec(val + foundIncr, numDec))
      splits.push(Object.is(val, -0) ? 0 : val);
    return splits;
  }
  function logAxisSplits(self, axisIdx, scaleMin, scaleMax, foundIncr, foundSpace, forceMin) {
    const splits = [];
    const logBase = self.scales[self.axes[axisIdx].scale].log;
    const logFn = logBase == 10 ? log10 : log2;
    const exp = floor(logFn(scaleMin));
    foundIncr = pow(logBase, exp);
    if (logBase == 10)
      foundIncr = numIncrs[closestIdx(foundIncr, numIncrs)];
    let split = scaleMin;
    let nextMagIncr = foundIncr * logBase;
    if (logBase == 10)
      nextMagIncr = numIncrs[closestIdx(nextMagIncr, numIncrs)];
    do {
      splits.push(split);
      split = split + foundIncr;
      if (logBase == 10 && !fixedDec.has(split))
        split = roundDec(split, fixedDec.get(foundIncr));
      if (split >= nextMagIncr) {
        foundIncr = split;
        nextMagIncr = foundIncr * logBase;
        if (logBase == 10)
          nextMagIncr = numIncrs[closestIdx(nextMagIncr, numIncrs)];
      }
    } while (split <= scaleMax);
    return splits;
  }
  function asinhAxisSplits(self, axisIdx, scaleMin, scaleMax, foundIncr, foundSpace, forceMin) {
    let sc = self.scales[self.axes[axisIdx].scale];
    let linthresh = sc.asinh;
    let posSplits = scaleMax > linthresh ? logAxisSplits(self, axisIdx, max(linthresh, scaleMin), scaleMax, foundIncr) : [linthresh];
    let zero = scaleMax >= 0 && scaleMin <= 0 ? [0] : [];
    let negSplits = scaleMin < -linthresh ? logAxisSplits(self, axisIdx, max(linthresh, -scaleMax), -scaleMin, foundIncr) : [linthresh];
    return negSplits.reverse().map((v) => -v).concat(zero, posSplits);
  }
  const RE_ALL = /./;
  const RE_12357 = /[12357]/;
  const RE_125 = /[125]/;
  const RE_1 = /1/;
  const _filt = (splits, distr, re, keepMod) => splits.map((v, i) => distr == 4 && v == 0 || i % keepMod == 0 && re.test(v.toExponential()[v < 0 ? 1 : 0]) ? v : null);
  function log10AxisValsFilt(self, splits, axisIdx, foundSpace, foundIncr) {
    let axis = self.axes[axisIdx];
    let scaleKey = axis.scale;
    let sc = self.scales[scaleKey];
    let valToPos = self.valToPos;
    let minSpace = axis._space;
    let _10 = valToPos(10, scaleKey);
    let re = valToPos(9, scaleKey) - _10 >= minSpace ? RE_ALL : valToPos(7, scaleKey) - _10 >= minSpace ? RE_12357 : valToPos(5, scaleKey) - _10 >= minSpace ? RE_125 : RE_1;
    if (re == RE_1) {
      let magSpace = abs(valToPos(1, scaleKey) - _10);
      if (magSpace < minSpace)
        return _filt(splits.slice().reverse(), sc.distr, re, ceil(minSpace / magSpace)).reverse();
    }
    return _filt(splits, sc.distr, re, 1);
  }
  function log2AxisValsFilt(self, splits, axisIdx, foundSpace, foundIncr) {
    let axis = self.axes[axisIdx];
    let scaleKey = axis.scale;
    let minSpace = axis._space;
    let valToPos = self.valToPos;
    let magSpace = abs(valToPos(1, scaleKey) - valToPos(2, scaleKey));
    if (magSpace < minSpace)
      return _filt(splits.slice().reverse(), 3, RE_ALL, ceil(minSpace / magSpace)).reverse();
    return splits;
  }
  function numSeriesVal(self, val, seriesIdx, dataIdx) {
    return dataIdx == null ? LEGEND_DISP : val == null ? "" : fmtNum(val);
  }
  const yAxisOpts = {
    show: true,
    scale: "y",
    stroke: hexBlack,
    space: 30,
    gap: 5,
    alignTo: 1,
    size: 50,
    labelGap: 0,
    labelSize: 30,
    labelFont,
    side: 3,
    //	class: "y-vals",
    //	incrs: numIncrs,
    //	values: (vals, space) => vals,
    //	filter: retArg1,
    grid,
    ticks,
    border,
    font,
    lineGap,
    rotate: 0
  };
  function ptDia(width, mult) {
    let dia = 3 + (width || 1) * 2;
    return roundDec(dia * mult, 3);
  }
  function seriesPointsShow(self, si) {
    let { scale, idxs } = self.series[0];
    let xData = self._data[0];
    let p0 = self.valToPos(xData[idxs[0]], scale, true);
    let p1 = self.valToPos(xData[idxs[1]], scale, true);
    let dim = abs(p1 - p0);
    let s = self.series[si];
    let maxPts = dim / (s.points.space * pxRatio);
    return idxs[1] - idxs[0] <= maxPts;
  }
  const facet = {
    scale: null,
    auto: true,
    sorted: 0,
    // internal caches
    min: inf,
    max: -inf
  };
  const gaps = (self, seriesIdx, idx0, idx1, nullGaps) => nullGaps;
  const xySeriesOpts = {
    show: true,
    auto: true,
    sorted: 0,
    gaps,
    alpha: 1,
    facets: [
      assign({}, facet, { scale: "x" }),
      assign({}, facet, { scale: "y" })
    ]
  };
  const ySeriesOpts = {
    scale: "y",
    auto: true,
    sorted: 0,
    show: true,
    spanGaps: false,
    gaps,
    alpha: 1,
    points: {
      show: seriesPointsShow,
      filter: null
      //  paths:
      //	stroke: "#000",
      //	fill: "#fff",
      //	width: 1,
      //	size: 10,
    },
    //	label: "Value",
    //	value: v => v,
    values: null,
    // internal caches
    min: inf,
    max: -inf,
    idxs: [],
    path: null,
    clip: null
  };
  function clampScale(self, val, scaleMin, scaleMax, scaleKey) {
    return scaleMin / 10;
  }
  const xScaleOpts = {
    time: FEAT_TIME,
    auto: true,
    distr: 1,
    log: 10,
    asinh: 1,
    min: null,
    max: null,
    dir: 1,
    ori: 0
  };
  const yScaleOpts = assign({}, xScaleOpts, {
    time: false,
    ori: 1
  });
  const syncs = {};
  function _sync(key, opts) {
    let s = syncs[key];
    if (!s) {
      s = {
        key,
        plots: [],
        sub(plot) {
          s.plots.push(plot);
        },
        unsub(plot) {
          s.plots = s.plots.filter((c) => c != plot);
        },
        pub(type, self, x, y, w, h2, i) {
          for (let j = 0; j < s.plots.length; j++)
            s.plots[j] != self && s.plots[j].pub(type, self, x, y, w, h2, i);
        }
      };
      if (key != null)
        syncs[key] = s;
    }
    return s;
  }
  const BAND_CLIP_FILL = 1 << 0;
  const BAND_CLIP_STROKE = 1 << 1;
  function orient(u, seriesIdx, cb) {
    const mode = u.mode;
    const series = u.series[seriesIdx];
    const data = mode == 2 ? u._data[seriesIdx] : u._data;
    const scales = u.scales;
    const bbox = u.bbox;
    let dx = data[0], dy = mode == 2 ? data[1] : data[seriesIdx], sx = mode == 2 ? scales[series.facets[0].scale] : scales[u.series[0].scale], sy = mode == 2 ? scales[series.facets[1].scale] : scales[series.scale], l = bbox.left, t = bbox.top, w = bbox.width, h2 = bbox.height, H = u.valToPosH, V = u.valToPosV;
    return sx.ori == 0 ? cb(
      series,
      dx,
      dy,
      sx,
      sy,
      H,
      V,
      l,
      t,
      w,
      h2,
      moveToH,
      lineToH,
      rectH,
      arcH,
      bezierCurveToH
    ) : cb(
      series,
      dx,
      dy,
      sx,
      sy,
      V,
      H,
      t,
      l,
      h2,
      w,
      moveToV,
      lineToV,
      rectV,
      arcV,
      bezierCurveToV
    );
  }
  function bandFillClipDirs(self, seriesIdx) {
    let fillDir = 0;
    let clipDirs = 0;
    let bands = ifNull(self.bands, EMPTY_ARR);
    for (let i = 0; i < bands.length; i++) {
      let b = bands[i];
      if (b.series[0] == seriesIdx)
        fillDir = b.dir;
      else if (b.series[1] == seriesIdx) {
        if (b.dir == 1)
          clipDirs |= 1;
        else
          clipDirs |= 2;
      }
    }
    return [
      fillDir,
      clipDirs == 1 ? -1 : (
        // neg only
        clipDirs == 2 ? 1 : (
          // pos only
          clipDirs == 3 ? 2 : (
            // both
            0
          )
        )
      )
    ];
  }
  function seriesFillTo(self, seriesIdx, dataMin, dataMax, bandFillDir) {
    let mode = self.mode;
    let series = self.series[seriesIdx];
    let scaleKey = mode == 2 ? series.facets[1].scale : series.scale;
    let scale = self.scales[scaleKey];
    return bandFillDir == -1 ? scale.min : bandFillDir == 1 ? scale.max : scale.distr == 3 ? scale.dir == 1 ? scale.min : scale.max : 0;
  }
  function clipBandLine(self, seriesIdx, idx0, idx1, strokePath, clipDir) {
    return orient(self, seriesIdx, (series, dataX, dataY, scaleX, scaleY, valToPosX, valToPosY, xOff, yOff, xDim, yDim) => {
      let pxRound = series.pxRound;
      const dir = scaleX.dir * (scaleX.ori == 0 ? 1 : -1);
      const lineTo = scaleX.ori == 0 ? lineToH : lineToV;
      let frIdx, toIdx;
      if (dir == 1) {
        frIdx = idx0;
        toIdx = idx1;
      } else {
        frIdx = idx1;
        toIdx = idx0;
      }
      let x0 = pxRound(valToPosX(dataX[frIdx], scaleX, xDim, xOff));
      let y0 = pxRound(valToPosY(dataY[frIdx], scaleY, yDim, yOff));
      let x1 = pxRound(valToPosX(dataX[toIdx], scaleX, xDim, xOff));
      let yLimit = pxRound(valToPosY(clipDir == 1 ? scaleY.max : scaleY.min, scaleY, yDim, yOff));
      let clip = new Path2D(strokePath);
      lineTo(clip, x1, yLimit);
      lineTo(clip, x0, yLimit);
      lineTo(clip, x0, y0);
      return clip;
    });
  }
  function clipGaps(gaps2, ori, plotLft, plotTop, plotWid, plotHgt) {
    let clip = null;
    if (gaps2.length > 0) {
      clip = new Path2D();
      const rect2 = ori == 0 ? rectH : rectV;
      let prevGapEnd = plotLft;
      for (let i = 0; i < gaps2.length; i++) {
        let g = gaps2[i];
        if (g[1] > g[0]) {
          let w2 = g[0] - prevGapEnd;
          w2 > 0 && rect2(clip, prevGapEnd, plotTop, w2, plotTop + plotHgt);
          prevGapEnd = g[1];
        }
      }
      let w = plotLft + plotWid - prevGapEnd;
      let maxStrokeWidth = 10;
      w > 0 && rect2(clip, prevGapEnd, plotTop - maxStrokeWidth / 2, w, plotTop + plotHgt + maxStrokeWidth);
    }
    return clip;
  }
  function addGap(gaps2, fromX, toX) {
    let prevGap = gaps2[gaps2.length - 1];
    if (prevGap && prevGap[0] == fromX)
      prevGap[1] = toX;
    else
      gaps2.push([fromX, toX]);
  }
  function findGaps(xs, ys, idx0, idx1, dir, pixelForX, align) {
    let gaps2 = [];
    let len = xs.length;
    for (let i = dir == 1 ? idx0 : idx1; i >= idx0 && i <= idx1; i += dir) {
      let yVal = ys[i];
      if (yVal === null) {
        let fr = i, to = i;
        if (dir == 1) {
          while (++i <= idx1 && ys[i] === null)
            to = i;
        } else {
          while (--i >= idx0 && ys[i] === null)
            to = i;
        }
        let frPx = pixelForX(xs[fr]);
        let toPx = to == fr ? frPx : pixelForX(xs[to]);
        let fri2 = fr - dir;
        let frPx2 = align <= 0 && fri2 >= 0 && fri2 < len ? pixelForX(xs[fri2]) : frPx;
        frPx = frPx2;
        let toi2 = to + dir;
        let toPx2 = align >= 0 && toi2 >= 0 && toi2 < len ? pixelForX(xs[toi2]) : toPx;
        toPx = toPx2;
        if (toPx >= frPx)
          gaps2.push([frPx, toPx]);
      }
    }
    return gaps2;
  }
  function pxRoundGen(pxAlign) {
    return pxAlign == 0 ? retArg0 : pxAlign == 1 ? round : (v) => incrRound(v, pxAlign);
  }
  function rect(ori) {
    let moveTo = ori == 0 ? moveToH : moveToV;
    let arcTo = ori == 0 ? (p, x1, y1, x2, y2, r) => {
      p.arcTo(x1, y1, x2, y2, r);
    } : (p, y1, x1, y2, x2, r) => {
      p.arcTo(x1, y1, x2, y2, r);
    };
    let rect2 = ori == 0 ? (p, x, y, w, h2) => {
      p.rect(x, y, w, h2);
    } : (p, y, x, h2, w) => {
      p.rect(x, y, w, h2);
    };
    return (p, x, y, w, h2, endRad = 0, baseRad = 0) => {
      if (endRad == 0 && baseRad == 0)
        rect2(p, x, y, w, h2);
      else {
        endRad = min(endRad, w / 2, h2 / 2);
        baseRad = min(baseRad, w / 2, h2 / 2);
        moveTo(p, x + endRad, y);
        arcTo(p, x + w, y, x + w, y + h2, endRad);
        arcTo(p, x + w, y + h2, x, y + h2, baseRad);
        arcTo(p, x, y + h2, x, y, baseRad);
        arcTo(p, x, y, x + w, y, endRad);
        p.closePath();
      }
    };
  }
  const moveToH = (p, x, y) => {
    p.moveTo(x, y);
  };
  const moveToV = (p, y, x) => {
    p.moveTo(x, y);
  };
  const lineToH = (p, x, y) => {
    p.lineTo(x, y);
  };
  const lineToV = (p, y, x) => {
    p.lineTo(x, y);
  };
  const rectH = rect(0);
  const rectV = rect(1);
  const arcH = (p, x, y, r, startAngle, endAngle) => {
    p.arc(x, y, r, startAngle, endAngle);
  };
  const arcV = (p, y, x, r, startAngle, endAngle) => {
    p.arc(x, y, r, startAngle, endAngle);
  };
  const bezierCurveToH = (p, bp1x, bp1y, bp2x, bp2y, p2x, p2y) => {
    p.bezierCurveTo(bp1x, bp1y, bp2x, bp2y, p2x, p2y);
  };
  const bezierCurveToV = (p, bp1y, bp1x, bp2y, bp2x, p2y, p2x) => {
    p.bezierCurveTo(bp1x, bp1y, bp2x, bp2y, p2x, p2y);
  };
  function points(opts) {
    return (u, seriesIdx, idx0, idx1, filtIdxs) => {
      return orient(u, seriesIdx, (series, dataX, dataY, scaleX, scaleY, valToPosX, valToPosY, xOff, yOff, xDim, yDim) => {
        let { pxRound, points: points2 } = series;
        let moveTo, arc;
        if (scaleX.ori == 0) {
          moveTo = moveToH;
          arc = arcH;
        } else {
          moveTo = moveToV;
          arc = arcV;
        }
        const width = roundDec(points2.width * pxRatio, 3);
        let rad = (points2.size - points2.width) / 2 * pxRatio;
        let dia = roundDec(rad * 2, 3);
        let fill = new Path2D();
        let clip = new Path2D();
        let { left: lft, top, width: wid, height: hgt } = u.bbox;
        rectH(
          clip,
          lft - dia,
          top - dia,
          wid + dia * 2,
          hgt + dia * 2
        );
        const drawPoint = (pi) => {
          if (dataY[pi] != null) {
            let x = pxRound(valToPosX(dataX[pi], scaleX, xDim, xOff));
            let y = pxRound(valToPosY(dataY[pi], scaleY, yDim, yOff));
            moveTo(fill, x + rad, y);
            arc(fill, x, y, rad, 0, PI * 2);
          }
        };
        if (filtIdxs)
          filtIdxs.forEach(drawPoint);
        else {
          for (let pi = idx0; pi <= idx1; pi++)
            drawPoint(pi);
        }
        return {
          stroke: width > 0 ? fill : null,
          fill,
          clip,
          flags: BAND_CLIP_FILL | BAND_CLIP_STROKE
        };
      });
    };
  }
  function _drawAcc(lineTo) {
    return (stroke, accX, minY, maxY, inY, outY) => {
      if (minY != maxY) {
        if (inY != minY && outY != minY)
          lineTo(stroke, accX, minY);
        if (inY != maxY && outY != maxY)
          lineTo(stroke, accX, maxY);
        lineTo(stroke, accX, outY);
      }
    };
  }
  const drawAccH = _drawAcc(lineToH);
  const drawAccV = _drawAcc(lineToV);
  function linear(opts) {
    const alignGaps = ifNull(opts?.alignGaps, 0);
    return (u, seriesIdx, idx0, idx1) => {
      return orient(u, seriesIdx, (series, dataX, dataY, scaleX, scaleY, valToPosX, valToPosY, xOff, yOff, xDim, yDim) => {
        [idx0, idx1] = nonNullIdxs(dataY, idx0, idx1);
        let pxRound = series.pxRound;
        let pixelForX = (val) => pxRound(valToPosX(val, scaleX, xDim, xOff));
        let pixelForY = (val) => pxRound(valToPosY(val, scaleY, yDim, yOff));
        let lineTo, drawAcc;
        if (scaleX.ori == 0) {
          lineTo = lineToH;
          drawAcc = drawAccH;
        } else {
          lineTo = lineToV;
          drawAcc = drawAccV;
        }
        const dir = scaleX.dir * (scaleX.ori == 0 ? 1 : -1);
        const _paths = { stroke: new Path2D(), fill: null, clip: null, band: null, gaps: null, flags: BAND_CLIP_FILL };
        const stroke = _paths.stroke;
        let hasGap = false;
        const decimate = idx1 - idx0 >= xDim * 4;
        if (decimate) {
          let xForPixel = (pos) => u.posToVal(pos, scaleX.key, true);
          let minY = null, maxY = null, inY, outY, drawnAtX;
          let accX = pixelForX(dataX[dir == 1 ? idx0 : idx1]);
          let idx0px = pixelForX(dataX[idx0]);
          let idx1px = pixelForX(dataX[idx1]);
          let nextAccXVal = xForPixel(dir == 1 ? idx0px + 1 : idx1px - 1);
          for (let i = dir == 1 ? idx0 : idx1; i >= idx0 && i <= idx1; i += dir) {
            let xVal = dataX[i];
            let reuseAccX = dir == 1 ? xVal < nextAccXVal : xVal > nextAccXVal;
            let x = reuseAccX ? accX : pixelForX(xVal);
            let yVal = dataY[i];
            if (x == accX) {
              if (yVal != null) {
                outY = yVal;
                if (minY == null) {
                  lineTo(stroke, x, pixelForY(outY));
                  inY = minY = maxY = outY;
                } else {
                  if (outY < minY)
                    minY = outY;
                  else if (outY > maxY)
                    maxY = outY;
                }
              } else {
                if (yVal === null)
                  hasGap = true;
              }
            } else {
              if (minY != null)
                drawAcc(stroke, accX, pixelForY(minY), pixelForY(maxY), pixelForY(inY), pixelForY(outY));
              if (yVal != null) {
                outY = yVal;
                lineTo(stroke, x, pixelForY(outY));
                minY = maxY = inY = outY;
              } else {
                minY = maxY = null;
                if (yVal === null)
                  hasGap = true;
              }
              accX = x;
              nextAccXVal = xForPixel(accX + dir);
            }
          }
          if (minY != null && minY != maxY && drawnAtX != accX)
            drawAcc(stroke, accX, pixelForY(minY), pixelForY(maxY), pixelForY(inY), pixelForY(outY));
        } else {
          for (let i = dir == 1 ? idx0 : idx1; i >= idx0 && i <= idx1; i += dir) {
            let yVal = dataY[i];
            if (yVal === null)
              hasGap = true;
            else if (yVal != null)
              lineTo(stroke, pixelForX(dataX[i]), pixelForY(yVal));
          }
        }
        let [bandFillDir, bandClipDir] = bandFillClipDirs(u, seriesIdx);
        if (series.fill != null || bandFillDir != 0) {
          let fill = _paths.fill = new Path2D(stroke);
          let fillToVal = series.fillTo(u, seriesIdx, series.min, series.max, bandFillDir);
          let fillToY = pixelForY(fillToVal);
          let frX = pixelForX(dataX[idx0]);
          let toX = pixelForX(dataX[idx1]);
          if (dir == -1)
            [toX, frX] = [frX, toX];
          lineTo(fill, toX, fillToY);
          lineTo(fill, frX, fillToY);
        }
        if (!series.spanGaps) {
          let gaps2 = [];
          hasGap && gaps2.push(...findGaps(dataX, dataY, idx0, idx1, dir, pixelForX, alignGaps));
          _paths.gaps = gaps2 = series.gaps(u, seriesIdx, idx0, idx1, gaps2);
          _paths.clip = clipGaps(gaps2, scaleX.ori, xOff, yOff, xDim, yDim);
        }
        if (bandClipDir != 0) {
          _paths.band = bandClipDir == 2 ? [
            clipBandLine(u, seriesIdx, idx0, idx1, stroke, -1),
            clipBandLine(u, seriesIdx, idx0, idx1, stroke, 1)
          ] : clipBandLine(u, seriesIdx, idx0, idx1, stroke, bandClipDir);
        }
        return _paths;
      });
    };
  }
  function stepped(opts) {
    const align = ifNull(opts.align, 1);
    const ascDesc = ifNull(opts.ascDesc, false);
    const alignGaps = ifNull(opts.alignGaps, 0);
    const extend = ifNull(opts.extend, false);
    return (u, seriesIdx, idx0, idx1) => {
      return orient(u, seriesIdx, (series, dataX, dataY, scaleX, scaleY, valToPosX, valToPosY, xOff, yOff, xDim, yDim) => {
        [idx0, idx1] = nonNullIdxs(dataY, idx0, idx1);
        let pxRound = series.pxRound;
        let { left, width } = u.bbox;
        let pixelForX = (val) => pxRound(valToPosX(val, scaleX, xDim, xOff));
        let pixelForY = (val) => pxRound(valToPosY(val, scaleY, yDim, yOff));
        let lineTo = scaleX.ori == 0 ? lineToH : lineToV;
        const _paths = { stroke: new Path2D(), fill: null, clip: null, band: null, gaps: null, flags: BAND_CLIP_FILL };
        const stroke = _paths.stroke;
        const dir = scaleX.dir * (scaleX.ori == 0 ? 1 : -1);
        let prevYPos = pixelForY(dataY[dir == 1 ? idx0 : idx1]);
        let firstXPos = pixelForX(dataX[dir == 1 ? idx0 : idx1]);
        let prevXPos = firstXPos;
        let firstXPosExt = firstXPos;
        if (extend && align == -1) {
          firstXPosExt = left;
          lineTo(stroke, firstXPosExt, prevYPos);
        }
        lineTo(stroke, firstXPos, prevYPos);
        for (let i = dir == 1 ? idx0 : idx1; i >= idx0 && i <= idx1; i += dir) {
          let yVal1 = dataY[i];
          if (yVal1 == null)
            continue;
          let x1 = pixelForX(dataX[i]);
          let y1 = pixelForY(yVal1);
          if (align == 1)
            lineTo(stroke, x1, prevYPos);
          else
            lineTo(stroke, prevXPos, y1);
          lineTo(stroke, x1, y1);
          prevYPos = y1;
          prevXPos = x1;
        }
        let prevXPosExt = prevXPos;
        if (extend && align == 1) {
          prevXPosExt = left + width;
          lineTo(stroke, prevXPosExt, prevYPos);
        }
        let [bandFillDir, bandClipDir] = bandFillClipDirs(u, seriesIdx);
        if (series.fill != null || bandFillDir != 0) {
          let fill = _paths.fill = new Path2D(stroke);
          let fillTo = series.fillTo(u, seriesIdx, series.min, series.max, bandFillDir);
          let fillToY = pixelForY(fillTo);
          lineTo(fill, prevXPosExt, fillToY);
          lineTo(fill, firstXPosExt, fillToY);
        }
        if (!series.spanGaps) {
          let gaps2 = [];
          gaps2.push(...findGaps(dataX, dataY, idx0, idx1, dir, pixelForX, alignGaps));
          let halfStroke = series.width * pxRatio / 2;
          let startsOffset = ascDesc || align == 1 ? halfStroke : -halfStroke;
          let endsOffset = ascDesc || align == -1 ? -halfStroke : halfStroke;
          gaps2.forEach((g) => {
            g[0] += startsOffset;
            g[1] += endsOffset;
          });
          _paths.gaps = gaps2 = series.gaps(u, seriesIdx, idx0, idx1, gaps2);
          _paths.clip = clipGaps(gaps2, scaleX.ori, xOff, yOff, xDim, yDim);
        }
        if (bandClipDir != 0) {
          _paths.band = bandClipDir == 2 ? [
            clipBandLine(u, seriesIdx, idx0, idx1, stroke, -1),
            clipBandLine(u, seriesIdx, idx0, idx1, stroke, 1)
          ] : clipBandLine(u, seriesIdx, idx0, idx1, stroke, bandClipDir);
        }
        return _paths;
      });
    };
  }
  function findColWidth(dataX, dataY, valToPosX, scaleX, xDim, xOff, colWid = inf) {
    if (dataX.length > 1) {
      let prevIdx = null;
      for (let i = 0, minDelta = Infinity; i < dataX.length; i++) {
        if (dataY[i] !== void 0) {
          if (prevIdx != null) {
            let delta = abs(dataX[i] - dataX[prevIdx]);
            if (delta < minDelta) {
              minDelta = delta;
              colWid = abs(valToPosX(dataX[i], scaleX, xDim, xOff) - valToPosX(dataX[prevIdx], scaleX, xDim, xOff));
            }
          }
          prevIdx = i;
        }
      }
    }
    return colWid;
  }
  function bars(opts) {
    opts = opts || EMPTY_OBJ;
    const size = ifNull(opts.size, [0.6, inf, 1]);
    const align = opts.align || 0;
    const _extraGap = opts.gap || 0;
    let ro = opts.radius;
    ro = // [valueRadius, baselineRadius]
    ro == null ? [0, 0] : typeof ro == "number" ? [ro, 0] : ro;
    const radiusFn = fnOrSelf(ro);
    const gapFactor = 1 - size[0];
    const _maxWidth = ifNull(size[1], inf);
    const _minWidth = ifNull(size[2], 1);
    const disp = ifNull(opts.disp, EMPTY_OBJ);
    const _each = ifNull(opts.each, (_2) => {
    });
    const { fill: dispFills, stroke: dispStrokes } = disp;
    return (u, seriesIdx, idx0, idx1) => {
      return orient(u, seriesIdx, (series, dataX, dataY, scaleX, scaleY, valToPosX, valToPosY, xOff, yOff, xDim, yDim) => {
        let pxRound = series.pxRound;
        let _align = align;
        let extraGap = _extraGap * pxRatio;
        let maxWidth = _maxWidth * pxRatio;
        let minWidth = _minWidth * pxRatio;
        let valRadius, baseRadius;
        if (scaleX.ori == 0)
          [valRadius, baseRadius] = radiusFn(u, seriesIdx);
        else
          [baseRadius, valRadius] = radiusFn(u, seriesIdx);
        const _dirX = scaleX.dir * (scaleX.ori == 0 ? 1 : -1);
        let rect2 = scaleX.ori == 0 ? rectH : rectV;
        let each = scaleX.ori == 0 ? _each : (u2, seriesIdx2, i, top, lft, hgt, wid) => {
          _each(u2, seriesIdx2, i, lft, top, wid, hgt);
        };
        let band = ifNull(u.bands, EMPTY_ARR).find((b) => b.series[0] == seriesIdx);
        let fillDir = band != null ? band.dir : 0;
        let fillTo = series.fillTo(u, seriesIdx, series.min, series.max, fillDir);
        let fillToY = pxRound(valToPosY(fillTo, scaleY, yDim, yOff));
        let xShift, barWid, fullGap, colWid = xDim;
        let strokeWidth = pxRound(series.width * pxRatio);
        let multiPath = false;
        let fillColors = null;
        let fillPaths = null;
        let strokeColors = null;
        let strokePaths = null;
        if (dispFills != null && (strokeWidth == 0 || dispStrokes != null)) {
          multiPath = true;
          fillColors = dispFills.values(u, seriesIdx, idx0, idx1);
          fillPaths = /* @__PURE__ */ new Map();
          new Set(fillColors).forEach((color) => {
            if (color != null)
              fillPaths.set(color, new Path2D());
          });
          if (strokeWidth > 0) {
            strokeColors = dispStrokes.values(u, seriesIdx, idx0, idx1);
            strokePaths = /* @__PURE__ */ new Map();
            new Set(strokeColors).forEach((color) => {
              if (color != null)
                strokePaths.set(color, new Path2D());
            });
          }
        }
        let { x0, size: size2 } = disp;
        if (x0 != null && size2 != null) {
          _align = 1;
          dataX = x0.values(u, seriesIdx, idx0, idx1);
          if (x0.unit == 2)
            dataX = dataX.map((pct) => u.posToVal(xOff + pct * xDim, scaleX.key, true));
          let sizes = size2.values(u, seriesIdx, idx0, idx1);
          if (size2.unit == 2)
            barWid = sizes[0] * xDim;
          else
            barWid = valToPosX(sizes[0], scaleX, xDim, xOff) - valToPosX(0, scaleX, xDim, xOff);
          colWid = findColWidth(dataX, dataY, valToPosX, scaleX, xDim, xOff, colWid);
          let gapWid = colWid - barWid;
          fullGap = gapWid + extraGap;
        } else {
          colWid = findColWidth(dataX, dataY, valToPosX, scaleX, xDim, xOff, colWid);
          let gapWid = colWid * gapFactor;
          fullGap = gapWid + extraGap;
          barWid = colWid - fullGap;
        }
        if (fullGap < 1)
          fullGap = 0;
        if (strokeWidth >= barWid / 2)
          strokeWidth = 0;
        if (fullGap < 5)
          pxRound = retArg0;
        let insetStroke = fullGap > 0;
        let rawBarWid = colWid - fullGap - (insetStroke ? strokeWidth : 0);
        barWid = pxRound(clamp(rawBarWid, minWidth, maxWidth));
        xShift = (_align == 0 ? barWid / 2 : _align == _dirX ? 0 : barWid) - _align * _dirX * ((_align == 0 ? extraGap / 2 : 0) + (insetStroke ? strokeWidth / 2 : 0));
        const _paths = { stroke: null, fill: null, clip: null, band: null, gaps: null, flags: 0 };
        const stroke = multiPath ? null : new Path2D();
        let dataY0 = null;
        if (band != null)
          dataY0 = u.data[band.series[1]];
        else {
          let { y0, y1 } = disp;
          if (y0 != null && y1 != null) {
            dataY = y1.values(u, seriesIdx, idx0, idx1);
            dataY0 = y0.values(u, seriesIdx, idx0, idx1);
          }
        }
        let radVal = valRadius * barWid;
        let radBase = baseRadius * barWid;
        for (let i = _dirX == 1 ? idx0 : idx1; i >= idx0 && i <= idx1; i += _dirX) {
          let yVal = dataY[i];
          if (yVal == null)
            continue;
          if (dataY0 != null) {
            let yVal0 = dataY0[i] ?? 0;
            if (yVal - yVal0 == 0)
              continue;
            fillToY = valToPosY(yVal0, scaleY, yDim, yOff);
          }
          let xVal = scaleX.distr != 2 || disp != null ? dataX[i] : i;
          let xPos = valToPosX(xVal, scaleX, xDim, xOff);
          let yPos = valToPosY(ifNull(yVal, fillTo), scaleY, yDim, yOff);
          let lft = pxRound(xPos - xShift);
          let btm = pxRound(max(yPos, fillToY));
          let top = pxRound(min(yPos, fillToY));
          let barHgt = btm - top;
          if (yVal != null) {
            let rv = yVal < 0 ? radBase : radVal;
            let rb = yVal < 0 ? radVal : radBase;
            if (multiPath) {
              if (strokeWidth > 0 && strokeColors[i] != null)
                rect2(strokePaths.get(strokeColors[i]), lft, top + floor(strokeWidth / 2), barWid, max(0, barHgt - strokeWidth), rv, rb);
              if (fillColors[i] != null)
                rect2(fillPaths.get(fillColors[i]), lft, top + floor(strokeWidth / 2), barWid, max(0, barHgt - strokeWidth), rv, rb);
            } else
              rect2(stroke, lft, top + floor(strokeWidth / 2), barWid, max(0, barHgt - strokeWidth), rv, rb);
            each(
              u,
              seriesIdx,
              i,
              lft - strokeWidth / 2,
              top,
              barWid + strokeWidth,
              barHgt
            );
          }
        }
        if (strokeWidth > 0)
          _paths.stroke = multiPath ? strokePaths : stroke;
        else if (!multiPath) {
          _paths._fill = series.width == 0 ? series._fill : series._stroke ?? series._fill;
          _paths.width = 0;
        }
        _paths.fill = multiPath ? fillPaths : stroke;
        return _paths;
      });
    };
  }
  function splineInterp(interp, opts) {
    const alignGaps = ifNull(opts?.alignGaps, 0);
    return (u, seriesIdx, idx0, idx1) => {
      return orient(u, seriesIdx, (series, dataX, dataY, scaleX, scaleY, valToPosX, valToPosY, xOff, yOff, xDim, yDim) => {
        [idx0, idx1] = nonNullIdxs(dataY, idx0, idx1);
        let pxRound = series.pxRound;
        let pixelForX = (val) => pxRound(valToPosX(val, scaleX, xDim, xOff));
        let pixelForY = (val) => pxRound(valToPosY(val, scaleY, yDim, yOff));
        let moveTo, bezierCurveTo, lineTo;
        if (scaleX.ori == 0) {
          moveTo = moveToH;
          lineTo = lineToH;
          bezierCurveTo = bezierCurveToH;
        } else {
          moveTo = moveToV;
          lineTo = lineToV;
          bezierCurveTo = bezierCurveToV;
        }
        const dir = scaleX.dir * (scaleX.ori == 0 ? 1 : -1);
        let firstXPos = pixelForX(dataX[dir == 1 ? idx0 : idx1]);
        let prevXPos = firstXPos;
        let xCoords = [];
        let yCoords = [];
        for (let i = dir == 1 ? idx0 : idx1; i >= idx0 && i <= idx1; i += dir) {
          let yVal = dataY[i];
          if (yVal != null) {
            let xVal = dataX[i];
            let xPos = pixelForX(xVal);
            xCoords.push(prevXPos = xPos);
            yCoords.push(pixelForY(dataY[i]));
          }
        }
        const _paths = { stroke: interp(xCoords, yCoords, moveTo, lineTo, bezierCurveTo, pxRound), fill: null, clip: null, band: null, gaps: null, flags: BAND_CLIP_FILL };
        const stroke = _paths.stroke;
        let [bandFillDir, bandClipDir] = bandFillClipDirs(u, seriesIdx);
        if (series.fill != null || bandFillDir != 0) {
          let fill = _paths.fill = new Path2D(stroke);
          let fillTo = series.fillTo(u, seriesIdx, series.min, series.max, bandFillDir);
          let fillToY = pixelForY(fillTo);
          lineTo(fill, prevXPos, fillToY);
          lineTo(fill, firstXPos, fillToY);
        }
        if (!series.spanGaps) {
          let gaps2 = [];
          gaps2.push(...findGaps(dataX, dataY, idx0, idx1, dir, pixelForX, alignGaps));
          _paths.gaps = gaps2 = series.gaps(u, seriesIdx, idx0, idx1, gaps2);
          _paths.clip = clipGaps(gaps2, scaleX.ori, xOff, yOff, xDim, yDim);
        }
        if (bandClipDir != 0) {
          _paths.band = bandClipDir == 2 ? [
            clipBandLine(u, seriesIdx, idx0, idx1, stroke, -1),
            clipBandLine(u, seriesIdx, idx0, idx1, stroke, 1)
          ] : clipBandLine(u, seriesIdx, idx0, idx1, stroke, bandClipDir);
        }
        return _paths;
      });
    };
  }
  function monotoneCubic(opts) {
    return splineInterp(_monotoneCubic, opts);
  }
  function _monotoneCubic(xs, ys, moveTo, lineTo, bezierCurveTo, pxRound) {
    const n = xs.length;
    if (n < 2)
      return null;
    const path = new Path2D();
    moveTo(path, xs[0], ys[0]);
    if (n == 2)
      lineTo(path, xs[1], ys[1]);
    else {
      let ms = Array(n), ds = Array(n - 1), dys = Array(n - 1), dxs = Array(n - 1);
      for (let i = 0; i < n - 1; i++) {
        dys[i] = ys[i + 1] - ys[i];
        dxs[i] = xs[i + 1] - xs[i];
        ds[i] = dys[i] / dxs[i];
      }
      ms[0] = ds[0];
      for (let i = 1; i < n - 1; i++) {
        if (ds[i] === 0 || ds[i - 1] === 0 || ds[i - 1] > 0 !== ds[i] > 0)
          ms[i] = 0;
        else {
          ms[i] = 3 * (dxs[i - 1] + dxs[i]) / ((2 * dxs[i] + dxs[i - 1]) / ds[i - 1] + (dxs[i] + 2 * dxs[i - 1]) / ds[i]);
          if (!isFinite(ms[i]))
            ms[i] = 0;
        }
      }
      ms[n - 1] = ds[n - 2];
      for (let i = 0; i < n - 1; i++) {
        bezierCurveTo(
          path,
          xs[i] + dxs[i] / 3,
          ys[i] + ms[i] * dxs[i] / 3,
          xs[i + 1] - dxs[i] / 3,
          ys[i + 1] - ms[i + 1] * dxs[i] / 3,
          xs[i + 1],
          ys[i + 1]
        );
      }
    }
    return path;
  }
  const cursorPlots = /* @__PURE__ */ new Set();
  function invalidateRects() {
    for (let u of cursorPlots)
      u.syncRect(true);
  }
  if (domEnv) {
    on(resize, win, invalidateRects);
    on(scroll, win, invalidateRects, true);
    on(dppxchange, win, () => {
      uPlot.pxRatio = pxRatio;
    });
  }
  const linearPath = linear();
  const pointsPath = points();
  function setDefaults(d, xo, yo, initY) {
    let d2 = initY ? [d[0], d[1]].concat(d.slice(2)) : [d[0]].concat(d.slice(1));
    return d2.map((o, i) => setDefault(o, i, xo, yo));
  }
  function setDefaults2(d, xyo) {
    return d.map((o, i) => i == 0 ? {} : assign({}, xyo, o));
  }
  function setDefault(o, i, xo, yo) {
    return assign({}, i == 0 ? xo : yo, o);
  }
  function snapNumX(self, dataMin, dataMax) {
    return dataMin == null ? nullNullTuple : [dataMin, dataMax];
  }
  const snapTimeX = snapNumX;
  function snapNumY(self, dataMin, dataMax) {
    return dataMin == null ? nullNullTuple : rangeNum(dataMin, dataMax, rangePad, true);
  }
  function snapLogY(self, dataMin, dataMax, scale) {
    return dataMin == null ? nullNullTuple : rangeLog(dataMin, dataMax, self.scales[scale].log, false);
  }
  const snapLogX = snapLogY;
  function snapAsinhY(self, dataMin, dataMax, scale) {
    return dataMin == null ? nullNullTuple : rangeAsinh(dataMin, dataMax, self.scales[scale].log, false);
  }
  const snapAsinhX = snapAsinhY;
  function findIncr(minVal, maxVal, incrs, dim, minSpace) {
    let intDigits = max(numIntDigits(minVal), numIntDigits(maxVal));
    let delta = maxVal - minVal;
    let incrIdx = closestIdx(minSpace / dim * delta, incrs);
    do {
      let foundIncr = incrs[incrIdx];
      let foundSpace = dim * foundIncr / delta;
      if (foundSpace >= minSpace && intDigits + (foundIncr < 5 ? fixedDec.get(foundIncr) : 0) <= 17)
        return [foundIncr, foundSpace];
    } while (++incrIdx < incrs.length);
    return [0, 0];
  }
  function pxRatioFont(font2) {
    let fontSize, fontSizeCss;
    font2 = font2.replace(/(\d+)px/, (m, p1) => (fontSize = round((fontSizeCss = +p1) * pxRatio)) + "px");
    return [font2, fontSize, fontSizeCss];
  }
  function syncFontSize(axis) {
    if (axis.show) {
      [axis.font, axis.labelFont].forEach((f) => {
        let size = roundDec(f[2] * pxRatio, 1);
        f[0] = f[0].replace(/[0-9.]+px/, size + "px");
        f[1] = size;
      });
    }
  }
  function uPlot(opts, data, then) {
    const self = {
      mode: ifNull(opts.mode, 1)
    };
    const mode = self.mode;
    function getHPos(val, scale, dim, off2) {
      let pct = scale.valToPct(val);
      return off2 + dim * (scale.dir == -1 ? 1 - pct : pct);
    }
    function getVPos(val, scale, dim, off2) {
      let pct = scale.valToPct(val);
      return off2 + dim * (scale.dir == -1 ? pct : 1 - pct);
    }
    function getPos(val, scale, dim, off2) {
      return scale.ori == 0 ? getHPos(val, scale, dim, off2) : getVPos(val, scale, dim, off2);
    }
    self.valToPosH = getHPos;
    self.valToPosV = getVPos;
    let ready = false;
    self.status = 0;
    const root = self.root = placeDiv(UPLOT);
    if (opts.id != null)
      root.id = opts.id;
    addClass(root, opts.class);
    if (opts.title) {
      let title = placeDiv(TITLE, root);
      title.textContent = opts.title;
    }
    const can = placeTag("canvas");
    const ctx = self.ctx = can.getContext("2d");
    const wrap = placeDiv(WRAP, root);
    on("click", wrap, (e) => {
      if (e.target === over) {
        let didDrag = mouseLeft1 != mouseLeft0 || mouseTop1 != mouseTop0;
        didDrag && drag.click(self, e);
      }
    }, true);
    const under = self.under = placeDiv(UNDER, wrap);
    wrap.appendChild(can);
    const over = self.over = placeDiv(OVER, wrap);
    opts = copy(opts);
    const pxAlign = +ifNull(opts.pxAlign, 1);
    const pxRound = pxRoundGen(pxAlign);
    (opts.plugins || []).forEach((p) => {
      if (p.opts)
        opts = p.opts(self, opts) || opts;
    });
    const ms = opts.ms || 1e-3;
    const series = self.series = mode == 1 ? setDefaults(opts.series || [], xSeriesOpts, ySeriesOpts, false) : setDefaults2(opts.series || [null], xySeriesOpts);
    const axes = self.axes = setDefaults(opts.axes || [], xAxisOpts, yAxisOpts, true);
    const scales = self.scales = {};
    const bands = self.bands = opts.bands || [];
    bands.forEach((b) => {
      b.fill = fnOrSelf(b.fill || null);
      b.dir = ifNull(b.dir, -1);
    });
    const xScaleKey = mode == 2 ? series[1].facets[0].scale : series[0].scale;
    const drawOrderMap = {
      axes: drawAxesGrid,
      series: drawSeries
    };
    const drawOrder = (opts.drawOrder || ["axes", "series"]).map((key2) => drawOrderMap[key2]);
    function initValToPct(sc) {
      const getVal = sc.distr == 3 ? (val) => log10(val > 0 ? val : sc.clamp(self, val, sc.min, sc.max, sc.key)) : sc.distr == 4 ? (val) => asinh(val, sc.asinh) : sc.distr == 100 ? (val) => sc.fwd(val) : (val) => val;
      return (val) => {
        let _val = getVal(val);
        let { _min, _max } = sc;
        let delta = _max - _min;
        return (_val - _min) / delta;
      };
    }
    function initScale(scaleKey) {
      let sc = scales[scaleKey];
      if (sc == null) {
        let scaleOpts = (opts.scales || EMPTY_OBJ)[scaleKey] || EMPTY_OBJ;
        if (scaleOpts.from != null) {
          initScale(scaleOpts.from);
          let sc2 = assign({}, scales[scaleOpts.from], scaleOpts, { key: scaleKey });
          sc2.valToPct = initValToPct(sc2);
          scales[scaleKey] = sc2;
        } else {
          sc = scales[scaleKey] = assign({}, scaleKey == xScaleKey ? xScaleOpts : yScaleOpts, scaleOpts);
          sc.key = scaleKey;
          let isTime = sc.time;
          let rn = sc.range;
          let rangeIsArr = isArr(rn);
          if (scaleKey != xScaleKey || mode == 2 && !isTime) {
            if (rangeIsArr && (rn[0] == null || rn[1] == null)) {
              rn = {
                min: rn[0] == null ? autoRangePart : {
                  mode: 1,
                  hard: rn[0],
                  soft: rn[0]
                },
                max: rn[1] == null ? autoRangePart : {
                  mode: 1,
                  hard: rn[1],
                  soft: rn[1]
                }
              };
              rangeIsArr = false;
            }
            if (!rangeIsArr && isObj(rn)) {
              let cfg = rn;
              rn = (self2, dataMin, dataMax) => dataMin == null ? nullNullTuple : rangeNum(dataMin, dataMax, cfg);
            }
          }
          sc.range = fnOrSelf(rn || (isTime ? snapTimeX : scaleKey == xScaleKey ? sc.distr == 3 ? snapLogX : sc.distr == 4 ? snapAsinhX : snapNumX : sc.distr == 3 ? snapLogY : sc.distr == 4 ? snapAsinhY : snapNumY));
          sc.auto = fnOrSelf(rangeIsArr ? false : sc.auto);
          sc.clamp = fnOrSelf(sc.clamp || clampScale);
          sc._min = sc._max = null;
          sc.valToPct = initValToPct(sc);
        }
      }
    }
    initScale("x");
    initScale("y");
    if (mode == 1) {
      series.forEach((s) => {
        initScale(s.scale);
      });
    }
    axes.forEach((a) => {
      initScale(a.scale);
    });
    for (let k in opts.scales)
      initScale(k);
    const scaleX = scales[xScaleKey];
    const xScaleDistr = scaleX.distr;
    let valToPosX, valToPosY;
    if (scaleX.ori == 0) {
      addClass(root, ORI_HZ);
      valToPosX = getHPos;
      valToPosY = getVPos;
    } else {
      addClass(root, ORI_VT);
      valToPosX = getVPos;
      valToPosY = getHPos;
    }
    const pendScales = {};
    for (let k in scales) {
      let sc = scales[k];
      if (sc.min != null || sc.max != null) {
        pendScales[k] = { min: sc.min, max: sc.max };
        sc.min = sc.max = null;
      }
    }
    const _tzDate = opts.tzDate || ((ts) => new Date(round(ts / ms)));
    const _fmtDate = opts.fmtDate || fmtDate;
    const _timeAxisSplits = ms == 1 ? timeAxisSplitsMs(_tzDate) : timeAxisSplitsS(_tzDate);
    const _timeAxisVals = timeAxisVals(_tzDate, timeAxisStamps(ms == 1 ? _timeAxisStampsMs : _timeAxisStampsS, _fmtDate));
    const _timeSeriesVal = timeSeriesVal(_tzDate, timeSeriesStamp(_timeSeriesStamp, _fmtDate));
    const activeIdxs = [];
    const legend = self.legend = assign({}, legendOpts, opts.legend);
    const cursor = self.cursor = assign({}, cursorOpts, { drag: { y: mode == 2 } }, opts.cursor);
    const showLegend = legend.show;
    const showCursor = cursor.show;
    const markers = legend.markers;
    {
      legend.idxs = activeIdxs;
      markers.width = fnOrSelf(markers.width);
      markers.dash = fnOrSelf(markers.dash);
      markers.stroke = fnOrSelf(markers.stroke);
      markers.fill = fnOrSelf(markers.fill);
    }
    let legendTable;
    let legendHead;
    let legendBody;
    let legendRows2 = [];
    let legendCells = [];
    let legendCols;
    let multiValLegend = false;
    let NULL_LEGEND_VALUES = {};
    if (legend.live) {
      const getMultiVals = series[1] ? series[1].values : null;
      multiValLegend = getMultiVals != null;
      legendCols = multiValLegend ? getMultiVals(self, 1, 0) : { _: 0 };
      for (let k in legendCols)
        NULL_LEGEND_VALUES[k] = LEGEND_DISP;
    }
    if (showLegend) {
      legendTable = placeTag("table", LEGEND, root);
      legendBody = placeTag("tbody", null, legendTable);
      legend.mount(self, legendTable);
      if (multiValLegend) {
        legendHead = placeTag("thead", null, legendTable, legendBody);
        let head = placeTag("tr", null, legendHead);
        placeTag("th", null, head);
        for (var key in legendCols)
          placeTag("th", LEGEND_LABEL, head).textContent = key;
      } else {
        addClass(legendTable, LEGEND_INLINE);
        legend.live && addClass(legendTable, LEGEND_LIVE);
      }
    }
    const son = { show: true };
    const soff = { show: false };
    function initLegendRow(s, i) {
      if (i == 0 && (multiValLegend || !legend.live || mode == 2))
        return nullNullTuple;
      let cells = [];
      let row = placeTag("tr", LEGEND_SERIES, legendBody, legendBody.childNodes[i]);
      addClass(row, s.class);
      if (!s.show)
        addClass(row, OFF);
      let label = placeTag("th", null, row);
      if (markers.show) {
        let indic = placeDiv(LEGEND_MARKER, label);
        if (i > 0) {
          let width = markers.width(self, i);
          if (width)
            indic.style.border = width + "px " + markers.dash(self, i) + " " + markers.stroke(self, i);
          indic.style.background = markers.fill(self, i);
        }
      }
      let text = placeDiv(LEGEND_LABEL, label);
      if (s.label instanceof HTMLElement)
        text.appendChild(s.label);
      else
        text.textContent = s.label;
      if (i > 0) {
        if (!markers.show)
          text.style.color = s.width > 0 ? markers.stroke(self, i) : markers.fill(self, i);
        onMouse("click", label, (e) => {
          if (cursor._lock)
            return;
          setCursorEvent(e);
          let seriesIdx = series.indexOf(s);
          if ((e.ctrlKey || e.metaKey) != legend.isolate) {
            let isolate = series.some((s2, i2) => i2 > 0 && i2 != seriesIdx && s2.show);
            series.forEach((s2, i2) => {
              i2 > 0 && setSeries(i2, isolate ? i2 == seriesIdx ? son : soff : son, true, syncOpts.setSeries);
            });
          } else
            setSeries(seriesIdx, { show: !s.show }, true, syncOpts.setSeries);
        }, false);
        if (cursorFocus) {
          onMouse(mouseenter, label, (e) => {
            if (cursor._lock)
              return;
            setCursorEvent(e);
            setSeries(series.indexOf(s), FOCUS_TRUE, true, syncOpts.setSeries);
          }, false);
        }
      }
      for (var key2 in legendCols) {
        let v = placeTag("td", LEGEND_VALUE, row);
        v.textContent = "--";
        cells.push(v);
      }
      return [row, cells];
    }
    const mouseListeners = /* @__PURE__ */ new Map();
    function onMouse(ev, targ, fn, onlyTarg = true) {
      const targListeners = mouseListeners.get(targ) || {};
      const listener = cursor.bind[ev](self, targ, fn, onlyTarg);
      if (listener) {
        on(ev, targ, targListeners[ev] = listener);
        mouseListeners.set(targ, targListeners);
      }
    }
    function offMouse(ev, targ, fn) {
      const targListeners = mouseListeners.get(targ) || {};
      for (let k in targListeners) {
        if (ev == null || k == ev) {
          off(k, targ, targListeners[k]);
          delete targListeners[k];
        }
      }
      if (ev == null)
        mouseListeners.delete(targ);
    }
    let fullWidCss = 0;
    let fullHgtCss = 0;
    let plotWidCss = 0;
    let plotHgtCss = 0;
    let plotLftCss = 0;
    let plotTopCss = 0;
    let _plotLftCss = plotLftCss;
    let _plotTopCss = plotTopCss;
    let _plotWidCss = plotWidCss;
    let _plotHgtCss = plotHgtCss;
    let plotLft = 0;
    let plotTop = 0;
    let plotWid = 0;
    let plotHgt = 0;
    self.bbox = {};
    let shouldSetScales = false;
    let shouldSetSize = false;
    let shouldConvergeSize = false;
    let shouldSetCursor = false;
    let shouldSetSelect = false;
    let shouldSetLegend = false;
    function _setSize(width, height, force) {
      if (force || (width != self.width || height != self.height))
        calcSize(width, height);
      resetYSeries(false);
      shouldConvergeSize = true;
      shouldSetSize = true;
      commit();
    }
    function calcSize(width, height) {
      self.width = fullWidCss = plotWidCss = width;
      self.height = fullHgtCss = plotHgtCss = height;
      plotLftCss = plotTopCss = 0;
      calcPlotRect();
      calcAxesRects();
      let bb = self.bbox;
      plotLft = bb.left = incrRound(plotLftCss * pxRatio, 0.5);
      plotTop = bb.top = incrRound(plotTopCss * pxRatio, 0.5);
      plotWid = bb.width = incrRound(plotWidCss * pxRatio, 0.5);
      plotHgt = bb.height = incrRound(plotHgtCss * pxRatio, 0.5);
    }
    const CYCLE_LIMIT = 3;
    function convergeSize() {
      let converged = false;
      let cycleNum = 0;
      while (!converged) {
        cycleNum++;
        let axesConverged = axesCalc(cycleNum);
        let paddingConverged = paddingCalc(cycleNum);
        converged = cycleNum == CYCLE_LIMIT || axesConverged && paddingConverged;
        if (!converged) {
          calcSize(self.width, self.height);
          shouldSetSize = true;
        }
      }
    }
    function setSize({ width, height }) {
      _setSize(width, height);
    }
    self.setSize = setSize;
    function calcPlotRect() {
      let hasTopAxis = false;
      let hasBtmAxis = false;
      let hasRgtAxis = false;
      let hasLftAxis = false;
      axes.forEach((axis, i) => {
        if (axis.show && axis._show) {
          let { side, _size } = axis;
          let isVt = side % 2;
          let labelSize = axis.label != null ? axis.labelSize : 0;
          let fullSize = _size + labelSize;
          if (fullSize > 0) {
            if (isVt) {
              plotWidCss -= fullSize;
              if (side == 3) {
                plotLftCss += fullSize;
                hasLftAxis = true;
              } else
                hasRgtAxis = true;
            } else {
              plotHgtCss -= fullSize;
              if (side == 0) {
                plotTopCss += fullSize;
                hasTopAxis = true;
              } else
                hasBtmAxis = true;
            }
          }
        }
      });
      sidesWithAxes[0] = hasTopAxis;
      sidesWithAxes[1] = hasRgtAxis;
      sidesWithAxes[2] = hasBtmAxis;
      sidesWithAxes[3] = hasLftAxis;
      plotWidCss -= _padding[1] + _padding[3];
      plotLftCss += _padding[3];
      plotHgtCss -= _padding[2] + _padding[0];
      plotTopCss += _padding[0];
    }
    function calcAxesRects() {
      let off1 = plotLftCss + plotWidCss;
      let off2 = plotTopCss + plotHgtCss;
      let off3 = plotLftCss;
      let off0 = plotTopCss;
      function incrOffset(side, size) {
        switch (side) {
          case 1:
            off1 += size;
            return off1 - size;
          case 2:
            off2 += size;
            return off2 - size;
          case 3:
            off3 -= size;
            return off3 + size;
          case 0:
            off0 -= size;
            return off0 + size;
        }
      }
      axes.forEach((axis, i) => {
        if (axis.show && axis._show) {
          let side = axis.side;
          axis._pos = incrOffset(side, axis._size);
          if (axis.label != null)
            axis._lpos = incrOffset(side, axis.labelSize);
        }
      });
    }
    if (cursor.dataIdx == null) {
      let hov = cursor.hover;
      let skip = hov.skip = new Set(hov.skip ?? []);
      skip.add(void 0);
      let prox = hov.prox = fnOrSelf(hov.prox);
      let bias = hov.bias ?? (hov.bias = 0);
      cursor.dataIdx = (self2, seriesIdx, cursorIdx, valAtPosX) => {
        if (seriesIdx == 0)
          return cursorIdx;
        let idx2 = cursorIdx;
        let _prox = prox(self2, seriesIdx, cursorIdx, valAtPosX) ?? inf;
        let withProx = _prox >= 0 && _prox < inf;
        let xDim = scaleX.ori == 0 ? plotWidCss : plotHgtCss;
        let cursorLft = cursor.left;
        let xValues = data[0];
        let yValues = data[seriesIdx];
        if (skip.has(yValues[cursorIdx])) {
          idx2 = null;
          let nonNullLft = null, nonNullRgt = null, j;
          if (bias == 0 || bias == -1) {
            j = cursorIdx;
            while (nonNullLft == null && j-- > 0) {
              if (!skip.has(yValues[j]))
                nonNullLft = j;
            }
          }
          if (bias == 0 || bias == 1) {
            j = cursorIdx;
            while (nonNullRgt == null && j++ < yValues.length) {
              if (!skip.has(yValues[j]))
                nonNullRgt = j;
            }
          }
          if (nonNullLft != null || nonNullRgt != null) {
            if (withProx) {
              let lftPos = nonNullLft == null ? -Infinity : valToPosX(xValues[nonNullLft], scaleX, xDim, 0);
              let rgtPos = nonNullRgt == null ? Infinity : valToPosX(xValues[nonNullRgt], scaleX, xDim, 0);
              let lftDelta = cursorLft - lftPos;
              let rgtDelta = rgtPos - cursorLft;
              if (lftDelta <= rgtDelta) {
                if (lftDelta <= _prox)
                  idx2 = nonNullLft;
              } else {
                if (rgtDelta <= _prox)
                  idx2 = nonNullRgt;
              }
            } else {
              idx2 = nonNullRgt == null ? nonNullLft : nonNullLft == null ? nonNullRgt : cursorIdx - nonNullLft <= nonNullRgt - cursorIdx ? nonNullLft : nonNullRgt;
            }
          }
        } else if (withProx) {
          let dist = abs(cursorLft - valToPosX(xValues[cursorIdx], scaleX, xDim, 0));
          if (dist > _prox)
            idx2 = null;
        }
        return idx2;
      };
    }
    const setCursorEvent = (e) => {
      cursor.event = e;
    };
    cursor.idxs = activeIdxs;
    cursor._lock = false;
    let points2 = cursor.points;
    points2.show = fnOrSelf(points2.show);
    points2.size = fnOrSelf(points2.size);
    points2.stroke = fnOrSelf(points2.stroke);
    points2.width = fnOrSelf(points2.width);
    points2.fill = fnOrSelf(points2.fill);
    const focus = self.focus = assign({}, opts.focus || { alpha: 0.3 }, cursor.focus);
    const cursorFocus = focus.prox >= 0;
    const cursorOnePt = cursorFocus && points2.one;
    let cursorPts = [];
    let cursorPtsLft = [];
    let cursorPtsTop = [];
    function initCursorPt(s, si) {
      let pt = points2.show(self, si);
      if (pt instanceof HTMLElement) {
        addClass(pt, CURSOR_PT);
        addClass(pt, s.class);
        elTrans(pt, -10, -10, plotWidCss, plotHgtCss);
        over.insertBefore(pt, cursorPts[si]);
        return pt;
      }
    }
    function initSeries(s, i) {
      if (mode == 1 || i > 0) {
        let isTime = mode == 1 && scales[s.scale].time;
        let sv = s.value;
        s.value = isTime ? isStr(sv) ? timeSeriesVal(_tzDate, timeSeriesStamp(sv, _fmtDate)) : sv || _timeSeriesVal : sv || numSeriesVal;
        s.label = s.label || (isTime ? timeSeriesLabel : numSeriesLabel);
      }
      if (cursorOnePt || i > 0) {
        s.width = s.width == null ? 1 : s.width;
        s.paths = s.paths || linearPath || retNull;
        s.fillTo = fnOrSelf(s.fillTo || seriesFillTo);
        s.pxAlign = +ifNull(s.pxAlign, pxAlign);
        s.pxRound = pxRoundGen(s.pxAlign);
        s.stroke = fnOrSelf(s.stroke || null);
        s.fill = fnOrSelf(s.fill || null);
        s._stroke = s._fill = s._paths = s._focus = null;
        let _ptDia = ptDia(max(1, s.width), 1);
        let points3 = s.points = assign({}, {
          size: _ptDia,
          width: max(1, _ptDia * 0.2),
          stroke: s.stroke,
          space: _ptDia * 2,
          paths: pointsPath,
          _stroke: null,
          _fill: null
        }, s.points);
        points3.show = fnOrSelf(points3.show);
        points3.filter = fnOrSelf(points3.filter);
        points3.fill = fnOrSelf(points3.fill);
        points3.stroke = fnOrSelf(points3.stroke);
        points3.paths = fnOrSelf(points3.paths);
        points3.pxAlign = s.pxAlign;
      }
      if (showLegend) {
        let rowCells = initLegendRow(s, i);
        legendRows2.splice(i, 0, rowCells[0]);
        legendCells.splice(i, 0, rowCells[1]);
        legend.values.push(null);
      }
      if (showCursor) {
        activeIdxs.splice(i, 0, null);
        let pt = null;
        if (cursorOnePt) {
          if (i == 0)
            pt = initCursorPt(s, i);
        } else if (i > 0)
          pt = initCursorPt(s, i);
        cursorPts.splice(i, 0, pt);
        cursorPtsLft.splice(i, 0, 0);
        cursorPtsTop.splice(i, 0, 0);
      }
      fire("addSeries", i);
    }
    function addSeries(opts2, si) {
      si = si == null ? series.length : si;
      opts2 = mode == 1 ? setDefault(opts2, si, xSeriesOpts, ySeriesOpts) : setDefault(opts2, si, {}, xySeriesOpts);
      series.splice(si, 0, opts2);
      initSeries(series[si], si);
    }
    self.addSeries = addSeries;
    function delSeries(i) {
      series.splice(i, 1);
      if (showLegend) {
        legend.values.splice(i, 1);
        legendCells.splice(i, 1);
        let tr = legendRows2.splice(i, 1)[0];
        offMouse(null, tr.firstChild);
        tr.remove();
      }
      if (showCursor) {
        activeIdxs.splice(i, 1);
        cursorPts.splice(i, 1)[0].remove();
        cursorPtsLft.splice(i, 1);
        cursorPtsTop.splice(i, 1);
      }
      fire("delSeries", i);
    }
    self.delSeries = delSeries;
    const sidesWithAxes = [false, false, false, false];
    function initAxis(axis, i) {
      axis._show = axis.show;
      if (axis.show) {
        let isVt = axis.side % 2;
        let sc = scales[axis.scale];
        if (sc == null) {
          axis.scale = isVt ? series[1].scale : xScaleKey;
          sc = scales[axis.scale];
        }
        let isTime = sc.time;
        axis.size = fnOrSelf(axis.size);
        axis.space = fnOrSelf(axis.space);
        axis.rotate = fnOrSelf(axis.rotate);
        if (isArr(axis.incrs)) {
          axis.incrs.forEach((incr) => {
            !fixedDec.has(incr) && fixedDec.set(incr, guessDec(incr));
          });
        }
        axis.incrs = fnOrSelf(axis.incrs || (sc.distr == 2 ? wholeIncrs : isTime ? ms == 1 ? timeIncrsMs : timeIncrsS : numIncrs));
        axis.splits = fnOrSelf(axis.splits || (isTime && sc.distr == 1 ? _timeAxisSplits : sc.distr == 3 ? logAxisSplits : sc.distr == 4 ? asinhAxisSplits : numAxisSplits));
        axis.stroke = fnOrSelf(axis.stroke);
        axis.grid.stroke = fnOrSelf(axis.grid.stroke);
        axis.ticks.stroke = fnOrSelf(axis.ticks.stroke);
        axis.border.stroke = fnOrSelf(axis.border.stroke);
        let av = axis.values;
        axis.values = // static array of tick values
        isArr(av) && !isArr(av[0]) ? fnOrSelf(av) : (
          // temporal
          isTime ? (
            // config array of fmtDate string tpls
            isArr(av) ? timeAxisVals(_tzDate, timeAxisStamps(av, _fmtDate)) : (
              // fmtDate string tpl
              isStr(av) ? timeAxisVal(_tzDate, av) : av || _timeAxisVals
            )
          ) : av || numAxisVals
        );
        axis.filter = fnOrSelf(axis.filter || (sc.distr >= 3 && sc.log == 10 ? log10AxisValsFilt : sc.distr == 3 && sc.log == 2 ? log2AxisValsFilt : retArg1));
        axis.font = pxRatioFont(axis.font);
        axis.labelFont = pxRatioFont(axis.labelFont);
        axis._size = axis.size(self, null, i, 0);
        axis._space = axis._rotate = axis._incrs = axis._found = // foundIncrSpace
        axis._splits = axis._values = null;
        if (axis._size > 0) {
          sidesWithAxes[i] = true;
          axis._el = placeDiv(AXIS, wrap);
        }
      }
    }
    function autoPadSide(self2, side, sidesWithAxes2, cycleNum) {
      let [hasTopAxis, hasRgtAxis, hasBtmAxis, hasLftAxis] = sidesWithAxes2;
      let ori = side % 2;
      let size = 0;
      if (ori == 0 && (hasLftAxis || hasRgtAxis))
        size = side == 0 && !hasTopAxis || side == 2 && !hasBtmAxis ? round(xAxisOpts.size / 3) : 0;
      if (ori == 1 && (hasTopAxis || hasBtmAxis))
        size = side == 1 && !hasRgtAxis || side == 3 && !hasLftAxis ? round(yAxisOpts.size / 2) : 0;
      return size;
    }
    const padding = self.padding = (opts.padding || [autoPadSide, autoPadSide, autoPadSide, autoPadSide]).map((p) => fnOrSelf(ifNull(p, autoPadSide)));
    const _padding = self._padding = padding.map((p, i) => p(self, i, sidesWithAxes, 0));
    let dataLen;
    let i0 = null;
    let i1 = null;
    const idxs = mode == 1 ? series[0].idxs : null;
    let data0 = null;
    let viaAutoScaleX = false;
    function setData(_data, _resetScales) {
      data = _data == null ? [] : _data;
      self.data = self._data = data;
      if (mode == 2) {
        dataLen = 0;
        for (let i = 1; i < series.length; i++)
          dataLen += data[i][0].length;
      } else {
        if (data.length == 0)
          self.data = self._data = data = [[]];
        data0 = data[0];
        dataLen = data0.length;
        let scaleData = data;
        if (xScaleDistr == 2) {
          scaleData = data.slice();
          let _data0 = scaleData[0] = Array(dataLen);
          for (let i = 0; i < dataLen; i++)
            _data0[i] = i;
        }
        self._data = data = scaleData;
      }
      resetYSeries(true);
      fire("setData");
      if (xScaleDistr == 2) {
        shouldConvergeSize = true;
      }
      if (_resetScales !== false) {
        let xsc = scaleX;
        if (xsc.auto(self, viaAutoScaleX))
          autoScaleX();
        else
          _setScale(xScaleKey, xsc.min, xsc.max);
        shouldSetCursor = shouldSetCursor || cursor.left >= 0;
        shouldSetLegend = true;
        commit();
      }
    }
    self.setData = setData;
    function autoScaleX() {
      viaAutoScaleX = true;
      let _min, _max;
      if (mode == 1) {
        if (dataLen > 0) {
          i0 = idxs[0] = 0;
          i1 = idxs[1] = dataLen - 1;
          _min = data[0][i0];
          _max = data[0][i1];
          if (xScaleDistr == 2) {
            _min = i0;
            _max = i1;
          } else if (_min == _max) {
            if (xScaleDistr == 3)
              [_min, _max] = rangeLog(_min, _min, scaleX.log, false);
            else if (xScaleDistr == 4)
              [_min, _max] = rangeAsinh(_min, _min, scaleX.log, false);
            else if (scaleX.time)
              _max = _min + round(86400 / ms);
            else
              [_min, _max] = rangeNum(_min, _max, rangePad, true);
          }
        } else {
          i0 = idxs[0] = _min = null;
          i1 = idxs[1] = _max = null;
        }
      }
      _setScale(xScaleKey, _min, _max);
    }
    let ctxStroke, ctxFill, ctxWidth, ctxDash, ctxJoin, ctxCap, ctxFont, ctxAlign, ctxBaseline;
    let ctxAlpha;
    function setCtxStyle(stroke, width, dash, cap, fill, join2) {
      stroke ?? (stroke = transparent);
      dash ?? (dash = EMPTY_ARR);
      cap ?? (cap = "butt");
      fill ?? (fill = transparent);
      join2 ?? (join2 = "round");
      if (stroke != ctxStroke)
        ctx.strokeStyle = ctxStroke = stroke;
      if (fill != ctxFill)
        ctx.fillStyle = ctxFill = fill;
      if (width != ctxWidth)
        ctx.lineWidth = ctxWidth = width;
      if (join2 != ctxJoin)
        ctx.lineJoin = ctxJoin = join2;
      if (cap != ctxCap)
        ctx.lineCap = ctxCap = cap;
      if (dash != ctxDash)
        ctx.setLineDash(ctxDash = dash);
    }
    function setFontStyle(font2, fill, align, baseline) {
      if (fill != ctxFill)
        ctx.fillStyle = ctxFill = fill;
      if (font2 != ctxFont)
        ctx.font = ctxFont = font2;
      if (align != ctxAlign)
        ctx.textAlign = ctxAlign = align;
      if (baseline != ctxBaseline)
        ctx.textBaseline = ctxBaseline = baseline;
    }
    function accScale(wsc, psc, facet2, data2, sorted = 0) {
      if (data2.length > 0 && wsc.auto(self, viaAutoScaleX) && (psc == null || psc.min == null)) {
        let _i0 = ifNull(i0, 0);
        let _i1 = ifNull(i1, data2.length - 1);
        let minMax = facet2.min == null ? getMinMax(data2, _i0, _i1, sorted, wsc.distr == 3) : [facet2.min, facet2.max];
        wsc.min = min(wsc.min, facet2.min = minMax[0]);
        wsc.max = max(wsc.max, facet2.max = minMax[1]);
      }
    }
    const AUTOSCALE = { min: null, max: null };
    function setScales() {
      for (let k in scales) {
        let sc = scales[k];
        if (pendScales[k] == null && // scales that have never been set (on init)
        (sc.min == null || // or auto scales when the x scale was explicitly set
        pendScales[xScaleKey] != null && sc.auto(self, viaAutoScaleX))) {
          pendScales[k] = AUTOSCALE;
        }
      }
      for (let k in scales) {
        let sc = scales[k];
        if (pendScales[k] == null && sc.from != null && pendScales[sc.from] != null)
          pendScales[k] = AUTOSCALE;
      }
      if (pendScales[xScaleKey] != null)
        resetYSeries(true);
      let wipScales = {};
      for (let k in pendScales) {
        let psc = pendScales[k];
        if (psc != null) {
          let wsc = wipScales[k] = copy(scales[k], fastIsObj);
          if (psc.min != null)
            assign(wsc, psc);
          else if (k != xScaleKey || mode == 2) {
            if (dataLen == 0 && wsc.from == null) {
              let minMax = wsc.range(self, null, null, k);
              wsc.min = minMax[0];
              wsc.max = minMax[1];
            } else {
              wsc.min = inf;
              wsc.max = -inf;
            }
          }
        }
      }
      if (dataLen > 0) {
        series.forEach((s, i) => {
          if (mode == 1) {
            let k = s.scale;
            let psc = pendScales[k];
            if (psc == null)
              return;
            let wsc = wipScales[k];
            if (i == 0) {
              let minMax = wsc.range(self, wsc.min, wsc.max, k);
              wsc.min = minMax[0];
              wsc.max = minMax[1];
              i0 = closestIdx(wsc.min, data[0]);
              i1 = closestIdx(wsc.max, data[0]);
              if (i1 - i0 > 1) {
                if (data[0][i0] < wsc.min)
                  i0++;
                if (data[0][i1] > wsc.max)
                  i1--;
              }
              s.min = data0[i0];
              s.max = data0[i1];
            } else if (s.show && s.auto)
              accScale(wsc, psc, s, data[i], s.sorted);
            s.idxs[0] = i0;
            s.idxs[1] = i1;
          } else {
            if (i > 0) {
              if (s.show && s.auto) {
                let [xFacet, yFacet] = s.facets;
                let xScaleKey2 = xFacet.scale;
                let yScaleKey = yFacet.scale;
                let [xData, yData] = data[i];
                let wscx = wipScales[xScaleKey2];
                let wscy = wipScales[yScaleKey];
                wscx != null && accScale(wscx, pendScales[xScaleKey2], xFacet, xData, xFacet.sorted);
                wscy != null && accScale(wscy, pendScales[yScaleKey], yFacet, yData, yFacet.sorted);
                s.min = yFacet.min;
                s.max = yFacet.max;
              }
            }
          }
        });
        for (let k in wipScales) {
          let wsc = wipScales[k];
          let psc = pendScales[k];
          if (wsc.from == null && (psc == null || psc.min == null)) {
            let minMax = wsc.range(
              self,
              wsc.min == inf ? null : wsc.min,
              wsc.max == -inf ? null : wsc.max,
              k
            );
            wsc.min = minMax[0];
            wsc.max = minMax[1];
          }
        }
      }
      for (let k in wipScales) {
        let wsc = wipScales[k];
        if (wsc.from != null) {
          let base = wipScales[wsc.from];
          if (base.min == null)
            wsc.min = wsc.max = null;
          else {
            let minMax = wsc.range(self, base.min, base.max, k);
            wsc.min = minMax[0];
            wsc.max = minMax[1];
          }
        }
      }
      let changed = {};
      let anyChanged = false;
      for (let k in wipScales) {
        let wsc = wipScales[k];
        let sc = scales[k];
        if (sc.min != wsc.min || sc.max != wsc.max) {
          sc.min = wsc.min;
          sc.max = wsc.max;
          let distr = sc.distr;
          sc._min = distr == 3 ? log10(sc.min) : distr == 4 ? asinh(sc.min, sc.asinh) : distr == 100 ? sc.fwd(sc.min) : sc.min;
          sc._max = distr == 3 ? log10(sc.max) : distr == 4 ? asinh(sc.max, sc.asinh) : distr == 100 ? sc.fwd(sc.max) : sc.max;
          changed[k] = anyChanged = true;
        }
      }
      if (anyChanged) {
        series.forEach((s, i) => {
          if (mode == 2) {
            if (i > 0 && changed.y)
              s._paths = null;
          } else {
            if (changed[s.scale])
              s._paths = null;
          }
        });
        for (let k in changed) {
          shouldConvergeSize = true;
          fire("setScale", k);
        }
        if (showCursor && cursor.left >= 0)
          shouldSetCursor = shouldSetLegend = true;
      }
      for (let k in pendScales)
        pendScales[k] = null;
    }
    function getOuterIdxs(ydata) {
      let _i0 = clamp(i0 - 1, 0, dataLen - 1);
      let _i1 = clamp(i1 + 1, 0, dataLen - 1);
      while (ydata[_i0] == null && _i0 > 0)
        _i0--;
      while (ydata[_i1] == null && _i1 < dataLen - 1)
        _i1++;
      return [_i0, _i1];
    }
    function drawSeries() {
      if (dataLen > 0) {
        let shouldAlpha = series.some((s) => s._focus) && ctxAlpha != focus.alpha;
        if (shouldAlpha)
          ctx.globalAlpha = ctxAlpha = focus.alpha;
        series.forEach((s, i) => {
          if (i > 0 && s.show) {
            cacheStrokeFill(i, false);
            cacheStrokeFill(i, true);
            if (s._paths == null) {
              let _ctxAlpha = ctxAlpha;
              if (ctxAlpha != s.alpha)
                ctx.globalAlpha = ctxAlpha = s.alpha;
              let _idxs = mode == 2 ? [0, data[i][0].length - 1] : getOuterIdxs(data[i]);
              s._paths = s.paths(self, i, _idxs[0], _idxs[1]);
              if (ctxAlpha != _ctxAlpha)
                ctx.globalAlpha = ctxAlpha = _ctxAlpha;
            }
          }
        });
        series.forEach((s, i) => {
          if (i > 0 && s.show) {
            let _ctxAlpha = ctxAlpha;
            if (ctxAlpha != s.alpha)
              ctx.globalAlpha = ctxAlpha = s.alpha;
            s._paths != null && drawPath(i, false);
            {
              let _gaps = s._paths != null ? s._paths.gaps : null;
              let show = s.points.show(self, i, i0, i1, _gaps);
              let idxs2 = s.points.filter(self, i, show, _gaps);
              if (show || idxs2) {
                s.points._paths = s.points.paths(self, i, i0, i1, idxs2);
                drawPath(i, true);
              }
            }
            if (ctxAlpha != _ctxAlpha)
              ctx.globalAlpha = ctxAlpha = _ctxAlpha;
            fire("drawSeries", i);
          }
        });
        if (shouldAlpha)
          ctx.globalAlpha = ctxAlpha = 1;
      }
    }
    function cacheStrokeFill(si, _points) {
      let s = _points ? series[si].points : series[si];
      s._stroke = s.stroke(self, si);
      s._fill = s.fill(self, si);
    }
    function drawPath(si, _points) {
      let s = _points ? series[si].points : series[si];
      let {
        stroke,
        fill,
        clip: gapsClip,
        flags,
        _stroke: strokeStyle = s._stroke,
        _fill: fillStyle = s._fill,
        _width: width = s.width
      } = s._paths;
      width = roundDec(width * pxRatio, 3);
      let boundsClip = null;
      let offset = width % 2 / 2;
      if (_points && fillStyle == null)
        fillStyle = width > 0 ? "#fff" : strokeStyle;
      let _pxAlign = s.pxAlign == 1 && offset > 0;
      _pxAlign && ctx.translate(offset, offset);
      if (!_points) {
        let lft = plotLft - width / 2, top = plotTop - width / 2, wid = plotWid + width, hgt = plotHgt + width;
        boundsClip = new Path2D();
        boundsClip.rect(lft, top, wid, hgt);
      }
      if (_points)
        strokeFill(strokeStyle, width, s.dash, s.cap, fillStyle, stroke, fill, flags, gapsClip);
      else
        fillStroke(si, strokeStyle, width, s.dash, s.cap, fillStyle, stroke, fill, flags, boundsClip, gapsClip);
      _pxAlign && ctx.translate(-offset, -offset);
    }
    function fillStroke(si, strokeStyle, lineWidth, lineDash, lineCap, fillStyle, strokePath, fillPath, flags, boundsClip, gapsClip) {
      let didStrokeFill = false;
      flags != 0 && bands.forEach((b, bi) => {
        if (b.series[0] == si) {
          let lowerEdge = series[b.series[1]];
          let lowerData = data[b.series[1]];
          let bandClip = (lowerEdge._paths || EMPTY_OBJ).band;
          if (isArr(bandClip))
            bandClip = b.dir == 1 ? bandClip[0] : bandClip[1];
          let gapsClip2;
          let _fillStyle = null;
          if (lowerEdge.show && bandClip && hasData(lowerData, i0, i1)) {
            _fillStyle = b.fill(self, bi) || fillStyle;
            gapsClip2 = lowerEdge._paths.clip;
          } else
            bandClip = null;
          strokeFill(strokeStyle, lineWidth, lineDash, lineCap, _fillStyle, strokePath, fillPath, flags, boundsClip, gapsClip, gapsClip2, bandClip);
          didStrokeFill = true;
        }
      });
      if (!didStrokeFill)
        strokeFill(strokeStyle, lineWidth, lineDash, lineCap, fillStyle, strokePath, fillPath, flags, boundsClip, gapsClip);
    }
    const CLIP_FILL_STROKE = BAND_CLIP_FILL | BAND_CLIP_STROKE;
    function strokeFill(strokeStyle, lineWidth, lineDash, lineCap, fillStyle, strokePath, fillPath, flags, boundsClip, gapsClip, gapsClip2, bandClip) {
      setCtxStyle(strokeStyle, lineWidth, lineDash, lineCap, fillStyle);
      if (boundsClip || gapsClip || bandClip) {
        ctx.save();
        boundsClip && ctx.clip(boundsClip);
        gapsClip && ctx.clip(gapsClip);
      }
      if (bandClip) {
        if ((flags & CLIP_FILL_STROKE) == CLIP_FILL_STROKE) {
          ctx.clip(bandClip);
          gapsClip2 && ctx.clip(gapsClip2);
          doFill(fillStyle, fillPath);
          doStroke(strokeStyle, strokePath, lineWidth);
        } else if (flags & BAND_CLIP_STROKE) {
          doFill(fillStyle, fillPath);
          ctx.clip(bandClip);
          doStroke(strokeStyle, strokePath, lineWidth);
        } else if (flags & BAND_CLIP_FILL) {
          ctx.save();
          ctx.clip(bandClip);
          gapsClip2 && ctx.clip(gapsClip2);
          doFill(fillStyle, fillPath);
          ctx.restore();
          doStroke(strokeStyle, strokePath, lineWidth);
        }
      } else {
        doFill(fillStyle, fillPath);
        doStroke(strokeStyle, strokePath, lineWidth);
      }
      if (boundsClip || gapsClip || bandClip)
        ctx.restore();
    }
    function doStroke(strokeStyle, strokePath, lineWidth) {
      if (lineWidth > 0) {
        if (strokePath instanceof Map) {
          strokePath.forEach((strokePath2, strokeStyle2) => {
            ctx.strokeStyle = ctxStroke = strokeStyle2;
            ctx.stroke(strokePath2);
          });
        } else
          strokePath != null && strokeStyle && ctx.stroke(strokePath);
      }
    }
    function doFill(fillStyle, fillPath) {
      if (fillPath instanceof Map) {
        fillPath.forEach((fillPath2, fillStyle2) => {
          ctx.fillStyle = ctxFill = fillStyle2;
          ctx.fill(fillPath2);
        });
      } else
        fillPath != null && fillStyle && ctx.fill(fillPath);
    }
    function getIncrSpace(axisIdx, min2, max2, fullDim) {
      let axis = axes[axisIdx];
      let incrSpace;
      if (fullDim <= 0)
        incrSpace = [0, 0];
      else {
        let minSpace = axis._space = axis.space(self, axisIdx, min2, max2, fullDim);
        let incrs = axis._incrs = axis.incrs(self, axisIdx, min2, max2, fullDim, minSpace);
        incrSpace = findIncr(min2, max2, incrs, fullDim, minSpace);
      }
      return axis._found = incrSpace;
    }
    function drawOrthoLines(offs, filts, ori, side, pos0, len, width, stroke, dash, cap) {
      let offset = width % 2 / 2;
      pxAlign == 1 && ctx.translate(offset, offset);
      setCtxStyle(stroke, width, dash, cap, stroke);
      ctx.beginPath();
      let x0, y0, x1, y1, pos1 = pos0 + (side == 0 || side == 3 ? -len : len);
      if (ori == 0) {
        y0 = pos0;
        y1 = pos1;
      } else {
        x0 = pos0;
        x1 = pos1;
      }
      for (let i = 0; i < offs.length; i++) {
        if (filts[i] != null) {
          if (ori == 0)
            x0 = x1 = offs[i];
          else
            y0 = y1 = offs[i];
          ctx.moveTo(x0, y0);
          ctx.lineTo(x1, y1);
        }
      }
      ctx.stroke();
      pxAlign == 1 && ctx.translate(-offset, -offset);
    }
    function axesCalc(cycleNum) {
      let converged = true;
      axes.forEach((axis, i) => {
        if (!axis.show)
          return;
        let scale = scales[axis.scale];
        if (scale.min == null) {
          if (axis._show) {
            converged = false;
            axis._show = false;
            resetYSeries(false);
          }
          return;
        } else {
          if (!axis._show) {
            converged = false;
            axis._show = true;
            resetYSeries(false);
          }
        }
        let side = axis.side;
        let ori = side % 2;
        let { min: min2, max: max2 } = scale;
        let [_incr, _space] = getIncrSpace(i, min2, max2, ori == 0 ? plotWidCss : plotHgtCss);
        if (_space == 0)
          return;
        let forceMin = scale.distr == 2;
        let _splits = axis._splits = axis.splits(self, i, min2, max2, _incr, _space, forceMin);
        let splits = scale.distr == 2 ? _splits.map((i2) => data0[i2]) : _splits;
        let incr = scale.distr == 2 ? data0[_splits[1]] - data0[_splits[0]] : _incr;
        let values = axis._values = axis.values(self, axis.filter(self, splits, i, _space, incr), i, _space, incr);
        axis._rotate = side == 2 ? axis.rotate(self, values, i, _space) : 0;
        let oldSize = axis._size;
        axis._size = ceil(axis.size(self, values, i, cycleNum));
        if (oldSize != null && axis._size != oldSize)
          converged = false;
      });
      return converged;
    }
    function paddingCalc(cycleNum) {
      let converged = true;
      padding.forEach((p, i) => {
        let _p = p(self, i, sidesWithAxes, cycleNum);
        if (_p != _padding[i])
          converged = false;
        _padding[i] = _p;
      });
      return converged;
    }
    function drawAxesGrid() {
      for (let i = 0; i < axes.length; i++) {
        let axis = axes[i];
        if (!axis.show || !axis._show)
          continue;
        let side = axis.side;
        let ori = side % 2;
        let x, y;
        let fillStyle = axis.stroke(self, i);
        let shiftDir = side == 0 || side == 3 ? -1 : 1;
        let [_incr, _space] = axis._found;
        if (axis.label != null) {
          let shiftAmt2 = axis.labelGap * shiftDir;
          let baseLpos = round((axis._lpos + shiftAmt2) * pxRatio);
          setFontStyle(axis.labelFont[0], fillStyle, "center", side == 2 ? TOP : BOTTOM);
          ctx.save();
          if (ori == 1) {
            x = y = 0;
            ctx.translate(
              baseLpos,
              round(plotTop + plotHgt / 2)
            );
            ctx.rotate((side == 3 ? -PI : PI) / 2);
          } else {
            x = round(plotLft + plotWid / 2);
            y = baseLpos;
          }
          let _label = isFn(axis.label) ? axis.label(self, i, _incr, _space) : axis.label;
          ctx.fillText(_label, x, y);
          ctx.restore();
        }
        if (_space == 0)
          continue;
        let scale = scales[axis.scale];
        let plotDim = ori == 0 ? plotWid : plotHgt;
        let plotOff = ori == 0 ? plotLft : plotTop;
        let _splits = axis._splits;
        let splits = scale.distr == 2 ? _splits.map((i2) => data0[i2]) : _splits;
        let incr = scale.distr == 2 ? data0[_splits[1]] - data0[_splits[0]] : _incr;
        let ticks2 = axis.ticks;
        let border2 = axis.border;
        let _tickSize = ticks2.show ? ticks2.size : 0;
        let tickSize = round(_tickSize * pxRatio);
        let axisGap = round((axis.alignTo == 2 ? axis._size - _tickSize - axis.gap : axis.gap) * pxRatio);
        let angle = axis._rotate * -PI / 180;
        let basePos = pxRound(axis._pos * pxRatio);
        let shiftAmt = (tickSize + axisGap) * shiftDir;
        let finalPos = basePos + shiftAmt;
        y = ori == 0 ? finalPos : 0;
        x = ori == 1 ? finalPos : 0;
        let font2 = axis.font[0];
        let textAlign = axis.align == 1 ? LEFT : axis.align == 2 ? RIGHT : angle > 0 ? LEFT : angle < 0 ? RIGHT : ori == 0 ? "center" : side == 3 ? RIGHT : LEFT;
        let textBaseline = angle || ori == 1 ? "middle" : side == 2 ? TOP : BOTTOM;
        setFontStyle(font2, fillStyle, textAlign, textBaseline);
        let lineHeight = axis.font[1] * axis.lineGap;
        let canOffs = _splits.map((val) => pxRound(getPos(val, scale, plotDim, plotOff)));
        let _values = axis._values;
        for (let i2 = 0; i2 < _values.length; i2++) {
          let val = _values[i2];
          if (val != null) {
            if (ori == 0)
              x = canOffs[i2];
            else
              y = canOffs[i2];
            val = "" + val;
            let _parts = val.indexOf("\n") == -1 ? [val] : val.split(/\n/gm);
            for (let j = 0; j < _parts.length; j++) {
              let text = _parts[j];
              if (angle) {
                ctx.save();
                ctx.translate(x, y + j * lineHeight);
                ctx.rotate(angle);
                ctx.fillText(text, 0, 0);
                ctx.restore();
              } else
                ctx.fillText(text, x, y + j * lineHeight);
            }
          }
        }
        if (ticks2.show) {
          drawOrthoLines(
            canOffs,
            ticks2.filter(self, splits, i, _space, incr),
            ori,
            side,
            basePos,
            tickSize,
            roundDec(ticks2.width * pxRatio, 3),
            ticks2.stroke(self, i),
            ticks2.dash,
            ticks2.cap
          );
        }
        let grid2 = axis.grid;
        if (grid2.show) {
          drawOrthoLines(
            canOffs,
            grid2.filter(self, splits, i, _space, incr),
            ori,
            ori == 0 ? 2 : 1,
            ori == 0 ? plotTop : plotLft,
            ori == 0 ? plotHgt : plotWid,
            roundDec(grid2.width * pxRatio, 3),
            grid2.stroke(self, i),
            grid2.dash,
            grid2.cap
          );
        }
        if (border2.show) {
          drawOrthoLines(
            [basePos],
            [1],
            ori == 0 ? 1 : 0,
            ori == 0 ? 1 : 2,
            ori == 1 ? plotTop : plotLft,
            ori == 1 ? plotHgt : plotWid,
            roundDec(border2.width * pxRatio, 3),
            border2.stroke(self, i),
            border2.dash,
            border2.cap
          );
        }
      }
      fire("drawAxes");
    }
    function resetYSeries(minMax) {
      series.forEach((s, i) => {
        if (i > 0) {
          s._paths = null;
          if (minMax) {
            if (mode == 1) {
              s.min = null;
              s.max = null;
            } else {
              s.facets.forEach((f) => {
                f.min = null;
                f.max = null;
              });
            }
          }
        }
      });
    }
    let queuedCommit = false;
    let deferHooks = false;
    let hooksQueue = [];
    function flushHooks() {
      deferHooks = false;
      for (let i = 0; i < hooksQueue.length; i++)
        fire(...hooksQueue[i]);
      hooksQueue.length = 0;
    }
    function commit() {
      if (!queuedCommit) {
        microTask(_commit);
        queuedCommit = true;
      }
    }
    function batch(fn, _deferHooks = false) {
      queuedCommit = true;
      deferHooks = _deferHooks;
      fn(self);
      _commit();
      if (_deferHooks && hooksQueue.length > 0)
        queueMicrotask(flushHooks);
    }
    self.batch = batch;
    function _commit() {
      if (shouldSetScales) {
        setScales();
        shouldSetScales = false;
      }
      if (shouldConvergeSize) {
        convergeSize();
        shouldConvergeSize = false;
      }
      if (shouldSetSize) {
        setStylePx(under, LEFT, plotLftCss);
        setStylePx(under, TOP, plotTopCss);
        setStylePx(under, WIDTH, plotWidCss);
        setStylePx(under, HEIGHT, plotHgtCss);
        setStylePx(over, LEFT, plotLftCss);
        setStylePx(over, TOP, plotTopCss);
        setStylePx(over, WIDTH, plotWidCss);
        setStylePx(over, HEIGHT, plotHgtCss);
        setStylePx(wrap, WIDTH, fullWidCss);
        setStylePx(wrap, HEIGHT, fullHgtCss);
        can.width = round(fullWidCss * pxRatio);
        can.height = round(fullHgtCss * pxRatio);
        axes.forEach(({ _el, _show, _size, _pos, side }) => {
          if (_el != null) {
            if (_show) {
              let posOffset = side === 3 || side === 0 ? _size : 0;
              let isVt = side % 2 == 1;
              setStylePx(_el, isVt ? "left" : "top", _pos - posOffset);
              setStylePx(_el, isVt ? "width" : "height", _size);
              setStylePx(_el, isVt ? "top" : "left", isVt ? plotTopCss : plotLftCss);
              setStylePx(_el, isVt ? "height" : "width", isVt ? plotHgtCss : plotWidCss);
              remClass(_el, OFF);
            } else
              addClass(_el, OFF);
          }
        });
        ctxStroke = ctxFill = ctxWidth = ctxJoin = ctxCap = ctxFont = ctxAlign = ctxBaseline = ctxDash = null;
        ctxAlpha = 1;
        syncRect(true);
        if (plotLftCss != _plotLftCss || plotTopCss != _plotTopCss || plotWidCss != _plotWidCss || plotHgtCss != _plotHgtCss) {
          resetYSeries(false);
          let pctWid = plotWidCss / _plotWidCss;
          let pctHgt = plotHgtCss / _plotHgtCss;
          if (showCursor && !shouldSetCursor && cursor.left >= 0) {
            cursor.left *= pctWid;
            cursor.top *= pctHgt;
            vCursor && elTrans(vCursor, round(cursor.left), 0, plotWidCss, plotHgtCss);
            hCursor && elTrans(hCursor, 0, round(cursor.top), plotWidCss, plotHgtCss);
            for (let i = 0; i < cursorPts.length; i++) {
              let pt = cursorPts[i];
              if (pt != null) {
                cursorPtsLft[i] *= pctWid;
                cursorPtsTop[i] *= pctHgt;
                elTrans(pt, ceil(cursorPtsLft[i]), ceil(cursorPtsTop[i]), plotWidCss, plotHgtCss);
              }
            }
          }
          if (select.show && !shouldSetSelect && select.left >= 0 && select.width > 0) {
            select.left *= pctWid;
            select.width *= pctWid;
            select.top *= pctHgt;
            select.height *= pctHgt;
            for (let prop in _hideProps)
              setStylePx(selectDiv, prop, select[prop]);
          }
          _plotLftCss = plotLftCss;
          _plotTopCss = plotTopCss;
          _plotWidCss = plotWidCss;
          _plotHgtCss = plotHgtCss;
        }
        fire("setSize");
        shouldSetSize = false;
      }
      if (fullWidCss > 0 && fullHgtCss > 0) {
        ctx.clearRect(0, 0, can.width, can.height);
        fire("drawClear");
        drawOrder.forEach((fn) => fn());
        fire("draw");
      }
      if (select.show && shouldSetSelect) {
        setSelect(select);
        shouldSetSelect = false;
      }
      if (showCursor && shouldSetCursor) {
        updateCursor(null, true, false);
        shouldSetCursor = false;
      }
      if (legend.show && legend.live && shouldSetLegend) {
        setLegend();
        shouldSetLegend = false;
      }
      if (!ready) {
        ready = true;
        self.status = 1;
        fire("ready");
      }
      viaAutoScaleX = false;
      queuedCommit = false;
    }
    self.redraw = (rebuildPaths, recalcAxes) => {
      shouldConvergeSize = recalcAxes || false;
      if (rebuildPaths !== false)
        _setScale(xScaleKey, scaleX.min, scaleX.max);
      else
        commit();
    };
    function setScale(key2, opts2) {
      let sc = scales[key2];
      if (sc.from == null) {
        if (dataLen == 0) {
          let minMax = sc.range(self, opts2.min, opts2.max, key2);
          opts2.min = minMax[0];
          opts2.max = minMax[1];
        }
        if (opts2.min > opts2.max) {
          let _min = opts2.min;
          opts2.min = opts2.max;
          opts2.max = _min;
        }
        if (dataLen > 1 && opts2.min != null && opts2.max != null && opts2.max - opts2.min < 1e-16)
          return;
        if (key2 == xScaleKey) {
          if (sc.distr == 2 && dataLen > 0) {
            opts2.min = closestIdx(opts2.min, data[0]);
            opts2.max = closestIdx(opts2.max, data[0]);
            if (opts2.min == opts2.max)
              opts2.max++;
          }
        }
        pendScales[key2] = opts2;
        shouldSetScales = true;
        commit();
      }
    }
    self.setScale = setScale;
    let xCursor;
    let yCursor;
    let vCursor;
    let hCursor;
    let rawMouseLeft0;
    let rawMouseTop0;
    let mouseLeft0;
    let mouseTop0;
    let rawMouseLeft1;
    let rawMouseTop1;
    let mouseLeft1;
    let mouseTop1;
    let dragging = false;
    const drag = cursor.drag;
    let dragX = drag.x;
    let dragY = drag.y;
    if (showCursor) {
      if (cursor.x)
        xCursor = placeDiv(CURSOR_X, over);
      if (cursor.y)
        yCursor = placeDiv(CURSOR_Y, over);
      if (scaleX.ori == 0) {
        vCursor = xCursor;
        hCursor = yCursor;
      } else {
        vCursor = yCursor;
        hCursor = xCursor;
      }
      mouseLeft1 = cursor.left;
      mouseTop1 = cursor.top;
    }
    const select = self.select = assign({
      show: true,
      over: true,
      left: 0,
      width: 0,
      top: 0,
      height: 0
    }, opts.select);
    const selectDiv = select.show ? placeDiv(SELECT, select.over ? over : under) : null;
    function setSelect(opts2, _fire) {
      if (select.show) {
        for (let prop in opts2) {
          select[prop] = opts2[prop];
          if (prop in _hideProps)
            setStylePx(selectDiv, prop, opts2[prop]);
        }
        _fire !== false && fire("setSelect");
      }
    }
    self.setSelect = setSelect;
    function toggleDOM(i) {
      let s = series[i];
      if (s.show)
        showLegend && remClass(legendRows2[i], OFF);
      else {
        showLegend && addClass(legendRows2[i], OFF);
        if (showCursor) {
          let pt = cursorOnePt ? cursorPts[0] : cursorPts[i];
          pt != null && elTrans(pt, -10, -10, plotWidCss, plotHgtCss);
        }
      }
    }
    function _setScale(key2, min2, max2) {
      setScale(key2, { min: min2, max: max2 });
    }
    function setSeries(i, opts2, _fire, _pub) {
      if (opts2.focus != null)
        setFocus(i);
      if (opts2.show != null) {
        series.forEach((s, si) => {
          if (si > 0 && (i == si || i == null)) {
            s.show = opts2.show;
            toggleDOM(si);
            if (mode == 2) {
              _setScale(s.facets[0].scale, null, null);
              _setScale(s.facets[1].scale, null, null);
            } else
              _setScale(s.scale, null, null);
            commit();
          }
        });
      }
      _fire !== false && fire("setSeries", i, opts2);
      _pub && pubSync("setSeries", self, i, opts2);
    }
    self.setSeries = setSeries;
    function setBand(bi, opts2) {
      assign(bands[bi], opts2);
    }
    function addBand(opts2, bi) {
      opts2.fill = fnOrSelf(opts2.fill || null);
      opts2.dir = ifNull(opts2.dir, -1);
      bi = bi == null ? bands.length : bi;
      bands.splice(bi, 0, opts2);
    }
    function delBand(bi) {
      if (bi == null)
        bands.length = 0;
      else
        bands.splice(bi, 1);
    }
    self.addBand = addBand;
    self.setBand = setBand;
    self.delBand = delBand;
    function setAlpha(i, value) {
      series[i].alpha = value;
      if (showCursor && cursorPts[i] != null)
        cursorPts[i].style.opacity = value;
      if (showLegend && legendRows2[i])
        legendRows2[i].style.opacity = value;
    }
    let closestDist;
    let closestSeries;
    let focusedSeries;
    const FOCUS_TRUE = { focus: true };
    function setFocus(i) {
      if (i != focusedSeries) {
        let allFocused = i == null;
        let _setAlpha = focus.alpha != 1;
        series.forEach((s, i2) => {
          if (mode == 1 || i2 > 0) {
            let isFocused = allFocused || i2 == 0 || i2 == i;
            s._focus = allFocused ? null : isFocused;
            _setAlpha && setAlpha(i2, isFocused ? 1 : focus.alpha);
          }
        });
        focusedSeries = i;
        _setAlpha && commit();
      }
    }
    if (showLegend && cursorFocus) {
      onMouse(mouseleave, legendTable, (e) => {
        if (cursor._lock)
          return;
        setCursorEvent(e);
        if (focusedSeries != null)
          setSeries(null, FOCUS_TRUE, true, syncOpts.setSeries);
      });
    }
    function posToVal(pos, scale, can2) {
      let sc = scales[scale];
      if (can2)
        pos = pos / pxRatio - (sc.ori == 1 ? plotTopCss : plotLftCss);
      let dim = plotWidCss;
      if (sc.ori == 1) {
        dim = plotHgtCss;
        pos = dim - pos;
      }
      if (sc.dir == -1)
        pos = dim - pos;
      let _min = sc._min, _max = sc._max, pct = pos / dim;
      let sv = _min + (_max - _min) * pct;
      let distr = sc.distr;
      return distr == 3 ? pow(10, sv) : distr == 4 ? sinh(sv, sc.asinh) : distr == 100 ? sc.bwd(sv) : sv;
    }
    function closestIdxFromXpos(pos, can2) {
      let v = posToVal(pos, xScaleKey, can2);
      return closestIdx(v, data[0], i0, i1);
    }
    self.valToIdx = (val) => closestIdx(val, data[0]);
    self.posToIdx = closestIdxFromXpos;
    self.posToVal = posToVal;
    self.valToPos = (val, scale, can2) => scales[scale].ori == 0 ? getHPos(
      val,
      scales[scale],
      can2 ? plotWid : plotWidCss,
      can2 ? plotLft : 0
    ) : getVPos(
      val,
      scales[scale],
      can2 ? plotHgt : plotHgtCss,
      can2 ? plotTop : 0
    );
    self.setCursor = (opts2, _fire, _pub) => {
      mouseLeft1 = opts2.left;
      mouseTop1 = opts2.top;
      updateCursor(null, _fire, _pub);
    };
    function setSelH(off2, dim) {
      setStylePx(selectDiv, LEFT, select.left = off2);
      setStylePx(selectDiv, WIDTH, select.width = dim);
    }
    function setSelV(off2, dim) {
      setStylePx(selectDiv, TOP, select.top = off2);
      setStylePx(selectDiv, HEIGHT, select.height = dim);
    }
    let setSelX = scaleX.ori == 0 ? setSelH : setSelV;
    let setSelY = scaleX.ori == 1 ? setSelH : setSelV;
    function syncLegend() {
      if (showLegend && legend.live) {
        for (let i = mode == 2 ? 1 : 0; i < series.length; i++) {
          if (i == 0 && multiValLegend)
            continue;
          let vals = legend.values[i];
          let j = 0;
          for (let k in vals)
            legendCells[i][j++].firstChild.nodeValue = vals[k];
        }
      }
    }
    function setLegend(opts2, _fire) {
      if (opts2 != null) {
        if (opts2.idxs) {
          opts2.idxs.forEach((didx, sidx) => {
            activeIdxs[sidx] = didx;
          });
        } else if (!isUndef(opts2.idx))
          activeIdxs.fill(opts2.idx);
        legend.idx = activeIdxs[0];
      }
      if (showLegend && legend.live) {
        for (let sidx = 0; sidx < series.length; sidx++) {
          if (sidx > 0 || mode == 1 && !multiValLegend)
            setLegendValues(sidx, activeIdxs[sidx]);
        }
        syncLegend();
      }
      shouldSetLegend = false;
      _fire !== false && fire("setLegend");
    }
    self.setLegend = setLegend;
    function setLegendValues(sidx, idx) {
      let s = series[sidx];
      let src = sidx == 0 && xScaleDistr == 2 ? data0 : data[sidx];
      let val;
      if (multiValLegend)
        val = s.values(self, sidx, idx) ?? NULL_LEGEND_VALUES;
      else {
        val = s.value(self, idx == null ? null : src[idx], sidx, idx);
        val = val == null ? NULL_LEGEND_VALUES : { _: val };
      }
      legend.values[sidx] = val;
    }
    function updateCursor(src, _fire, _pub) {
      rawMouseLeft1 = mouseLeft1;
      rawMouseTop1 = mouseTop1;
      [mouseLeft1, mouseTop1] = cursor.move(self, mouseLeft1, mouseTop1);
      cursor.left = mouseLeft1;
      cursor.top = mouseTop1;
      if (showCursor) {
        vCursor && elTrans(vCursor, round(mouseLeft1), 0, plotWidCss, plotHgtCss);
        hCursor && elTrans(hCursor, 0, round(mouseTop1), plotWidCss, plotHgtCss);
      }
      let idx;
      let noDataInRange = i0 > i1;
      closestDist = inf;
      closestSeries = null;
      let xDim = scaleX.ori == 0 ? plotWidCss : plotHgtCss;
      let yDim = scaleX.ori == 1 ? plotWidCss : plotHgtCss;
      if (mouseLeft1 < 0 || dataLen == 0 || noDataInRange) {
        idx = cursor.idx = null;
        for (let i = 0; i < series.length; i++) {
          let pt = cursorPts[i];
          pt != null && elTrans(pt, -10, -10, plotWidCss, plotHgtCss);
        }
        if (cursorFocus)
          setSeries(null, FOCUS_TRUE, true, src == null && syncOpts.setSeries);
        if (legend.live) {
          activeIdxs.fill(idx);
          shouldSetLegend = true;
        }
      } else {
        let mouseXPos, valAtPosX, xPos;
        if (mode == 1) {
          mouseXPos = scaleX.ori == 0 ? mouseLeft1 : mouseTop1;
          valAtPosX = posToVal(mouseXPos, xScaleKey);
          idx = cursor.idx = closestIdx(valAtPosX, data[0], i0, i1);
          xPos = valToPosX(data[0][idx], scaleX, xDim, 0);
        }
        let _ptLft = -10;
        let _ptTop = -10;
        let _ptWid = 0;
        let _ptHgt = 0;
        let _centered = true;
        let _ptFill = "";
        let _ptStroke = "";
        for (let i = mode == 2 ? 1 : 0; i < series.length; i++) {
          let s = series[i];
          let idx1 = activeIdxs[i];
          let yVal1 = idx1 == null ? null : mode == 1 ? data[i][idx1] : data[i][1][idx1];
          let idx2 = cursor.dataIdx(self, i, idx, valAtPosX);
          let yVal2 = idx2 == null ? null : mode == 1 ? data[i][idx2] : data[i][1][idx2];
          shouldSetLegend = shouldSetLegend || yVal2 != yVal1 || idx2 != idx1;
          activeIdxs[i] = idx2;
          if (i > 0 && s.show) {
            let xPos2 = idx2 == null ? -10 : idx2 == idx ? xPos : valToPosX(mode == 1 ? data[0][idx2] : data[i][0][idx2], scaleX, xDim, 0);
            let yPos = yVal2 == null ? -10 : valToPosY(yVal2, mode == 1 ? scales[s.scale] : scales[s.facets[1].scale], yDim, 0);
            if (cursorFocus && yVal2 != null) {
              let mouseYPos = scaleX.ori == 1 ? mouseLeft1 : mouseTop1;
              let dist = abs(focus.dist(self, i, idx2, yPos, mouseYPos));
              if (dist < closestDist) {
                let bias = focus.bias;
                if (bias != 0) {
                  let mouseYVal = posToVal(mouseYPos, s.scale);
                  let seriesYValSign = yVal2 >= 0 ? 1 : -1;
                  let mouseYValSign = mouseYVal >= 0 ? 1 : -1;
                  if (mouseYValSign == seriesYValSign && (mouseYValSign == 1 ? bias == 1 ? yVal2 >= mouseYVal : yVal2 <= mouseYVal : (
                    // >= 0
                    bias == 1 ? yVal2 <= mouseYVal : yVal2 >= mouseYVal
                  ))) {
                    closestDist = dist;
                    closestSeries = i;
                  }
                } else {
                  closestDist = dist;
                  closestSeries = i;
                }
              }
            }
            if (shouldSetLegend || cursorOnePt) {
              let hPos, vPos;
              if (scaleX.ori == 0) {
                hPos = xPos2;
                vPos = yPos;
              } else {
                hPos = yPos;
                vPos = xPos2;
              }
              let ptWid, ptHgt, ptLft, ptTop, ptStroke, ptFill, centered = true, getBBox = points2.bbox;
              if (getBBox != null) {
                centered = false;
                let bbox = getBBox(self, i);
                ptLft = bbox.left;
                ptTop = bbox.top;
                ptWid = bbox.width;
                ptHgt = bbox.height;
              } else {
                ptLft = hPos;
                ptTop = vPos;
                ptWid = ptHgt = points2.size(self, i);
              }
              ptFill = points2.fill(self, i);
              ptStroke = points2.stroke(self, i);
              if (cursorOnePt) {
                if (i == closestSeries && closestDist <= focus.prox) {
                  _ptLft = ptLft;
                  _ptTop = ptTop;
                  _ptWid = ptWid;
                  _ptHgt = ptHgt;
                  _centered = centered;
                  _ptFill = ptFill;
                  _ptStroke = ptStroke;
                }
              } else {
                let pt = cursorPts[i];
                if (pt != null) {
                  cursorPtsLft[i] = ptLft;
                  cursorPtsTop[i] = ptTop;
                  elSize(pt, ptWid, ptHgt, centered);
                  elColor(pt, ptFill, ptStroke);
                  elTrans(pt, ceil(ptLft), ceil(ptTop), plotWidCss, plotHgtCss);
                }
              }
            }
          }
        }
        if (cursorOnePt) {
          let p = focus.prox;
          let focusChanged = focusedSeries == null ? closestDist <= p : closestDist > p || closestSeries != focusedSeries;
          if (shouldSetLegend || focusChanged) {
            let pt = cursorPts[0];
            if (pt != null) {
              cursorPtsLft[0] = _ptLft;
              cursorPtsTop[0] = _ptTop;
              elSize(pt, _ptWid, _ptHgt, _centered);
              elColor(pt, _ptFill, _ptStroke);
              elTrans(pt, ceil(_ptLft), ceil(_ptTop), plotWidCss, plotHgtCss);
            }
          }
        }
      }
      if (select.show && dragging) {
        if (src != null) {
          let [xKey, yKey] = syncOpts.scales;
          let [matchXKeys, matchYKeys] = syncOpts.match;
          let [xKeySrc, yKeySrc] = src.cursor.sync.scales;
          let sdrag = src.cursor.drag;
          dragX = sdrag._x;
          dragY = sdrag._y;
          if (dragX || dragY) {
            let { left, top, width, height } = src.select;
            let sori = src.scales[xKeySrc].ori;
            let sPosToVal = src.posToVal;
            let sOff, sDim, sc, a, b;
            let matchingX = xKey != null && matchXKeys(xKey, xKeySrc);
            let matchingY = yKey != null && matchYKeys(yKey, yKeySrc);
            if (matchingX && dragX) {
              if (sori == 0) {
                sOff = left;
                sDim = width;
              } else {
                sOff = top;
                sDim = height;
              }
              sc = scales[xKey];
              a = valToPosX(sPosToVal(sOff, xKeySrc), sc, xDim, 0);
              b = valToPosX(sPosToVal(sOff + sDim, xKeySrc), sc, xDim, 0);
              setSelX(min(a, b), abs(b - a));
            } else
              setSelX(0, xDim);
            if (matchingY && dragY) {
              if (sori == 1) {
                sOff = left;
                sDim = width;
              } else {
                sOff = top;
                sDim = height;
              }
              sc = scales[yKey];
              a = valToPosY(sPosToVal(sOff, yKeySrc), sc, yDim, 0);
              b = valToPosY(sPosToVal(sOff + sDim, yKeySrc), sc, yDim, 0);
              setSelY(min(a, b), abs(b - a));
            } else
              setSelY(0, yDim);
          } else
            hideSelect();
        } else {
          let rawDX = abs(rawMouseLeft1 - rawMouseLeft0);
          let rawDY = abs(rawMouseTop1 - rawMouseTop0);
          if (scaleX.ori == 1) {
            let _rawDX = rawDX;
            rawDX = rawDY;
            rawDY = _rawDX;
          }
          dragX = drag.x && rawDX >= drag.dist;
          dragY = drag.y && rawDY >= drag.dist;
          let uni = drag.uni;
          if (uni != null) {
            if (dragX && dragY) {
              dragX = rawDX >= uni;
              dragY = rawDY >= uni;
              if (!dragX && !dragY) {
                if (rawDY > rawDX)
                  dragY = true;
                else
                  dragX = true;
              }
            }
          } else if (drag.x && drag.y && (dragX || dragY))
            dragX = dragY = true;
          let p0, p1;
          if (dragX) {
            if (scaleX.ori == 0) {
              p0 = mouseLeft0;
              p1 = mouseLeft1;
            } else {
              p0 = mouseTop0;
              p1 = mouseTop1;
            }
            setSelX(min(p0, p1), abs(p1 - p0));
            if (!dragY)
              setSelY(0, yDim);
          }
          if (dragY) {
            if (scaleX.ori == 1) {
              p0 = mouseLeft0;
              p1 = mouseLeft1;
            } else {
              p0 = mouseTop0;
              p1 = mouseTop1;
            }
            setSelY(min(p0, p1), abs(p1 - p0));
            if (!dragX)
              setSelX(0, xDim);
          }
          if (!dragX && !dragY) {
            setSelX(0, 0);
            setSelY(0, 0);
          }
        }
      }
      drag._x = dragX;
      drag._y = dragY;
      if (src == null) {
        if (_pub) {
          if (syncKey != null) {
            let [xSyncKey, ySyncKey] = syncOpts.scales;
            syncOpts.values[0] = xSyncKey != null ? posToVal(scaleX.ori == 0 ? mouseLeft1 : mouseTop1, xSyncKey) : null;
            syncOpts.values[1] = ySyncKey != null ? posToVal(scaleX.ori == 1 ? mouseLeft1 : mouseTop1, ySyncKey) : null;
          }
          pubSync(mousemove, self, mouseLeft1, mouseTop1, plotWidCss, plotHgtCss, idx);
        }
        if (cursorFocus) {
          let shouldPub = _pub && syncOpts.setSeries;
          let p = focus.prox;
          if (focusedSeries == null) {
            if (closestDist <= p)
              setSeries(closestSeries, FOCUS_TRUE, true, shouldPub);
          } else {
            if (closestDist > p)
              setSeries(null, FOCUS_TRUE, true, shouldPub);
            else if (closestSeries != focusedSeries)
              setSeries(closestSeries, FOCUS_TRUE, true, shouldPub);
          }
        }
      }
      if (shouldSetLegend) {
        legend.idx = idx;
        setLegend();
      }
      _fire !== false && fire("setCursor");
    }
    let rect2 = null;
    Object.defineProperty(self, "rect", {
      get() {
        if (rect2 == null)
          syncRect(false);
        return rect2;
      }
    });
    function syncRect(defer = false) {
      if (defer)
        rect2 = null;
      else {
        rect2 = over.getBoundingClientRect();
        fire("syncRect", rect2);
      }
    }
    function mouseMove(e, src, _l, _t, _w, _h, _i) {
      if (cursor._lock)
        return;
      if (dragging && e != null && e.movementX == 0 && e.movementY == 0)
        return;
      cacheMouse(e, src, _l, _t, _w, _h, _i, false, e != null);
      if (e != null)
        updateCursor(null, true, true);
      else
        updateCursor(src, true, false);
    }
    function cacheMouse(e, src, _l, _t, _w, _h, _i, initial, snap) {
      if (rect2 == null)
        syncRect(false);
      setCursorEvent(e);
      if (e != null) {
        _l = e.clientX - rect2.left;
        _t = e.clientY - rect2.top;
      } else {
        if (_l < 0 || _t < 0) {
          mouseLeft1 = -10;
          mouseTop1 = -10;
          return;
        }
        let [xKey, yKey] = syncOpts.scales;
        let syncOptsSrc = src.cursor.sync;
        let [xValSrc, yValSrc] = syncOptsSrc.values;
        let [xKeySrc, yKeySrc] = syncOptsSrc.scales;
        let [matchXKeys, matchYKeys] = syncOpts.match;
        let rotSrc = src.axes[0].side % 2 == 1;
        let xDim = scaleX.ori == 0 ? plotWidCss : plotHgtCss, yDim = scaleX.ori == 1 ? plotWidCss : plotHgtCss, _xDim = rotSrc ? _h : _w, _yDim = rotSrc ? _w : _h, _xPos = rotSrc ? _t : _l, _yPos = rotSrc ? _l : _t;
        if (xKeySrc != null)
          _l = matchXKeys(xKey, xKeySrc) ? getPos(xValSrc, scales[xKey], xDim, 0) : -10;
        else
          _l = xDim * (_xPos / _xDim);
        if (yKeySrc != null)
          _t = matchYKeys(yKey, yKeySrc) ? getPos(yValSrc, scales[yKey], yDim, 0) : -10;
        else
          _t = yDim * (_yPos / _yDim);
        if (scaleX.ori == 1) {
          let __l = _l;
          _l = _t;
          _t = __l;
        }
      }
      if (snap && (src == null || src.cursor.event.type == mousemove)) {
        if (_l <= 1 || _l >= plotWidCss - 1)
          _l = incrRound(_l, plotWidCss);
        if (_t <= 1 || _t >= plotHgtCss - 1)
          _t = incrRound(_t, plotHgtCss);
      }
      if (initial) {
        rawMouseLeft0 = _l;
        rawMouseTop0 = _t;
        [mouseLeft0, mouseTop0] = cursor.move(self, _l, _t);
      } else {
        mouseLeft1 = _l;
        mouseTop1 = _t;
      }
    }
    const _hideProps = {
      width: 0,
      height: 0,
      left: 0,
      top: 0
    };
    function hideSelect() {
      setSelect(_hideProps, false);
    }
    let downSelectLeft;
    let downSelectTop;
    let downSelectWidth;
    let downSelectHeight;
    function mouseDown(e, src, _l, _t, _w, _h, _i) {
      dragging = true;
      dragX = dragY = drag._x = drag._y = false;
      cacheMouse(e, src, _l, _t, _w, _h, _i, true, false);
      if (e != null) {
        onMouse(mouseup, doc, mouseUp, false);
        pubSync(mousedown, self, mouseLeft0, mouseTop0, plotWidCss, plotHgtCss, null);
      }
      let { left, top, width, height } = select;
      downSelectLeft = left;
      downSelectTop = top;
      downSelectWidth = width;
      downSelectHeight = height;
    }
    function mouseUp(e, src, _l, _t, _w, _h, _i) {
      dragging = drag._x = drag._y = false;
      cacheMouse(e, src, _l, _t, _w, _h, _i, false, true);
      let { left, top, width, height } = select;
      let hasSelect = width > 0 || height > 0;
      let chgSelect = downSelectLeft != left || downSelectTop != top || downSelectWidth != width || downSelectHeight != height;
      hasSelect && chgSelect && setSelect(select);
      if (drag.setScale && hasSelect && chgSelect) {
        let xOff = left, xDim = width, yOff = top, yDim = height;
        if (scaleX.ori == 1) {
          xOff = top, xDim = height, yOff = left, yDim = width;
        }
        if (dragX) {
          _setScale(
            xScaleKey,
            posToVal(xOff, xScaleKey),
            posToVal(xOff + xDim, xScaleKey)
          );
        }
        if (dragY) {
          for (let k in scales) {
            let sc = scales[k];
            if (k != xScaleKey && sc.from == null && sc.min != inf) {
              _setScale(
                k,
                posToVal(yOff + yDim, k),
                posToVal(yOff, k)
              );
            }
          }
        }
        hideSelect();
      } else if (cursor.lock) {
        cursor._lock = !cursor._lock;
        updateCursor(src, true, e != null);
      }
      if (e != null) {
        offMouse(mouseup, doc);
        pubSync(mouseup, self, mouseLeft1, mouseTop1, plotWidCss, plotHgtCss, null);
      }
    }
    function mouseLeave(e, src, _l, _t, _w, _h, _i) {
      if (cursor._lock)
        return;
      setCursorEvent(e);
      let _dragging = dragging;
      if (dragging) {
        let snapH = true;
        let snapV = true;
        let snapProx = 10;
        let dragH, dragV;
        if (scaleX.ori == 0) {
          dragH = dragX;
          dragV = dragY;
        } else {
          dragH = dragY;
          dragV = dragX;
        }
        if (dragH && dragV) {
          snapH = mouseLeft1 <= snapProx || mouseLeft1 >= plotWidCss - snapProx;
          snapV = mouseTop1 <= snapProx || mouseTop1 >= plotHgtCss - snapProx;
        }
        if (dragH && snapH)
          mouseLeft1 = mouseLeft1 < mouseLeft0 ? 0 : plotWidCss;
        if (dragV && snapV)
          mouseTop1 = mouseTop1 < mouseTop0 ? 0 : plotHgtCss;
        updateCursor(null, true, true);
        dragging = false;
      }
      mouseLeft1 = -10;
      mouseTop1 = -10;
      activeIdxs.fill(null);
      updateCursor(null, true, true);
      if (_dragging)
        dragging = _dragging;
    }
    function dblClick(e, src, _l, _t, _w, _h, _i) {
      if (cursor._lock)
        return;
      setCursorEvent(e);
      autoScaleX();
      hideSelect();
      if (e != null)
        pubSync(dblclick, self, mouseLeft1, mouseTop1, plotWidCss, plotHgtCss, null);
    }
    function syncPxRatio() {
      axes.forEach(syncFontSize);
      _setSize(self.width, self.height, true);
    }
    on(dppxchange, win, syncPxRatio);
    const events = {};
    events.mousedown = mouseDown;
    events.mousemove = mouseMove;
    events.mouseup = mouseUp;
    events.dblclick = dblClick;
    events["setSeries"] = (e, src, idx, opts2) => {
      let seriesIdxMatcher2 = syncOpts.match[2];
      idx = seriesIdxMatcher2(self, src, idx);
      idx != -1 && setSeries(idx, opts2, true, false);
    };
    if (showCursor) {
      onMouse(mousedown, over, mouseDown);
      onMouse(mousemove, over, mouseMove);
      onMouse(mouseenter, over, (e) => {
        setCursorEvent(e);
        syncRect(false);
      });
      onMouse(mouseleave, over, mouseLeave);
      onMouse(dblclick, over, dblClick);
      cursorPlots.add(self);
      self.syncRect = syncRect;
    }
    const hooks = self.hooks = opts.hooks || {};
    function fire(evName, a1, a2) {
      if (deferHooks)
        hooksQueue.push([evName, a1, a2]);
      else {
        if (evName in hooks) {
          hooks[evName].forEach((fn) => {
            fn.call(null, self, a1, a2);
          });
        }
      }
    }
    (opts.plugins || []).forEach((p) => {
      for (let evName in p.hooks)
        hooks[evName] = (hooks[evName] || []).concat(p.hooks[evName]);
    });
    const seriesIdxMatcher = (self2, src, srcSeriesIdx) => srcSeriesIdx;
    const syncOpts = assign({
      key: null,
      setSeries: false,
      filters: {
        pub: retTrue,
        sub: retTrue
      },
      scales: [xScaleKey, series[1] ? series[1].scale : null],
      match: [retEq, retEq, seriesIdxMatcher],
      values: [null, null]
    }, cursor.sync);
    if (syncOpts.match.length == 2)
      syncOpts.match.push(seriesIdxMatcher);
    cursor.sync = syncOpts;
    const syncKey = syncOpts.key;
    const sync = _sync(syncKey);
    function pubSync(type, src, x, y, w, h2, i) {
      if (syncOpts.filters.pub(type, src, x, y, w, h2, i))
        sync.pub(type, src, x, y, w, h2, i);
    }
    sync.sub(self);
    function pub(type, src, x, y, w, h2, i) {
      if (syncOpts.filters.sub(type, src, x, y, w, h2, i))
        events[type](null, src, x, y, w, h2, i);
    }
    self.pub = pub;
    function destroy() {
      sync.unsub(self);
      cursorPlots.delete(self);
      mouseListeners.clear();
      off(dppxchange, win, syncPxRatio);
      root.remove();
      legendTable?.remove();
      fire("destroy");
    }
    self.destroy = destroy;
    function _init() {
      fire("init", opts, data);
      setData(data || opts.data, false);
      if (pendScales[xScaleKey])
        setScale(xScaleKey, pendScales[xScaleKey]);
      else
        autoScaleX();
      shouldSetSelect = select.show && (select.width > 0 || select.height > 0);
      shouldSetCursor = shouldSetLegend = true;
      _setSize(opts.width, opts.height);
    }
    series.forEach(initSeries);
    axes.forEach(initAxis);
    if (then) {
      if (then instanceof HTMLElement) {
        then.appendChild(root);
        _init();
      } else
        then(self, _init);
    } else
      _init();
    return self;
  }
  uPlot.assign = assign;
  uPlot.fmtNum = fmtNum;
  uPlot.rangeNum = rangeNum;
  uPlot.rangeLog = rangeLog;
  uPlot.rangeAsinh = rangeAsinh;
  uPlot.orient = orient;
  uPlot.pxRatio = pxRatio;
  {
    uPlot.join = join;
  }
  {
    uPlot.fmtDate = fmtDate;
    uPlot.tzDate = tzDate;
  }
  uPlot.sync = _sync;
  {
    uPlot.addGap = addGap;
    uPlot.clipGaps = clipGaps;
    let paths = uPlot.paths = {
      points
    };
    paths.linear = linear;
    paths.stepped = stepped;
    paths.bars = bars;
    paths.spline = monotoneCubic;
  }
  const MARK_GAP = 3;
  const NAME_GAP = 8;
  function placeMarkNames(marks, width, textWidth, pixelRatio = 1) {
    const placed = [];
    const markGap = MARK_GAP * pixelRatio;
    let nextFree = 0;
    for (const { x, text } of [...marks].sort((a, b) => a.x - b.x)) {
      if (x < 0 || x > width) continue;
      const nameWidth = textWidth(text);
      const left = x + markGap + nameWidth <= width ? x + markGap : x - markGap - nameWidth;
      if (left < nextFree) continue;
      placed.push({ left, text });
      nextFree = left + nameWidth + NAME_GAP * pixelRatio;
    }
    return placed;
  }
  const AXIS_WIDTHS = { wide: [66, 62], narrow: [58, 54] };
  const CLICK_PX = 4;
  const HOVER_MS = 150;
  const NAME_STRIP = 12;
  const LABEL_GAP = 12;
  const FONT = "12px system-ui, sans-serif";
  class Pane {
    constructor(group, height, handlers) {
      this.group = group;
      this.height = height;
      this.handlers = handlers;
      this.xRange = [0, 1];
      this.tooltip = h("div", { class: "tip", hidden: true });
      this.hovered = false;
      this.root = h("div", { class: "pane", role: "img" });
      this.root.append(this.tooltip);
    }
    /** Replaces the chart. */
    show(spec, xRange) {
      this.plot?.destroy();
      this.spec = spec;
      this.xRange = xRange;
      const width = Math.max(240, this.root.clientWidth || this.root.parentElement?.clientWidth || 600);
      this.plot = new uPlot(this.options(spec, width), [spec.x, ...spec.lines.map((line) => line.y)], this.root);
      const overlay = this.plot.over;
      overlay.addEventListener("pointerenter", () => this.hovered = true);
      overlay.addEventListener("pointerleave", () => this.hideTooltip());
      let pressedAt;
      overlay.addEventListener("pointerdown", (event) => pressedAt = event.clientX);
      overlay.addEventListener("click", (event) => {
        if (pressedAt !== void 0 && Math.abs(event.clientX - pressedAt) < CLICK_PX) this.handleClick(event);
      });
      this.root.append(this.tooltip);
    }
    /** Shows another range of the current values. */
    setRange(xRange) {
      this.xRange = xRange;
      this.plot?.setScale("x", { min: xRange[0], max: xRange[1] });
    }
    resize() {
      if (this.plot && this.root.clientWidth > 0 && this.spec) this.show(this.spec, this.xRange);
    }
    destroy() {
      this.plot?.destroy();
      this.plot = void 0;
    }
    hideTooltip() {
      this.hovered = false;
      this.tooltip.hidden = true;
    }
    handleClick(event) {
      const position = this.locate(event.offsetX, event.offsetY);
      if (position) this.handlers.onClick?.(position.cell, position.x, position.y, event.shiftKey);
    }
    locate(left, top) {
      if (!this.plot || !this.spec) return void 0;
      const [x, y] = [this.plot.posToVal(left, "x"), this.plot.posToVal(top, "y")];
      return { cell: this.indexAt(x), x, y };
    }
    /** Returns the index of the value at x: the cell that contains it, or the nearest point. */
    indexAt(x) {
      const xs = this.spec?.x ?? [];
      const isPointChart = this.spec?.lines.every((line) => line.kind === "points" || line.kind === "line") && !this.spec.heat;
      return isPointChart ? nearestIndex(xs, x) : intervalIndex(xs, x);
    }
    options(spec, width) {
      const { handlers } = this;
      const nameStrip = spec.showMarkNames && spec.marks.length > 0 ? NAME_STRIP : 0;
      const options = {
        width,
        height: this.height + nameStrip,
        // Charts of a group are stacked, so their plot areas must have the same width.
        padding: [
          8 + nameStrip,
          spec.right ? 0 : this.group === void 0 ? 16 : isNarrow() ? AXIS_WIDTHS.narrow[1] : AXIS_WIDTHS.wide[1],
          0,
          0
        ],
        legend: { show: false },
        scales: this.scales(spec),
        axes: this.axes(spec),
        series: [{}, ...spec.lines.map((line) => this.series(line))],
        cursor: {
          drag: { x: handlers.onZoom !== void 0, y: false, setScale: false, dist: CLICK_PX },
          points: { show: false },
          x: true,
          y: spec.heat !== void 0
        },
        hooks: {
          drawAxes: [(plot) => this.drawBackground(plot)],
          draw: [(plot) => this.drawMarks(plot)],
          setCursor: [(plot) => this.updateTooltip(plot)],
          setSelect: [(plot) => this.handleSelection(plot)]
        }
      };
      if (this.group && options.cursor) {
        const isPointerMove = (type) => type === "mousemove" || type === "mouseleave" || type === "mouseenter";
        options.cursor.sync = {
          key: this.group,
          setSeries: false,
          scales: ["x", null],
          filters: { pub: isPointerMove, sub: isPointerMove }
        };
      }
      return options;
    }
    handleSelection(plot) {
      const { left, width } = plot.select;
      if (width < CLICK_PX) return;
      const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      this.tooltip.hidden = true;
      this.handlers.onZoom?.(from, to);
    }
    scales(spec) {
      const scale = (axis, right) => {
        const [low, high] = axisLimits(spec, axis, right);
        return { distr: axis.log ? 3 : 1, log: 10, range: () => [low, high] };
      };
      const scales = { x: { time: false, range: () => [...this.xRange] }, y: scale(spec.left, false) };
      if (spec.right) scales["right"] = scale(spec.right, true);
      return scales;
    }
    axes(spec) {
      const [left, right] = isNarrow() ? AXIS_WIDTHS.narrow : AXIS_WIDTHS.wide;
      const common = {
        stroke: cssColor("axis"),
        font: FONT,
        grid: { stroke: cssColor("grid"), width: 1 },
        ticks: { stroke: cssColor("grid"), width: 1, size: 4 }
      };
      const fittingTicks = (plot, from, to) => {
        const width = plot.bbox.width / uPlot.pxRatio;
        plot.ctx.font = `${12 * uPlot.pxRatio}px system-ui, sans-serif`;
        const textWidth = (text) => plot.ctx.measureText(text).width / uPlot.pxRatio;
        for (let maxTicks = Math.floor(width / (isNarrow() ? 52 : 104)); ; maxTicks -= 1) {
          const ticks2 = spec.ticks(from, to, Math.max(2, maxTicks));
          const step = ((ticks2[1]?.[0] ?? to) - (ticks2[0]?.[0] ?? from)) / (to - from) * width;
          if (maxTicks <= 2 || ticks2.every(([, text]) => textWidth(text) + LABEL_GAP <= step)) return ticks2;
        }
      };
      const x = {
        ...common,
        size: 26,
        gap: 2,
        splits: (plot, _2, min2, max2) => fittingTicks(plot, min2, max2).map(([value]) => value),
        values: (plot, splits) => {
          const labels = new Map(fittingTicks(plot, plot.scales["x"]?.min ?? 0, plot.scales["x"]?.max ?? 1));
          return splits.map((value) => labels.get(value) ?? "");
        }
      };
      const sideAxis = (axis, size) => ({
        ...common,
        size,
        gap: 4,
        values: (_2, splits) => splits.map((value) => value === null ? "" : axis.format(value)),
        ...axis.log ? {
          splits: (_2, __, low, high) => logTicks(low, high),
          filter: (_2, all) => all
        } : {}
      });
      const axes = [x, { ...sideAxis(spec.left, left), scale: "y" }];
      if (spec.right) axes.push({ ...sideAxis(spec.right, right), scale: "right", side: 1, grid: { show: false } });
      return axes;
    }
    series(line) {
      const stepped2 = uPlot.paths.stepped?.({ align: 1 });
      const series = {
        label: line.name,
        scale: line.right ? "right" : "y",
        stroke: line.color,
        width: line.kind === "area" ? 0 : line.width ?? 1.5,
        points: { show: line.kind === "points", size: 5, fill: line.color }
      };
      if (line.kind === "area") series.fill = line.color;
      if (line.dash) series.dash = line.dash;
      if (line.kind !== "line" && line.kind !== "points" && stepped2) series.paths = stepped2;
      return series;
    }
    /** Draws the heat map and the shaded range under the lines. */
    drawBackground(plot) {
      const { ctx, bbox } = plot;
      const [heat, shaded] = [this.spec?.heat, this.spec?.shaded];
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      if (shaded) {
        const [from, to] = [plot.valToPos(shaded.from, "x", true), plot.valToPos(shaded.to, "x", true)];
        ctx.fillStyle = isDark() ? "#56b4e922" : "#0072b218";
        ctx.fillRect(from, bbox.top, to - from, bbox.height);
      }
      if (heat && heat.answer.cells > 0) {
        const [left, width] = heatMapExtent(plot, heat, true);
        ctx.imageSmoothingEnabled = false;
        ctx.drawImage(fitHeatMap(plot, heat), left, bbox.top, width, bbox.height);
      }
      ctx.restore();
    }
    drawMarks(plot) {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.strokeStyle = cssColor("bad");
      ctx.setLineDash([4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
      for (const mark of this.spec?.marks ?? []) {
        const x = Math.round(plot.valToPos(mark.x, "x", true)) + 0.5;
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      if (this.spec?.showMarkNames) this.drawMarkNames(plot);
      ctx.restore();
    }
    /** Draws the names of marks in the strip above the plot area. */
    drawMarkNames(plot) {
      const { ctx, bbox } = plot;
      const ratio = uPlot.pxRatio;
      ctx.font = `${12 * ratio}px system-ui, sans-serif`;
      ctx.textAlign = "left";
      ctx.textBaseline = "bottom";
      ctx.fillStyle = cssColor("bad");
      const marks = (this.spec?.marks ?? []).map(({ x, text }) => ({
        x: plot.valToPos(x, "x", true) - bbox.left,
        text
      }));
      for (const { left, text } of placeMarkNames(marks, bbox.width, (text2) => ctx.measureText(text2).width, ratio)) {
        ctx.fillText(text, bbox.left + left, bbox.top - 2 * ratio);
      }
    }
    /** Returns the details of the column under the pointer, and requests them if it is a new column. */
    detailRows(plot, x) {
      const spec = this.spec;
      if (!spec?.loadDetails || !spec.heat) return [];
      const column = Math.floor((x - spec.heat.answer.from) / spec.heat.answer.width_ns);
      if (this.details?.column === column && this.details.spec === spec) return this.details.rows;
      const pending = { column, spec, rows: [] };
      this.details = pending;
      const isCurrent = () => this.details === pending && this.spec === spec;
      window.setTimeout(() => {
        if (!isCurrent() || !this.hovered) return;
        void spec.loadDetails?.(column).then(
          (rows) => {
            if (!isCurrent()) return;
            pending.rows = rows;
            this.updateTooltip(plot);
          },
          () => void 0
        );
      }, HOVER_MS);
      return [];
    }
    /** Shows the exact values next to the pointer. */
    updateTooltip(plot) {
      const { left, top } = plot.cursor;
      if (!this.hovered || left === void 0 || top === void 0 || left < 0 || !this.spec) {
        this.tooltip.hidden = true;
        return;
      }
      const position = this.locate(left, top);
      if (!position) return;
      const { head, rows } = this.spec.tooltip(position.cell, position.x, position.y);
      rows.push(...this.detailRows(plot, position.x));
      const nearMarks = this.spec.marks.filter((mark) => Math.abs(plot.valToPos(mark.x, "x") - left) < 6);
      const lines = [...nearMarks.map((mark) => ({ name: "Mark", value: mark.text })), ...rows].map((row) => {
        const swatch = h("i");
        if (row.color) swatch.style.background = row.color;
        return h("div", {}, swatch, h("span", {}, row.name), h("b", {}, row.value));
      });
      this.tooltip.replaceChildren(h("strong", {}, head), ...lines);
      this.tooltip.hidden = false;
      const [x, y] = [plot.over.offsetLeft + left, plot.over.offsetTop + top];
      const tooltipLeft = x + 16 + this.tooltip.offsetWidth > this.root.clientWidth ? x - 16 - this.tooltip.offsetWidth : x + 16;
      this.tooltip.style.left = `${Math.max(0, tooltipLeft)}px`;
      this.tooltip.style.top = `${Math.max(0, Math.min(y - 10, this.height - this.tooltip.offsetHeight))}px`;
    }
  }
  function heatMapExtent(plot, heat, canvas) {
    const { answer } = heat;
    const left = plot.valToPos(answer.from, "x", canvas);
    return [left, plot.valToPos(answer.from + answer.cells * answer.width_ns, "x", canvas) - left];
  }
  function fitHeatMap(plot, heat) {
    const { answer, image } = heat;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, Math.max(1, Math.round(plot.bbox.height))];
    const context = canvas.getContext("2d");
    if (!context) return canvas;
    context.imageSmoothingEnabled = false;
    const log = plot.scales["y"]?.distr === 3;
    const yOf = (value) => log && value <= 0 ? canvas.height : Math.round(plot.valToPos(value, "y") * canvas.height / (plot.bbox.height / uPlot.pxRatio));
    for (let row = 0; row < answer.rows; row += 1) {
      const [low, high] = [yOf(answer.row_edges[row] ?? 0), yOf(answer.row_edges[row + 1] ?? 0)];
      context.drawImage(image, 0, answer.rows - 1 - row, image.width, 1, 0, high, image.width, Math.max(1, low - high));
    }
    return canvas;
  }
  function axisLimits(spec, axis, right) {
    let [low, high] = [Number.POSITIVE_INFINITY, 0];
    for (const line of spec.lines) {
      if ((line.right ?? false) !== right) continue;
      for (const value of line.y) {
        if (typeof value !== "number" || !Number.isFinite(value)) continue;
        if (value > high) high = value;
        if (value < low && (!axis.log || value > 0)) low = value;
      }
    }
    if (axis.log) {
      const bottom2 = axis.low ?? (Number.isFinite(low) && low > 0 ? low / 1.3 : 1);
      return [bottom2, Math.max(axis.high ?? high * 1.3, bottom2 * 10)];
    }
    const bottom = axis.low ?? 0;
    const top = axis.high ?? high * 1.06;
    return [bottom, top > bottom ? top : bottom + 1];
  }
  function logTicks(low, high) {
    return ticks$1({ label: "", low, high, log: true }).map(([value]) => value);
  }
  const SVG = "http://www.w3.org/2000/svg";
  function element(name, attributes, text) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
    if (text !== void 0) node.textContent = text;
    return node;
  }
  const MARK_CHAR_WIDTH = 6.5;
  const HEADER_HEIGHT = 44;
  const LEGEND_ROW_HEIGHT = 20;
  function renderSvg(pane, title, note) {
    const { plot, spec } = pane;
    if (!plot || !spec) return void 0;
    const [width, chartHeight] = [plot.width, plot.height];
    const legend = legendRows(spec, width);
    const height = HEADER_HEIGHT + chartHeight + legend.length * LEGEND_ROW_HEIGHT + 8;
    const svg = element("svg", {
      xmlns: SVG,
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": "system-ui, sans-serif",
      "font-size": 12
    });
    svg.append(element("rect", { width, height, fill: cssColor("paper") }));
    svg.append(element("text", { x: 8, y: 18, "font-size": 15, "font-weight": "bold", fill: cssColor("ink") }, title));
    svg.append(element("text", { x: 8, y: 35, fill: cssColor("quiet") }, note));
    const chart = element("g", { transform: `translate(0 ${HEADER_HEIGHT})` });
    chart.append(...renderAxes(plot, spec), ...renderContent(plot, spec));
    svg.append(chart);
    legend.forEach(
      (row, index) => row.forEach(
        (part) => svg.append(...renderLegendEntry(part, HEADER_HEIGHT + chartHeight + index * LEGEND_ROW_HEIGHT + 14))
      )
    );
    return svg;
  }
  function legendRows(spec, width) {
    const rows = [[]];
    let x = 10;
    for (const line of [...spec.lines].reverse().filter((one) => !one.isHalo)) {
      const entryWidth = 30 + line.name.length * 7;
      if (x + entryWidth > width && x > 10) {
        rows.push([]);
        x = 10;
      }
      rows[rows.length - 1]?.push({ x, line });
      x += entryWidth;
    }
    return rows;
  }
  function renderLegendEntry(entry, y) {
    const swatch = element("rect", { x: entry.x, y: y - 9, width: 12, height: 10, fill: entry.line.color });
    return [swatch, element("text", { x: entry.x + 17, y, fill: cssColor("ink") }, entry.line.name)];
  }
  function plotArea(plot) {
    const ratio = uPlot.pxRatio;
    return {
      left: plot.bbox.left / ratio,
      top: plot.bbox.top / ratio,
      width: plot.bbox.width / ratio,
      height: plot.bbox.height / ratio
    };
  }
  function renderAxes(plot, spec) {
    const { left, top, width, height } = plotArea(plot);
    const elements = [
      element("rect", { x: left, y: top, width, height, fill: "none", stroke: cssColor("grid") })
    ];
    const axisLabels = (scale) => {
      const axis = plot.axes.find((line) => line.scale === scale);
      return (axis?._splits ?? []).flatMap((value, index) => {
        const name = axis?._values?.[index];
        return value === null || !name ? [] : [[value, name]];
      });
    };
    for (const [value, name] of axisLabels("x")) {
      const x = left + plot.valToPos(value, "x");
      elements.push(element("line", { x1: x, x2: x, y1: top, y2: top + height, stroke: cssColor("grid") }));
      elements.push(element("text", { x, y: top + height + 16, "text-anchor": "middle", fill: cssColor("axis") }, name));
    }
    const sides = [
      ["y", spec.left, left - 6, "end"],
      ["right", spec.right, left + width + 6, "start"]
    ];
    for (const [scale, axis, x, anchor] of sides) {
      if (!axis) continue;
      for (const [value, name] of axisLabels(scale)) {
        const y = top + plot.valToPos(value, scale);
        if (scale === "y")
          elements.push(element("line", { x1: left, x2: left + width, y1: y, y2: y, stroke: cssColor("grid") }));
        elements.push(element("text", { x, y: y + 4, "text-anchor": anchor, fill: cssColor("axis") }, name));
      }
    }
    return elements;
  }
  function renderContent(plot, spec) {
    const { left, top, width, height } = plotArea(plot);
    const inner = element("svg", { x: left, y: top, width, height, overflow: "hidden" });
    if (spec.shaded) {
      const x = plot.valToPos(spec.shaded.from, "x");
      inner.append(
        element("rect", {
          x,
          y: 0,
          width: plot.valToPos(spec.shaded.to, "x") - x,
          height,
          fill: "#0072b2",
          "fill-opacity": 0.1
        })
      );
    }
    if (spec.heat) {
      const [x, heatWidth] = heatMapExtent(plot, spec.heat, false);
      const href = fitHeatMap(plot, spec.heat).toDataURL();
      inner.append(
        element("image", {
          x,
          y: 0,
          width: heatWidth,
          height,
          preserveAspectRatio: "none",
          "image-rendering": "pixelated",
          href
        })
      );
    }
    spec.lines.forEach((line) => inner.append(...renderLine(plot, spec, line)));
    for (const mark of spec.marks) {
      const x = plot.valToPos(mark.x, "x");
      inner.append(
        element("line", { x1: x, x2: x, y1: 0, y2: height, stroke: cssColor("bad"), "stroke-dasharray": "4 3" })
      );
    }
    const marks = spec.marks.map(({ x, text }) => ({ x: plot.valToPos(x, "x"), text }));
    const names = placeMarkNames(marks, width, (text) => text.length * MARK_CHAR_WIDTH);
    const y = spec.showMarkNames ? top - 3 : top + 12;
    return [
      inner,
      ...names.map(
        (name) => element("text", { x: left + name.left, y, fill: cssColor("bad"), "font-size": 11 }, name.text)
      )
    ];
  }
  function renderLine(plot, spec, line) {
    const scale = line.right ? "right" : "y";
    const [commands, dots] = [[], []];
    const floor2 = plot.bbox.height / uPlot.pxRatio;
    const isStepped = line.kind === "area" || line.kind === "step";
    let previousY;
    line.y.forEach((value, index) => {
      if (value === void 0) return;
      if (value === null || !Number.isFinite(value)) {
        if (previousY !== void 0 && line.kind === "area") commands.push(`V${floor2}`);
        previousY = void 0;
        return;
      }
      const [x, y] = [plot.valToPos(spec.x[index] ?? 0, "x").toFixed(1), plot.valToPos(value, scale)];
      const text = y.toFixed(1);
      if (previousY === void 0) commands.push(line.kind === "area" ? `M${x},${floor2}V${text}` : `M${x},${text}`);
      else commands.push(isStepped ? `H${x}V${text}` : `L${x},${text}`);
      previousY = y;
      if (line.kind === "points") dots.push(element("circle", { cx: x, cy: text, r: 2.5, fill: line.color }));
    });
    if (commands.length === 0) return dots;
    if (line.kind === "area") return [element("path", { d: `${commands.join("")}V${floor2}Z`, fill: line.color })];
    const stroke = element("path", {
      d: commands.join(""),
      fill: "none",
      stroke: line.color,
      "stroke-width": line.width ?? 1.5
    });
    if (line.dash) stroke.setAttribute("stroke-dasharray", line.dash.join(" "));
    return [stroke, ...dots];
  }
  function serializeSvg(svg) {
    return `<?xml version="1.0" encoding="UTF-8"?>
${new XMLSerializer().serializeToString(svg)}
`;
  }
  async function renderPng(svg) {
    const url = URL.createObjectURL(new Blob([serializeSvg(svg)], { type: "image/svg+xml" }));
    try {
      const image = new Image();
      const loaded = new Promise((done, failed) => {
        image.onload = () => done();
        image.onerror = () => failed(new Error("the drawing could not be made an image"));
      });
      image.src = url;
      await loaded;
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.naturalWidth * 2, image.naturalHeight * 2];
      canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
      return await new Promise(
        (done, failed) => canvas.toBlob((blob) => blob ? done(blob) : failed(new Error("no image")))
      );
    } finally {
      URL.revokeObjectURL(url);
    }
  }
  function chartCsv(spec, xName, valueAt) {
    const lines = [...spec.lines].reverse().filter((line) => !line.isHalo);
    if (spec.heat) return heatMapCsv(spec.heat.answer, xName, spec.left.name);
    const cells = spec.lines.some((line) => line.kind === "area" || line.kind === "step") ? spec.x.length - 1 : spec.x.length;
    const rows = Array.from({ length: cells }, (_2, index) => [
      spec.x[index],
      ...lines.map((line) => valueAt(line, index))
    ]);
    return csv([[xName, ...lines.map((line) => line.name)], ...rows]);
  }
  function heatMapCsv(answer, xName, yName) {
    const rows = [[xName, "width_ns", `${yName} from`, `${yName} to`, "I/Os"]];
    for (let cell2 = 0; cell2 < answer.cells; cell2 += 1) {
      for (let row = 0; row < answer.rows; row += 1) {
        const count = answer.counts[cell2 * answer.rows + row] ?? 0;
        if (count > 0)
          rows.push([
            answer.from + cell2 * answer.width_ns,
            answer.width_ns,
            answer.row_edges[row],
            answer.row_edges[row + 1],
            count
          ]);
      }
    }
    return csv(rows);
  }
  let panelCount = 0;
  class Panel {
    constructor(title) {
      this.title = title;
      this.status = h("p", { class: "state", role: "status" });
      this.tools = h("div", { class: "tools" });
      this.note = h("p", { class: "quiet note" });
      panelCount += 1;
      this.heading = h("h3", { id: `panel-${panelCount}` }, title);
      this.root = h(
        "section",
        { class: "panel", "aria-labelledby": `panel-${panelCount}` },
        h("header", {}, this.heading, this.tools),
        this.note,
        this.status
      );
    }
    /** Returns the toolbar, for controls of a single view. */
    get toolbar() {
      return this.tools;
    }
    setTitle(title) {
      this.title = title;
      this.heading.textContent = title;
    }
    setBusy() {
      this.root.setAttribute("aria-busy", "true");
      this.root.classList.remove("failed");
    }
    setStatus(text, failed = false) {
      this.root.removeAttribute("aria-busy");
      this.root.classList.toggle("failed", failed);
      this.status.textContent = text;
      this.status.hidden = text === "";
    }
    addTool(text, title, onClick) {
      this.tools.append(button(text, onClick, { title, "aria-label": `${title}: ${this.title}` }));
    }
  }
  class ChartPanel extends Panel {
    constructor(title, file, group, height, handlers, extra = []) {
      super(title);
      this.file = file;
      this.legend = h("div", { class: "key" });
      this.lastLoad = 0;
      this.pane = new Pane(group, height, handlers);
      this.root.append(this.pane.root, this.legend);
      extra.forEach((tool) => this.addTool(tool.text, tool.title, tool.onClick));
      this.addTool("SVG", "Save as SVG", () => this.svg());
      this.addTool("PNG", "Save as PNG", () => void this.savePng());
      this.addTool("CSV", "Save values as CSV", () => this.saveCsv());
    }
    /** Draws a chart once it is ready, unless a later call came first. */
    async load(pending, xRange) {
      this.lastLoad += 1;
      const thisLoad = this.lastLoad;
      if (!this.chart) this.setStatus("Loading …");
      this.setBusy();
      try {
        const result = await pending;
        if (thisLoad === this.lastLoad) this.show(result, xRange());
      } catch (error) {
        if (thisLoad === this.lastLoad) this.showMessage(errorMessage(error), true);
      }
    }
    show(result, xRange) {
      if (typeof result === "string") return this.showMessage(result, false);
      this.chart = result;
      this.setStatus("");
      this.note.textContent = result.note;
      this.pane.root.hidden = false;
      this.pane.root.setAttribute("aria-label", `${this.title}. ${result.ariaLabel}`);
      this.pane.show(result.spec, xRange);
      this.legend.replaceChildren(...result.legend.map(renderLegendItem));
    }
    showMessage(text, failed) {
      this.chart = void 0;
      this.pane.destroy();
      this.pane.root.hidden = true;
      this.legend.replaceChildren();
      this.note.textContent = "";
      this.setStatus(text, failed);
    }
    renderSvg() {
      const saveSvg = renderSvg(this.pane, this.title, this.chart?.note ?? "");
      if (!saveSvg) announce("There is nothing to save in this view.");
      return saveSvg;
    }
    svg() {
      const picture = this.renderSvg();
      if (picture)
        download(
          fileName(this.file(), this.title) + ".svg",
          new Blob([serializeSvg(picture)], { type: "image/svg+xml" })
        );
    }
    async savePng() {
      const svg = this.renderSvg();
      if (!svg) return;
      try {
        download(fileName(this.file(), this.title) + ".png", await renderPng(svg));
      } catch (error) {
        announce(errorMessage(error));
      }
    }
    saveCsv() {
      if (!this.chart) return announce("There is nothing to save in this view.");
      const { spec, xName, csvValue: exact } = this.chart;
      const text = chartCsv(spec, xName, exact ?? ((line, at) => line.y[at]));
      download(fileName(this.file(), this.title) + ".csv", new Blob([text], { type: "text/csv" }));
    }
  }
  function renderLegendItem(item) {
    const swatch = h("i", { class: item.dash ? "line" : void 0 });
    swatch.style.background = item.color;
    if (!item.onClick) return h("span", {}, swatch, item.name);
    const pick = item.onClick;
    return h(
      "button",
      {
        type: "button",
        title: "Click: only this. Shift-click: compare with this.",
        onclick: (event) => pick(event.shiftKey)
      },
      swatch,
      item.name
    );
  }
  class TablePanel extends Panel {
    constructor(title, file, extra = []) {
      super(title);
      this.file = file;
      this.body = h("div");
      this.lastLoad = 0;
      this.root.append(this.body);
      extra.forEach((tool) => this.addTool(tool.text, tool.title, tool.onClick));
      this.addTool("CSV", "Save values as CSV", () => {
        if (this.csvText === void 0) return announce("There is nothing to save in this view.");
        download(fileName(this.file(), this.title) + ".csv", new Blob([this.csvText], { type: "text/csv" }));
      });
    }
    async load(pending) {
      this.lastLoad += 1;
      const thisLoad = this.lastLoad;
      if (this.body.childElementCount === 0) this.setStatus("Loading …");
      this.setBusy();
      try {
        const result = await pending;
        if (thisLoad !== this.lastLoad) return;
        this.show(result);
      } catch (error) {
        if (thisLoad === this.lastLoad) this.show(errorMessage(error), true);
      }
    }
    show(result, failed = false) {
      if (typeof result === "string") {
        this.body.replaceChildren();
        this.csvText = void 0;
        this.note.textContent = "";
        return this.setStatus(result, failed);
      }
      this.setStatus("");
      this.csvText = result.csv;
      this.note.textContent = result.note ?? "";
      this.body.replaceChildren(result.content);
    }
  }
  const GRIP_PX = 8;
  class Brush {
    constructor(pane, handlers) {
      this.pane = pane;
      this.handlers = handlers;
      this.window = h("div", {
        class: "window",
        tabindex: 0,
        role: "slider",
        "aria-label": "Shown part of the time axis",
        "aria-roledescription": "brush",
        "aria-valuemin": 0,
        "aria-valuemax": 100,
        title: "Drag: choose a part. Arrows: move. Up and down: wider, narrower. Home: whole."
      });
      this.window.addEventListener("keydown", (event) => this.handleKey(event));
    }
    /** Attaches the selection to a redrawn overview. */
    attach() {
      const over = this.pane.plot?.over;
      if (!over) return;
      over.append(this.window);
      over.classList.add("brush");
      over.addEventListener("pointerdown", (event) => this.handlePointerDown(event, over));
      over.addEventListener("pointermove", (event) => this.handlePointerMove(event));
      over.addEventListener("pointerup", (event) => this.handlePointerUp(event));
      over.addEventListener("pointercancel", () => this.drag = void 0);
      over.addEventListener("dblclick", () => this.handlers.onChange(void 0));
      this.position();
    }
    current() {
      return this.handlers.range() ?? { from: 0, to: this.handlers.duration() };
    }
    position(range = this.current()) {
      const plot = this.pane.plot;
      if (!plot) return;
      const [left, right] = [plot.valToPos(range.from, "x"), plot.valToPos(range.to, "x")];
      this.window.style.left = `${left}px`;
      this.window.style.width = `${Math.max(3, right - left)}px`;
      this.window.setAttribute("aria-valuetext", this.handlers.describe(range.from, range.to));
      this.window.setAttribute(
        "aria-valuenow",
        String(Math.round(range.from / Math.max(1, this.handlers.duration()) * 100))
      );
      this.window.classList.toggle("whole", this.handlers.range() === void 0 && !this.drag);
    }
    valueAt(event) {
      const plot = this.pane.plot;
      if (!plot) return 0;
      const left = event.clientX - plot.over.getBoundingClientRect().left;
      return Math.min(this.handlers.duration(), Math.max(0, plot.posToVal(left, "x")));
    }
    handlePointerDown(event, over) {
      if (event.button !== 0) return;
      const plot = this.pane.plot;
      if (!plot) return;
      over.setPointerCapture(event.pointerId);
      const current = this.current();
      const x = event.clientX - over.getBoundingClientRect().left;
      const [left, right] = [plot.valToPos(current.from, "x"), plot.valToPos(current.to, "x")];
      const hasRange = this.handlers.range() !== void 0;
      const isNear = (edge) => hasRange && Math.abs(x - edge) <= GRIP_PX;
      const mode = isNear(left) ? "from" : isNear(right) ? "to" : hasRange && x > left && x < right ? "move" : "new";
      this.drag = { mode, start: this.valueAt(event), ...current };
    }
    draggedRange(event) {
      if (!this.drag) return void 0;
      const { mode, start, from, to } = this.drag;
      const x = this.valueAt(event);
      if (mode === "new") return { from: Math.min(start, x), to: Math.max(start, x) };
      if (mode === "from") return { from: Math.min(x, to), to: Math.max(x, to) };
      if (mode === "to") return { from: Math.min(from, x), to: Math.max(from, x) };
      return shiftRange(from, to, x - start, this.handlers.duration());
    }
    handlePointerMove(event) {
      const range = this.draggedRange(event);
      if (range) this.position(range);
    }
    handlePointerUp(event) {
      const range = this.draggedRange(event);
      this.drag = void 0;
      if (!range) return;
      const pixels = (range.to - range.from) / Math.max(1, this.handlers.duration()) * (this.pane.plot?.over.clientWidth ?? 1);
      if (pixels < 3) return this.position();
      this.handlers.onChange(clampRange(range.from, range.to, this.handlers.duration()));
    }
    handleKey(event) {
      const { from, to } = this.current();
      const range = rangeAfterKey(event.key, from, to, this.handlers.duration());
      if (!range) return;
      event.preventDefault();
      event.stopPropagation();
      this.handlers.onChange(clampRange(range.from, range.to, this.handlers.duration()));
    }
  }
  function shiftRange(from, to, by, duration) {
    const shift = Math.min(duration - to, Math.max(-from, by));
    return { from: from + shift, to: to + shift };
  }
  function rangeAfterKey(key, from, to, duration) {
    const width = to - from;
    const middle = (from + to) / 2;
    const resized = (width2) => {
      const half = Math.min(duration, Math.max(1e3, width2)) / 2;
      return shiftRange(middle - half, middle + half, Math.max(0, half - middle), duration);
    };
    if (key === "ArrowLeft") return shiftRange(from, to, -width / 4, duration);
    if (key === "ArrowRight") return shiftRange(from, to, width / 4, duration);
    if (key === "ArrowDown" || key === "+") return resized(width / 2);
    if (key === "ArrowUp" || key === "-") return resized(width * 2);
    if (key === "Home") return { from: 0, to: duration };
    return void 0;
  }
  const MAX_ROWS = 200;
  function compareCells(a, b, ascending) {
    const missing = (value) => value === null || value === void 0 || value === "";
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    const difference = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), void 0, { numeric: true });
    return ascending ? difference : -difference;
  }
  function sortRows(rows, column, ascending) {
    return [...rows].sort((a, b) => compareCells(column.value(a), column.value(b), ascending));
  }
  function tableCsv(columns, rows) {
    return csv([
      columns.map((column) => column.header),
      ...rows.map((row) => columns.map((column) => column.value(row)))
    ]);
  }
  function renderTable(caption, columns, rows, selection) {
    const body = h("tbody");
    const numeric = columns.map(
      (column, columnIndex) => columnIndex > 0 && rows.every((row) => typeof column.value(row) !== "string")
    );
    const headers = columns.map((column) => h("th", { scope: "col" }, column.header));
    const showRows = (list) => body.replaceChildren(...list.slice(0, MAX_ROWS).map((row) => renderRow(columns, row, numeric, selection)));
    headers.forEach((head, index) => {
      const column = columns[index];
      if (!column) return;
      head.replaceChildren(
        button(
          column.header,
          () => {
            const next = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
            headers.forEach((other) => other.removeAttribute("aria-sort"));
            head.setAttribute("aria-sort", next);
            showRows(sortRows(rows, column, next === "ascending"));
          },
          { title: "Sort" }
        )
      );
      if (numeric[index]) head.className = "number";
    });
    showRows(rows);
    const element2 = h(
      "table",
      { class: "values" },
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...headers)),
      body
    );
    const truncationNote = rows.length > MAX_ROWS ? h("p", { class: "quiet" }, `The first ${MAX_ROWS} of ${rows.length} rows. The CSV file has all.`) : void 0;
    return h(
      "div",
      {},
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, element2),
      truncationNote
    );
  }
  function renderRow(columns, row, numeric, selection) {
    const cells = columns.map((column, index) => {
      const value = column.value(row);
      const text = column.text ? column.text(row) : value === null || value === void 0 || value === "" ? NONE : String(value);
      if (index > 0 || !selection || selection.isSelectable?.(row) === false)
        return h(
          index === 0 ? "th" : "td",
          { class: numeric[index] ? "number" : void 0, scope: index === 0 ? "row" : void 0 },
          text
        );
      const selectButton = button(text, (event) => selection.onSelect(row, event.shiftKey), {
        title: selection.title,
        "aria-pressed": String(selection.isSelected(row))
      });
      return h("th", { scope: "row" }, selectButton);
    });
    return h("tr", { class: selection?.isSelected(row) ? "chosen" : void 0 }, ...cells);
  }
  const TABLES = [
    ["streams", "I/O streams"],
    ["processes", "Processes"],
    ["hot", "Hot addresses"],
    ["cumulative", "Cumulative workload"],
    ["steps", "Capture steps"],
    ["ios", "Single I/Os"],
    ["file", "Files"],
    ["cgroup", "Cgroups"],
    ["thread", "Threads"],
    ["marks", "Marks and caveats"]
  ];
  const GROUP_TABLES = ["file", "cgroup", "thread"];
  const PAGE_SIZE = 200;
  const HINT = "Click: only this. Shift-click: compare with this.";
  class Tables {
    constructor(app, shownCaptures, handlers) {
      this.app = app;
      this.shownCaptures = shownCaptures;
      this.handlers = handlers;
      this.root = h("section", { class: "tables", "aria-label": "Tables" });
      this.tabs = h("div", { class: "tabs" });
      this.panelRow = h("div", { class: "pair" });
      this.panels = [];
      this.groupSwitch = h("span");
      this.offset = 0;
      this.lastQuestion = "";
      this.root.append(this.tabs, this.panelRow);
    }
    load() {
      const recorded = this.shownCaptures().flatMap(({ item }) => item.groups ?? []);
      const names = TABLES.filter(([id2]) => !GROUP_TABLES.includes(id2) || recorded.includes(id2));
      const current = names.find(([id2]) => id2 === this.app.state.table) ?? names[0] ?? ["streams", "I/O streams"];
      const [id, title] = current;
      this.tabs.replaceChildren(
        buttonGroup(
          "Table",
          names.map(([id2, text]) => [id2, text]),
          id,
          (value) => this.app.navigate({ table: value })
        )
      );
      this.groupSwitch.replaceChildren(
        buttonGroup(
          "Rows of the table",
          [
            ["pid", "Each process"],
            ["name", "By name"]
          ],
          this.app.state.group,
          (group) => this.app.navigate({ group })
        )
      );
      const shownCaptures = this.shownCaptures();
      const keys = shownCaptures.map(({ item, letter }) => `${id}/${item.n}/${letter}`);
      if (keys.join() !== this.panels.map(({ key }) => key).join()) {
        this.panels = shownCaptures.map((shown, index) => ({
          key: keys[index] ?? "",
          panel: this.makePanel(id, title, shown, index)
        }));
        this.panelRow.replaceChildren(...this.panels.map(({ panel }) => panel.root));
      }
      const question = JSON.stringify([shownCaptures.map(({ view, range }) => [view, range]), id]);
      if (question !== this.lastQuestion) this.offset = 0;
      this.lastQuestion = question;
      shownCaptures.forEach((shown, index) => void this.panels[index]?.panel.load(this.tableContent(id, shown)));
    }
    makePanel(id, title, shown, index) {
      const tools = id === "marks" || id === "ios" || id === "hot" ? [] : [
        {
          text: "Command",
          title: "Copy as command",
          onClick: () => {
            const view = this.shownCaptures()[index]?.view;
            if (view) this.handlers.showCommand(view, id);
          }
        }
      ];
      const panel = new TablePanel(
        shown.letter ? `${shown.letter}: ${title}, ${shortName(shown.item)}` : title,
        () => shortName(shown.item),
        tools
      );
      panel.root.dataset["view"] = id;
      if (id === "processes" && index === 0 && !isExported()) panel.toolbar.prepend(this.groupSwitch);
      return panel;
    }
    async tableContent(id, shown) {
      const params = captureParams(shown.view, shown.range?.from, shown.range?.to);
      const refused = shown.item.refused?.[id];
      if (refused !== void 0) return refused;
      if (id === "marks") return this.markTable(shown);
      if (shown.isOutside) return "This capture has no time in this part. Press Esc to go back.";
      if (id === "hot")
        return this.hotTable(
          await getAnswer(
            apiUrl("hot", shown.device === void 0 ? params : { ...params, device: [shown.device] })
          ),
          shown.device
        );
      if (GROUP_TABLES.includes(id))
        return this.groupTable(
          id,
          shown,
          rowsOf(await getAnswer(apiUrl("groups", { ...params, by: id })), "groups")
        );
      if (id === "ios") return this.ioTable(shown, params);
      const byName = id === "processes" && this.app.state.group === "name" ? { by_command: "true" } : {};
      const answer = await getAnswer(apiUrl(id, { ...params, ...byName }));
      if (id === "processes") return this.processTable(shown, rowsOf(answer, "processes"));
      if (id === "cumulative") return cumulativeTable(rowsOf(answer["workload"], "streams"));
      if (id === "steps") return this.stepTable(shown, rowsOf(answer, "steps"));
      return this.streamTable(shown, rowsOf(answer, "streams"));
    }
    filterSelection(shown, facet2, value) {
      return {
        onSelect: (row, shift) => this.handlers.toggleFilter(facet2, value(row), shift, shown.view),
        title: HINT,
        isSelected: (row) => shown.view.filters[facet2].includes(value(row))
      };
    }
    streamTable(shown, rows) {
      const columns = [
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
        timeSumColumn(nestedNumber("response", "mean_ns"))
      ];
      return rows.length === 0 ? emptyMessage() : tableWithCsv(
        "I/O streams of what is shown, with response times",
        columns,
        rows,
        this.filterSelection(shown, "stream", (row) => String(row["stream"]))
      );
    }
    processTable(shown, rows) {
      const columns = [
        { header: "Process", value: stringField("process") },
        countColumn("I/Os", "count"),
        percentColumn("I/Os %", "share"),
        bytesColumn("Amount", "amount"),
        countColumn("Reads", "reads"),
        countColumn("Writes", "writes"),
        countColumn("SEQ", "sequential"),
        timeColumn("Mean", numberField("response_mean_ns")),
        timeColumn("Maximum", numberField("response_max_ns")),
        timeSumColumn(numberField("response_mean_ns"))
      ];
      const selection = {
        onSelect: (row, shift) => this.handlers.toggleFilter(...processFilter(row), shift, shown.view),
        title: HINT,
        isSelected: (row) => {
          const [facet2, value] = processFilter(row);
          return shown.view.filters[facet2].includes(value);
        }
      };
      return rows.length === 0 ? emptyMessage() : tableWithCsv("Processes of what is shown, with response times", columns, rows, selection);
    }
    /** Returns the table of I/Os by file, cgroup or thread. */
    groupTable(by, shown, rows) {
      const head = GROUP_HEADS[by] ?? by;
      const columns = [
        { header: head, value: (row) => groupName(by, row) },
        countColumn("I/Os", "count"),
        percentColumn("I/Os %", "share_of_count"),
        bytesColumn("Amount", "amount"),
        timeColumn("Mean", nestedNumber("response", "mean_ns")),
        timeColumn("99 %", nestedNumber("response", "p99_ns")),
        timeColumn("Maximum", nestedNumber("response", "max_ns")),
        timeSumColumn(nestedNumber("response", "mean_ns"))
      ];
      const value = (row) => groupFilter(by, row);
      const facet2 = by === "thread" ? "tid" : by;
      const selection = {
        onSelect: (row, shift) => this.handlers.toggleFilter(facet2, value(row) ?? "", shift, shown.view),
        title: HINT,
        isSelected: (row) => shown.view.filters[facet2].includes(value(row) ?? ""),
        isSelectable: (row) => value(row) !== null
      };
      if (rows.length === 0) return emptyMessage();
      const note = by === "file" ? { note: "I/Os of the file-system layer." } : {};
      return { ...tableWithCsv(`${head}s of what is shown, with response times`, columns, rows, selection), ...note };
    }
    stepTable({ view, item, range }, rows) {
      const clock = clockOf(this.app, item);
      const columns = [
        {
          header: "Begin",
          value: numberField("begin_ns"),
          text: (row) => formatTime(Number(row["begin_ns"]), clock, 1e9)
        },
        countColumn("I/Os", "count"),
        { header: "IOPS", value: numberField("iops"), text: (row) => formatNumber(numberField("iops")(row)) },
        {
          header: "MB/s",
          value: (row) => divide(numberField("bytes_per_second")(row), 1e6),
          text: (row) => formatNumber(divide(numberField("bytes_per_second")(row), 1e6))
        },
        countColumn("Reads", "reads"),
        countColumn("Writes", "writes"),
        percentColumn("SEQ %", "sequential_share"),
        { header: "QD", value: numberField("qd_mean"), text: (row) => formatNumber(numberField("qd_mean")(row)) },
        timeColumn("Mean", numberField("response_mean_ns")),
        timeColumn("99 %", numberField("response_p99_ns")),
        timeColumn("Maximum", numberField("response_max_ns")),
        percentColumn("Busy", "utilisation"),
        ...rows.some((row) => row["host_cpu_share"] !== null) ? [percentColumn("Host CPU", "host_cpu_share"), percentColumn("I/O wait", "host_io_wait_share")] : []
      ];
      const selection = {
        onSelect: (row) => {
          const index = rows.indexOf(row);
          const [from, next] = [Number(row["begin_ns"]), rows[index + 1]?.["begin_ns"]];
          this.handlers.showRange({ from, to: typeof next === "number" ? next : item.duration_ns ?? from + 1 }, view);
        },
        title: "Show this step",
        isSelected: (row) => range !== void 0 && range.from === row["begin_ns"]
      };
      return rows.length === 0 ? emptyMessage() : tableWithCsv("Capture steps of what is shown", columns, rows, selection);
    }
    hotTable(answer, device) {
      const rows = Array.isArray(answer) ? answer : answer.ranges ?? [];
      if (rows.length === 0) return "No I/O with an address in this part with these filters.";
      const devices = rows.some((row) => row.device);
      const columns = [
        {
          header: "Addresses",
          value: (row) => `${row.low}-${row.high}`,
          text: (row) => `${formatBytes(row.low)} – ${formatBytes(row.high)}`
        },
        ...devices ? [{ header: "Device", value: (row) => row.device ?? null }] : [],
        { header: "First byte", value: (row) => row.low, text: (row) => formatCount(row.low) },
        { header: "I/Os", value: (row) => row.ios, text: (row) => formatCount(row.ios) },
        { header: "Share", value: (row) => row.share, text: (row) => formatPercent(row.share) },
        {
          header: "Processes",
          value: (row) => row.processes.map((item) => `${item.name}: ${item.ios}`).join("; "),
          text: (row) => row.processes.map((item) => `${item.name} (${formatCount(item.ios)})`).join(", ") || NONE
        }
      ];
      return {
        content: renderTable("Address ranges with the most I/Os of what is shown, and who issued them", columns, rows),
        csv: tableCsv(columns, rows),
        note: (device === void 0 ? "" : `Addresses of ${device}. `) + "The ranges with the most I/Os come first. A process's number of I/Os in the range stands behind its name."
      };
    }
    async ioTable(shown, params) {
      if (isExported()) return "An exported page has no single I/Os. Open the file with steadfast explore.";
      const answer = await getAnswer(
        apiUrl("ios", { ...params, limit: PAGE_SIZE, offset: this.offset })
      );
      if (answer.rows.length === 0) return emptyMessage();
      const columns = answer.columns.map(
        (head, index) => ({
          header: readableHeader(head),
          value: (row) => row[index],
          text: (row) => this.formatIoValue(shown.item, head, row[index])
        })
      );
      const last = this.offset + answer.rows.length;
      const turnPage = (by) => {
        this.offset = Math.max(0, this.offset + by);
        void this.panels[this.shownCaptures().findIndex((item) => item.letter === shown.letter)]?.panel.load(
          this.ioTable(shown, params)
        );
      };
      const hasMore = answer.total === void 0 || answer.total === null ? answer.rows.length === PAGE_SIZE : last < answer.total;
      const pages = h(
        "div",
        { class: "tools" },
        button("Earlier", () => turnPage(-PAGE_SIZE), { disabled: this.offset === 0 }),
        h(
          "span",
          {},
          `${formatCount(this.offset + 1)} to ${formatCount(last)}${answer.total ? ` of ${formatCount(answer.total)}` : ""}`
        ),
        button("Later", () => turnPage(PAGE_SIZE), { disabled: !hasMore })
      );
      return {
        content: h("div", {}, renderTable("Single I/Os in order of issue", columns, answer.rows), pages),
        csv: tableCsv(columns, answer.rows),
        note: "Single I/Os in order of issue. The CSV file has those listed here."
      };
    }
    formatIoValue(item, head, value) {
      if (value === null || value === void 0) return NONE;
      if (typeof value !== "number") return String(value);
      if (head === "time_ns" || head === "issue_ns") return formatTime(value, clockOf(this.app, item), 1e3);
      if (head.endsWith("_ns")) return formatNs(value);
      return formatCount(value);
    }
    markTable({ view, item, range }) {
      const clock = clockOf(this.app, item);
      const marks = item.marks ?? [];
      const caveats = item.caveats ?? [];
      if (marks.length + caveats.length === 0) return "No marks and no caveats in this capture.";
      const columns = [
        { header: "Mark", value: stringField("text") },
        { header: "Time", value: numberField("t"), text: (row) => formatTime(Number(row["t"]), clock, 1e9) }
      ];
      const rows = marks.map((mark) => ({ ...mark }));
      const selection = {
        onSelect: (row) => {
          const from = Number(row["t"]);
          const next = marks.map((mark) => mark.t).filter((t) => t > from).sort((a, b) => a - b)[0];
          this.handlers.showRange({ from, to: next ?? item.duration_ns ?? from + 1 }, view);
        },
        title: "Show from this mark to the next",
        isSelected: (row) => range !== void 0 && range.from === row["t"]
      };
      return {
        content: h(
          "div",
          {},
          marks.length > 0 ? renderTable("Marks", columns, rows, selection) : h("p", {}, "No marks."),
          caveatList(caveats)
        ),
        csv: tableCsv(columns, rows)
      };
    }
  }
  function caveatList(caveats, onStep) {
    if (caveats.length === 0) return h("p", { class: "quiet" }, "No caveats.");
    return h(
      "ul",
      { class: "caveats" },
      ...caveats.map((caveat) => {
        const where = onStep && caveat.step !== null && caveat.step !== void 0 ? button(`Step ${caveat.step}`, () => onStep(caveat)) : void 0;
        return h("li", {}, h("b", {}, caveat.text), " ", caveat.remedy ?? "", " ", where);
      })
    );
  }
  function processFilter(row) {
    const pid = row["pid"];
    return typeof pid === "number" && pid > 0 ? ["pid", String(pid)] : ["process", String(row["command"] ?? row["process"])];
  }
  function inodeName(number) {
    const file = Math.floor(number / 2 ** 48);
    const inode = `inode ${number % 2 ** 48}`;
    if (file === 0) return inode;
    return file === 65535 ? `one of several files of ${inode}` : `file ${file + 1} of ${inode}`;
  }
  function groupName(by, row) {
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
  function groupFilter(by, row) {
    if (by === "cgroup") return stringField("cgroup")(row);
    if (by === "thread") return stringField("tid")(row);
    const inode = numberField("inode")(row);
    return row["path"] === null || row["path"] === void 0 ? inode !== null && Number.isSafeInteger(inode) ? String(inode) : null : String(row["path"]).split(" or ")[0] ?? null;
  }
  const GROUP_HEADS = { file: "File", cgroup: "Cgroup", thread: "Thread" };
  function cumulativeTable(rows) {
    const columns = [
      { header: "Stream", value: stringField("stream") },
      countColumn("I/Os", "count"),
      bytesColumn("Amount", "amount"),
      percentColumn("Share of all", "share"),
      percentColumn("Share when applied", "normalized"),
      {
        header: "Alignment",
        value: numberField("alignment"),
        text: (row) => formatNumber(numberField("alignment")(row), "B")
      },
      { header: "QD", value: numberField("qd_mean"), text: (row) => formatNumber(numberField("qd_mean")(row)) }
    ];
    if (rows.length === 0) return emptyMessage();
    return {
      ...tableWithCsv("Cumulative workload: the I/O streams at or above the threshold", columns, rows),
      note: "The streams that a derived workload applies, with their shares of all I/Os and of those applied."
    };
  }
  function tableWithCsv(caption, columns, rows, selection) {
    return { content: renderTable(caption, columns, rows, selection), csv: tableCsv(columns, rows) };
  }
  function emptyMessage() {
    return "No I/O in this part with these filters. Press Esc to go back.";
  }
  function rowsOf(answer, key) {
    const rows = answer?.[key];
    return Array.isArray(rows) ? rows : [];
  }
  function stringField(key) {
    return (row) => row[key] === null || row[key] === void 0 ? null : String(row[key]);
  }
  function numberField(key) {
    return (row) => typeof row[key] === "number" ? row[key] : null;
  }
  function nestedNumber(outer, key) {
    return (row) => {
      const value = row[outer]?.[key];
      return typeof value === "number" ? value : null;
    };
  }
  function divide(value, by) {
    return value === null ? null : value / by;
  }
  function countColumn(head, key) {
    return { header: head, value: numberField(key), text: (row) => formatCount(numberField(key)(row)) };
  }
  function percentColumn(head, key) {
    return { header: head, value: numberField(key), text: (row) => formatPercent(numberField(key)(row)) };
  }
  function bytesColumn(head, key) {
    return { header: head, value: numberField(key), text: (row) => formatBytes(numberField(key)(row)) };
  }
  function timeColumn(head, value) {
    return { header: head, value, text: (row) => formatNs(value(row)) };
  }
  function timeSumColumn(mean) {
    const value = (row) => {
      const [item, ios] = [mean(row), numberField("count")(row)];
      return item === null || ios === null ? null : item * ios;
    };
    return { header: "Sum of times", value, text: (row) => formatNs(value(row)) };
  }
  function readableHeader(name) {
    const text = name.replace(/_ns$/, "").replace(/_/g, " ");
    return text.charAt(0).toUpperCase() + text.slice(1);
  }
  class ColorAssignment {
    constructor() {
      this.indexById = /* @__PURE__ */ new Map();
    }
    /** Returns the palette index of each ID of one chart; all are different, up to the size of the palette. */
    assign(ids) {
      const previous = ids.map((id) => this.indexById.get(id));
      const reserved = new Set(previous.filter((index) => index !== void 0));
      const used2 = /* @__PURE__ */ new Set();
      return ids.map((id, i) => {
        const own = previous[i];
        let index = own !== void 0 && !used2.has(own) ? own : 0;
        while (used2.has(index) || index !== own && reserved.has(index)) index += 1;
        used2.add(index);
        if (own === void 0 && index < BANDS) this.indexById.set(id, index);
        return index % BANDS;
      });
    }
  }
  const BAND_COLORS = [0, 1, 2, 3, 5, 6, 7, 9];
  const BANDS = BAND_COLORS.length;
  function cellHeading(context, from, width) {
    const step = Math.min(width, 1e9);
    const day = context.clock ? `${formatDate(from, context.clock)} ` : "";
    return `${day}${formatTime(from, context.clock, step)} + ${formatNs(width)}`;
  }
  function timeAxis(context, x) {
    return {
      x,
      marks: context.marks.map((mark) => ({ x: mark.t, text: mark.text })),
      ticks: (from, to, most) => timeTicks(from, to, context.clock, most)
    };
  }
  const X_NAME = "time_ns";
  function rateUnit(measure) {
    return measure === "iops" ? "IOPS" : "MB/s";
  }
  function bandColors(bands, assignment, dark) {
    const hasOwnColor = (band, index) => !band.others && index < BANDS;
    const indexes = assignment.assign(bands.filter(hasOwnColor).map((band) => band.id));
    return bands.map(
      (band, index) => hasOwnColor(band, index) ? seriesColor(BAND_COLORS[indexes[index] ?? 0] ?? 0, dark) : OTHERS
    );
  }
  function streamMapChart(answer, context, colorAssignment, grouping, onBand) {
    const bands = stackBands(answer, context.measure, BANDS);
    if (bands.length === 0) return "No I/O in this part with these filters. Press Esc to go back.";
    const tops = bandTops(bands);
    const colors = bandColors(bands, colorAssignment, isDark());
    const areas = bands.map(
      (band, index) => ({
        name: band.name,
        color: colors[index] ?? OTHERS,
        y: repeatLast(observedValues(answer, tops[index] ?? [])),
        kind: "area"
      })
    ).reverse();
    const meanTimes = repeatLast(coarseMean(answer));
    const halo = {
      name: "",
      color: cssColor("paper"),
      y: meanTimes,
      kind: "step",
      right: true,
      width: 3,
      isHalo: true
    };
    const mean = {
      name: "mean response time",
      color: cssColor("ink"),
      y: meanTimes,
      kind: "step",
      right: true,
      width: 1.2
    };
    const total = totalRate(answer, context.measure);
    const hasTimes = maxOf(answer.rt_mean_ns) > 0;
    const spec = {
      ...timeAxis(context, cellEdges(answer)),
      lines: hasTimes ? [...areas, halo, mean] : areas,
      left: { name: rateUnit(context.measure), format: formatAxisValue },
      ...hasTimes ? { right: { name: "mean response time", format: formatNs } } : {},
      tooltip: (index, _2, y) => ({
        head: cellHeading(context, answer.from + index * answer.width_ns, answer.width_ns),
        rows: mapTooltip(answer, context, bands, colors, total, index, bandAt(tops, index, y))
      })
    };
    const legend = bands.map(
      (band, index) => band.others ? { name: band.name, color: colors[index] ?? OTHERS } : { name: band.name, color: colors[index] ?? OTHERS, onClick: (shift) => onBand(band, shift) }
    );
    if (hasTimes) legend.push({ name: "mean response time (right)", color: cssColor("ink"), dash: true });
    const peak = maxOf(total);
    return {
      spec,
      legend,
      bands,
      tops,
      xName: X_NAME,
      note: `${rateUnit(context.measure)} by ${grouping}; cells of ${formatNs(answer.width_ns)}. Highest ${formatNumber(peak)} ${rateUnit(context.measure)}.`,
      ariaLabel: `${rateUnit(context.measure)} over time, by ${grouping}. Highest ${formatNumber(peak)}. Largest: ${bands[0]?.name ?? ""}.`,
      csvValue: (line, index) => line.right ? answer.rt_mean_ns[index] : bands.find((band) => band.name === line.name)?.rate[index]
    };
  }
  function mapTooltip(answer, context, bands, colors, total, at, hovered) {
    const ios = answer.ios.reduce((sum, key) => sum + (key[at] ?? 0), 0);
    const bytes = answer.bytes.reduce((sum, key) => sum + (key[at] ?? 0), 0);
    const rows = [
      {
        name: "All",
        value: `${formatNumber(typeof answer.observed_ns[at] === "number" ? total[at] : null)} ${rateUnit(context.measure)}`
      },
      { name: "I/Os, amount", value: `${formatCount(ios)}, ${formatBytes(bytes)}` }
    ];
    bands.map((band, index) => ({ band, index })).reverse().forEach(({ band, index }) => {
      const value = band.rate[at] ?? 0;
      if (value > 0)
        rows.push({
          name: (index === hovered ? "▸ " : "") + band.name,
          value: formatNumber(value),
          color: colors[index] ?? OTHERS
        });
    });
    rows.push({ name: "Response time: mean", value: formatNs(answer.rt_mean_ns[at]) });
    rows.push({ name: "99 %, maximum", value: `${formatNs(answer.rt_p99[at])}, ${formatNs(answer.rt_max[at])}` });
    return rows;
  }
  function responseTimeChart(heat, series, context, sharedMaxCount) {
    const maxCount = maxCountOf(heat);
    if (maxCount === 0) return "No response times in this part. Some traces do not record completions.";
    const [first, last] = used(heat);
    const low = heat.row_edges[first] || heat.row_edges[first + 1] || 1;
    const line = (name, y, paint, dash) => ({
      name,
      color: paint,
      y: repeatLast(y),
      kind: "step",
      width: 1.3,
      dash
    });
    const lines = [
      line("50 %", series.rt_p50, cssColor("ink")),
      line("99 %", series.rt_p99, seriesColor(1, isDark())),
      line("99.9 %", series.rt_p999, seriesColor(3, isDark()), [5, 3])
    ];
    const spec = {
      ...timeAxis(context, cellEdges(series)),
      lines,
      left: { name: "response time ns", log: true, low, high: heat.row_edges[last + 1] ?? low * 10, format: formatNs },
      heat: { answer: heat, maxCount, image: drawHeatMap(heat, sharedMaxCount ?? maxCount, isDark()) },
      tooltip: (index, x, y) => ({
        head: cellHeading(context, series.from + index * series.width_ns, series.width_ns),
        rows: [
          ...heatMapTooltip(heat, x, y, formatNs),
          { name: "50 %", value: formatNs(series.rt_p50[index]), color: lines[0]?.color ?? "" },
          { name: "99 %", value: formatNs(series.rt_p99[index]), color: lines[1]?.color ?? "" },
          { name: "99.9 %", value: formatNs(series.rt_p999[index]), color: lines[2]?.color ?? "" },
          { name: "maximum", value: formatNs(series.rt_max[index]) }
        ]
      })
    };
    const longest = maxOf(series.rt_max);
    return {
      spec,
      xName: X_NAME,
      legend: lines.map((one) => ({ name: one.name, color: one.color, dash: true })),
      note: `I/Os of each cell and response time, few (faint) to ${formatCount(maxCount)} (strong). Percentiles have a line where at least ten I/Os lie beyond them.`,
      ariaLabel: `Heat map of response times over time. Longest ${formatNs(longest)}.`
    };
  }
  function rowExtent(heat) {
    let [first, last] = [heat.rows - 1, 0];
    heat.counts.forEach((value, index) => {
      if (value > 0) [first, last] = [Math.min(first, index % heat.rows), Math.max(last, index % heat.rows)];
    });
    return [first, last];
  }
  function used(heat) {
    const [first, last] = rowExtent(heat);
    return [Math.max(0, first - 1), Math.min(heat.rows - 1, last + 1)];
  }
  function heatMapTooltip(heat, x, y, format, what = "I/Os") {
    const cell2 = Math.floor((x - heat.from) / heat.width_ns);
    if (cell2 < 0 || cell2 >= heat.cells) return [];
    const row = intervalIndex(heat.row_edges, y);
    const range = `${format(heat.row_edges[row] ?? 0)} – ${format(heat.row_edges[row + 1] ?? 0)}`;
    return [{ name: range, value: `${formatCount(heat.counts[cell2 * heat.rows + row] ?? 0)} ${what}` }];
  }
  function queueDepthChart(series, context) {
    if (maxOf(series.qd_max) === 0 && maxOf(series.busy) === 0) return "No queue depth in this part.";
    const idle = idleShares(series.busy);
    const lines = [
      {
        name: "idle time",
        color: isDark() ? "#4a4d52" : "#d4d4d0",
        y: repeatLast(idle.map((share) => typeof share === "number" ? share * 100 : null)),
        kind: "area",
        right: true
      },
      { name: "maximum QD", color: seriesColor(1, isDark()), y: repeatLast(series.qd_max), kind: "step", width: 1 },
      { name: "mean QD", color: seriesColor(0, isDark()), y: repeatLast(series.qd_mean), kind: "step", width: 1.6 }
    ];
    const spec = {
      ...timeAxis(context, cellEdges(series)),
      lines,
      left: { name: "QD", format: formatAxisValue },
      right: { name: "idle %", low: 0, high: 100, format: (value) => `${value} %` },
      tooltip: (index) => ({
        head: cellHeading(context, series.from + index * series.width_ns, series.width_ns),
        rows: [
          { name: "Mean queue depth", value: formatNumber(series.qd_mean[index]), color: lines[2]?.color ?? "" },
          { name: "Maximum", value: formatCount(series.qd_max[index]), color: lines[1]?.color ?? "" },
          { name: "Idle", value: formatPercent(idle[index] ?? null), color: lines[0]?.color ?? "" }
        ]
      })
    };
    const known = idle.filter((share) => typeof share === "number");
    const mean = known.length > 0 ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
    return {
      spec,
      xName: X_NAME,
      legend: [...lines].reverse().map((line) => ({ name: line.right ? "idle time (right)" : line.name, color: line.color, dash: !line.right })),
      note: `I/Os outstanding, and the share of time with none. Idle ${formatPercent(mean)} of this part.`,
      ariaLabel: `Queue depth over time. Deepest ${formatCount(maxOf(series.qd_max))}. Idle ${formatPercent(mean)} of the time.`
    };
  }
  function hitMapChart(heat, context, sharedMaxCount, readOut) {
    const [first, last] = rowExtent(heat);
    const extent = `Hit between ${formatBytes(heat.row_edges[first])} and ${formatBytes(heat.row_edges[last + 1])} from the start of the device.`;
    const chart = heatMapChart(
      heat,
      context,
      sharedMaxCount,
      formatBytes,
      "address",
      `${extent} Few hits (faint) to many (strong); an I/O hits each of 1,024 address ranges that it touches.`,
      "No I/O with an address in this part with these filters."
    );
    if (typeof chart !== "string") {
      chart.spec.loadDetails = (index) => {
        const from = heat.from + index * heat.width_ns;
        return readOut(from, from + heat.width_ns).then(readOutRows);
      };
    }
    return chart;
  }
  function readOutRows(answer) {
    const digits = answer.tolerance_percent < 0.1 ? 2 : 1;
    return answer.streams.map(({ stream, bytes_there, percent }) => ({
      name: stream,
      value: `${(bytes_there / 2 ** 30).toFixed(3)} GiB at ${percent.toFixed(digits)} % ± ${answer.tolerance_percent.toFixed(digits)}`
    }));
  }
  function subsecondChart(heat, context, sharedMaxCount) {
    return heatMapChart(
      heat,
      context,
      sharedMaxCount,
      formatNs,
      "offset in second",
      "The part of its second at which each I/O came. Periodic work draws lines, bursts draw columns.",
      "No I/O in this part with these filters."
    );
  }
  function heatMapChart(heat, context, sharedMaxCount, format, name, note, emptyMessage2) {
    const maxCount = maxCountOf(heat);
    if (maxCount === 0) return emptyMessage2;
    const edges = heat.row_edges;
    const spec = {
      ...timeAxis(context, cellEdges(heat)),
      lines: [],
      left: {
        name,
        low: edges[0] ?? 0,
        high: edges[heat.rows] ?? 1,
        format: isNarrow() ? (value) => format(value).replace(" ", "") : format
      },
      heat: { answer: heat, maxCount, image: drawHeatMap(heat, sharedMaxCount ?? maxCount, isDark()) },
      tooltip: (index, x, y) => ({
        head: cellHeading(context, heat.from + index * heat.width_ns, heat.width_ns),
        rows: heatMapTooltip(heat, x, y, format, name === "address" ? "hits" : "I/Os")
      })
    };
    return {
      spec,
      legend: [],
      xName: X_NAME,
      note: `${note} Most in one cell: ${formatCount(maxCount)}.`,
      ariaLabel: `Heat map of ${name} over time.`
    };
  }
  const SHARED_CELLS = 1024;
  function overviewChart(answers, context, duration) {
    const first = answers[0];
    if (!first) return "No capture.";
    const isSingle = answers.length === 1;
    const axis = isSingle ? first.answer : { from: 0, width_ns: duration / SHARED_CELLS, cells: SHARED_CELLS };
    const x = cellEdges(axis);
    const lines = answers.map(({ name, answer }, index) => {
      const rate = observedValues(answer, totalRate(answer, context.measure));
      const y = isSingle ? rate : x.slice(0, -1).map((ns) => rate[Math.floor((ns + axis.width_ns / 2 - answer.from) / answer.width_ns)] ?? null);
      return { name, color: seriesColor(index, isDark()), y: repeatLast(y), kind: index === 0 ? "area" : "step" };
    });
    const spec = {
      ...timeAxis(context, x),
      lines,
      showMarkNames: true,
      left: { name: rateUnit(context.measure), format: formatAxisValue },
      tooltip: (index) => ({
        head: cellHeading(context, axis.from + index * axis.width_ns, axis.width_ns),
        rows: lines.map((line) => ({
          name: line.name,
          value: `${formatNumber(line.y[index])} ${rateUnit(context.measure)}`,
          color: line.color
        }))
      })
    };
    return {
      spec,
      legend: answers.length > 1 ? lines.map((line) => ({ name: line.name, color: line.color })) : [],
      note: "",
      ariaLabel: "Rate of the whole capture.",
      xName: X_NAME
    };
  }
  const TITLES = {
    map: "IO Stream Map",
    rt: "Response time",
    qd: "Queue depth and idle time",
    lba: "Address hit map",
    subsecond: "Offset in the second"
  };
  const HEIGHTS = { map: 260, rt: 240, qd: 160, lba: 240, subsecond: 180 };
  const KINDS = ["map", "rt", "qd", "lba", "subsecond"];
  const FACET_NAMES = {
    op: "Operation",
    device: "Device",
    layer: "Layer",
    process: "Process",
    pid: "Process",
    stream: "Stream",
    event: "Mark",
    file: "File",
    cgroup: "Cgroup",
    tid: "Thread"
  };
  const OUTSIDE_MESSAGE = "This capture has no time in this part. Press Esc to go back.";
  class CapturePage {
    constructor(app) {
      this.app = app;
      this.root = h("div", { class: "page" });
      this.bar = h("div", { class: "bar" });
      this.facts = h("div", { class: "facts" });
      this.drawings = h("div", { class: "drawings" });
      this.colors = new ColorAssignment();
      this.columns = [];
      this.layout = "";
      this.drawnOverview = "";
      this.overview = new ChartPanel("Overview", () => this.fileName(), "time", 96, {});
      this.overview.root.classList.add("overview");
      this.brush = new Brush(this.overview.pane, {
        range: () => this.range(),
        duration: () => this.duration(),
        describe: (from, to) => this.describeRange(from, to),
        onChange: (range) => this.zoom(range)
      });
      this.tables = new Tables(
        app,
        () => this.columns.map((column) => ({
          view: column.view,
          item: column.item,
          letter: column.letter,
          device: addressDevice(column),
          range: this.ownRange(column),
          isOutside: this.isOutside(column)
        })),
        {
          toggleFilter: (facet2, value, shift, view) => this.filter(facet2, value, shift, view),
          showRange: (range, view) => this.zoom(this.onAxis(range, this.columnOf(view)?.shift ?? 0)),
          showCommand: (view, tableId) => {
            const column = this.columnOf(view);
            if (column) void this.showCommand(column, tableId);
          }
        }
      );
      this.root.append(this.facts, this.bar, this.overview.root, this.drawings, this.tables.root);
    }
    columnOf(view) {
      return this.columns.find((column) => column.view === view);
    }
    /** Returns the shown range in a capture's own time; undefined for all of it. */
    ownRange(column) {
      const range = captureRange(this.range(), column.shift, column.item.duration_ns ?? 0);
      return range === "outside" ? void 0 : range;
    }
    isOutside(column) {
      return captureRange(this.range(), column.shift, column.item.duration_ns ?? 0) === "outside";
    }
    /** Converts a range of a capture's own time to the axis. */
    onAxis(range, shift) {
      return clampRange(range.from + shift, range.to + shift, this.duration());
    }
    range() {
      const { from, to } = this.app.state;
      return from !== void 0 && to !== void 0 ? clampRange(from, to, this.duration()) : void 0;
    }
    duration() {
      return Math.max(1, ...this.columns.map((column) => (column.item.duration_ns ?? 0) + column.shift));
    }
    xRange() {
      const range = this.range();
      return range ? [range.from, range.to] : this.wholeAxis();
    }
    /** Returns the extent of the axis. That of a single fold file begins with its first capture. */
    wholeAxis() {
      return [this.columns.length === 1 ? this.columns[0]?.item.start_ns ?? 0 : 0, this.duration()];
    }
    describeRange(from, to) {
      const first = this.columns[0];
      if (!first) return "";
      const { clock } = this.context(first);
      const step = Math.min(1e9, Math.max(1, (to - from) / 100));
      return `${formatTime(from, clock, step)} to ${formatTime(to, clock, step)} (${formatSeconds((to - from) / 1e9)})`;
    }
    fileName() {
      const first = this.columns[0];
      return first ? shortName(first.item) : "capture";
    }
    update() {
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
    updateColumns(item) {
      const { versus, filters } = this.app.state;
      const views = [{ view: { n: item.n, filters }, item }];
      const other = versus && itemOf(this.app, versus.n);
      if (versus && other && other.state === "ready" && other.kind === "capture")
        views.push({ view: versus, item: other });
      const layout = views.map(({ item: one }) => one.n).join(",");
      if (layout !== this.layout) {
        this.columns.forEach((column) => column.panels.forEach((panel) => panel.pane.destroy()));
        this.columns = views.map(
          ({ view, item: one }, index) => this.makeColumn(view, one, views.length > 1 ? ["A", "B"][index] ?? "" : "")
        );
        this.drawings.replaceChildren(
          ...KINDS.map(
            (kind) => h("div", { class: "pair" }, ...this.columns.flatMap((column) => column.panels.get(kind)?.root ?? []))
          )
        );
        this.layout = layout;
      }
      const { shifts } = alignCaptures(
        views.map(({ item: one }) => one),
        this.app.state.align
      );
      this.columns.forEach((column, index) => {
        column.view = views[index]?.view ?? column.view;
        column.item = views[index]?.item ?? column.item;
        column.shift = shifts[index] ?? 0;
        column.panels.forEach((panel, kind) => panel.setTitle(this.title(column, kind)));
      });
    }
    title(column, kind) {
      if (this.columns.length < 2) return TITLES[kind];
      const filters = describeFilters(column.view.filters);
      return `${column.letter}: ${TITLES[kind]}, ${shortName(column.item)}${filters ? `, ${filters}` : ""}`;
    }
    makeColumn(view, item, letter) {
      const column = {
        view,
        item,
        letter,
        shift: 0,
        panels: /* @__PURE__ */ new Map(),
        map: void 0,
        hitMapSwitches: h("span"),
        hitMapDevice: void 0
      };
      for (const kind of KINDS) {
        const handlers = {
          onZoom: (from, to) => this.zoom(clampRange(from, to, this.duration())),
          ...kind === "map" ? {
            onClick: (index, _2, y, shift) => this.clickBand(column, index, y, shift)
          } : {}
        };
        const tools = kind === "lba" || kind === "subsecond" ? [] : [{ text: "Command", title: "Copy as command", onClick: () => void this.showCommand(column, kind) }];
        const title = `${letter ? `${letter}: ` : ""}${TITLES[kind]}`;
        const panel = new ChartPanel(title, () => shortName(column.item), "time", HEIGHTS[kind], handlers, tools);
        panel.root.dataset["view"] = kind;
        if (kind === "lba") panel.toolbar.prepend(column.hitMapSwitches);
        column.panels.set(kind, panel);
      }
      return column;
    }
    clickBand(column, index, y, shift) {
      const match = column.map && bandAt(column.map.tops, index, y);
      const band = match === void 0 ? void 0 : column.map?.bands[match];
      if (band && !band.others) this.filterByBand(column, band, shift);
    }
    filterByBand(column, band, shift) {
      if (this.app.state.by === "stream") return this.filter("stream", band.name, shift, column.view);
      const byNumber = /^\d+$/.test(band.id);
      this.filter(byNumber ? "pid" : "process", band.id, shift, column.view);
    }
    /** Toggles a filter of a view. With Shift, compares the view with a copy that has only this value of the facet. */
    filter(facet2, value, shift, view) {
      if (isExported()) return announce("An exported page cannot filter. Open the file with steadfast explore.");
      if (shift) {
        const filters2 = { ...view.filters, [facet2]: [value] };
        return this.app.navigate({ versus: { n: view.n, filters: filters2 } });
      }
      const filters = toggleFilter(view.filters, facet2, value);
      const second = this.app.state.versus;
      if (second && view === this.columns[1]?.view) this.app.navigate({ versus: { ...second, filters } });
      else this.app.navigate({ filters });
    }
    zoom(range) {
      this.app.navigate({ from: range?.from, to: range?.to });
    }
    context({ item, shift }) {
      const clock = clockOf(this.app, item);
      return {
        clock: clock && { ...clock, begin_ns: clock.begin_ns - shift },
        marks: (item.marks ?? []).map((mark) => ({ ...mark, t: mark.t + shift })),
        measure: this.app.state.measure
      };
    }
    async series(column, by) {
      const [range, whole] = [this.ownRange(column), this.range()];
      if (whole && this.isOutside(column)) return emptySeries(whole);
      return shiftAnswer(
        await getAnswer(
          apiUrl("series", { ...captureParams(column.view, range?.from, range?.to), by, cells: 1024 })
        ),
        column.shift
      );
    }
    async heat(column, kind, rows, op) {
      const [range, whole] = [this.ownRange(column), this.range()];
      if (column.item.refused?.[kind] !== void 0) return emptyHeatMap({ from: 0, to: this.duration() });
      if (whole && this.isOutside(column)) return emptyHeatMap(whole);
      const ops = op && column.view.filters.op.length === 0 ? { op: [op] } : {};
      const device = kind === "lba" ? addressDevice(column) : void 0;
      const devices = device === void 0 ? {} : { device: [device] };
      return shiftAnswer(
        await getAnswer(
          apiUrl("heat", {
            ...captureParams(column.view, range?.from, range?.to),
            kind,
            cells: 512,
            rows,
            ...ops,
            ...devices
          })
        ),
        column.shift
      );
    }
    /** Returns amount and position of each stream within one column of the hit map. */
    readOut(column, from, to) {
      const device = addressDevice(column);
      const op = this.hitOp();
      const ops = op && column.view.filters.op.length === 0 ? { op: [op] } : {};
      const devices = device === void 0 ? {} : { device: [device] };
      const [begin, end] = [Math.max(0, Math.round(from - column.shift)), Math.round(to - column.shift)];
      return getAnswer(
        apiUrl("read-out", { ...captureParams(column.view, begin, end), ...ops, ...devices })
      );
    }
    loadAll() {
      void this.loadOverview();
      for (const column of this.columns) {
        void this.load(column, "map", this.mapChart(column));
        void this.load(column, "rt", this.timesChart(column));
        void this.load(
          column,
          "qd",
          this.series(column, "stream").then((answer) => queueDepthChart(answer, this.context(column)))
        );
        void this.load(
          column,
          "lba",
          this.withSharedMaximum(
            column,
            (other) => this.heat(other, "lba", 128, this.hitOp()),
            (heat, scene, maxCount) => hitMapChart(heat, scene, maxCount, (from, to) => this.readOut(column, from, to))
          )
        );
        void this.load(
          column,
          "subsecond",
          this.withSharedMaximum(column, (other) => this.heat(other, "subsecond", 50), subsecondChart)
        );
        this.updateHitMapSwitches(column);
      }
      this.tables.load();
    }
    hitOp() {
      return this.app.state.hits === "all" ? void 0 : this.app.state.hits;
    }
    updateHitMapSwitches(column) {
      const fixed = column.view.filters.op.length > 0;
      column.hitMapSwitches.replaceChildren(
        ...this.deviceSwitch(column),
        ...fixed ? [] : [
          buttonGroup(
            "Operations in the hit map",
            [
              ["all", "All"],
              ["read", "Reads"],
              ["write", "Writes"]
            ],
            this.app.state.hits,
            (value) => this.app.navigate({ hits: value })
          )
        ]
      );
    }
    /** Returns the selector of the hit map's device if the capture has several. */
    deviceSwitch(column) {
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
          }
        },
        ...names.map((name) => h("option", { value: name, selected: name === now }, name))
      );
      return [select];
    }
    load(column, kind, pending) {
      const message = column.item.refused?.[kind] ?? (this.isOutside(column) ? OUTSIDE_MESSAGE : void 0);
      const drawing = message === void 0 ? pending : pending.then(() => message);
      return column.panels.get(kind)?.load(drawing, () => this.xRange()) ?? Promise.resolve();
    }
    /** Draws the map of a column. Both columns have the same scales, so that heights can be compared. */
    async mapChart(column) {
      const { by } = this.app.state;
      const views = await Promise.all(
        this.columns.map(
          async (other) => streamMapChart(
            await this.series(other, by),
            this.context(other),
            this.colors,
            by,
            (band, shift) => this.filterByBand(other, band, shift)
          )
        )
      );
      const view = views[this.columns.indexOf(column)];
      if (!view || typeof view === "string") return view ?? "";
      column.map = view;
      const top = (right) => Math.max(
        1e-9,
        ...views.flatMap((other) => typeof other === "string" ? [] : other.spec.lines).filter((line) => (line.right ?? false) === right).map((line) => line.y.reduce((maxCount, value) => Math.max(maxCount, value ?? 0), 0))
      );
      view.spec.left.high = top(false) * 1.05;
      if (view.spec.right) view.spec.right.high = top(true) * 1.05;
      return view;
    }
    async timesChart(column) {
      const views = await Promise.all(
        this.columns.map(async (other) => {
          const [heat, series] = await Promise.all([this.heat(other, "rt", 64), this.series(other, "stream")]);
          return { heat, series };
        })
      );
      const maxCount = Math.max(...views.map(({ heat }) => maxCountOf(heat)));
      const drawings = views.map(
        ({ heat, series }, index) => responseTimeChart(heat, series, this.context(this.columns[index] ?? column), maxCount)
      );
      const axes = drawings.flatMap((other) => typeof other === "string" ? [] : [other.spec.left]);
      const [low, high] = [
        Math.min(...axes.map((axis) => axis.low ?? 1)),
        Math.max(...axes.map((axis) => axis.high ?? 10))
      ];
      axes.forEach((axis) => [axis.low, axis.high] = [low, high]);
      return drawings[this.columns.indexOf(column)] ?? "";
    }
    async withSharedMaximum(column, getHeatMap, draw) {
      const heats = await Promise.all(this.columns.map((other) => getHeatMap(other)));
      const heat = heats[this.columns.indexOf(column)];
      return heat ? draw(heat, this.context(column), Math.max(...heats.map(maxCountOf))) : "";
    }
    async loadOverview() {
      const first = this.columns[0];
      if (!first) return;
      const now = JSON.stringify([
        this.columns.map((column) => [column.item.n, column.shift]),
        this.app.state.measure,
        this.app.state.time
      ]);
      if (now === this.drawnOverview) return;
      this.drawnOverview = now;
      const different = this.columns.filter((column, index) => index === 0 || column.item.n !== first.item.n);
      const coming = Promise.all(
        different.map(async (column) => ({
          name: shortName(column.item),
          answer: shiftAnswer(
            await getAnswer(
              apiUrl("series", {
                ...captureParams({ n: column.view.n, filters: noFilters() }),
                by: "stream",
                cells: 1024
              })
            ),
            column.shift
          )
        }))
      ).then((answers) => overviewChart(answers, this.context(first), this.duration()));
      await this.overview.load(coming, () => this.wholeAxis());
      this.brush.attach();
    }
    updateBar() {
      const { state } = this.app;
      const range = this.range();
      const chips = this.columns.flatMap(
        (column, index) => FACETS.flatMap(
          (facet2) => column.view.filters[facet2].map((value) => {
            const text = `${column.letter ? `${column.letter} ` : ""}${FACET_NAMES[facet2]}: ${facet2 === "pid" ? processName(column.item, value) : value} ×`;
            return button(text, () => this.dropFilter(index, facet2, value), {
              class: "chip",
              title: "Remove this filter"
            });
          })
        )
      );
      if (range)
        chips.push(
          button(`${this.describeRange(range.from, range.to)} ×`, () => this.zoom(void 0), {
            class: "chip",
            title: "Show the whole time"
          })
        );
      if (state.versus)
        chips.push(button("End comparison ×", () => this.app.navigate({ versus: void 0 }), { class: "chip" }));
      const second = this.columns[0] && clockOf({ ...this.app, state: { ...state, time: "clock" } }, this.columns[0].item);
      const span = this.extremeSpan();
      this.bar.replaceChildren(
        buttonGroup(
          "Measure",
          [
            ["iops", "IOPS"],
            ["mb", "MB/s"]
          ],
          state.measure,
          (measure) => this.app.navigate({ measure })
        ),
        buttonGroup(
          "Stacked by",
          [
            ["stream", "By stream"],
            ["process", "By process"]
          ],
          state.by,
          (by) => this.app.navigate({ by })
        ),
        ...second ? [
          buttonGroup(
            "Times",
            [
              ["clock", "Clock"],
              ["start", "From start"]
            ],
            state.time,
            (time) => this.app.navigate({ time })
          )
        ] : [],
        button(`Slowest ${span.name}`, () => void this.showExtreme("slowest"), {
          title: "Show the part with the longest mean response time (S)"
        }),
        button(`Busiest ${span.name}`, () => void this.showExtreme("busiest"), {
          title: "Show the part with the most I/Os (B)"
        }),
        ...this.filterSelects(),
        ...this.compareWith(),
        button("Derive workload", () => void this.showWorkload(), {
          title: "The I/O streams of what is shown, as a file that steadfast can apply"
        }),
        h("span", { class: "chips", "aria-label": "Filters" }, ...chips)
      );
    }
    /** Returns selectors of device, layer and operation, each only if there is a choice. */
    filterSelects() {
      const item = this.columns[0]?.item;
      if (!item || isExported()) return [];
      const { filters } = this.app.state;
      const select = (facet2, name, all, values) => {
        const now = filters[facet2].length === 1 ? filters[facet2][0] : "";
        const element2 = h(
          "select",
          {
            "aria-label": name,
            "data-facet": facet2,
            onchange: () => {
              this.app.navigate({ filters: { ...filters, [facet2]: element2.value === "" ? [] : [element2.value] } });
            }
          },
          h("option", { value: "" }, all),
          ...values.map((value) => h("option", { value, selected: value === now }, value))
        );
        return element2;
      };
      const devices = deviceNames(item);
      return [
        ...devices.length > 1 ? [select("device", "Device", "All devices", devices)] : [],
        ...(item.layers ?? []).length > 1 ? [select("layer", "Layer", "Block layer", ["filesystem", "both"])] : [],
        select("op", "Operation", "All operations", ["read", "write", "discard", "flush"])
      ];
    }
    compareWith() {
      const others = this.app.meta.items.filter(
        (item) => item.kind === "capture" && item.state === "ready" && item.n !== this.app.state.n
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
          }
        },
        h("option", { value: "" }, "Compare with …"),
        ...others.map((item) => h("option", { value: item.n }, shortName(item)))
      );
      return align ? [select, align] : [select];
    }
    /** Returns the selector of the alignment, if more than one is possible. */
    alignment() {
      const items = this.columns.map((column) => column.item);
      const match = alignmentOptions(items);
      if (items.length < 2 || items[0]?.n === items[1]?.n || match.length < 2) return void 0;
      const now = alignCaptures(items, this.app.state.align).align;
      const select = h(
        "select",
        {
          "aria-label": "Align the captures",
          onchange: () => this.app.navigate({ align: select.value, from: void 0, to: void 0 })
        },
        ...match.map((way) => h("option", { value: way.align, selected: way.align === now }, way.text))
      );
      return select;
    }
    dropFilter(index, facet2, value) {
      const { filters, versus } = this.app.state;
      if (index === 0) this.app.navigate({ filters: removeFilter(filters, facet2, value) });
      else if (versus) this.app.navigate({ versus: { ...versus, filters: removeFilter(versus.filters, facet2, value) } });
    }
    /** Returns the length of the slowest and busiest part: a minute, or a twentieth of a short capture. */
    extremeSpan() {
      const item = this.columns[0]?.item;
      const duration = (item?.duration_ns ?? 0) - (item?.start_ns ?? 0);
      if (duration >= 18e10) return { ns: 6e10, name: "minute" };
      const second = Math.max(1, Math.round(duration / 2e10));
      return duration > 2e10 ? { ns: second * 1e9, name: second === 1 ? "second" : `${second} s` } : { ns: duration / 20, name: "twentieth" };
    }
    async showExtreme(what) {
      const first = this.columns[0];
      if (!first) return;
      try {
        const answer = await getAnswer(
          apiUrl("series", { ...captureParams(first.view), by: "stream", cells: 1024 })
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
    async refineExtreme(view, answer, what) {
      const spanNs = this.extremeSpan().ns;
      const match = findExtreme(answer, spanNs, what);
      if (!match || match.to - match.from <= spanNs * 1.5 || isExported()) return match;
      const inner = await getAnswer(
        apiUrl("series", {
          ...captureParams(view, Math.floor(match.from), Math.ceil(match.to)),
          by: "stream",
          cells: 1024
        })
      );
      return findExtreme(inner, spanNs, what) ?? match;
    }
    async showCommand(column, view) {
      const range = this.ownRange(column);
      try {
        if (this.isOutside(column))
          return showTextDialog("Copy as command", OUTSIDE_MESSAGE, "There is no command for this view.");
        const { command } = await getAnswer(
          apiUrl("command", { ...captureParams(column.view, range?.from, range?.to), view })
        );
        showTextDialog("Copy as command", command, "The command that prints the same numbers.");
      } catch (error) {
        showTextDialog("Copy as command", errorMessage(error), "There is no command for this view.");
      }
    }
    async showWorkload() {
      const first = this.columns[0];
      if (!first) return;
      const range = this.ownRange(first);
      try {
        const { toml } = await getAnswer(
          apiUrl("workload", captureParams(first.view, range?.from, range?.to))
        );
        showTextDialog(
          "Derive workload",
          toml,
          "Save this file and apply it: steadfast run replay-native --workload FILE --target DEVICE",
          { name: "workload.toml", type: "application/toml" }
        );
      } catch (error) {
        showTextDialog("Derive workload", errorMessage(error), "No workload of this part.");
      }
    }
    updateFacts(item) {
      const text = [item.workload_name, item.comment].filter((text2) => Boolean(text2)).join(" – ");
      this.facts.replaceChildren(...text ? [h("p", { class: "quiet" }, text)] : []);
      if (item.step_ns) {
        this.facts.append(
          h(
            "p",
            { class: "quiet" },
            `Totals of capture steps of ${formatNs(item.step_ns)}. I/Os within a step are not kept; parts of the time are whole steps.`
          )
        );
      }
      if (isExported()) {
        this.facts.append(
          h(
            "p",
            { class: "notice" },
            "Exported page: its numbers are inside. It cannot filter, compare, recount a part or list single I/Os; open the file with steadfast explore for that."
          )
        );
      }
    }
    handleKey(event) {
      const { state } = this.app;
      const [from, to] = this.xRange();
      const moves = ["ArrowLeft", "ArrowRight", "+", "-", "Home"];
      const range = moves.includes(event.key) ? rangeAfterKey(event.key, from, to, this.duration()) : void 0;
      if (range) this.zoom(clampRange(range.from, range.to, this.duration()));
      else if (event.key === "s") void this.showExtreme("slowest");
      else if (event.key === "b") void this.showExtreme("busiest");
      else if (event.key === "m") this.app.navigate({ measure: state.measure === "iops" ? "mb" : "iops" });
      else if (event.key === "p") this.app.navigate({ by: state.by === "stream" ? "process" : "stream" });
      else return false;
      return true;
    }
    redraw() {
      [this.layout, this.drawnOverview] = ["", ""];
      this.update();
    }
    close() {
      this.overview.pane.destroy();
      this.columns.forEach((column) => column.panels.forEach((panel) => panel.pane.destroy()));
    }
  }
  function deviceNames(item) {
    return (item.devices ?? []).map((device) => typeof device === "string" ? device : device.name);
  }
  function devicesOf({ view, item }) {
    const chosen = view.filters.device;
    return deviceNames(item).filter((name) => chosen.length === 0 || chosen.includes(name));
  }
  function addressDevice(column) {
    const names = devicesOf(column);
    if (names.length < 2) return void 0;
    return names.find((name) => name === column.hitMapDevice) ?? names[0];
  }
  function describeFilters(filters) {
    if (!hasFilters(filters)) return "";
    return FACETS.flatMap((facet2) => filters[facet2]).join(", ");
  }
  function processName(item, pid) {
    const match = (item.processes ?? []).find((process) => process.pids?.some((other) => String(other) === pid));
    return match ? `${match.name} (${pid})` : pid;
  }
  const secondTicks = (from, to, most) => timeTicks(from * 1e9, to * 1e9, void 0, most).map(([ns, name]) => [ns / 1e9, name]);
  const integerTicks = (from, to) => ticks$1({ label: "", low: from, high: to, log: false }).filter(([value]) => Number.isInteger(value));
  const percentileTicks = () => [
    [0, "0 %"],
    [nines(0.5), "50 %"],
    [1, "90 %"],
    [2, "99 %"],
    [3, "99.9 %"],
    [4, "99.99 %"],
    [5, "99.999 %"],
    [6, "99.9999 %"]
  ];
  function straightLine(line) {
    return { kind: "line", ...line };
  }
  function lineTooltip(heading, x, lines, text) {
    return (index) => ({
      head: heading(x[index] ?? 0),
      rows: lines.flatMap((line) => {
        const value = line.y[index];
        return value === null || value === void 0 ? [] : [{ name: line.name, value: text(line, value), color: line.color }];
      })
    });
  }
  function legendOf(lines, right = "") {
    return lines.map((line) => ({ name: line.name + (line.right ? right : ""), color: line.color, dash: true }));
  }
  function trackChart(name, runs) {
    const tracks = runs.flatMap((run) => {
      const item = run.answer.tracks.find((candidate) => candidate.name === name);
      return item ? [{ run, track: item }] : [];
    });
    const rounds = alignByX(
      tracks.map(({ track }) => ({
        x: track.rounds.map((each) => each.round),
        y: track.rounds.map((each) => each.value)
      }))
    );
    if (rounds.x.length === 0) return "No round is finished yet.";
    const first = tracks[0]?.track;
    const unit = first?.unit ?? "";
    const lines = tracks.map(
      ({ run }, index) => ({
        name: run.name,
        color: seriesColor(run.colorIndex, isDark()),
        y: rounds.y[index] ?? [],
        kind: "points"
      })
    );
    const window2 = first?.window ?? void 0;
    const spec = {
      x: rounds.x,
      marks: [],
      ticks: integerTicks,
      lines: [...lines, ...window2 ? windowLines(rounds.x, window2) : []],
      left: { name: `${name} ${unit}`, format: formatAxisValue },
      tooltip: () => ({ head: "", rows: [] })
    };
    if (window2) spec.shaded = { from: window2.from - 0.5, to: window2.to + 0.5 };
    const values = spec.lines.flatMap((line) => line.y).filter((value) => typeof value === "number");
    const [low, high] = [Math.min(...values), Math.max(...values)];
    spec.left.low = Math.max(0, low - (high - low || high) * 0.15);
    spec.left.high = high + (high - low || high) * 0.15;
    spec.tooltip = lineTooltip(
      (x) => `Round ${x}`,
      rounds.x,
      spec.lines,
      (_2, value) => formatNumber(value, unit)
    );
    const verdict = first?.verdict ?? "";
    return {
      spec,
      legend: legendOf(spec.lines),
      xName: "round",
      note: [unit, window2 ? `window: rounds ${window2.from} to ${window2.to}` : "no window yet", verdict].filter(Boolean).join("; "),
      ariaLabel: `${name} by round. ${verdict}`
    };
  }
  function windowLines(x, window2) {
    const inWindow = (value) => x.map(
      (round2) => round2 >= window2.from && round2 <= window2.to ? value((round2 - window2.from) / Math.max(1, window2.to - window2.from)) : null
    );
    return [
      straightLine({ name: "average", color: cssColor("quiet"), y: inWindow(() => window2.average), width: 1.5 }),
      straightLine({
        name: "lowest allowed",
        color: cssColor("bad"),
        y: inWindow(() => window2.low),
        dash: [5, 3],
        width: 1
      }),
      straightLine({
        name: "highest allowed",
        color: cssColor("bad"),
        y: inWindow(() => window2.high),
        dash: [5, 3],
        width: 1
      }),
      straightLine({
        name: "slope",
        color: cssColor("mild"),
        y: inWindow((share) => window2.slope_from + share * (window2.slope_to - window2.slope_from)),
        dash: [2, 2]
      })
    ];
  }
  function stepsChart(runs, quantity) {
    const value = (step) => quantity === "iops" ? step.iops : quantity === "mb" ? step.mb_s : step.rt_mean_ns;
    const placed = runs.map(({ answer }) => answer.steps.filter((step) => step.start_s !== null));
    const merged = alignByX(placed.map((steps2) => ({ x: steps2.map((step) => step.start_s ?? 0), y: steps2.map(value) })));
    if (merged.x.length === 0) return "No step is finished yet.";
    const lines = runs.map(
      ({ name, colorIndex: place }, index) => ({
        name,
        color: seriesColor(place, isDark()),
        y: merged.y[index] ?? [],
        kind: "points"
      })
    );
    const format = (item) => quantity === "rt" ? formatNs(item) : formatNumber(item, quantity === "iops" ? "IOPS" : "MB/s");
    const steps = new Map(placed.flat().map((step) => [step.start_s, step]));
    const marks = (runs[0]?.answer.caveats ?? []).flatMap((caveat) => {
      const start_s = caveat.t ?? runs[0]?.answer.steps.find((step) => step.i === caveat.step)?.start_s;
      return start_s === null || start_s === void 0 ? [] : [{ x: start_s, text: caveat.text }];
    });
    const spec = {
      x: merged.x,
      lines,
      marks,
      ticks: secondTicks,
      left: {
        name: quantity === "rt" ? "mean response time ns" : quantity === "iops" ? "IOPS" : "MB/s",
        log: true,
        format: quantity === "rt" ? formatNs : formatAxisValue
      },
      tooltip: lineTooltip(
        (x) => `${steps.get(x)?.place ?? ""} ${steps.get(x)?.name ?? ""} at ${formatSeconds(x)}`.trim(),
        merged.x,
        lines,
        (_2, item) => format(item)
      )
    };
    return {
      spec,
      legend: runs.length > 1 ? legendOf(lines) : [],
      xName: "start_s",
      note: `One point for each step, at its start; logarithmic axis.${marks.length > 0 ? " Dashed lines: caveats." : ""} Click a point to see the step.`,
      ariaLabel: `${spec.left.name} of ${formatCount(steps.size)} steps over time.`
    };
  }
  function sensorsChart(runs) {
    const recorded = runs.flatMap(
      (run) => run.answer.sensors && run.answer.sensors.t.length > 0 ? [{ run, sensors: run.answer.sensors }] : []
    );
    const has = (pick) => recorded.some((item) => pick(item).some((value) => typeof value === "number"));
    const [hasTemperature, hasLoad] = [has(({ sensors }) => sensors.temperature), has(({ sensors }) => sensors.load)];
    if (!hasTemperature && !hasLoad) return "Neither temperature nor host load was recorded.";
    const columns = recorded.flatMap(({ run, sensors }) => [
      { run, x: sensors.t, y: sensors.temperature, right: false, name: "temperature" },
      {
        run,
        x: sensors.t,
        y: sensors.load.map((share) => typeof share === "number" ? share * 100 : null),
        right: hasTemperature,
        name: "host load"
      }
    ]).filter((column) => column.y.some((value) => typeof value === "number"));
    const merged = alignByX(columns);
    const several = recorded.length > 1;
    const loadAxis = { name: "load %", format: (value) => `${formatAxisValue(value)} %` };
    const lines = columns.map(
      ({ run, right, name }, index) => ({
        name: several ? `${name}, ${run.name}` : name,
        color: seriesColor(several ? run.colorIndex : right ? 0 : 1, isDark()),
        y: merged.y[index] ?? [],
        kind: "points",
        right,
        ...right ? { dash: [5, 3] } : {}
      })
    );
    const spec = {
      x: merged.x,
      lines,
      marks: [],
      ticks: secondTicks,
      left: !hasTemperature ? loadAxis : {
        name: "°C",
        low: temperatureAxisLow(recorded.flatMap(({ sensors }) => sensors.temperature)),
        format: (value) => `${formatAxisValue(value)} °C`
      },
      ...hasTemperature && hasLoad ? { right: loadAxis } : {},
      tooltip: lineTooltip(
        (x) => `At ${formatSeconds(x)}`,
        merged.x,
        lines,
        (line, value) => line.name.startsWith("host") ? formatNumber(value, "%") : formatNumber(value, "°C")
      )
    };
    return {
      spec,
      legend: legendOf(lines, " (right)"),
      xName: "t_s",
      note: [
        hasTemperature ? "Temperature of the drive." : "No temperature was recorded.",
        !hasLoad ? "No host load was recorded." : `Load of the host's processors${hasTemperature ? " (right)." : "."}`
      ].join(" "),
      ariaLabel: "Temperature and host load over time."
    };
  }
  function temperatureAxisLow(values) {
    const known = values.filter((value) => typeof value === "number");
    return known.length > 0 ? Math.floor(Math.min(...known) / 5 - 1) * 5 : 0;
  }
  const COLUMN_NAMES = {
    reads: "reads",
    writes: "writes",
    bytes: "bytes",
    iops: "IOPS",
    rt_mean: "mean",
    rt_p99: "99 %",
    rt_max: "maximum"
  };
  function secondsChart(runs, quantity) {
    const isWanted = (key) => key !== "t" && (quantity === "rt" ? key.includes("rt") : key === "reads" || key === "writes");
    const columns = runs.flatMap(
      (run) => Object.keys(run.answer.intervals).filter(isWanted).filter((key) => maxOf(run.answer.intervals[key] ?? []) > 0).map((key) => ({
        run,
        key,
        x: (run.answer.intervals["t"] ?? []).map((value) => value ?? 0),
        y: run.answer.intervals[key] ?? []
      }))
    );
    if (columns.length === 0)
      return quantity === "rt" ? "No response times by second." : "This step has no accounting by second.";
    const merged = alignByX(columns);
    const several = runs.length > 1;
    const lines = columns.map(
      ({ run, key }, index) => ({
        name: several ? `${COLUMN_NAMES[key] ?? key}, ${run.name}` : COLUMN_NAMES[key] ?? key,
        color: seriesColor(several ? run.colorIndex : index, isDark()),
        y: merged.y[index] ?? [],
        kind: "points",
        ...several && (key.includes("max") || key === "writes") ? { dash: [5, 3] } : {}
      })
    );
    const spec = {
      x: merged.x,
      lines,
      marks: [],
      ticks: secondTicks,
      left: {
        name: quantity === "rt" ? "response time ns" : "I/Os per second",
        log: quantity === "rt",
        format: quantity === "rt" ? formatNs : formatAxisValue
      },
      tooltip: lineTooltip(
        (x) => `At ${formatSeconds(x)}`,
        merged.x,
        lines,
        (_2, value) => quantity === "rt" ? formatNs(value) : formatCount(value)
      )
    };
    return {
      spec,
      legend: legendOf(lines),
      xName: "t_s",
      note: quantity === "rt" ? "Response times of each second." : "I/Os of each second.",
      ariaLabel: `${spec.left.name} by second.`
    };
  }
  function percentilesChart(runs) {
    const curves = runs.map(({ answer }) => {
      const curve = percentileCurve(answer.histogram.upper_ns, answer.histogram.counts);
      const reported = answer.percentiles.filter((pair) => pair[1] !== null && pair[0] < 100);
      return curve.x.length > 0 ? curve : { x: reported.map(([p]) => nines(p / 100)), y: reported.map(([, ns]) => ns) };
    });
    const merged = alignByX(curves);
    if (merged.x.length === 0) return "No response times in this step.";
    const lines = runs.map(
      ({ name, colorIndex: place }, index) => straightLine({
        name,
        color: seriesColor(place, isDark()),
        y: interpolate(merged.x, curves[index] ?? { x: [], y: [] }),
        width: 1.8
      })
    );
    const spec = {
      x: merged.x,
      lines,
      marks: [],
      ticks: (from, to) => percentileTicks().filter(([value]) => value >= from - 1e-9 && value <= to),
      left: { name: "response time ns", log: true, format: formatNs },
      tooltip: lineTooltip(
        (x) => `${formatNumber((1 - Math.pow(10, -x)) * 100)} % of I/Os took at most`,
        merged.x,
        lines,
        (_2, value) => formatNs(value)
      )
    };
    return {
      spec,
      legend: runs.length > 1 ? legendOf(lines) : [],
      xName: "nines",
      note: "How many I/Os took at most how long, from the histogram of the step.",
      ariaLabel: "Response time by percentile."
    };
  }
  function interpolate(x, curve) {
    let index = 0;
    return x.map((value) => {
      while (index < curve.x.length - 2 && (curve.x[index + 1] ?? 0) < value) index += 1;
      const [x0, x1, y0, y1] = [
        curve.x[index],
        curve.x[index + 1] ?? curve.x[index],
        curve.y[index],
        curve.y[index + 1] ?? curve.y[index]
      ];
      if (x0 === void 0 || x1 === void 0 || y0 === void 0 || y1 === void 0 || value < x0 || value > x1)
        return null;
      return x1 === x0 ? y0 : y0 + (value - x0) / (x1 - x0) * (y1 - y0);
    });
  }
  const REFRESH_MS = 2e3;
  const FIRST_TRACKS = 9;
  class RunPage {
    constructor(app) {
      this.app = app;
      this.root = h("div", { class: "page" });
      this.facts = h("div", { class: "facts", role: "status" });
      this.bar = h("div", { class: "bar" });
      this.trackGrid = h("div", { class: "grid" });
      this.file = () => shortNameOf(this.app);
      this.rate = new ChartPanel("Steps", this.file, "run", 220, this.handlers());
      this.times = new ChartPanel("Response time of steps", this.file, "run", 180, this.handlers());
      this.sensors = new ChartPanel("Temperature and host load", this.file, "run", 150, {
        onZoom: (from, to) => this.zoom(from, to)
      });
      this.stepList = new TablePanel("Step list", this.file);
      this.caveats = h("section", { class: "panel" });
      this.detail = h("section", { class: "detail", "aria-label": "Step" });
      this.stepPanels = {
        ios: new ChartPanel("Seconds of the step", this.file, "second", 180, {}),
        rt: new ChartPanel("Response times by second", this.file, "second", 180, {}),
        nines: new ChartPanel("Response time by percentile", this.file, void 0, 220, {}),
        table: new TablePanel("Percentiles and disk statistics", this.file)
      };
      this.tracks = /* @__PURE__ */ new Map();
      this.showAllTracks = false;
      this.runs = [];
      this.closed = false;
      this.lastLoad = 0;
      this.drawnState = "";
      this.lastNines = 3;
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
        this.stepPanels.table.root
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
        this.caveats
      );
    }
    handlers() {
      return { onClick: (_2, x) => this.openNearestStep(x), onZoom: (from, to) => this.zoom(from, to) };
    }
    /** Shows a range of the run given in seconds. The state has nanoseconds, as for captures. */
    zoom(from, to) {
      const range = clampRange(from * 1e9, to * 1e9, this.duration() * 1e9);
      this.app.navigate({ from: range?.from, to: range?.to });
    }
    update() {
      void this.load(false);
    }
    async load(refresh) {
      this.lastLoad += 1;
      const thisLoad = this.lastLoad;
      window.clearTimeout(this.timer);
      const { n, runs } = this.app.state;
      const wanted = [n, ...runs].filter(
        (one) => one !== void 0 && itemOf(this.app, one)?.kind === "run"
      );
      try {
        const answers = await Promise.all(
          [...new Set(wanted)].map(async (n2, colorIndex) => {
            const item = itemOf(this.app, n2);
            const answer = await getAnswer(apiUrl("run", { n: n2 }), refresh || item?.live === true);
            return { name: item ? shortName(item) : String(n2), colorIndex, answer, n: n2 };
          })
        );
        if (this.closed || thisLoad !== this.lastLoad) return;
        this.runs = withDistinctNames(answers);
        const now = JSON.stringify(
          answers.map(({ n: n2, answer }) => [n2, answer.steps.length, answer.tracks, answer.caveats.length, answer.state])
        );
        if (refresh && now === this.drawnState) this.drawFacts();
        else
          this.draw(
            answers.map((one) => one.n),
            refresh
          );
        this.drawnState = now;
      } catch (error) {
        if (!this.closed && thisLoad === this.lastLoad)
          this.facts.replaceChildren(h("p", { class: "notice" }, errorMessage(error)));
      }
      if (this.closed || thisLoad !== this.lastLoad || isExported()) return;
      const live = this.runs.some((run) => run.answer.state === "live") || wanted.some((one) => itemOf(this.app, one)?.live);
      if (live) this.timer = window.setTimeout(() => void this.load(true), document.hidden ? REFRESH_MS * 5 : REFRESH_MS);
    }
    draw(numbers, isRefresh) {
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
        caveatList(first?.caveats ?? [], (caveat) => this.app.navigate({ step: caveat.step ?? void 0 }))
      );
      void this.drawStep(numbers, isRefresh);
    }
    xRange() {
      const { from, to } = this.app.state;
      return from !== void 0 && to !== void 0 ? [from / 1e9, to / 1e9] : [0, this.duration()];
    }
    duration() {
      const ends = this.runs.flatMap(
        ({ answer }) => answer.steps.map((step) => (step.start_s ?? 0) + (step.seconds ?? 0))
      );
      return ends.reduce((last, item) => Math.max(last, item), 1);
    }
    drawFacts() {
      const first = this.runs[0]?.answer;
      if (!first) return;
      const timeLeft = first.state === "live" && first.time_left_s !== null && first.time_left_s !== void 0 ? `about ${formatSeconds(first.time_left_s)} left` : "";
      const facts = [
        first.procedure,
        deviceText(first.device),
        first.state_text ?? first.state,
        timeLeft,
        `${formatCount(first.steps.length)} steps`
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
            "Exported page: its numbers are inside. Steps without stored details and runs in progress need steadfast explore."
          )
        );
    }
    drawControls() {
      const { state, meta } = this.app;
      const others = meta.items.filter(
        (item) => item.kind === "run" && item.n !== state.n && !state.runs.includes(item.n)
      );
      const select = h(
        "select",
        {
          "aria-label": "Overlay a run",
          onchange: () => {
            if (select.value !== "") this.app.navigate({ runs: [...state.runs, Number(select.value)] });
          }
        },
        h("option", { value: "" }, "Overlay a run …"),
        ...others.map((item) => h("option", { value: item.n }, shortName(item)))
      );
      const chips = state.runs.flatMap((n) => {
        const item = itemOf(this.app, n);
        return item ? [
          button(`${shortName(item)} ×`, () => this.app.navigate({ runs: state.runs.filter((one) => one !== n) }), {
            class: "chip",
            title: "Remove this run"
          })
        ] : [];
      });
      const [from, to] = this.xRange();
      if (state.from !== void 0) {
        chips.push(
          button(
            `${formatSeconds(from)} to ${formatSeconds(to)} ×`,
            () => this.app.navigate({ from: void 0, to: void 0 }),
            { class: "chip", title: "Show the whole run" }
          )
        );
      }
      this.bar.replaceChildren(
        buttonGroup(
          "Measure",
          [
            ["iops", "IOPS"],
            ["mb", "MB/s"]
          ],
          state.measure,
          (measure) => this.app.navigate({ measure })
        ),
        ...others.length > 0 && !isExported() ? [select] : [],
        h("span", { class: "chips" }, ...chips)
      );
    }
    drawTracks() {
      const names = [...new Set(this.runs.flatMap(({ answer }) => answer.tracks.map((item) => item.name)))];
      const shown = this.showAllTracks ? names : names.slice(0, FIRST_TRACKS);
      for (const name of shown) {
        if (this.tracks.has(name)) continue;
        const panel = new ChartPanel(name, this.file, void 0, 190, {});
        panel.root.dataset["view"] = "track";
        this.tracks.set(name, panel);
      }
      const showAllButton = names.length > shown.length ? button(`Show all ${names.length} variables`, () => {
        this.showAllTracks = true;
        this.drawTracks();
      }) : void 0;
      const panels = shown.flatMap((name) => this.tracks.get(name)?.root ?? []);
      const isUnchanged = panels.length > 0 && panels.every((panel, index) => this.trackGrid.children[index] === panel) && this.trackGrid.children.length === panels.length + Number(showAllButton !== void 0);
      if (!isUnchanged) this.trackGrid.replaceChildren(...panels, ...showAllButton ? [showAllButton] : []);
      this.trackGrid.hidden = panels.length === 0;
      for (const name of shown) {
        const rounds = this.runs.flatMap(
          ({ answer }) => answer.tracks.find((item) => item.name === name)?.rounds.map((each) => each.round) ?? []
        );
        const roundRange = [Math.min(1, ...rounds) - 0.5, Math.max(5, ...rounds) + 0.5];
        void this.tracks.get(name)?.load(Promise.resolve(trackChart(name, this.runs)), () => roundRange);
      }
    }
    stepTable() {
      const steps = this.runs[0]?.answer.steps ?? [];
      if (steps.length === 0) return "No step is finished yet.";
      const columns = [
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
          text: (step) => (step.caveats ?? []).map((item) => typeof item === "string" ? item : item.text).join("; ") || "–"
        }
      ];
      const selection = {
        onSelect: (step) => this.app.navigate({ step: step.i }),
        title: "Show this step closely",
        isSelected: (step) => step.i === this.app.state.step
      };
      return { content: renderTable("Steps in their order", columns, steps, selection), csv: tableCsv(columns, steps) };
    }
    openNearestStep(x) {
      const started = this.runs.flatMap(({ answer }) => answer.steps.filter((step) => step.start_s !== null));
      const nearest = started.reduce(
        (best, step) => !best || Math.abs((step.start_s ?? 0) - x) < Math.abs((best.start_s ?? 0) - x) ? step : best,
        void 0
      );
      if (nearest) this.app.navigate({ step: nearest.i });
    }
    async drawStep(numbers, isRefresh) {
      const { step } = this.app.state;
      const first = this.runs[0]?.answer.steps.find((item) => item.i === step);
      this.detail.hidden = first === void 0;
      if (step === void 0 || first === void 0 || isRefresh) return;
      const title = this.detail.querySelector("h2");
      if (title) title.textContent = `Step ${step}: ${first.place} ${first.name}`;
      const pending = this.stepAnswers(numbers, step, first);
      const chartOf = (make) => pending.then(make);
      const stepSeconds = first.seconds ?? 1;
      const ends = (await pending.catch(() => [])).flatMap(
        ({ answer }) => (answer.intervals["t"] ?? []).map((value) => value ?? 0)
      );
      const timeRange = [
        Math.min(0, ...ends),
        Math.max(ends.length > 0 ? 0 : stepSeconds, ...ends) + 0.5
      ];
      void this.stepPanels.ios.load(
        chartOf((answers) => secondsChart(answers, "ios")),
        () => timeRange
      );
      void this.stepPanels.rt.load(
        chartOf((answers) => secondsChart(answers, "rt")),
        () => timeRange
      );
      void this.stepPanels.nines.load(chartOf(percentilesChart), () => [0, this.lastNines]);
      void this.stepPanels.table.load(pending.then((answers) => stepDetailTable(answers)));
      if (this.scrolledStep === step) return;
      this.scrolledStep = step;
      this.detail.scrollIntoView({ block: "nearest" });
    }
    /** Returns the answers for a step and for the steps of other runs that have the same place and name. */
    async stepAnswers(numbers, i, first) {
      const answersByRun = await Promise.all(
        this.runs.map(async (run, index) => {
          const stepIndex = index === 0 ? i : run.answer.steps.find((item) => item.place === first?.place && item.name === first.name)?.i;
          const n = numbers[index];
          if (stepIndex === void 0 || n === void 0) return [];
          const address = apiUrl("run/step", { n, i: stepIndex });
          if (index > 0 && !isAvailable(address)) return [];
          return [{ ...run, answer: await getAnswer(address) }];
        })
      );
      const answers = answersByRun.flat();
      const mostIos = Math.max(
        10,
        ...answers.map(({ answer }) => answer.histogram.counts.reduce((sum, item) => sum + item, 0))
      );
      this.lastNines = Math.max(2, Math.min(7, Math.log10(mostIos)));
      return answers;
    }
    redraw() {
      for (const panel of [
        this.rate,
        this.times,
        this.sensors,
        ...this.tracks.values(),
        this.stepPanels.ios,
        this.stepPanels.rt,
        this.stepPanels.nines
      ])
        panel.pane.resize();
      this.update();
    }
    close() {
      this.closed = true;
      window.clearTimeout(this.timer);
      for (const panel of [
        this.rate,
        this.times,
        this.sensors,
        ...this.tracks.values(),
        this.stepPanels.ios,
        this.stepPanels.rt,
        this.stepPanels.nines
      ])
        panel.pane.destroy();
    }
    handleKey(event) {
      const steps = this.runs[0]?.answer.steps ?? [];
      const index = steps.findIndex((step) => step.i === this.app.state.step);
      const next = event.key === "ArrowRight" ? steps[index + 1] : event.key === "ArrowLeft" ? steps[Math.max(0, index - 1)] : void 0;
      if (next) this.app.navigate({ step: next.i });
      else if (event.key === "Home") this.app.navigate({ from: void 0, to: void 0 });
      else if (event.key === "m") this.app.navigate({ measure: this.app.state.measure === "iops" ? "mb" : "iops" });
      else return false;
      return true;
    }
  }
  function shortNameOf(app) {
    const item = itemOf(app, app.state.n);
    return item ? shortName(item) : "run";
  }
  function withDistinctNames(runs) {
    return runs.map((run, index) => {
      const same = runs.filter((other) => other.name === run.name);
      return same.length > 1 ? { ...run, name: `${run.name} (${index + 1})` } : run;
    });
  }
  function deviceText(device) {
    if (typeof device === "string") return device;
    if (device === null || typeof device !== "object") return "";
    const facts = device;
    const size = typeof facts["capacity"] === "number" ? formatBytes(facts["capacity"]) : "";
    return [facts["model"] ?? facts["name"], facts["path"], size].filter((item) => typeof item === "string" && item !== "").join(", ");
  }
  function stepDetailTable(answers) {
    const first = answers[0]?.answer;
    if (!first) return "No details of this step.";
    const columns = [
      { header: "Percentile", value: (row) => row[0] },
      ...answers.map((run, index) => ({
        header: run.name,
        value: (row) => row[index + 1],
        text: (row) => formatNs(row[index + 1])
      }))
    ];
    const rows = first.percentiles.map(([p]) => [
      `${Number(p.toFixed(6))} %`,
      ...answers.map(({ answer }) => answer.percentiles.find(([q]) => q === p)?.[1] ?? null)
    ]);
    const disk = Object.entries(first.diskstats ?? {}).map(([name, value]) => [
      name.replace(/_/g, " "),
      typeof value === "number" ? formatCount(value) : String(value ?? "–")
    ]);
    const diskColumns = [
      { header: "Disk statistics (/proc/diskstats)", value: (row) => row[0] },
      { header: "Value", value: (row) => row[1] }
    ];
    return {
      content: h(
        "div",
        { class: "pair" },
        renderTable("Percentiles", columns, rows),
        disk.length > 0 ? renderTable("Disk statistics of the step", diskColumns, disk) : h("p", { class: "quiet" }, "No disk statistics of this step.")
      ),
      csv: tableCsv(columns, rows) + "\r\n" + tableCsv(diskColumns, disk)
    };
  }
  const READING_MS = 500;
  const LIVE_MS = 5e3;
  class Explorer {
    constructor() {
      this.meta = { version: "", items: [] };
      this.fileList = h("nav", { class: "files", "aria-label": "Captures and runs" });
      this.view = h("main", { id: "view", tabindex: -1 });
      this.depth = 0;
      this.state = parseHash(location.hash);
      const title = h("h1", {}, "Steadfast explorer");
      const theme = themeButton();
      theme.addEventListener("click", () => this.page?.redraw());
      const back = button("Back", () => this.back(), { title: "Back to what was shown before (Esc)", id: "back" });
      const about = button("?", () => showHelp(isExported()), { title: "Help (?)", "aria-label": "Help" });
      const top = h("header", { class: "top" }, title, this.fileList, h("div", { class: "tools" }, back, about, theme));
      document.body.append(
        h(
          "a",
          { class: "skip", href: "#view", onclick: (event) => this.skipToView(event) },
          "Skip to the drawings"
        ),
        top,
        this.view
      );
      window.addEventListener("popstate", () => this.handlePopState());
      window.addEventListener("keydown", (event) => this.handleKey(event));
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.page?.redraw());
      this.redrawOnResize();
    }
    /** Moves the focus without following the link, because the URL's hash holds the state. */
    skipToView(event) {
      event.preventDefault();
      this.view.focus();
    }
    /** Redraws when the view's width changes: with the window, or because a scroll bar appeared. */
    redrawOnResize() {
      let [width, timer] = [this.view.clientWidth, 0];
      new ResizeObserver(() => {
        if (this.view.clientWidth === width) return;
        width = this.view.clientWidth;
        window.clearTimeout(timer);
        timer = window.setTimeout(() => this.page?.redraw(), 150);
      }).observe(this.view);
    }
    async start() {
      try {
        readEmbeddedAnswers();
        await this.poll();
      } catch (error) {
        this.showMessage(errorMessage(error));
      }
    }
    /** Requests the list of files; repeats this while a file is indexed and during a run. */
    async poll() {
      const before = itemStates(this.meta);
      this.meta = await getAnswer("api/meta", true);
      if (this.meta.items.length === 0)
        return this.showMessage("No file is open. Start steadfast explore with a capture or a run directory.");
      if (this.state.n === void 0 || !this.meta.items.some((item) => item.n === this.state.n)) {
        this.state.n = this.meta.items[0]?.n;
      }
      const reading = this.meta.items.some((item) => item.state === "indexing");
      if (itemStates(this.meta) === before && this.shownItem !== void 0) this.renderFileList();
      else this.show();
      if (reading || this.meta.items.some((item) => item.live)) this.pollAfter(reading ? READING_MS : LIVE_MS);
    }
    pollAfter(delay_ms) {
      if (isExported()) return;
      window.setTimeout(
        () => void this.poll().catch((error) => {
          if (this.shownItem === void 0) this.showMessage(errorMessage(error));
          else announce(errorMessage(error));
        }),
        delay_ms
      );
    }
    navigate(change2) {
      const next = { ...this.state, ...change2 };
      if (toHash(next) === toHash(this.state)) return;
      this.state = next;
      this.depth += 1;
      history.pushState({ depth: this.depth }, "", toHash(next));
      this.show();
    }
    back() {
      if (document.querySelector("dialog[open]")) return;
      if (this.depth > 0) return history.back();
      this.state = { ...parseHash(""), n: this.state.n };
      history.replaceState({ depth: 0 }, "", toHash(this.state));
      this.show();
    }
    handlePopState() {
      var _a;
      const now = history.state;
      this.depth = now?.depth ?? 0;
      const n = this.state.n;
      this.state = parseHash(location.hash);
      (_a = this.state).n ?? (_a.n = this.meta.items[0]?.n ?? n);
      this.show();
    }
    handleKey(event) {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.ctrlKey || event.metaKey || event.altKey || typing || document.querySelector("dialog[open]")) return;
      if (event.key === "Escape") this.back();
      else if (event.key === "?") showHelp(isExported());
      else if (event.target instanceof HTMLElement && event.target.closest(".scroll, pre") && event.key.startsWith("Arrow"))
        return;
      else if (!this.page?.handleKey(event)) return;
      event.preventDefault();
    }
    show() {
      this.renderFileList();
      const item = this.meta.items.find((one) => one.n === this.state.n);
      if (!item) return;
      document.title = `${shortName(item)} – Steadfast explorer`;
      if (item.state === "failed") return this.showMessage(`${item.name}: ${item.error ?? "it could not be read."}`);
      if (item.state === "indexing") return this.showProgress(item);
      const key = `${item.kind} ${item.n}`;
      if (this.shownItem !== key) {
        this.page?.close();
        this.page = item.kind === "run" ? new RunPage(this) : new CapturePage(this);
        this.view.replaceChildren(this.page.root);
        this.shownItem = key;
      }
      this.page?.update();
    }
    showMessage(text) {
      this.page?.close();
      [this.page, this.shownItem] = [void 0, void 0];
      this.view.replaceChildren(h("p", { class: "notice", role: "alert" }, text));
    }
    showProgress(item) {
      this.page?.close();
      [this.page, this.shownItem] = [void 0, void 0];
      const share = item.progress ?? 0;
      const bar = h("progress", { max: 1, value: share, "aria-label": "Index" });
      this.view.replaceChildren(
        h(
          "p",
          { class: "notice" },
          `Reading ${shortName(item)} once, to answer quickly from then on: ${formatPercent(share)}`
        ),
        bar
      );
    }
    renderFileList() {
      this.fileList.replaceChildren(
        ...this.meta.items.map((item) => {
          const now = item.n === this.state.n;
          const isCompared = this.state.versus?.n === item.n || this.state.runs.includes(item.n);
          const live = item.live ? " (running)" : item.state === "indexing" ? " (reading)" : item.state === "failed" ? " (failed)" : "";
          return button(`${shortName(item)}${live}`, (event) => this.openItem(item, event.shiftKey), {
            "aria-current": now ? "page" : void 0,
            class: isCompared && !now ? "beside" : void 0,
            title: `${item.kind === "run" ? "Run" : "Capture"}: ${item.name}
Shift-click: beside what is shown`
          });
        })
      );
    }
    openItem(item, shift) {
      const now = this.meta.items.find((one) => one.n === this.state.n);
      if (!shift || !now || now.n === item.n)
        return this.navigate({
          n: item.n,
          filters: noFilters(),
          versus: void 0,
          runs: [],
          from: void 0,
          to: void 0,
          step: void 0
        });
      if (isExported()) return announce("An exported page cannot compare. Open the files with steadfast explore.");
      if (now.kind !== item.kind) return announce("A capture cannot be compared with a run.");
      if (item.kind === "run") this.navigate({ runs: [.../* @__PURE__ */ new Set([...this.state.runs, item.n])] });
      else this.navigate({ versus: { n: item.n, filters: this.state.filters } });
    }
  }
  function itemStates(meta) {
    return JSON.stringify(meta.items.map((item) => [item.n, item.state]));
  }
  document.body.append(h("p", { id: "said", class: "said", role: "status", "aria-live": "polite" }));
  void new Explorer().start();
})();
