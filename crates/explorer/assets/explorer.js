// Made of ui/explorer 6cbac58bd866e3e2 by make ui. Includes uPlot (MIT license, github.com/leeoniya/uPlot).
(function() {
  "use strict";
  function themeButton() {
    const root = document.documentElement;
    const bar = document.createElement("div");
    bar.className = "keys theme";
    const button2 = document.createElement("button");
    button2.type = "button";
    const dark2 = () => {
      const said2 = root.dataset["theme"];
      return said2 ? said2 === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    };
    const name = () => {
      button2.textContent = dark2() ? "Light" : "Dark";
    };
    button2.addEventListener("click", () => {
      root.dataset["theme"] = dark2() ? "light" : "dark";
      name();
    });
    name();
    bar.append(button2);
    return bar;
  }
  function factors(answer, measure) {
    const unit2 = measure === "iops" ? 1 : 1e-6;
    return answer.observed_ns.map((ns) => typeof ns === "number" && ns > 0 ? unit2 / (ns * 1e-9) : 0);
  }
  function known(answer, values2) {
    return values2.map((value, cell2) => typeof answer.observed_ns[cell2] === "number" ? value : null);
  }
  function bands(answer, measure, most) {
    const values2 = measure === "iops" ? answer.ios : answer.bytes;
    const per2 = factors(answer, measure);
    const all = answer.keys.map((key, at) => {
      const counts = values2[at] ?? [];
      const total = counts.reduce((sum, one2) => sum + one2, 0);
      return { id: String(key.id), name: key.name, rate: counts.map((one2, cell2) => one2 * (per2[cell2] ?? 0)), total, others: key.id === "others" };
    });
    const named2 = all.filter((band) => band.total > 0 && !band.others).sort((a, b) => b.total - a.total);
    const kept2 = named2.slice(0, most);
    const rest = [...named2.slice(most), ...all.filter((band) => band.others && band.total > 0)];
    if (rest.length === 0) return kept2;
    const one = rest[0];
    if (rest.length === 1 && one && !one.others && kept2.length < most + 1) return [...kept2, one];
    return [...kept2, merged(rest, answer.cells)];
  }
  function merged(rest, cells) {
    const rate = Array.from({ length: cells }, (_2, cell2) => rest.reduce((sum, band) => sum + (band.rate[cell2] ?? 0), 0));
    return { id: "others", name: "others", rate, total: rest.reduce((sum, band) => sum + band.total, 0), others: true };
  }
  function stacked(list) {
    const tops = [];
    list.forEach((band, at) => {
      const below = tops[at - 1];
      tops.push(band.rate.map((value, cell2) => value + (below?.[cell2] ?? 0)));
    });
    return tops;
  }
  function bandAt(tops, cell2, height) {
    const found = tops.findIndex((top) => height <= (top[cell2] ?? 0));
    return found < 0 || height < 0 ? void 0 : found;
  }
  function totalRate(answer, measure) {
    const values2 = measure === "iops" ? answer.ios : answer.bytes;
    const per2 = factors(answer, measure);
    return Array.from({ length: answer.cells }, (_2, cell2) => values2.reduce((sum, key) => sum + (key[cell2] ?? 0), 0) * (per2[cell2] ?? 0));
  }
  const COARSE = 300;
  function coarseMean(answer) {
    const every = Math.max(1, Math.ceil(answer.cells / COARSE));
    const out = [];
    for (let first = 0; first < answer.cells; first += every) {
      let [counted2, weighed] = [0, 0];
      const last = Math.min(answer.cells, first + every);
      for (let cell2 = first; cell2 < last; cell2 += 1) {
        const mean = answer.rt_mean_ns[cell2];
        const ios = answer.ios.reduce((sum, key) => sum + (key[cell2] ?? 0), 0);
        if (mean === null || mean === void 0) continue;
        counted2 += ios;
        weighed += ios * mean;
      }
      for (let cell2 = first; cell2 < last; cell2 += 1) out.push(counted2 > 0 ? weighed / counted2 : null);
    }
    return out;
  }
  function cellEdges(answer) {
    return Array.from({ length: answer.cells + 1 }, (_2, cell2) => answer.from + cell2 * answer.width_ns);
  }
  function closed(values2) {
    const last = values2[values2.length - 1];
    return last === void 0 ? [] : [...values2, last];
  }
  function greatest(values2) {
    return values2.reduce((most, value) => typeof value === "number" && value > most ? value : most, 0);
  }
  function idle(busy) {
    return busy.map((share) => typeof share === "number" ? Math.max(0, 1 - share) : null);
  }
  function cut(answer, from, to) {
    const first = Math.min(answer.cells - 1, Math.max(0, Math.floor((from - answer.from) / answer.width_ns)));
    return [first, Math.max(first + 1, Math.min(answer.cells, Math.ceil((to - answer.from) / answer.width_ns)))];
  }
  function partOfSeries(answer, from, to) {
    const [first, last] = cut(answer, from, to);
    const out = { ...answer, from: answer.from + first * answer.width_ns, cells: last - first };
    for (const [key, value] of Object.entries(answer)) {
      if (key === "ios" || key === "bytes") out[key] = value.map((row) => row.slice(first, last));
      else if (key !== "keys" && Array.isArray(value)) out[key] = value.slice(first, last);
    }
    return out;
  }
  function partOfHeat(answer, from, to) {
    const [first, last] = cut(answer, from, to);
    const counts = answer.counts.slice(first * answer.rows, last * answer.rows);
    return { ...answer, from: answer.from + first * answer.width_ns, cells: last - first, counts };
  }
  function joined(lines) {
    const x = [...new Set(lines.flatMap((line2) => line2.x))].sort((a, b) => a - b);
    const at = new Map(x.map((value, index) => [value, index]));
    const y = lines.map((line2) => {
      const out = new Array(x.length).fill(void 0);
      line2.x.forEach((value, index) => out[at.get(value) ?? 0] = line2.y[index] ?? null);
      return out;
    });
    return { x, y };
  }
  const BEYOND = 10;
  function exceedance(upper_ns, counts) {
    const total = counts.reduce((sum, one) => sum + one, 0);
    const [x, y] = [[], []];
    let below = 0;
    counts.forEach((one, at) => {
      below += one;
      const edge = upper_ns[at];
      if (one > 0 && total - below >= BEYOND && edge !== void 0) {
        x.push(nines(below / total));
        y.push(edge);
      }
    });
    return { x, y };
  }
  function nines(share) {
    return -Math.log10(1 - share);
  }
  function extreme(answer, span_ns, by) {
    const width = Math.max(1, Math.min(answer.cells, Math.round(span_ns / answer.width_ns)));
    const ios = Array.from({ length: answer.cells }, (_2, cell2) => answer.ios.reduce((sum, key) => sum + (key[cell2] ?? 0), 0));
    let best;
    let found = -1;
    for (let first = 0; first + width <= answer.cells; first += 1) {
      let [counted2, weighed] = [0, 0];
      for (let cell2 = first; cell2 < first + width; cell2 += 1) {
        counted2 += ios[cell2] ?? 0;
        weighed += (ios[cell2] ?? 0) * (answer.rt_mean_ns[cell2] ?? 0);
      }
      const value = by === "busiest" ? counted2 : counted2 > 0 ? weighed / counted2 : 0;
      if (value > found && counted2 > 0) [best, found] = [first, value];
    }
    if (best === void 0) return void 0;
    const from = answer.from + best * answer.width_ns;
    return { from, to: from + width * answer.width_ns };
  }
  const FACETS = ["op", "device", "layer", "process", "pid", "stream", "event", "file", "cgroup", "tid"];
  function noFilters() {
    return { op: [], device: [], layer: [], process: [], pid: [], stream: [], event: [], file: [], cgroup: [], tid: [] };
  }
  function initial() {
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
  function whole$1(text2) {
    if (text2 === null || !/^\d{1,15}$/.test(text2)) return void 0;
    return Number(text2);
  }
  function oneOf(text2, allowed, otherwise) {
    return allowed.find((one) => one === text2) ?? otherwise;
  }
  function filtersOf(params, prefix) {
    const filters = noFilters();
    for (const facet2 of FACETS) filters[facet2] = params.getAll(prefix + facet2).filter((text2) => text2 !== "" && text2.length < 300);
    return filters;
  }
  function parse(hash) {
    const params = new URLSearchParams(hash.replace(/^#/, ""));
    const state = initial();
    state.n = whole$1(params.get("n"));
    state.filters = filtersOf(params, "");
    const versus = whole$1(params.get("vs"));
    if (versus !== void 0) state.versus = { n: versus, filters: filtersOf(params, "vs.") };
    const align = params.get("align") ?? "";
    if (align.length < 300 && /^(start|clock|mark:.)/.test(align)) state.align = align;
    state.runs = params.getAll("with").flatMap((text2) => whole$1(text2) ?? []);
    const [from, to] = [whole$1(params.get("from")), whole$1(params.get("to"))];
    if (from !== void 0 && to !== void 0 && from < to) [state.from, state.to] = [from, to];
    state.measure = oneOf(params.get("measure"), ["iops", "mb"], "iops");
    state.by = oneOf(params.get("by"), ["stream", "process"], "stream");
    state.time = oneOf(params.get("time"), ["clock", "start"], "clock");
    state.hits = oneOf(params.get("hits"), ["all", "read", "write"], "all");
    state.group = oneOf(params.get("group"), ["pid", "name"], "pid");
    state.table = params.get("table") ?? "streams";
    state.step = whole$1(params.get("step"));
    return state;
  }
  function address(state) {
    const params = new URLSearchParams();
    const usual = initial();
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
      if (state[key] !== usual[key]) params.set(key, state[key]);
    }
    if (state.step !== void 0) params.set("step", String(state.step));
    return `#${params.toString()}`;
  }
  function anyFilter(filters) {
    return FACETS.some((facet2) => filters[facet2].length > 0);
  }
  function toggled(filters, facet2, value) {
    const alone = filters[facet2].length === 1 && filters[facet2][0] === value;
    const changed = { ...filters, [facet2]: alone ? [] : [value] };
    if (facet2 === "pid") changed.process = [];
    if (facet2 === "process") changed.pid = [];
    if (facet2 === "file") changed.layer = alone ? [] : ["filesystem"];
    return changed;
  }
  function without(filters, facet2, value) {
    return { ...filters, [facet2]: filters[facet2].filter((one) => one !== value) };
  }
  function inside(from, to, duration) {
    const low = Math.max(0, Math.floor(Math.min(from, to)));
    const high = Math.min(duration, Math.ceil(Math.max(from, to)));
    if (!(high > low) || low === 0 && high >= duration) return void 0;
    return { from: low, to: high };
  }
  function url(path2, params) {
    const pairs = [];
    for (const key of Object.keys(params).sort()) {
      const value = params[key];
      const values2 = Array.isArray(value) ? [...value].sort() : value === void 0 ? [] : [String(value)];
      values2.forEach((one) => pairs.push(`${key}=${encodeURIComponent(one)}`));
    }
    return pairs.length > 0 ? `api/${path2}?${pairs.join("&")}` : `api/${path2}`;
  }
  function common(side, from, to) {
    const params = { c: side.n, from, to };
    for (const facet2 of FACETS) params[facet2] = side.filters[facet2];
    return params;
  }
  function widened(asked) {
    const [path2 = "", query2 = ""] = asked.split("?");
    const pairs = query2.split("&").map((pair) => pair.split("="));
    const of = (key) => Number(pairs.find(([name]) => name === key)?.[1] ?? Number.NaN);
    const [from, to] = [of("from"), of("to")];
    if (!Number.isFinite(from) || !Number.isFinite(to)) return void 0;
    const rest = pairs.filter(([name]) => name !== "from" && name !== "to").map((pair) => pair.join("="));
    return { whole: rest.length > 0 ? `${path2}?${rest.join("&")}` : path2, from, to };
  }
  class Failure extends Error {
  }
  const KEPT = 120;
  const kept = /* @__PURE__ */ new Map();
  let stored;
  function open() {
    const text2 = document.getElementById("answers")?.textContent;
    stored = text2 ? JSON.parse(text2) : void 0;
  }
  function exported() {
    return stored !== void 0;
  }
  function has(address2) {
    return stored === void 0 || address2 in stored;
  }
  function ask(address2, fresh = false) {
    if (stored) return Promise.resolve().then(() => fromPage(address2));
    const found = fresh ? void 0 : kept.get(address2);
    if (found) return found;
    const asked = fetched(address2);
    kept.set(address2, asked);
    asked.catch(() => kept.delete(address2));
    if (kept.size > KEPT) kept.delete(kept.keys().next().value ?? "");
    return asked;
  }
  async function fetched(address2) {
    let response;
    try {
      response = await fetch(address2, { headers: { Accept: "application/json" } });
    } catch {
      throw new Failure("steadfast does not answer. It may have been stopped; start steadfast explore again and open the address that it prints.");
    }
    const text2 = await response.text();
    let body;
    try {
      body = JSON.parse(text2);
    } catch {
      throw new Failure(`The answer to ${address2} is not JSON (status ${response.status}). Reload the page; use the same version of page and program.`);
    }
    const said2 = body?.error;
    if (!response.ok) throw new Failure(typeof said2 === "string" ? said2 : `Status ${response.status} for ${address2}.`);
    return body;
  }
  const MISSING = "This exported page does not contain this view. Open the file with steadfast explore to filter, compare and count parts of it.";
  function fromPage(address2) {
    const answers = stored ?? {};
    if (address2 in answers) return answers[address2];
    const part = widened(address2);
    const whole2 = part && answers[part.whole];
    if (!part || whole2 === void 0) throw new Failure(MISSING);
    if (address2.startsWith("api/series")) return partOfSeries(whole2, part.from, part.to);
    if (address2.startsWith("api/heat")) return partOfHeat(whole2, part.from, part.to);
    throw new Failure("This exported page has this table for the whole capture only. Press Esc, or open the file with steadfast explore to count a part.");
  }
  function said(error) {
    return error instanceof Failure ? error.message : `The page failed: ${error instanceof Error ? error.message : String(error)}`;
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
  function ways(items) {
    const first = items[0]?.marks ?? [];
    const shared2 = [...new Set(first.map((mark) => mark.text))].filter((name) => items.every((item) => markOf(item, name) !== void 0));
    return [
      START,
      ...overlap(items) ? [{ align: "clock", text: "Align by the clock" }] : [],
      ...shared2.map((name) => ({ align: `mark:${name}`, text: `Align at the mark ${name}` }))
    ];
  }
  function aligned(items, asked) {
    const found = ways(items).map((way) => way.align);
    const align = asked !== void 0 && found.includes(asked) ? asked : found.includes("clock") ? "clock" : "start";
    const zeros = items.map((item) => zeroOf(item, align));
    const base = align === "clock" ? Math.min(...zeros) : Math.max(...zeros);
    return { align, shifts: zeros.map((zero) => Math.round(align === "clock" ? zero - base : base - zero)) };
  }
  function zeroOf(item, align) {
    if (align === "clock") return item.begin_unix_ns ?? 0;
    return align.startsWith("mark:") ? markOf(item, align.slice(5)) ?? 0 : 0;
  }
  function markOf(item, name) {
    const times = (item.marks ?? []).filter((mark) => mark.text === name).map((mark) => mark.t);
    return times.length > 0 ? Math.min(...times) : void 0;
  }
  function overlap(items) {
    const begins = items.map((item) => item.begin_unix_ns);
    if (begins.some((begin) => typeof begin !== "number")) return false;
    const known2 = begins;
    const ends = items.map((item, at) => (known2[at] ?? 0) + (item.duration_ns ?? 0));
    return items.length > 1 && Math.max(...known2) < Math.min(...ends);
  }
  function ownPart(part, shift, duration) {
    if (!part) return void 0;
    const [from, to] = [Math.max(0, Math.floor(part.from) - shift), Math.min(duration, Math.ceil(part.to) - shift)];
    return to > from ? inside(from, to, duration) : "outside";
  }
  function placed(answer, shift) {
    return shift === 0 ? answer : { ...answer, from: answer.from + shift };
  }
  function noSeries(part) {
    const none = [null];
    return {
      from: part.from,
      width_ns: Math.max(1, part.to - part.from),
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
  function noHeat(part) {
    return { from: part.from, width_ns: Math.max(1, part.to - part.from), cells: 1, rows: 0, row_edges: [], counts: [] };
  }
  function h(tag, properties = {}, ...children) {
    const made2 = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (typeof value === "function") made2.addEventListener(name.slice(2), value);
      else if (value === true) made2.setAttribute(name, "");
      else if (value !== void 0 && value !== false) made2.setAttribute(name, String(value));
    }
    made2.append(...children.filter((child) => child !== void 0 && child !== false));
    return made2;
  }
  function button(text2, onclick, properties = {}) {
    return h("button", { type: "button", ...properties, onclick }, text2);
  }
  function choice(name, options, now, chosen) {
    return h(
      "span",
      { role: "group", "aria-label": name, class: "choice" },
      ...options.map(([value, text2]) => button(text2, () => chosen(value), { "aria-pressed": String(value === now), "data-value": value }))
    );
  }
  const SHOWN_MS = 5e3;
  let silence = 0;
  function announce(text2) {
    const place = document.getElementById("said");
    if (!place) return;
    place.textContent = text2;
    window.clearTimeout(silence);
    silence = window.setTimeout(() => place.textContent = "", SHOWN_MS);
  }
  function save(name, blob) {
    const address2 = URL.createObjectURL(blob);
    const link = h("a", { href: address2, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address2), 1e4);
  }
  function dark() {
    const said2 = document.documentElement.dataset["theme"];
    return said2 ? said2 === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  function ink(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#222222";
  }
  function narrow() {
    return window.innerWidth < 640;
  }
  function dialog(title, ...content2) {
    const close = button("Close", () => made2.close());
    const made2 = h("dialog", { "aria-label": title }, h("header", {}, h("h2", {}, title), close), ...content2);
    made2.addEventListener("close", () => made2.remove());
    made2.addEventListener("click", (event) => event.target === made2 && made2.close());
    document.body.append(made2);
    made2.showModal();
    return made2;
  }
  function textDialog(title, text2, words, file) {
    const note = h("p", { role: "status", class: "quiet" }, words);
    const copy2 = button("Copy", () => void copied(text2, note));
    const keep = file ? button("Save", () => save(file.name, new Blob([text2], { type: file.type }))) : void 0;
    dialog(title, note, h("pre", { tabindex: 0 }, text2), h("div", { class: "tools" }, copy2, ...keep ? [keep] : []));
  }
  async function copied(text2, note) {
    try {
      await navigator.clipboard.writeText(text2);
      note.textContent = "Copied.";
    } catch {
      note.textContent = "The browser does not allow copying here. Select the text and copy it.";
    }
    announce(note.textContent);
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
  function help(exported2) {
    if (document.querySelector("dialog[open]")) return;
    const rows = KEYS.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, what)));
    const words = exported2 ? "This page was exported: its numbers are inside, and it needs no program. It cannot filter, compare, count a part again or list single I/Os." : "Everything that is shown is in the address: copy it to return to the same view. Nothing here changes a file or a device.";
    dialog("Help", h("table", {}, h("tbody", {}, ...rows)), h("p", {}, words));
  }
  function readable(value, digits = 4) {
    if (!Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    const power = Math.floor(Math.log10(size));
    const decimals2 = Math.min(9, Math.max(0, digits - 1 - power));
    const [whole2 = "0", fraction] = size.toFixed(decimals2).split(".");
    const grouped2 = whole2.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    const tail = fraction === void 0 ? "" : `.${fraction}`.replace(/\.?0+$/, "");
    return `${value < 0 ? "−" : ""}${grouped2}${tail}`;
  }
  const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];
  function niceStep(span2) {
    const rough = span2 / 6;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const factor = rough / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
  }
  function ticks$1(reach) {
    if (reach.log) return logTicks(reach);
    if (reach.time !== void 0) return clockTicks(reach, reach.time);
    const step = niceStep(reach.high - reach.low);
    return multiples(step, reach).map((value) => [value, named(value, step)]);
  }
  function multiples(step, reach) {
    const first = Math.ceil(reach.low / step - 1e-9);
    const out = [];
    for (let n = first; n * step <= reach.high + step * 1e-9 && out.length < 50; n += 1) out.push(n * step);
    return out;
  }
  function named(value, step) {
    const tidy = Math.abs(value) < step / 2 ? 0 : value;
    const digits = tidy === 0 ? 1 : Math.floor(Math.log10(Math.abs(tidy))) - Math.floor(Math.log10(step)) + 1;
    return readable(tidy, Math.max(1, digits));
  }
  function clockTicks(reach, unit2) {
    const span2 = (reach.high - reach.low) * unit2;
    const step = span2 < 6 ? niceStep(span2) : CLOCK.find((one) => span2 / one <= 8) ?? niceStep(span2 / 86400) * 86400;
    const whole2 = (seconds2) => step % seconds2 === 0 && unit2 < seconds2;
    if (reach.clock?.length) return timesOfDay(reach, reach.clock, unit2, step);
    return multiples(step / unit2, reach).map((value) => {
      const seconds2 = value * unit2;
      if (Math.abs(seconds2) < step / 1e6) return [0, "0"];
      if (whole2(3600)) return [value, `${readable(seconds2 / 3600)} h`];
      if (whole2(60)) return [value, `${readable(seconds2 / 60, 5)} min`];
      return [value, readable(value, 6)];
    });
  }
  function timesOfDay(reach, clock, unit2, step) {
    return clock.flatMap(([from, ahead], index) => {
      const end = clock[index + 1]?.[0];
      const low = Math.max(reach.low, index > 0 ? from : reach.low) * unit2 + ahead;
      const high = Math.min(reach.high, end === void 0 ? reach.high : end - step / unit2 * 1e-6) * unit2 + ahead;
      const part2 = { ...reach, low, high };
      return multiples(step, part2).map((seconds2) => [(seconds2 - ahead) / unit2, face(seconds2, step)]);
    });
  }
  function face(seconds2, step) {
    const decimals2 = step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
    const ticks2 = Math.round(seconds2 * Math.pow(10, decimals2));
    const perDay = 86400 * Math.pow(10, decimals2);
    if (ticks2 % perDay === 0 && step >= 60) return dateOf(seconds2);
    return timeOf(ticks2 / Math.pow(10, decimals2), step >= 60 ? -1 : decimals2);
  }
  function dateOf(seconds2) {
    return new Date(Math.floor(seconds2 / 86400) * 864e5).toISOString().slice(0, 10);
  }
  function timeOf(seconds2, decimals2) {
    const rest = seconds2 - Math.floor(seconds2 / 86400) * 86400;
    const two = (value) => String(Math.floor(value)).padStart(2, "0");
    const text2 = `${two(rest / 3600)}:${two(rest / 60 % 60)}`;
    if (decimals2 < 0) return text2;
    const part2 = (rest % 60).toFixed(decimals2);
    return `${text2}:${part2.padStart(decimals2 > 0 ? decimals2 + 3 : 2, "0")}`;
  }
  function logTicks(reach) {
    const wide = Math.log10(reach.high / reach.low);
    const factors2 = wide > 2.5 ? [1] : [1, 2, 5];
    const out = [];
    for (let power = Math.floor(Math.log10(reach.low)); power <= Math.ceil(Math.log10(reach.high)); power += 1) {
      for (const factor of factors2) {
        const value = factor * Math.pow(10, power);
        if (value >= reach.low * 0.999999 && value <= reach.high * 1.000001) out.push([value, readable(value)]);
      }
    }
    return out;
  }
  const NONE = "–";
  function count(value) {
    if (value === null || value === void 0 || !Number.isFinite(value)) return NONE;
    return String(Math.round(Math.abs(value))).replace(/\B(?=(\d{3})+(?!\d))/g, ",").replace(/^/, value < -0.5 ? "−" : "");
  }
  function number(value, unit2 = "") {
    if (value === null || value === void 0 || !Number.isFinite(value)) return NONE;
    return unit2 ? `${readable(value)} ${unit2}` : readable(value);
  }
  function scaled(value, units) {
    const size = Math.abs(value);
    const [factor, name] = units.find(([at]) => size >= at) ?? units[units.length - 1] ?? [1, ""];
    return `${readable(value / factor)} ${name}`;
  }
  function span(ns) {
    if (ns === null || ns === void 0 || !Number.isFinite(ns)) return NONE;
    if (ns === 0) return "0";
    return scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
  }
  function amount(bytes) {
    if (bytes === null || bytes === void 0 || !Number.isFinite(bytes)) return NONE;
    if (bytes === 0) return "0";
    return scaled(bytes, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
  }
  function brief(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    const [factor, name] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
    return `${readable(value / factor, 3)}${name}`;
  }
  function percent(share) {
    if (share === null || share === void 0 || !Number.isFinite(share)) return NONE;
    return `${readable(share * 100, 3)} %`;
  }
  function lasting(seconds2) {
    if (seconds2 === null || seconds2 === void 0 || !Number.isFinite(seconds2)) return NONE;
    const whole2 = Math.round(seconds2);
    const [d, h2, m, s] = [Math.floor(whole2 / 86400), Math.floor(whole2 % 86400 / 3600), Math.floor(whole2 % 3600 / 60), whole2 % 60];
    const two = (value) => String(value).padStart(2, "0");
    if (d > 0) return `${d} d ${two(h2)} h`;
    if (h2 > 0) return `${h2} h ${two(m)} min`;
    if (m > 0) return `${m} min ${two(s)} s`;
    if (whole2 >= 10 || whole2 === seconds2) return `${s} s`;
    return seconds2 < 1 ? span(Math.round(seconds2 * 1e9)) : `${readable(seconds2, 3)} s`;
  }
  const NS = 1e9;
  const DAY = 86400;
  function decimals(step_ns) {
    return step_ns >= NS ? 0 : Math.min(9, Math.ceil(-Math.log10(step_ns / NS) - 1e-9));
  }
  function moment(ns, clock, step_ns = 1e6) {
    return clock ? byClock(ns, clock, step_ns) : fromStart(ns, step_ns);
  }
  function fromStart(ns, step_ns) {
    const seconds2 = ns / NS;
    if (step_ns >= 60 * NS && Math.abs(ns % (60 * NS)) < 1) return lastingShort(Math.round(seconds2));
    return `${grouped(seconds2.toFixed(decimals(step_ns)))} s`;
  }
  function lastingShort(seconds2) {
    if (seconds2 === 0) return "0";
    const [h2, m] = [Math.floor(seconds2 / 3600), Math.round(seconds2 % 3600 / 60)];
    return h2 === 0 ? `${m} min` : m === 0 ? `${h2} h` : `${h2} h ${String(m).padStart(2, "0")}`;
  }
  function grouped(text2) {
    const [whole2 = "", fraction] = text2.split(".");
    const left = whole2.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    return fraction === void 0 ? left : `${left}.${fraction}`;
  }
  function onClock(ns, clock) {
    const base = Math.floor(clock.begin_ns / NS) + clock.zone_s;
    const rest = clock.begin_ns - Math.floor(clock.begin_ns / NS) * NS + ns;
    const seconds2 = base + Math.floor(rest / NS);
    const day = Math.floor(seconds2 / DAY);
    return { day, into: (seconds2 - day * DAY) * NS + (rest - Math.floor(rest / NS) * NS) };
  }
  function byClock(ns, clock, step_ns) {
    const digits = decimals(step_ns);
    const unit2 = NS / Math.pow(10, digits);
    const seconds2 = Math.round(onClock(ns, clock).into / unit2) * unit2 / NS % DAY;
    const two = (value) => String(Math.floor(value)).padStart(2, "0");
    const head2 = `${two(seconds2 / 3600)}:${two(seconds2 % 3600 / 60)}`;
    if (step_ns >= 60 * NS) return head2;
    const s = (seconds2 % 60).toFixed(digits);
    return `${head2}:${s.padStart(digits ? 3 + digits : 2, "0")}`;
  }
  function date(ns, clock) {
    const { day } = onClock(ns, clock);
    return new Date(day * DAY * 1e3).toISOString().slice(0, 10);
  }
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];
  function timeTicks(from, to, clock, most) {
    const seconds2 = (to - from) / NS;
    const rough = seconds2 / Math.max(1, most);
    const step = rough < 1 ? fineStep(rough) : STEPS.find((one) => one >= rough) ?? Math.ceil(rough / DAY) * DAY;
    const step_ns = Math.max(1, step * NS);
    const shift = clock ? onClock(0, clock).into : 0;
    const out = [];
    for (let n = Math.ceil((from + shift) / step_ns - 1e-9); out.length < 60; n += 1) {
      const ns = n * step_ns - shift;
      if (ns > to + step_ns * 1e-9) break;
      out.push([ns, label(ns, clock, step_ns)]);
    }
    return out;
  }
  function fineStep(rough) {
    const step = niceStep(rough * 6);
    return step >= rough ? step : step * 2;
  }
  function label(ns, clock, step_ns) {
    if (!clock) return fromStart(ns, step_ns);
    if (step_ns >= 60 * NS && onClock(ns + NS / 2, clock).into < NS) return date(ns + NS / 2, clock).slice(5);
    return byClock(ns, clock, step_ns);
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
  function color(index, dark2) {
    const found = COLORS[index % COLORS.length] ?? "#000000";
    if (!dark2) return found;
    return found === "#000000" ? "#f2f2f2" : lighter(found, 0.22);
  }
  function channels(hex) {
    const at = (from) => Number.parseInt(hex.slice(from, from + 2), 16) || 0;
    return [at(1), at(3), at(5)];
  }
  function lighter(hex, share) {
    const mixed = channels(hex).map((c) => Math.round(c + (255 - c) * share));
    return `#${mixed.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
  }
  const LIGHT = ["#d6e6f4", "#7fb8dc", "#0072b2", "#08306b"];
  const DARK = ["#15324a", "#0072b2", "#56b4e9", "#fdf3c0"];
  function ramp(dark2) {
    const stops = (dark2 ? DARK : LIGHT).map(channels);
    return Array.from({ length: 256 }, (_2, at) => {
      const place = at / 255 * (stops.length - 1);
      const low = Math.min(stops.length - 2, Math.floor(place));
      const [a, b] = [stops[low] ?? [0, 0, 0], stops[low + 1] ?? [0, 0, 0]];
      return [0, 1, 2].map((c) => Math.round((a[c] ?? 0) + ((b[c] ?? 0) - (a[c] ?? 0)) * (place - low)));
    });
  }
  function shade(count2, most) {
    if (count2 <= 0) return void 0;
    if (most <= 1) return 255;
    return Math.min(255, Math.round(Math.log(count2) / Math.log(most) * 235) + 20);
  }
  function mostOf(answer) {
    return answer.counts.reduce((most, one) => Math.max(most, one), 0);
  }
  function paint(answer, most, dark2) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.max(1, answer.cells), Math.max(1, answer.rows)];
    const context = canvas.getContext("2d");
    if (!context) return canvas;
    const pixels = context.createImageData(canvas.width, canvas.height);
    const colors = ramp(dark2);
    for (let cell2 = 0; cell2 < answer.cells; cell2 += 1) {
      for (let row = 0; row < answer.rows; row += 1) {
        const at = shade(answer.counts[cell2 * answer.rows + row] ?? 0, most);
        if (at === void 0) continue;
        const to = ((answer.rows - 1 - row) * canvas.width + cell2) * 4;
        pixels.data.set([...colors[at] ?? [0, 0, 0], 255], to);
      }
    }
    context.putImageData(pixels, 0, 0);
    return canvas;
  }
  function rowOf(edges, value) {
    let [low, high] = [0, edges.length - 1];
    while (high - low > 1) {
      const middle = low + high >> 1;
      if ((edges[middle] ?? 0) <= value) low = middle;
      else high = middle;
    }
    return low;
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
    const plain2 = parts.map((part) => part.replace(/^.*[/\\]/, "").replace(/[^A-Za-z0-9._-]+/g, "-")).join("-");
    return plain2.replace(/-+/g, "-").replace(/^[-.]+|-+$/g, "").slice(0, 100) || "view";
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
  function closestIdx(num2, arr, lo, hi) {
    let mid;
    lo = lo || 0;
    hi = hi || arr.length - 1;
    let bitwise = hi <= 2147483647;
    while (hi - lo > 1) {
      mid = bitwise ? lo + hi >> 1 : floor((lo + hi) / 2);
      if (arr[mid] < num2)
        lo = mid;
      else
        hi = mid;
    }
    if (num2 - arr[lo] <= arr[hi] - num2)
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
  function getMinMax(data, _i0, _i1, sorted2 = 0, log = false) {
    let getEdgeIdxs = log ? positiveIdxs : nonNullIdxs;
    let predicate = log ? isPositive : notNullish;
    [_i0, _i1] = getEdgeIdxs(data, _i0, _i1);
    let _min = data[_i0];
    let _max = data[_i0];
    if (_i0 > -1) {
      if (sorted2 == 1) {
        _min = data[_i0];
        _max = data[_i1];
      } else if (sorted2 == -1) {
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
  function clamp(num2, _min, _max) {
    return min(max(num2, _min), _max);
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
      let [num2, exp] = str.split("e");
      return +`${fixFloat(num2)}e${exp}`;
    }
    return roundDec(val, len);
  };
  function incrRound(num2, incr) {
    return fixFloat(roundDec(fixFloat(num2 / incr)) * incr);
  }
  function incrRoundUp(num2, incr) {
    return fixFloat(ceil(fixFloat(num2 / incr)) * incr);
  }
  function incrRoundDn(num2, incr) {
    return fixFloat(floor(fixFloat(num2 / incr)) * incr);
  }
  function roundDec(val, dec = 0) {
    if (isInt(val))
      return val;
    let p = 10 ** dec;
    let n = val * p * (1 + Number.EPSILON);
    return round(n) / p;
  }
  const fixedDec = /* @__PURE__ */ new Map();
  function guessDec(num2) {
    return (("" + num2).split(".")[1] || "").length;
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
      let table2 = tables[0].slice();
      for (let i = 1; i < tables.length; i++)
        table2.push(...tables[i].slice(1));
      if (!isAsc(table2[0]))
        table2 = sortCols(table2);
      return table2;
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
  function sortCols(table2) {
    let head2 = table2[0];
    let rlen = head2.length;
    let idxs = Array(rlen);
    for (let i = 0; i < idxs.length; i++)
      idxs[i] = i;
    idxs.sort((i0, i1) => head2[i0] - head2[i1]);
    let table22 = [];
    for (let i = 0; i < table2.length; i++) {
      let row = table2[i];
      let row2 = Array(rlen);
      for (let j = 0; j < rlen; j++)
        row2[j] = row[idxs[j]];
      table22.push(row2);
    }
    return table22;
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
  function tzDate(date2, tz) {
    let date22;
    if (tz == "UTC" || tz == "Etc/UTC")
      date22 = new Date(+date2 + date2.getTimezoneOffset() * 6e4);
    else if (tz == localTz)
      date22 = date2;
    else {
      date22 = new Date(date2.toLocaleString("en-US", { timeZone: tz }));
      date22.setMilliseconds(date2.getMilliseconds());
    }
    return date22;
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
        let date2 = tzDate2(split);
        let newYear = date2.getFullYear();
        let newMnth = date2.getMonth();
        let newDate = date2.getDate();
        let newHour = date2.getHours();
        let newMins = date2.getMinutes();
        let newSecs = date2.getSeconds();
        let stamp = newYear != prevYear && s[2] || newMnth != prevMnth && s[3] || newDate != prevDate && s[4] || newHour != prevHour && s[5] || newMins != prevMins && s[6] || newSecs != prevSecs && s[7] || s[1];
        prevYear = newYear;
        prevMnth = newMnth;
        prevDate = newDate;
        prevHour = newHour;
        prevMins = newMins;
        prevSecs = newSecs;
        return stamp(date2);
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
    let bands2 = ifNull(self.bands, EMPTY_ARR);
    for (let i = 0; i < bands2.length; i++) {
      let b = bands2[i];
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
          new Set(fillColors).forEach((color2) => {
            if (color2 != null)
              fillPaths.set(color2, new Path2D());
          });
          if (strokeWidth > 0) {
            strokeColors = dispStrokes.values(u, seriesIdx, idx0, idx1);
            strokePaths = /* @__PURE__ */ new Map();
            new Set(strokeColors).forEach((color2) => {
              if (color2 != null)
                strokePaths.set(color2, new Path2D());
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
    const path2 = new Path2D();
    moveTo(path2, xs[0], ys[0]);
    if (n == 2)
      lineTo(path2, xs[1], ys[1]);
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
          path2,
          xs[i] + dxs[i] / 3,
          ys[i] + ms[i] * dxs[i] / 3,
          xs[i + 1] - dxs[i] / 3,
          ys[i + 1] - ms[i + 1] * dxs[i] / 3,
          xs[i + 1],
          ys[i + 1]
        );
      }
    }
    return path2;
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
    const bands2 = self.bands = opts.bands || [];
    bands2.forEach((b) => {
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
    let legendRows = [];
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
        let head2 = placeTag("tr", null, legendHead);
        placeTag("th", null, head2);
        for (var key in legendCols)
          placeTag("th", LEGEND_LABEL, head2).textContent = key;
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
      let label2 = placeTag("th", null, row);
      if (markers.show) {
        let indic = placeDiv(LEGEND_MARKER, label2);
        if (i > 0) {
          let width = markers.width(self, i);
          if (width)
            indic.style.border = width + "px " + markers.dash(self, i) + " " + markers.stroke(self, i);
          indic.style.background = markers.fill(self, i);
        }
      }
      let text2 = placeDiv(LEGEND_LABEL, label2);
      if (s.label instanceof HTMLElement)
        text2.appendChild(s.label);
      else
        text2.textContent = s.label;
      if (i > 0) {
        if (!markers.show)
          text2.style.color = s.width > 0 ? markers.stroke(self, i) : markers.fill(self, i);
        onMouse("click", label2, (e) => {
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
          onMouse(mouseenter, label2, (e) => {
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
        legendRows.splice(i, 0, rowCells[0]);
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
        let tr = legendRows.splice(i, 1)[0];
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
    function accScale(wsc, psc, facet2, data2, sorted2 = 0) {
      if (data2.length > 0 && wsc.auto(self, viaAutoScaleX) && (psc == null || psc.min == null)) {
        let _i0 = ifNull(i0, 0);
        let _i1 = ifNull(i1, data2.length - 1);
        let minMax = facet2.min == null ? getMinMax(data2, _i0, _i1, sorted2, wsc.distr == 3) : [facet2.min, facet2.max];
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
      flags != 0 && bands2.forEach((b, bi) => {
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
        let values2 = axis._values = axis.values(self, axis.filter(self, splits, i, _space, incr), i, _space, incr);
        axis._rotate = side == 2 ? axis.rotate(self, values2, i, _space) : 0;
        let oldSize = axis._size;
        axis._size = ceil(axis.size(self, values2, i, cycleNum));
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
              let text2 = _parts[j];
              if (angle) {
                ctx.save();
                ctx.translate(x, y + j * lineHeight);
                ctx.rotate(angle);
                ctx.fillText(text2, 0, 0);
                ctx.restore();
              } else
                ctx.fillText(text2, x, y + j * lineHeight);
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
        showLegend && remClass(legendRows[i], OFF);
      else {
        showLegend && addClass(legendRows[i], OFF);
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
      assign(bands2[bi], opts2);
    }
    function addBand(opts2, bi) {
      opts2.fill = fnOrSelf(opts2.fill || null);
      opts2.dir = ifNull(opts2.dir, -1);
      bi = bi == null ? bands2.length : bi;
      bands2.splice(bi, 0, opts2);
    }
    function delBand(bi) {
      if (bi == null)
        bands2.length = 0;
      else
        bands2.splice(bi, 1);
    }
    self.addBand = addBand;
    self.setBand = setBand;
    self.delBand = delBand;
    function setAlpha(i, value) {
      series[i].alpha = value;
      if (showCursor && cursorPts[i] != null)
        cursorPts[i].style.opacity = value;
      if (showLegend && legendRows[i])
        legendRows[i].style.opacity = value;
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
    function cacheMouse(e, src, _l, _t, _w, _h, _i, initial2, snap) {
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
      if (initial2) {
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
  const [GAP, APART$1] = [3, 8];
  function placedNames(marks, width, wide) {
    const out = [];
    let free = 0;
    for (const { x, text: text2 } of [...marks].sort((a, b) => a.x - b.x)) {
      if (x < 0 || x > width) continue;
      const size = wide(text2);
      const left = x + GAP + size <= width ? x + GAP : x - GAP - size;
      if (left < free) continue;
      out.push({ left, text: text2 });
      free = left + size + APART$1;
    }
    return out;
  }
  const SIDES = { wide: [66, 62], narrow: [58, 54] };
  const CLICK = 4;
  const REST_MS = 150;
  const NAMES$1 = 12;
  const APART = 12;
  const FONT = "12px system-ui, sans-serif";
  class Pane {
    constructor(group, height, hands) {
      this.group = group;
      this.height = height;
      this.hands = hands;
      this.reach = [0, 1];
      this.tip = h("div", { class: "tip", hidden: true });
      this.over = false;
      this.root = h("div", { class: "pane", role: "img" });
      this.root.append(this.tip);
    }
    /** Draws a sheet anew. */
    show(sheet, reach) {
      this.plot?.destroy();
      this.sheet = sheet;
      this.reach = reach;
      const width = Math.max(240, this.root.clientWidth || this.root.parentElement?.clientWidth || 600);
      this.plot = new uPlot(this.options(sheet, width), [sheet.x, ...sheet.lines.map((line2) => line2.y)], this.root);
      const over = this.plot.over;
      over.addEventListener("pointerenter", () => this.over = true);
      over.addEventListener("pointerleave", () => this.left());
      let pressed;
      over.addEventListener("pointerdown", (event) => pressed = event.clientX);
      over.addEventListener("click", (event) => {
        if (pressed !== void 0 && Math.abs(event.clientX - pressed) < CLICK) this.clicked(event);
      });
      this.root.append(this.tip);
    }
    /** Looks at another part with what is there. */
    look(reach) {
      this.reach = reach;
      this.plot?.setScale("x", { min: reach[0], max: reach[1] });
    }
    resize() {
      if (this.plot && this.root.clientWidth > 0 && this.sheet) this.show(this.sheet, this.reach);
    }
    destroy() {
      this.plot?.destroy();
      this.plot = void 0;
    }
    left() {
      this.over = false;
      this.tip.hidden = true;
    }
    clicked(event) {
      const at = this.under(event.offsetX, event.offsetY);
      if (at) this.hands.pick?.(at.cell, at.x, at.y, event.shiftKey);
    }
    under(left, top) {
      if (!this.plot || !this.sheet) return void 0;
      const [x, y] = [this.plot.posToVal(left, "x"), this.plot.posToVal(top, "y")];
      return { cell: this.cellOf(x), x, y };
    }
    /** The value that holds at a place: of cells the one it lies in, of points the nearest. */
    cellOf(x) {
      const xs = this.sheet?.x ?? [];
      let [low, high] = [0, xs.length - 1];
      while (high - low > 1) {
        const middle = low + high >> 1;
        if ((xs[middle] ?? 0) <= x) low = middle;
        else high = middle;
      }
      const points2 = this.sheet?.lines.every((line2) => line2.kind === "points" || line2.kind === "line") && !this.sheet.heat;
      return points2 && Math.abs((xs[high] ?? 0) - x) < Math.abs((xs[low] ?? 0) - x) ? high : low;
    }
    options(sheet, width) {
      const hands = this.hands;
      const strip = sheet.named && sheet.marks.length > 0 ? NAMES$1 : 0;
      const options = {
        width,
        height: this.height + strip,
        // Drawings of a group stand under one another, with the same sides.
        padding: [8 + strip, sheet.right ? 0 : this.group === void 0 ? 16 : narrow() ? SIDES.narrow[1] : SIDES.wide[1], 0, 0],
        legend: { show: false },
        scales: this.scales(sheet),
        axes: this.axes(sheet),
        series: [{}, ...sheet.lines.map((line2) => this.series(line2))],
        cursor: {
          drag: { x: hands.zoom !== void 0, y: false, setScale: false, dist: CLICK },
          points: { show: false },
          x: true,
          y: sheet.heat !== void 0
        },
        hooks: {
          drawAxes: [(plot) => this.beneath(plot)],
          draw: [(plot) => this.marks(plot)],
          setCursor: [(plot) => this.tell(plot)],
          setSelect: [(plot) => this.selected(plot)]
        }
      };
      if (this.group && options.cursor) {
        const moves = (type) => type === "mousemove" || type === "mouseleave" || type === "mouseenter";
        options.cursor.sync = { key: this.group, setSeries: false, scales: ["x", null], filters: { pub: moves, sub: moves } };
      }
      return options;
    }
    selected(plot) {
      const { left, width } = plot.select;
      if (width < CLICK) return;
      const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      this.tip.hidden = true;
      this.hands.zoom?.(from, to);
    }
    scales(sheet) {
      const scale = (axis, right) => {
        const [low, high] = limits$1(sheet, axis, right);
        return { distr: axis.log ? 3 : 1, log: 10, range: () => [low, high] };
      };
      const scales = { x: { time: false, range: () => [...this.reach] }, y: scale(sheet.left, false) };
      if (sheet.right) scales["right"] = scale(sheet.right, true);
      return scales;
    }
    axes(sheet) {
      const [left, right] = narrow() ? SIDES.narrow : SIDES.wide;
      const common2 = { stroke: ink("axis"), font: FONT, grid: { stroke: ink("grid"), width: 1 }, ticks: { stroke: ink("grid"), width: 1, size: 4 } };
      const named2 = (plot, from, to) => {
        const width = plot.bbox.width / uPlot.pxRatio;
        plot.ctx.font = `${12 * uPlot.pxRatio}px system-ui, sans-serif`;
        const wide = (text2) => plot.ctx.measureText(text2).width / uPlot.pxRatio;
        for (let most = Math.floor(width / (narrow() ? 52 : 104)); ; most -= 1) {
          const found = sheet.ticks(from, to, Math.max(2, most));
          const step = ((found[1]?.[0] ?? to) - (found[0]?.[0] ?? from)) / (to - from) * width;
          if (most <= 2 || found.every(([, text2]) => wide(text2) + APART <= step)) return found;
        }
      };
      const x = {
        ...common2,
        size: 26,
        gap: 2,
        splits: (plot, _2, min2, max2) => named2(plot, min2, max2).map(([value]) => value),
        values: (plot, splits) => {
          const names = new Map(named2(plot, plot.scales["x"]?.min ?? 0, plot.scales["x"]?.max ?? 1));
          return splits.map((value) => names.get(value) ?? "");
        }
      };
      const side = (axis, size) => ({
        ...common2,
        size,
        gap: 4,
        values: (_2, splits) => splits.map((value) => value === null ? "" : axis.format(value)),
        ...axis.log ? { splits: (_2, __, low, high) => decades(low, high), filter: (_2, all) => all } : {}
      });
      const axes = [x, { ...side(sheet.left, left), scale: "y" }];
      if (sheet.right) axes.push({ ...side(sheet.right, right), scale: "right", side: 1, grid: { show: false } });
      return axes;
    }
    series(line2) {
      const stepped2 = uPlot.paths.stepped?.({ align: 1 });
      const series = {
        label: line2.name,
        scale: line2.right ? "right" : "y",
        stroke: line2.color,
        width: line2.kind === "area" ? 0 : line2.width ?? 1.5,
        points: { show: line2.kind === "points", size: 5, fill: line2.color }
      };
      if (line2.kind === "area") series.fill = line2.color;
      if (line2.dash) series.dash = line2.dash;
      if (line2.kind !== "line" && line2.kind !== "points" && stepped2) series.paths = stepped2;
      return series;
    }
    /** The heat map and what is shaded, under the lines. */
    beneath(plot) {
      const { ctx, bbox } = plot;
      const [heat, shaded] = [this.sheet?.heat, this.sheet?.shaded];
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      if (shaded) {
        const [from, to] = [plot.valToPos(shaded.from, "x", true), plot.valToPos(shaded.to, "x", true)];
        ctx.fillStyle = dark() ? "#56b4e922" : "#0072b218";
        ctx.fillRect(from, bbox.top, to - from, bbox.height);
      }
      if (heat && heat.answer.cells > 0) {
        const [left, width] = heatReach(plot, heat, true);
        ctx.imageSmoothingEnabled = false;
        ctx.drawImage(fitted(plot, heat), left, bbox.top, width, bbox.height);
      }
      ctx.restore();
    }
    marks(plot) {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.strokeStyle = ink("bad");
      ctx.setLineDash([4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
      for (const mark of this.sheet?.marks ?? []) {
        const x = Math.round(plot.valToPos(mark.x, "x", true)) + 0.5;
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      if (this.sheet?.named) this.markNames(plot);
      ctx.restore();
    }
    /** Names of marks in the strip over the drawing, where no value and no other mark is. */
    markNames(plot) {
      const { ctx, bbox } = plot;
      ctx.font = `${12 * uPlot.pxRatio}px system-ui, sans-serif`;
      ctx.textAlign = "left";
      ctx.textBaseline = "bottom";
      ctx.fillStyle = ink("bad");
      const marks = (this.sheet?.marks ?? []).map(({ x, text: text2 }) => ({ x: plot.valToPos(x, "x", true) - bbox.left, text: text2 }));
      for (const { left, text: text2 } of placedNames(marks, bbox.width, (text22) => ctx.measureText(text22).width)) {
        ctx.fillText(text2, bbox.left + left, bbox.top - 2 * uPlot.pxRatio);
      }
    }
    /** What came for the column under the pointer; asks for it where it is another one. */
    further(plot, x) {
      const sheet = this.sheet;
      if (!sheet?.more || !sheet.heat) return [];
      const at = Math.floor((x - sheet.heat.answer.from) / sheet.heat.answer.width_ns);
      if (this.more?.at === at && this.more.sheet === sheet) return this.more.rows;
      const asked = { at, sheet, rows: [] };
      this.more = asked;
      const isStill = () => this.more === asked && this.sheet === sheet;
      window.setTimeout(() => {
        if (!isStill() || !this.over) return;
        void sheet.more?.(at).then((rows) => {
          if (!isStill()) return;
          asked.rows = rows;
          this.tell(plot);
        }, () => void 0);
      }, REST_MS);
      return [];
    }
    /** Exact numbers beside the pointer. */
    tell(plot) {
      const { left, top } = plot.cursor;
      if (!this.over || left === void 0 || top === void 0 || left < 0 || !this.sheet) {
        this.tip.hidden = true;
        return;
      }
      const at = this.under(left, top);
      if (!at) return;
      const { head: head2, rows } = this.sheet.tips(at.cell, at.x, at.y);
      rows.push(...this.further(plot, at.x));
      const near = this.sheet.marks.filter((mark) => Math.abs(plot.valToPos(mark.x, "x") - left) < 6);
      const lines = [...near.map((mark) => ({ name: "Mark", value: mark.text })), ...rows].map((row) => {
        const swatch = h("i");
        if (row.color) swatch.style.background = row.color;
        return h("div", {}, swatch, h("span", {}, row.name), h("b", {}, row.value));
      });
      this.tip.replaceChildren(h("strong", {}, head2), ...lines);
      this.tip.hidden = false;
      const [x, y] = [plot.over.offsetLeft + left, plot.over.offsetTop + top];
      const beside = x + 16 + this.tip.offsetWidth > this.root.clientWidth ? x - 16 - this.tip.offsetWidth : x + 16;
      this.tip.style.left = `${Math.max(0, beside)}px`;
      this.tip.style.top = `${Math.max(0, Math.min(y - 10, this.height - this.tip.offsetHeight))}px`;
    }
  }
  function heatReach(plot, heat, canvas) {
    const { answer } = heat;
    const left = plot.valToPos(answer.from, "x", canvas);
    return [left, plot.valToPos(answer.from + answer.cells * answer.width_ns, "x", canvas) - left];
  }
  function fitted(plot, heat) {
    const { answer, image } = heat;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, Math.max(1, Math.round(plot.bbox.height))];
    const context = canvas.getContext("2d");
    if (!context) return canvas;
    context.imageSmoothingEnabled = false;
    const log = plot.scales["y"]?.distr === 3;
    const place = (value) => log && value <= 0 ? canvas.height : Math.round(plot.valToPos(value, "y") * canvas.height / (plot.bbox.height / uPlot.pxRatio));
    for (let row = 0; row < answer.rows; row += 1) {
      const [low, high] = [place(answer.row_edges[row] ?? 0), place(answer.row_edges[row + 1] ?? 0)];
      context.drawImage(image, 0, answer.rows - 1 - row, image.width, 1, 0, high, image.width, Math.max(1, low - high));
    }
    return canvas;
  }
  function limits$1(sheet, axis, right) {
    let [low, high] = [Number.POSITIVE_INFINITY, 0];
    for (const line2 of sheet.lines) {
      if ((line2.right ?? false) !== right) continue;
      for (const value of line2.y) {
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
  function decades(low, high) {
    return ticks$1({ label: "", low, high, log: true }).map(([value]) => value);
  }
  const SVG = "http://www.w3.org/2000/svg";
  function element(name, attributes, text2) {
    const made2 = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made2.setAttribute(key, String(value));
    if (text2 !== void 0) made2.textContent = text2;
    return made2;
  }
  const NAME_LETTER = 6.5;
  const HEAD = 44;
  const ROW = 20;
  function drawn(pane, title, note) {
    const { plot, sheet } = pane;
    if (!plot || !sheet) return void 0;
    const [width, tall] = [plot.width, plot.height];
    const key = keyRows(sheet, width);
    const height = HEAD + tall + key.length * ROW + 8;
    const svg = element("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 12 });
    svg.append(element("rect", { width, height, fill: ink("paper") }));
    svg.append(element("text", { x: 8, y: 18, "font-size": 15, "font-weight": "bold", fill: ink("ink") }, title));
    svg.append(element("text", { x: 8, y: 35, fill: ink("quiet") }, note));
    const area = element("g", { transform: `translate(0 ${HEAD})` });
    area.append(...frame(plot, sheet), ...content(plot, sheet));
    svg.append(area);
    key.forEach((row, at) => row.forEach((part) => svg.append(...keyPart(part, HEAD + tall + at * ROW + 14))));
    return svg;
  }
  function keyRows(sheet, width) {
    const rows = [[]];
    let x = 10;
    for (const line2 of [...sheet.lines].reverse().filter((one) => !one.halo)) {
      const wide = 30 + line2.name.length * 7;
      if (x + wide > width && x > 10) {
        rows.push([]);
        x = 10;
      }
      rows[rows.length - 1]?.push({ x, line: line2 });
      x += wide;
    }
    return rows;
  }
  function keyPart(part, y) {
    const mark = element("rect", { x: part.x, y: y - 9, width: 12, height: 10, fill: part.line.color });
    return [mark, element("text", { x: part.x + 17, y, fill: ink("ink") }, part.line.name)];
  }
  function box(plot) {
    const ratio = uPlot.pxRatio;
    return { left: plot.bbox.left / ratio, top: plot.bbox.top / ratio, width: plot.bbox.width / ratio, height: plot.bbox.height / ratio };
  }
  function frame(plot, sheet) {
    const { left, top, width, height } = box(plot);
    const out = [element("rect", { x: left, y: top, width, height, fill: "none", stroke: ink("grid") })];
    const named2 = (scale) => {
      const own = plot.axes.find((one) => one.scale === scale);
      return (own?._splits ?? []).flatMap((value, at) => {
        const name = own?._values?.[at];
        return value === null || !name ? [] : [[value, name]];
      });
    };
    for (const [value, name] of named2("x")) {
      const x = left + plot.valToPos(value, "x");
      out.push(element("line", { x1: x, x2: x, y1: top, y2: top + height, stroke: ink("grid") }));
      out.push(element("text", { x, y: top + height + 16, "text-anchor": "middle", fill: ink("axis") }, name));
    }
    const sides = [["y", sheet.left, left - 6, "end"], ["right", sheet.right, left + width + 6, "start"]];
    for (const [scale, axis, x, anchor] of sides) {
      if (!axis) continue;
      for (const [value, name] of named2(scale)) {
        const y = top + plot.valToPos(value, scale);
        if (scale === "y") out.push(element("line", { x1: left, x2: left + width, y1: y, y2: y, stroke: ink("grid") }));
        out.push(element("text", { x, y: y + 4, "text-anchor": anchor, fill: ink("axis") }, name));
      }
    }
    return out;
  }
  function content(plot, sheet) {
    const { left, top, width, height } = box(plot);
    const inner = element("svg", { x: left, y: top, width, height, overflow: "hidden" });
    if (sheet.shaded) {
      const x = plot.valToPos(sheet.shaded.from, "x");
      inner.append(element("rect", { x, y: 0, width: plot.valToPos(sheet.shaded.to, "x") - x, height, fill: "#0072b2", "fill-opacity": 0.1 }));
    }
    if (sheet.heat) {
      const [x, wide] = heatReach(plot, sheet.heat, false);
      const href = fitted(plot, sheet.heat).toDataURL();
      inner.append(element("image", { x, y: 0, width: wide, height, preserveAspectRatio: "none", "image-rendering": "pixelated", href }));
    }
    sheet.lines.forEach((line2) => inner.append(...path(plot, sheet, line2)));
    for (const mark of sheet.marks) {
      const x = plot.valToPos(mark.x, "x");
      inner.append(element("line", { x1: x, x2: x, y1: 0, y2: height, stroke: ink("bad"), "stroke-dasharray": "4 3" }));
    }
    const marks = sheet.marks.map(({ x, text: text2 }) => ({ x: plot.valToPos(x, "x"), text: text2 }));
    const names = placedNames(marks, width, (text2) => text2.length * NAME_LETTER);
    const y = sheet.named ? top - 3 : top + 12;
    return [inner, ...names.map((name) => element("text", { x: left + name.left, y, fill: ink("bad"), "font-size": 11 }, name.text))];
  }
  function path(plot, sheet, line2) {
    const scale = line2.right ? "right" : "y";
    const [parts, dots] = [[], []];
    const floor2 = plot.bbox.height / uPlot.pxRatio;
    const steps = line2.kind === "area" || line2.kind === "step";
    let before;
    line2.y.forEach((value, at) => {
      if (value === void 0) return;
      if (value === null || !Number.isFinite(value)) {
        if (before !== void 0 && line2.kind === "area") parts.push(`V${floor2}`);
        before = void 0;
        return;
      }
      const [x, y] = [plot.valToPos(sheet.x[at] ?? 0, "x").toFixed(1), plot.valToPos(value, scale)];
      const text2 = y.toFixed(1);
      if (before === void 0) parts.push(line2.kind === "area" ? `M${x},${floor2}V${text2}` : `M${x},${text2}`);
      else parts.push(steps ? `H${x}V${text2}` : `L${x},${text2}`);
      before = y;
      if (line2.kind === "points") dots.push(element("circle", { cx: x, cy: text2, r: 2.5, fill: line2.color }));
    });
    if (parts.length === 0) return dots;
    if (line2.kind === "area") return [element("path", { d: `${parts.join("")}V${floor2}Z`, fill: line2.color })];
    const stroke = element("path", { d: parts.join(""), fill: "none", stroke: line2.color, "stroke-width": line2.width ?? 1.5 });
    if (line2.dash) stroke.setAttribute("stroke-dasharray", line2.dash.join(" "));
    return [stroke, ...dots];
  }
  function asText(svg) {
    return `<?xml version="1.0" encoding="UTF-8"?>
${new XMLSerializer().serializeToString(svg)}
`;
  }
  async function asPng(svg) {
    const address2 = URL.createObjectURL(new Blob([asText(svg)], { type: "image/svg+xml" }));
    try {
      const image = new Image();
      const loaded = new Promise((done, failed) => {
        image.onload = () => done();
        image.onerror = () => failed(new Error("the drawing could not be made an image"));
      });
      image.src = address2;
      await loaded;
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.naturalWidth * 2, image.naturalHeight * 2];
      canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
      return await new Promise((done, failed) => canvas.toBlob((blob) => blob ? done(blob) : failed(new Error("no image"))));
    } finally {
      URL.revokeObjectURL(address2);
    }
  }
  function values(sheet, xName, perCell) {
    const lines = [...sheet.lines].reverse().filter((line2) => !line2.halo);
    if (sheet.heat) return heatValues(sheet.heat.answer, xName, sheet.left.name);
    const cells = sheet.lines.some((line2) => line2.kind === "area" || line2.kind === "step") ? sheet.x.length - 1 : sheet.x.length;
    const rows = Array.from({ length: cells }, (_2, at) => [sheet.x[at], ...lines.map((line2) => perCell(line2, at))]);
    return csv([[xName, ...lines.map((line2) => line2.name)], ...rows]);
  }
  function heatValues(answer, xName, yName) {
    const rows = [[xName, "width_ns", `${yName} from`, `${yName} to`, "I/Os"]];
    for (let cell2 = 0; cell2 < answer.cells; cell2 += 1) {
      for (let row = 0; row < answer.rows; row += 1) {
        const count2 = answer.counts[cell2 * answer.rows + row] ?? 0;
        if (count2 > 0) rows.push([answer.from + cell2 * answer.width_ns, answer.width_ns, answer.row_edges[row], answer.row_edges[row + 1], count2]);
      }
    }
    return csv(rows);
  }
  let made = 0;
  class Frame {
    constructor(title) {
      this.title = title;
      this.state = h("p", { class: "state", role: "status" });
      this.tools = h("div", { class: "tools" });
      this.note = h("p", { class: "quiet note" });
      made += 1;
      this.heading = h("h3", { id: `panel-${made}` }, title);
      this.root = h(
        "section",
        { class: "panel", "aria-labelledby": `panel-${made}` },
        h("header", {}, this.heading, this.tools),
        this.note,
        this.state
      );
    }
    /** Room for what belongs to this view alone, such as a switch. */
    get head() {
      return this.tools;
    }
    name(title) {
      this.title = title;
      this.heading.textContent = title;
    }
    wait() {
      this.root.setAttribute("aria-busy", "true");
      this.root.classList.remove("failed");
    }
    words(text2, failed = false) {
      this.root.removeAttribute("aria-busy");
      this.root.classList.toggle("failed", failed);
      this.state.textContent = text2;
      this.state.hidden = text2 === "";
    }
    tool(text2, title, act) {
      this.tools.append(button(text2, act, { title, "aria-label": `${title}: ${this.title}` }));
    }
  }
  class DrawingPanel extends Frame {
    constructor(title, file, group, height, hands, extra = []) {
      super(title);
      this.file = file;
      this.key = h("div", { class: "key" });
      this.turn = 0;
      this.pane = new Pane(group, height, hands);
      this.root.append(this.pane.root, this.key);
      extra.forEach((one) => this.tool(one.text, one.title, one.act));
      this.tool("SVG", "Save as SVG", () => this.svg());
      this.tool("PNG", "Save as PNG", () => void this.png());
      this.tool("CSV", "Save values as CSV", () => this.csv());
    }
    /** Draws what comes; a later call overtakes an earlier one. */
    async load(coming, reach) {
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
    put(found, reach) {
      if (typeof found === "string") return this.empty(found, false);
      this.drawing = found;
      this.words("");
      this.note.textContent = found.note;
      this.pane.root.hidden = false;
      this.pane.root.setAttribute("aria-label", `${this.title}. ${found.spoken}`);
      this.pane.show(found.sheet, reach);
      this.key.replaceChildren(...found.keys.map(keyOf));
    }
    empty(text2, failed) {
      this.drawing = void 0;
      this.pane.destroy();
      this.pane.root.hidden = true;
      this.key.replaceChildren();
      this.note.textContent = "";
      this.words(text2, failed);
    }
    picture() {
      const found = drawn(this.pane, this.title, this.drawing?.note ?? "");
      if (!found) announce("There is nothing to save in this view.");
      return found;
    }
    svg() {
      const picture = this.picture();
      if (picture) save(fileName(this.file(), this.title) + ".svg", new Blob([asText(picture)], { type: "image/svg+xml" }));
    }
    async png() {
      const picture = this.picture();
      if (!picture) return;
      try {
        save(fileName(this.file(), this.title) + ".png", await asPng(picture));
      } catch (error) {
        announce(said(error));
      }
    }
    csv() {
      if (!this.drawing) return announce("There is nothing to save in this view.");
      const { sheet, xName, exact } = this.drawing;
      const text2 = values(sheet, xName, exact ?? ((line2, at) => line2.y[at]));
      save(fileName(this.file(), this.title) + ".csv", new Blob([text2], { type: "text/csv" }));
    }
  }
  function keyOf(key) {
    const mark = h("i", { class: key.dash ? "line" : void 0 });
    mark.style.background = key.color;
    if (!key.pick) return h("span", {}, mark, key.name);
    const pick = key.pick;
    return h("button", { type: "button", title: "Click: only this. Shift-click: compare with this.", onclick: (event) => pick(event.shiftKey) }, mark, key.name);
  }
  class TablePanel extends Frame {
    constructor(title, file, extra = []) {
      super(title);
      this.file = file;
      this.body = h("div");
      this.turn = 0;
      this.root.append(this.body);
      extra.forEach((one) => this.tool(one.text, one.title, one.act));
      this.tool("CSV", "Save values as CSV", () => {
        if (this.text === void 0) return announce("There is nothing to save in this view.");
        save(fileName(this.file(), this.title) + ".csv", new Blob([this.text], { type: "text/csv" }));
      });
    }
    async load(coming) {
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
    put(found, failed = false) {
      if (typeof found === "string") {
        this.body.replaceChildren();
        this.text = void 0;
        this.note.textContent = "";
        return this.words(found, failed);
      }
      this.words("");
      this.text = found.csv;
      this.note.textContent = found.note ?? "";
      this.body.replaceChildren(found.content);
    }
  }
  const GRIP = 8;
  class Brush {
    constructor(pane, hands) {
      this.pane = pane;
      this.hands = hands;
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
      this.window.addEventListener("keydown", (event) => this.key(event));
    }
    /** Puts the window over a drawing that was made anew. */
    attach() {
      const over = this.pane.plot?.over;
      if (!over) return;
      over.append(this.window);
      over.classList.add("brush");
      over.addEventListener("pointerdown", (event) => this.pressed(event, over));
      over.addEventListener("pointermove", (event) => this.moved(event));
      over.addEventListener("pointerup", (event) => this.released(event));
      over.addEventListener("pointercancel", () => this.drag = void 0);
      over.addEventListener("dblclick", () => this.hands.chosen(void 0));
      this.place();
    }
    now() {
      return this.hands.part() ?? { from: 0, to: this.hands.duration() };
    }
    place(at = this.now()) {
      const plot = this.pane.plot;
      if (!plot) return;
      const [left, right] = [plot.valToPos(at.from, "x"), plot.valToPos(at.to, "x")];
      this.window.style.left = `${left}px`;
      this.window.style.width = `${Math.max(3, right - left)}px`;
      this.window.setAttribute("aria-valuetext", this.hands.say(at.from, at.to));
      this.window.setAttribute("aria-valuenow", String(Math.round(at.from / Math.max(1, this.hands.duration()) * 100)));
      this.window.classList.toggle("whole", this.hands.part() === void 0 && !this.drag);
    }
    valueAt(event) {
      const plot = this.pane.plot;
      if (!plot) return 0;
      const left = event.clientX - plot.over.getBoundingClientRect().left;
      return Math.min(this.hands.duration(), Math.max(0, plot.posToVal(left, "x")));
    }
    pressed(event, over) {
      if (event.button !== 0) return;
      const plot = this.pane.plot;
      if (!plot) return;
      over.setPointerCapture(event.pointerId);
      const now = this.now();
      const x = event.clientX - over.getBoundingClientRect().left;
      const [left, right] = [plot.valToPos(now.from, "x"), plot.valToPos(now.to, "x")];
      const shown = this.hands.part() !== void 0;
      const near = (edge) => shown && Math.abs(x - edge) <= GRIP;
      const how = near(left) ? "from" : near(right) ? "to" : shown && x > left && x < right ? "move" : "new";
      this.drag = { how, at: this.valueAt(event), ...now };
    }
    dragged(event) {
      if (!this.drag) return void 0;
      const { how, at, from, to } = this.drag;
      const x = this.valueAt(event);
      if (how === "new") return { from: Math.min(at, x), to: Math.max(at, x) };
      if (how === "from") return { from: Math.min(x, to), to: Math.max(x, to) };
      if (how === "to") return { from: Math.min(from, x), to: Math.max(from, x) };
      return shifted(from, to, x - at, this.hands.duration());
    }
    moved(event) {
      const part = this.dragged(event);
      if (part) this.place(part);
    }
    released(event) {
      const part = this.dragged(event);
      this.drag = void 0;
      if (!part) return;
      const pixels = (part.to - part.from) / Math.max(1, this.hands.duration()) * (this.pane.plot?.over.clientWidth ?? 1);
      if (pixels < 3) return this.place();
      this.hands.chosen(inside(part.from, part.to, this.hands.duration()));
    }
    key(event) {
      const { from, to } = this.now();
      const part = byKey(event.key, from, to, this.hands.duration());
      if (!part) return;
      event.preventDefault();
      event.stopPropagation();
      this.hands.chosen(inside(part.from, part.to, this.hands.duration()));
    }
  }
  function shifted(from, to, by, duration) {
    const moved = Math.min(duration - to, Math.max(-from, by));
    return { from: from + moved, to: to + moved };
  }
  function byKey(key, from, to, duration) {
    const wide = to - from;
    const middle = (from + to) / 2;
    const around = (width) => {
      const half = Math.min(duration, Math.max(1e3, width)) / 2;
      return shifted(middle - half, middle + half, Math.max(0, half - middle), duration);
    };
    if (key === "ArrowLeft") return shifted(from, to, -wide / 4, duration);
    if (key === "ArrowRight") return shifted(from, to, wide / 4, duration);
    if (key === "ArrowDown" || key === "+") return around(wide / 2);
    if (key === "ArrowUp" || key === "-") return around(wide * 2);
    if (key === "Home") return { from: 0, to: duration };
    return void 0;
  }
  const SHOWN = 200;
  function order(a, b, up) {
    const missing = (value) => value === null || value === void 0 || value === "";
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    const by = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), void 0, { numeric: true });
    return up ? by : -by;
  }
  function sorted(rows, column, up) {
    return [...rows].sort((a, b) => order(column.value(a), column.value(b), up));
  }
  function tableCsv(columns, rows) {
    return csv([columns.map((column) => column.head), ...rows.map((row) => columns.map((column) => column.value(row)))]);
  }
  function table(caption, columns, rows, choice2) {
    const body = h("tbody");
    const numeric = columns.map((column, at) => at > 0 && rows.every((row) => typeof column.value(row) !== "string"));
    const heads = columns.map((column) => h("th", { scope: "col" }, column.head));
    const fill = (list) => body.replaceChildren(...list.slice(0, SHOWN).map((row) => line(columns, row, numeric, choice2)));
    heads.forEach((head2, at) => {
      const column = columns[at];
      if (!column) return;
      head2.replaceChildren(button(column.head, () => {
        const next = head2.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head2.setAttribute("aria-sort", next);
        fill(sorted(rows, column, next === "ascending"));
      }, { title: "Sort" }));
      if (numeric[at]) head2.className = "number";
    });
    fill(rows);
    const made2 = h("table", { class: "values" }, h("caption", {}, caption), h("thead", {}, h("tr", {}, ...heads)), body);
    const more = rows.length > SHOWN ? h("p", { class: "quiet" }, `The first ${SHOWN} of ${rows.length} rows. The CSV file has all.`) : void 0;
    return h("div", {}, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, made2), more);
  }
  function line(columns, row, numeric, choice2) {
    const cells = columns.map((column, at) => {
      const value = column.value(row);
      const text2 = column.text ? column.text(row) : value === null || value === void 0 || value === "" ? NONE : String(value);
      if (at > 0 || !choice2 || choice2.can?.(row) === false) return h(at === 0 ? "th" : "td", { class: numeric[at] ? "number" : void 0, scope: at === 0 ? "row" : void 0 }, text2);
      const pick = button(text2, (event) => choice2.pick(row, event.shiftKey), { title: choice2.title, "aria-pressed": String(choice2.chosen(row)) });
      return h("th", { scope: "row" }, pick);
    });
    return h("tr", { class: choice2?.chosen(row) ? "chosen" : void 0 }, ...cells);
  }
  const NAMES = [
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
  const GROUPS = ["file", "cgroup", "thread"];
  const PAGE = 200;
  const HINT = "Click: only this. Shift-click: compare with this.";
  class Tables {
    constructor(app, sides, hands) {
      this.app = app;
      this.sides = sides;
      this.hands = hands;
      this.root = h("section", { class: "tables", "aria-label": "Tables" });
      this.tabs = h("div", { class: "tabs" });
      this.places = h("div", { class: "pair" });
      this.panels = [];
      this.grouping = h("span");
      this.offset = 0;
      this.asked = "";
      this.root.append(this.tabs, this.places);
    }
    load() {
      const recorded = this.sides().flatMap(({ item }) => item.groups ?? []);
      const names = NAMES.filter(([id2]) => !GROUPS.includes(id2) || recorded.includes(id2));
      const now = names.find(([id2]) => id2 === this.app.state.table) ?? names[0] ?? ["streams", "I/O streams"];
      const [id, title] = now;
      this.tabs.replaceChildren(choice("Table", names.map(([one, text2]) => [one, text2]), id, (value) => this.app.go({ table: value })));
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
    make(id, title, shown, at) {
      const tools = id === "marks" || id === "ios" || id === "hot" ? [] : [{ text: "Command", title: "Copy as command", act: () => {
        const side = this.sides()[at]?.side;
        if (side) this.hands.command(side, id);
      } }];
      const panel = new TablePanel(shown.letter ? `${shown.letter}: ${title}, ${shortName(shown.item)}` : title, () => shortName(shown.item), tools);
      panel.root.dataset["view"] = id;
      if (id === "processes" && at === 0 && !exported()) panel.head.prepend(this.grouping);
      return panel;
    }
    async listed(id, shown) {
      const params = common(shown.side, shown.part?.from, shown.part?.to);
      const refused = shown.item.refused?.[id];
      if (refused !== void 0) return refused;
      if (id === "marks") return this.marks(shown);
      if (shown.outside) return "This capture has no time in this part. Press Esc to go back.";
      if (id === "hot") return this.hot(await ask(url("hot", shown.device === void 0 ? params : { ...params, device: [shown.device] })), shown.device);
      if (GROUPS.includes(id)) return this.groups(id, shown, rowsOf(await ask(url("groups", { ...params, by: id })), "groups"));
      if (id === "ios") return this.ios(shown, params);
      const byName = id === "processes" && this.app.state.group === "name" ? { by_command: "true" } : {};
      const answer = await ask(url(id, { ...params, ...byName }));
      if (id === "processes") return this.processes(shown, rowsOf(answer, "processes"));
      if (id === "cumulative") return cumulative(rowsOf(answer["workload"], "streams"));
      if (id === "steps") return this.steps(shown, rowsOf(answer, "steps"));
      return this.streams(shown, rowsOf(answer, "streams"));
    }
    choice(shown, facet2, value) {
      return {
        pick: (row, shift) => this.hands.pick(facet2, value(row), shift, shown.side),
        title: HINT,
        chosen: (row) => shown.side.filters[facet2].includes(value(row))
      };
    }
    streams(shown, rows) {
      const columns = [
        { head: "Stream", value: text("stream") },
        counted("I/Os", "count"),
        shared("I/Os %", "share_of_count"),
        amounted("Amount", "amount"),
        shared("Amount %", "share_of_bytes"),
        { head: "QD", value: num("qd_mean"), text: (row) => number(num("qd_mean")(row)) },
        timed$1("Mean", nested("response", "mean_ns")),
        timed$1("99 %", nested("response", "p99_ns")),
        timed$1("99.9 %", nested("response", "p99_9_ns")),
        timed$1("Maximum", nested("response", "max_ns")),
        summed(nested("response", "mean_ns"))
      ];
      return rows.length === 0 ? nothing() : listed("I/O streams of what is shown, with response times", columns, rows, this.choice(shown, "stream", (row) => String(row["stream"])));
    }
    processes(shown, rows) {
      const columns = [
        { head: "Process", value: text("process") },
        counted("I/Os", "count"),
        shared("I/Os %", "share"),
        amounted("Amount", "amount"),
        counted("Reads", "reads"),
        counted("Writes", "writes"),
        counted("SEQ", "sequential"),
        timed$1("Mean", num("response_mean_ns")),
        timed$1("Maximum", num("response_max_ns")),
        summed(num("response_mean_ns"))
      ];
      const choose = {
        pick: (row, shift) => this.hands.pick(...processOf(row), shift, shown.side),
        title: HINT,
        chosen: (row) => {
          const [facet2, value] = processOf(row);
          return shown.side.filters[facet2].includes(value);
        }
      };
      return rows.length === 0 ? nothing() : listed("Processes of what is shown, with response times", columns, rows, choose);
    }
    /** I/Os by what they belong to. */
    groups(by, shown, rows) {
      const head2 = GROUP_HEADS[by] ?? by;
      const columns = [
        { head: head2, value: (row) => groupName(by, row) },
        counted("I/Os", "count"),
        shared("I/Os %", "share_of_count"),
        amounted("Amount", "amount"),
        timed$1("Mean", nested("response", "mean_ns")),
        timed$1("99 %", nested("response", "p99_ns")),
        timed$1("Maximum", nested("response", "max_ns")),
        summed(nested("response", "mean_ns"))
      ];
      const value = (row) => groupFilter(by, row);
      const facet2 = by === "thread" ? "tid" : by;
      const choose = {
        pick: (row, shift) => this.hands.pick(facet2, value(row) ?? "", shift, shown.side),
        title: HINT,
        chosen: (row) => shown.side.filters[facet2].includes(value(row) ?? ""),
        can: (row) => value(row) !== null
      };
      if (rows.length === 0) return nothing();
      const note = by === "file" ? { note: "I/Os of the file-system layer." } : {};
      return { ...listed(`${head2}s of what is shown, with response times`, columns, rows, choose), ...note };
    }
    steps({ side, item, part }, rows) {
      const clock = clockOf(this.app, item);
      const columns = [
        { head: "Begin", value: num("begin_ns"), text: (row) => moment(Number(row["begin_ns"]), clock, 1e9) },
        counted("I/Os", "count"),
        { head: "IOPS", value: num("iops"), text: (row) => number(num("iops")(row)) },
        { head: "MB/s", value: (row) => per(num("bytes_per_second")(row), 1e6), text: (row) => number(per(num("bytes_per_second")(row), 1e6)) },
        counted("Reads", "reads"),
        counted("Writes", "writes"),
        shared("SEQ %", "sequential_share"),
        { head: "QD", value: num("qd_mean"), text: (row) => number(num("qd_mean")(row)) },
        timed$1("Mean", num("response_mean_ns")),
        timed$1("99 %", num("response_p99_ns")),
        timed$1("Maximum", num("response_max_ns")),
        shared("Busy", "utilisation"),
        ...rows.some((row) => row["host_cpu_share"] !== null) ? [shared("Host CPU", "host_cpu_share"), shared("I/O wait", "host_io_wait_share")] : []
      ];
      const choose = {
        pick: (row) => {
          const at = rows.indexOf(row);
          const [from, next] = [Number(row["begin_ns"]), rows[at + 1]?.["begin_ns"]];
          this.hands.show({ from, to: typeof next === "number" ? next : item.duration_ns ?? from + 1 }, side);
        },
        title: "Show this step",
        chosen: (row) => part !== void 0 && part.from === row["begin_ns"]
      };
      return rows.length === 0 ? nothing() : listed("Capture steps of what is shown", columns, rows, choose);
    }
    hot(answer, device) {
      const rows = Array.isArray(answer) ? answer : answer.ranges ?? [];
      if (rows.length === 0) return "No I/O with an address in this part with these filters.";
      const devices = rows.some((row) => row.device);
      const columns = [
        { head: "Addresses", value: (row) => `${row.low}-${row.high}`, text: (row) => `${amount(row.low)} – ${amount(row.high)}` },
        ...devices ? [{ head: "Device", value: (row) => row.device ?? null }] : [],
        { head: "First byte", value: (row) => row.low, text: (row) => count(row.low) },
        { head: "I/Os", value: (row) => row.ios, text: (row) => count(row.ios) },
        { head: "Share", value: (row) => row.share, text: (row) => percent(row.share) },
        {
          head: "Processes",
          value: (row) => row.processes.map((one) => `${one.name}: ${one.ios}`).join("; "),
          text: (row) => row.processes.map((one) => `${one.name} (${count(one.ios)})`).join(", ") || NONE
        }
      ];
      return {
        content: table("Address ranges with the most I/Os of what is shown, and who issued them", columns, rows),
        csv: tableCsv(columns, rows),
        note: (device === void 0 ? "" : `Addresses of ${device}. `) + "The ranges with the most I/Os come first. A process's number of I/Os in the range stands behind its name."
      };
    }
    async ios(shown, params) {
      if (exported()) return "An exported page has no single I/Os. Open the file with steadfast explore.";
      const answer = await ask(url("ios", { ...params, limit: PAGE, offset: this.offset }));
      if (answer.rows.length === 0) return nothing();
      const columns = answer.columns.map((head2, at) => ({
        head: plainHead(head2),
        value: (row) => row[at],
        text: (row) => this.single(shown.item, head2, row[at])
      }));
      const last = this.offset + answer.rows.length;
      const go = (by) => {
        this.offset = Math.max(0, this.offset + by);
        void this.panels[this.sides().findIndex((one) => one.letter === shown.letter)]?.panel.load(this.ios(shown, params));
      };
      const more = answer.total === void 0 || answer.total === null ? answer.rows.length === PAGE : last < answer.total;
      const pages = h(
        "div",
        { class: "tools" },
        button("Earlier", () => go(-PAGE), { disabled: this.offset === 0 }),
        h("span", {}, `${count(this.offset + 1)} to ${count(last)}${answer.total ? ` of ${count(answer.total)}` : ""}`),
        button("Later", () => go(PAGE), { disabled: !more })
      );
      return {
        content: h("div", {}, table("Single I/Os in order of issue", columns, answer.rows), pages),
        csv: tableCsv(columns, answer.rows),
        note: "Single I/Os in order of issue. The CSV file has those listed here."
      };
    }
    single(item, head2, value) {
      if (value === null || value === void 0) return NONE;
      if (typeof value !== "number") return String(value);
      if (head2 === "time_ns" || head2 === "issue_ns") return moment(value, clockOf(this.app, item), 1e3);
      if (head2.endsWith("_ns")) return span(value);
      return count(value);
    }
    marks({ side, item, part }) {
      const clock = clockOf(this.app, item);
      const marks = item.marks ?? [];
      const caveats = item.caveats ?? [];
      if (marks.length + caveats.length === 0) return "No marks and no caveats in this capture.";
      const columns = [
        { head: "Mark", value: text("text") },
        { head: "Time", value: num("t"), text: (row) => moment(Number(row["t"]), clock, 1e9) }
      ];
      const rows = marks.map((mark) => ({ ...mark }));
      const choose = {
        pick: (row) => {
          const from = Number(row["t"]);
          const next = marks.map((mark) => mark.t).filter((t) => t > from).sort((a, b) => a - b)[0];
          this.hands.show({ from, to: next ?? item.duration_ns ?? from + 1 }, side);
        },
        title: "Show from this mark to the next",
        chosen: (row) => part !== void 0 && part.from === row["t"]
      };
      return {
        content: h("div", {}, marks.length > 0 ? table("Marks", columns, rows, choose) : h("p", {}, "No marks."), caveatList(caveats)),
        csv: tableCsv(columns, rows)
      };
    }
  }
  function caveatList(caveats, pick) {
    if (caveats.length === 0) return h("p", { class: "quiet" }, "No caveats.");
    return h("ul", { class: "caveats" }, ...caveats.map((caveat) => {
      const where = pick && caveat.step !== null && caveat.step !== void 0 ? button(`Step ${caveat.step}`, () => pick(caveat)) : void 0;
      return h("li", {}, h("b", {}, caveat.text), " ", caveat.remedy ?? "", " ", where);
    }));
  }
  function processOf(row) {
    const pid = row["pid"];
    return typeof pid === "number" && pid > 0 ? ["pid", String(pid)] : ["process", String(row["command"] ?? row["process"])];
  }
  function inodeName(number2) {
    const file = Math.floor(number2 / 2 ** 48);
    const inode = `inode ${number2 % 2 ** 48}`;
    if (file === 0) return inode;
    return file === 65535 ? `one of several files of ${inode}` : `file ${file + 1} of ${inode}`;
  }
  function groupName(by, row) {
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
  function groupFilter(by, row) {
    if (by === "cgroup") return text("cgroup")(row);
    if (by === "thread") return text("tid")(row);
    const inode = num("inode")(row);
    return row["path"] === null || row["path"] === void 0 ? inode !== null && Number.isSafeInteger(inode) ? String(inode) : null : String(row["path"]).split(" or ")[0] ?? null;
  }
  const GROUP_HEADS = { file: "File", cgroup: "Cgroup", thread: "Thread" };
  function cumulative(rows) {
    const columns = [
      { head: "Stream", value: text("stream") },
      counted("I/Os", "count"),
      amounted("Amount", "amount"),
      shared("Share of all", "share"),
      shared("Share when applied", "normalized"),
      { head: "Alignment", value: num("alignment"), text: (row) => number(num("alignment")(row), "B") },
      { head: "QD", value: num("qd_mean"), text: (row) => number(num("qd_mean")(row)) }
    ];
    if (rows.length === 0) return nothing();
    return { ...listed("Cumulative workload: the I/O streams at or above the threshold", columns, rows), note: "The streams that a derived workload applies, with their shares of all I/Os and of those applied." };
  }
  function listed(caption, columns, rows, choose) {
    return { content: table(caption, columns, rows, choose), csv: tableCsv(columns, rows) };
  }
  function nothing() {
    return "No I/O in this part with these filters. Press Esc to go back.";
  }
  function rowsOf(answer, key) {
    const rows = answer?.[key];
    return Array.isArray(rows) ? rows : [];
  }
  function text(key) {
    return (row) => row[key] === null || row[key] === void 0 ? null : String(row[key]);
  }
  function num(key) {
    return (row) => typeof row[key] === "number" ? row[key] : null;
  }
  function nested(outer, key) {
    return (row) => {
      const value = row[outer]?.[key];
      return typeof value === "number" ? value : null;
    };
  }
  function per(value, by) {
    return value === null ? null : value / by;
  }
  function counted(head2, key) {
    return { head: head2, value: num(key), text: (row) => count(num(key)(row)) };
  }
  function shared(head2, key) {
    return { head: head2, value: num(key), text: (row) => percent(num(key)(row)) };
  }
  function amounted(head2, key) {
    return { head: head2, value: num(key), text: (row) => amount(num(key)(row)) };
  }
  function timed$1(head2, value) {
    return { head: head2, value, text: (row) => span(value(row)) };
  }
  function summed(mean) {
    const value = (row) => {
      const [one, ios] = [mean(row), num("count")(row)];
      return one === null || ios === null ? null : one * ios;
    };
    return { head: "Sum of times", value, text: (row) => span(value(row)) };
  }
  function plainHead(name) {
    const words = name.replace(/_ns$/, "").replace(/_/g, " ");
    return words.charAt(0).toUpperCase() + words.slice(1);
  }
  class Colors {
    constructor() {
      this.kept = /* @__PURE__ */ new Map();
    }
    /** The places in the palette of those that are drawn together, each another one. */
    of(ids) {
      const taken = /* @__PURE__ */ new Set();
      const places = ids.map((id) => this.kept.get(id));
      places.forEach((place) => place !== void 0 && taken.add(place));
      const used2 = /* @__PURE__ */ new Set();
      return ids.map((id, at) => {
        const kept2 = places[at];
        let place = kept2 !== void 0 && !used2.has(kept2) ? kept2 : 0;
        while (used2.has(place) || place !== kept2 && taken.has(place)) place += 1;
        used2.add(place);
        if (kept2 === void 0 && place < BANDS) this.kept.set(id, place);
        return place % BANDS;
      });
    }
  }
  const BAND_COLORS = [0, 1, 2, 3, 5, 6, 7, 9];
  const BANDS = BAND_COLORS.length;
  function head(scene, from, width) {
    const step = Math.min(width, 1e9);
    const day = scene.clock ? `${date(from, scene.clock)} ` : "";
    return `${day}${moment(from, scene.clock, step)} + ${span(width)}`;
  }
  function timed(scene, x) {
    return {
      x,
      marks: scene.marks.map((mark) => ({ x: mark.t, text: mark.text })),
      ticks: (from, to, most) => timeTicks(from, to, scene.clock, most)
    };
  }
  const X_NAME = "time_ns";
  function unit(measure) {
    return measure === "iops" ? "IOPS" : "MB/s";
  }
  function streamMap(answer, scene, colors, what, pick) {
    const list = bands(answer, scene.measure, BANDS);
    if (list.length === 0) return "No I/O in this part with these filters. Press Esc to go back.";
    const tops = stacked(list);
    const places = colors.of(list.filter((band) => !band.others).map((band) => band.id));
    const paints = list.map((band, at) => band.others ? OTHERS : color(BAND_COLORS[places[at] ?? at] ?? at, dark()));
    const areas = list.map((band, at) => ({ name: band.name, color: paints[at] ?? OTHERS, y: closed(known(answer, tops[at] ?? [])), kind: "area" })).reverse();
    const over = closed(coarseMean(answer));
    const halo = { name: "", color: ink("paper"), y: over, kind: "step", right: true, width: 3, halo: true };
    const mean = { name: "mean response time", color: ink("ink"), y: over, kind: "step", right: true, width: 1.2 };
    const total = totalRate(answer, scene.measure);
    const timedIos = greatest(answer.rt_mean_ns) > 0;
    const sheet = {
      ...timed(scene, cellEdges(answer)),
      lines: timedIos ? [...areas, halo, mean] : areas,
      left: { name: unit(scene.measure), format: brief },
      ...timedIos ? { right: { name: "mean response time", format: span } } : {},
      tips: (at, _2, y) => ({
        head: head(scene, answer.from + at * answer.width_ns, answer.width_ns),
        rows: mapTips(answer, scene, list, paints, total, at, bandAt(tops, at, y))
      })
    };
    const keys = list.map((band, at) => band.others ? { name: band.name, color: paints[at] ?? OTHERS } : { name: band.name, color: paints[at] ?? OTHERS, pick: (shift) => pick(band, shift) });
    if (timedIos) keys.push({ name: "mean response time (right)", color: ink("ink"), dash: true });
    const peak = greatest(total);
    return {
      sheet,
      keys,
      list,
      tops,
      xName: X_NAME,
      note: `${unit(scene.measure)} by ${what}; cells of ${span(answer.width_ns)}. Highest ${number(peak)} ${unit(scene.measure)}.`,
      spoken: `${unit(scene.measure)} over time, by ${what}. Highest ${number(peak)}. Largest: ${list[0]?.name ?? ""}.`,
      exact: (line2, at) => line2.right ? answer.rt_mean_ns[at] : list.find((band) => band.name === line2.name)?.rate[at]
    };
  }
  function mapTips(answer, scene, list, paints, total, at, under) {
    const ios = answer.ios.reduce((sum, key) => sum + (key[at] ?? 0), 0);
    const bytes = answer.bytes.reduce((sum, key) => sum + (key[at] ?? 0), 0);
    const rows = [
      { name: "All", value: `${number(typeof answer.observed_ns[at] === "number" ? total[at] : null)} ${unit(scene.measure)}` },
      { name: "I/Os, amount", value: `${count(ios)}, ${amount(bytes)}` }
    ];
    list.map((band, index) => ({ band, index })).reverse().forEach(({ band, index }) => {
      const value = band.rate[at] ?? 0;
      if (value > 0) rows.push({ name: (index === under ? "▸ " : "") + band.name, value: number(value), color: paints[index] ?? OTHERS });
    });
    rows.push({ name: "Response time: mean", value: span(answer.rt_mean_ns[at]) });
    rows.push({ name: "99 %, maximum", value: `${span(answer.rt_p99[at])}, ${span(answer.rt_max[at])}` });
    return rows;
  }
  function responseTimes(heat, series, scene, common2) {
    const most = mostOf(heat);
    if (most === 0) return "No response times in this part. Some traces do not record completions.";
    const [first, last] = used(heat);
    const low = heat.row_edges[first] || heat.row_edges[first + 1] || 1;
    const line2 = (name, y, paint2, dash) => ({ name, color: paint2, y: closed(y), kind: "step", width: 1.3, dash });
    const lines = [
      line2("50 %", series.rt_p50, ink("ink")),
      line2("99 %", series.rt_p99, color(1, dark())),
      line2("99.9 %", series.rt_p999, color(3, dark()), [5, 3])
    ];
    const sheet = {
      ...timed(scene, cellEdges(series)),
      lines,
      left: { name: "response time ns", log: true, low, high: heat.row_edges[last + 1] ?? low * 10, format: span },
      heat: { answer: heat, most, image: paint(heat, common2 ?? most, dark()) },
      tips: (at, x, y) => ({ head: head(scene, series.from + at * series.width_ns, series.width_ns), rows: [
        ...heatTip(heat, x, y, span),
        { name: "50 %", value: span(series.rt_p50[at]), color: lines[0]?.color ?? "" },
        { name: "99 %", value: span(series.rt_p99[at]), color: lines[1]?.color ?? "" },
        { name: "99.9 %", value: span(series.rt_p999[at]), color: lines[2]?.color ?? "" },
        { name: "maximum", value: span(series.rt_max[at]) }
      ] })
    };
    const worst = greatest(series.rt_max);
    return {
      sheet,
      xName: X_NAME,
      keys: lines.map((one) => ({ name: one.name, color: one.color, dash: true })),
      note: `I/Os of each cell and response time, few (faint) to ${count(most)} (strong). Percentiles have a line where at least ten I/Os lie beyond them.`,
      spoken: `Heat map of response times over time. Longest ${span(worst)}.`
    };
  }
  function filled(heat) {
    let [first, last] = [heat.rows - 1, 0];
    heat.counts.forEach((one, at) => {
      if (one > 0) [first, last] = [Math.min(first, at % heat.rows), Math.max(last, at % heat.rows)];
    });
    return [first, last];
  }
  function used(heat) {
    const [first, last] = filled(heat);
    return [Math.max(0, first - 1), Math.min(heat.rows - 1, last + 1)];
  }
  function heatTip(heat, x, y, format, what = "I/Os") {
    const cell2 = Math.floor((x - heat.from) / heat.width_ns);
    if (cell2 < 0 || cell2 >= heat.cells) return [];
    const row = rowOf(heat.row_edges, y);
    const range = `${format(heat.row_edges[row] ?? 0)} – ${format(heat.row_edges[row + 1] ?? 0)}`;
    return [{ name: range, value: `${count(heat.counts[cell2 * heat.rows + row] ?? 0)} ${what}` }];
  }
  function depth(series, scene) {
    if (greatest(series.qd_max) === 0 && greatest(series.busy) === 0) return "No queue depth in this part.";
    const rest = idle(series.busy);
    const lines = [
      { name: "idle time", color: dark() ? "#4a4d52" : "#d4d4d0", y: closed(rest.map((share) => typeof share === "number" ? share * 100 : null)), kind: "area", right: true },
      { name: "maximum QD", color: color(1, dark()), y: closed(series.qd_max), kind: "step", width: 1 },
      { name: "mean QD", color: color(0, dark()), y: closed(series.qd_mean), kind: "step", width: 1.6 }
    ];
    const sheet = {
      ...timed(scene, cellEdges(series)),
      lines,
      left: { name: "QD", format: brief },
      right: { name: "idle %", low: 0, high: 100, format: (value) => `${value} %` },
      tips: (at) => ({ head: head(scene, series.from + at * series.width_ns, series.width_ns), rows: [
        { name: "Mean queue depth", value: number(series.qd_mean[at]), color: lines[2]?.color ?? "" },
        { name: "Maximum", value: count(series.qd_max[at]), color: lines[1]?.color ?? "" },
        { name: "Idle", value: percent(rest[at] ?? null), color: lines[0]?.color ?? "" }
      ] })
    };
    const known2 = rest.filter((share) => typeof share === "number");
    const mean = known2.length > 0 ? known2.reduce((sum, one) => sum + one, 0) / known2.length : null;
    return {
      sheet,
      xName: X_NAME,
      keys: [...lines].reverse().map((line2) => ({ name: line2.right ? "idle time (right)" : line2.name, color: line2.color, dash: !line2.right })),
      note: `I/Os outstanding, and the share of time with none. Idle ${percent(mean)} of this part.`,
      spoken: `Queue depth over time. Deepest ${count(greatest(series.qd_max))}. Idle ${percent(mean)} of the time.`
    };
  }
  function hits(heat, scene, common2, readOut) {
    const [first, last] = filled(heat);
    const reach = `Hit between ${amount(heat.row_edges[first])} and ${amount(heat.row_edges[last + 1])} from the start of the device.`;
    const drawing = heatOnly(
      heat,
      scene,
      common2,
      amount,
      "address",
      `${reach} Few hits (faint) to many (strong); an I/O hits each of 1,024 address ranges that it touches.`,
      "No I/O with an address in this part with these filters."
    );
    if (typeof drawing !== "string") {
      drawing.sheet.more = (at) => {
        const from = heat.from + at * heat.width_ns;
        return readOut(from, from + heat.width_ns).then(readOutTips);
      };
    }
    return drawing;
  }
  function readOutTips(answer) {
    const digits = answer.tolerance_percent < 0.1 ? 2 : 1;
    return answer.streams.map(({ stream, bytes_there, percent: at }) => ({
      name: stream,
      value: `${(bytes_there / 2 ** 30).toFixed(3)} GiB at ${at.toFixed(digits)} % ± ${answer.tolerance_percent.toFixed(digits)}`
    }));
  }
  function subsecond(heat, scene, common2) {
    return heatOnly(
      heat,
      scene,
      common2,
      span,
      "offset in second",
      "The part of its second at which each I/O came. Periodic work draws lines, bursts draw columns.",
      "No I/O in this part with these filters."
    );
  }
  function heatOnly(heat, scene, common2, format, name, note, nothing2) {
    const most = mostOf(heat);
    if (most === 0) return nothing2;
    const edges = heat.row_edges;
    const sheet = {
      ...timed(scene, cellEdges(heat)),
      lines: [],
      left: { name, low: edges[0] ?? 0, high: edges[heat.rows] ?? 1, format: narrow() ? (value) => format(value).replace(" ", "") : format },
      heat: { answer: heat, most, image: paint(heat, common2 ?? most, dark()) },
      tips: (at, x, y) => ({ head: head(scene, heat.from + at * heat.width_ns, heat.width_ns), rows: heatTip(heat, x, y, format, name === "address" ? "hits" : "I/Os") })
    };
    return { sheet, keys: [], xName: X_NAME, note: `${note} Most in one cell: ${count(most)}.`, spoken: `Heat map of ${name} over time.` };
  }
  const SHARED = 1024;
  function whole(answers, scene, duration) {
    const first = answers[0];
    if (!first) return "No capture.";
    const alone = answers.length === 1;
    const axis = alone ? first.answer : { from: 0, width_ns: duration / SHARED, cells: SHARED };
    const x = cellEdges(axis);
    const lines = answers.map(({ name, answer }, at) => {
      const rate = known(answer, totalRate(answer, scene.measure));
      const y = alone ? rate : x.slice(0, -1).map((ns) => rate[Math.floor((ns + axis.width_ns / 2 - answer.from) / answer.width_ns)] ?? null);
      return { name, color: color(at, dark()), y: closed(y), kind: at === 0 ? "area" : "step" };
    });
    const sheet = {
      ...timed(scene, x),
      lines,
      named: true,
      left: { name: unit(scene.measure), format: brief },
      tips: (at) => ({
        head: head(scene, axis.from + at * axis.width_ns, axis.width_ns),
        rows: lines.map((line2) => ({ name: line2.name, value: `${number(line2.y[at])} ${unit(scene.measure)}`, color: line2.color }))
      })
    };
    return { sheet, keys: answers.length > 1 ? lines.map((line2) => ({ name: line2.name, color: line2.color })) : [], note: "", spoken: "Rate of the whole capture.", xName: X_NAME };
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
  const OUTSIDE = "This capture has no time in this part. Press Esc to go back.";
  class CapturePage {
    constructor(app) {
      this.app = app;
      this.root = h("div", { class: "page" });
      this.bar = h("div", { class: "bar" });
      this.facts = h("div", { class: "facts" });
      this.drawings = h("div", { class: "drawings" });
      this.colors = new Colors();
      this.rows = [];
      this.layout = "";
      this.overviewShown = "";
      this.overview = new DrawingPanel("Overview", () => this.fileName(), "time", 96, {});
      this.overview.root.classList.add("overview");
      this.brush = new Brush(this.overview.pane, {
        part: () => this.part(),
        duration: () => this.duration(),
        say: (from, to) => this.say(from, to),
        chosen: (part) => this.zoom(part)
      });
      this.tables = new Tables(app, () => this.rows.map((row) => ({ side: row.side, item: row.item, letter: row.letter, device: addressDevice(row), part: this.own(row), outside: this.isOutside(row) })), {
        pick: (facet2, value, shift, side) => this.pick(facet2, value, shift, side),
        show: (part, side) => this.zoom(this.onAxis(part, this.rowOf(side)?.shift ?? 0)),
        command: (side, view) => {
          const row = this.rowOf(side);
          if (row) void this.command(row, view);
        }
      });
      this.root.append(this.facts, this.bar, this.overview.root, this.drawings, this.tables.root);
    }
    rowOf(side) {
      return this.rows.find((row) => row.side === side);
    }
    /** The part that is shown, in a capture's own time; the whole where there is none. */
    own(row) {
      const part = ownPart(this.part(), row.shift, row.item.duration_ns ?? 0);
      return part === "outside" ? void 0 : part;
    }
    isOutside(row) {
      return ownPart(this.part(), row.shift, row.item.duration_ns ?? 0) === "outside";
    }
    /** A part of a capture's own time as a part of the axis. */
    onAxis(part, shift) {
      return inside(part.from + shift, part.to + shift, this.duration());
    }
    part() {
      const { from, to } = this.app.state;
      return from !== void 0 && to !== void 0 ? inside(from, to, this.duration()) : void 0;
    }
    duration() {
      return Math.max(1, ...this.rows.map((row) => (row.item.duration_ns ?? 0) + row.shift));
    }
    reach() {
      const part = this.part();
      return part ? [part.from, part.to] : this.whole();
    }
    /** The whole axis; a fold file alone begins with its first capture. */
    whole() {
      return [this.rows.length === 1 ? this.rows[0]?.item.start_ns ?? 0 : 0, this.duration()];
    }
    say(from, to) {
      const first = this.rows[0];
      if (!first) return "";
      const { clock } = this.scene(first);
      const step = Math.min(1e9, Math.max(1, (to - from) / 100));
      return `${moment(from, clock, step)} to ${moment(to, clock, step)} (${lasting((to - from) / 1e9)})`;
    }
    fileName() {
      const first = this.rows[0];
      return first ? shortName(first.item) : "capture";
    }
    update() {
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
    sides(item) {
      const { versus, filters } = this.app.state;
      const sides = [{ side: { n: item.n, filters }, item }];
      const other = versus && itemOf(this.app, versus.n);
      if (versus && other && other.state === "ready" && other.kind === "capture") sides.push({ side: versus, item: other });
      const layout = sides.map(({ item: one }) => one.n).join(",");
      if (layout !== this.layout) {
        this.rows.forEach((row) => row.panels.forEach((panel) => panel.pane.destroy()));
        this.rows = sides.map(({ side, item: one }, at) => this.makeRow(side, one, sides.length > 1 ? ["A", "B"][at] ?? "" : ""));
        this.drawings.replaceChildren(...KINDS.map((kind) => h(
          "div",
          { class: "pair" },
          ...this.rows.flatMap((row) => row.panels.get(kind)?.root ?? [])
        )));
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
    title(row, kind) {
      if (this.rows.length < 2) return TITLES[kind];
      const filters = describe(row.side.filters);
      return `${row.letter}: ${TITLES[kind]}, ${shortName(row.item)}${filters ? `, ${filters}` : ""}`;
    }
    makeRow(side, item, letter) {
      const row = { side, item, letter, shift: 0, panels: /* @__PURE__ */ new Map(), map: void 0, hitChoice: h("span"), hitDevice: void 0 };
      for (const kind of KINDS) {
        const hands = {
          zoom: (from, to) => this.zoom(inside(from, to, this.duration())),
          ...kind === "map" ? { pick: (at, _2, y, shift) => this.pickArea(row, at, y, shift) } : {}
        };
        const tools = kind === "lba" || kind === "subsecond" ? [] : [{ text: "Command", title: "Copy as command", act: () => void this.command(row, kind) }];
        const title = `${letter ? `${letter}: ` : ""}${TITLES[kind]}`;
        const panel = new DrawingPanel(title, () => shortName(row.item), "time", HEIGHTS[kind], hands, tools);
        panel.root.dataset["view"] = kind;
        if (kind === "lba") panel.head.prepend(row.hitChoice);
        row.panels.set(kind, panel);
      }
      return row;
    }
    pickArea(row, at, y, shift) {
      const found = row.map && bandAt(row.map.tops, at, y);
      const band = found === void 0 ? void 0 : row.map?.list[found];
      if (band && !band.others) this.pickBand(row, band, shift);
    }
    pickBand(row, band, shift) {
      if (this.app.state.by === "stream") return this.pick("stream", band.name, shift, row.side);
      const byNumber2 = /^\d+$/.test(band.id);
      this.pick(byNumber2 ? "pid" : "process", band.id, shift, row.side);
    }
    /** A click filters its side; with Shift the second side becomes the first one with this instead. */
    pick(facet2, value, shift, side) {
      if (exported()) return announce("An exported page cannot filter. Open the file with steadfast explore.");
      if (shift) {
        const filters2 = { ...side.filters, [facet2]: [value] };
        return this.app.go({ versus: { n: side.n, filters: filters2 } });
      }
      const filters = toggled(side.filters, facet2, value);
      const second = this.app.state.versus;
      if (second && side === this.rows[1]?.side) this.app.go({ versus: { ...second, filters } });
      else this.app.go({ filters });
    }
    zoom(part) {
      this.app.go({ from: part?.from, to: part?.to });
    }
    scene({ item, shift }) {
      const clock = clockOf(this.app, item);
      return {
        clock: clock && { ...clock, begin_ns: clock.begin_ns - shift },
        marks: (item.marks ?? []).map((mark) => ({ ...mark, t: mark.t + shift })),
        measure: this.app.state.measure
      };
    }
    async series(row, by) {
      const [part, whole2] = [this.own(row), this.part()];
      if (whole2 && this.isOutside(row)) return noSeries(whole2);
      return placed(await ask(url("series", { ...common(row.side, part?.from, part?.to), by, cells: 1024 })), row.shift);
    }
    async heat(row, kind, rows, op) {
      const [part, whole2] = [this.own(row), this.part()];
      if (row.item.refused?.[kind] !== void 0) return noHeat({ from: 0, to: this.duration() });
      if (whole2 && this.isOutside(row)) return noHeat(whole2);
      const ops = op && row.side.filters.op.length === 0 ? { op: [op] } : {};
      const device = kind === "lba" ? addressDevice(row) : void 0;
      const devices = device === void 0 ? {} : { device: [device] };
      return placed(await ask(url("heat", { ...common(row.side, part?.from, part?.to), kind, cells: 512, rows, ...ops, ...devices })), row.shift);
    }
    /** What each stream moved in a column of the hit map, and where. */
    readOut(row, from, to) {
      const device = addressDevice(row);
      const op = this.hitOp();
      const ops = op && row.side.filters.op.length === 0 ? { op: [op] } : {};
      const devices = device === void 0 ? {} : { device: [device] };
      const [begin, end] = [Math.max(0, Math.round(from - row.shift)), Math.round(to - row.shift)];
      return ask(url("read-out", { ...common(row.side, begin, end), ...ops, ...devices }));
    }
    loadAll() {
      void this.loadOverview();
      for (const row of this.rows) {
        void this.load(row, "map", this.map(row));
        void this.load(row, "rt", this.times(row));
        void this.load(row, "qd", this.series(row, "stream").then((answer) => depth(answer, this.scene(row))));
        void this.load(row, "lba", this.common(
          row,
          (one) => this.heat(one, "lba", 128, this.hitOp()),
          (heat, scene, most) => hits(heat, scene, most, (from, to) => this.readOut(row, from, to))
        ));
        void this.load(row, "subsecond", this.common(row, (one) => this.heat(one, "subsecond", 50), subsecond));
        this.hitSwitch(row);
      }
      this.tables.load();
    }
    hitOp() {
      return this.app.state.hits === "all" ? void 0 : this.app.state.hits;
    }
    hitSwitch(row) {
      const fixed = row.side.filters.op.length > 0;
      row.hitChoice.replaceChildren(...this.deviceSwitch(row), ...fixed ? [] : [choice(
        "Operations in the hit map",
        [["all", "All"], ["read", "Reads"], ["write", "Writes"]],
        this.app.state.hits,
        (value) => this.app.go({ hits: value })
      )]);
    }
    /** Addresses are those of one device: which, where there are several. */
    deviceSwitch(row) {
      const names = devicesOf(row);
      if (names.length < 2) return [];
      const now = addressDevice(row);
      const select = h("select", { "aria-label": "Device of the addresses", onchange: () => {
        row.hitDevice = select.value;
        this.loadAll();
      } }, ...names.map((name) => h("option", { value: name, selected: name === now }, name)));
      return [select];
    }
    load(row, kind, coming) {
      const instead = row.item.refused?.[kind] ?? (this.isOutside(row) ? OUTSIDE : void 0);
      const drawing = instead === void 0 ? coming : coming.then(() => instead);
      return row.panels.get(kind)?.load(drawing, () => this.reach()) ?? Promise.resolve();
    }
    /** The same scales on both sides, so that heights can be compared. */
    async map(row) {
      const { by } = this.app.state;
      const views = await Promise.all(this.rows.map(async (one) => streamMap(await this.series(one, by), this.scene(one), this.colors, by, (band, shift) => this.pickBand(one, band, shift))));
      const view = views[this.rows.indexOf(row)];
      if (!view || typeof view === "string") return view ?? "";
      row.map = view;
      const top = (right) => Math.max(1e-9, ...views.flatMap((one) => typeof one === "string" ? [] : one.sheet.lines).filter((line2) => (line2.right ?? false) === right).map((line2) => line2.y.reduce((most, value) => Math.max(most, value ?? 0), 0)));
      view.sheet.left.high = top(false) * 1.05;
      if (view.sheet.right) view.sheet.right.high = top(true) * 1.05;
      return view;
    }
    async times(row) {
      const views = await Promise.all(this.rows.map(async (one) => {
        const [heat, series] = await Promise.all([this.heat(one, "rt", 64), this.series(one, "stream")]);
        return { heat, series };
      }));
      const most = Math.max(...views.map(({ heat }) => mostOf(heat)));
      const drawings = views.map(({ heat, series }, at) => responseTimes(heat, series, this.scene(this.rows[at] ?? row), most));
      const axes = drawings.flatMap((one) => typeof one === "string" ? [] : [one.sheet.left]);
      const [low, high] = [Math.min(...axes.map((axis) => axis.low ?? 1)), Math.max(...axes.map((axis) => axis.high ?? 10))];
      axes.forEach((axis) => [axis.low, axis.high] = [low, high]);
      return drawings[this.rows.indexOf(row)] ?? "";
    }
    async common(row, asked, draw) {
      const heats = await Promise.all(this.rows.map((one) => asked(one)));
      const heat = heats[this.rows.indexOf(row)];
      return heat ? draw(heat, this.scene(row), Math.max(...heats.map(mostOf))) : "";
    }
    async loadOverview() {
      const first = this.rows[0];
      if (!first) return;
      const now = JSON.stringify([this.rows.map((row) => [row.item.n, row.shift]), this.app.state.measure, this.app.state.time]);
      if (now === this.overviewShown) return;
      this.overviewShown = now;
      const different = this.rows.filter((row, at) => at === 0 || row.item.n !== first.item.n);
      const coming = Promise.all(different.map(async (row) => ({
        name: shortName(row.item),
        answer: placed(await ask(url("series", { ...common({ n: row.side.n, filters: noFilters() }), by: "stream", cells: 1024 })), row.shift)
      }))).then((answers) => whole(answers, this.scene(first), this.duration()));
      await this.overview.load(coming, () => this.whole());
      this.brush.attach();
    }
    chips() {
      const { state } = this.app;
      const part = this.part();
      const chips = this.rows.flatMap((row, at) => FACETS.flatMap((facet2) => row.side.filters[facet2].map((value) => {
        const text2 = `${row.letter ? `${row.letter} ` : ""}${FACET_NAMES[facet2]}: ${facet2 === "pid" ? nameOfPid(row.item, value) : value} ×`;
        return button(text2, () => this.drop(at, facet2, value), { class: "chip", title: "Remove this filter" });
      })));
      if (part) chips.push(button(`${this.say(part.from, part.to)} ×`, () => this.zoom(void 0), { class: "chip", title: "Show the whole time" }));
      if (state.versus) chips.push(button("End comparison ×", () => this.app.go({ versus: void 0 }), { class: "chip" }));
      const second = this.rows[0] && clockOf({ ...this.app, state: { ...state, time: "clock" } }, this.rows[0].item);
      const span2 = this.minute();
      this.bar.replaceChildren(
        choice("Measure", [["iops", "IOPS"], ["mb", "MB/s"]], state.measure, (measure) => this.app.go({ measure })),
        choice("Stacked by", [["stream", "By stream"], ["process", "By process"]], state.by, (by) => this.app.go({ by })),
        ...second ? [choice("Times", [["clock", "Clock"], ["start", "From start"]], state.time, (time) => this.app.go({ time }))] : [],
        button(`Slowest ${span2.name}`, () => void this.find("slowest"), { title: "Show the part with the longest mean response time (S)" }),
        button(`Busiest ${span2.name}`, () => void this.find("busiest"), { title: "Show the part with the most I/Os (B)" }),
        ...this.filterSelects(),
        ...this.compareWith(),
        button("Derive workload", () => void this.workload(), { title: "The I/O streams of what is shown, as a file that steadfast can apply" }),
        h("span", { class: "chips", "aria-label": "Filters" }, ...chips)
      );
    }
    /** Device, layer and direction, where there is a choice. */
    filterSelects() {
      const item = this.rows[0]?.item;
      if (!item || exported()) return [];
      const { filters } = this.app.state;
      const select = (facet2, name, all, values2) => {
        const now = filters[facet2].length === 1 ? filters[facet2][0] : "";
        const made2 = h("select", { "aria-label": name, "data-facet": facet2, onchange: () => {
          this.app.go({ filters: { ...filters, [facet2]: made2.value === "" ? [] : [made2.value] } });
        } }, h("option", { value: "" }, all), ...values2.map((value) => h("option", { value, selected: value === now }, value)));
        return made2;
      };
      const devices = deviceNames(item);
      return [
        ...devices.length > 1 ? [select("device", "Device", "All devices", devices)] : [],
        ...(item.layers ?? []).length > 1 ? [select("layer", "Layer", "Block layer", ["filesystem", "both"])] : [],
        select("op", "Operation", "All operations", ["read", "write", "discard", "flush"])
      ];
    }
    compareWith() {
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
    alignment() {
      const items = this.rows.map((row) => row.item);
      const found = ways(items);
      if (items.length < 2 || items[0]?.n === items[1]?.n || found.length < 2) return void 0;
      const now = aligned(items, this.app.state.align).align;
      const select = h(
        "select",
        { "aria-label": "Align the captures", onchange: () => this.app.go({ align: select.value, from: void 0, to: void 0 }) },
        ...found.map((way) => h("option", { value: way.align, selected: way.align === now }, way.text))
      );
      return select;
    }
    drop(at, facet2, value) {
      const { filters, versus } = this.app.state;
      if (at === 0) this.app.go({ filters: without(filters, facet2, value) });
      else if (versus) this.app.go({ versus: { ...versus, filters: without(versus.filters, facet2, value) } });
    }
    /** A minute; of a short capture a twentieth of it. */
    minute() {
      const item = this.rows[0]?.item;
      const duration = (item?.duration_ns ?? 0) - (item?.start_ns ?? 0);
      if (duration >= 18e10) return { ns: 6e10, name: "minute" };
      const second = Math.max(1, Math.round(duration / 2e10));
      return duration > 2e10 ? { ns: second * 1e9, name: second === 1 ? "second" : `${second} s` } : { ns: duration / 20, name: "twentieth" };
    }
    async find(what) {
      const first = this.rows[0];
      if (!first) return;
      try {
        const answer = await ask(url("series", { ...common(first.side), by: "stream", cells: 1024 }));
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
    async closer(side, answer, what) {
      const wide = this.minute().ns;
      const found = extreme(answer, wide, what);
      if (!found || found.to - found.from <= wide * 1.5 || exported()) return found;
      const inner = await ask(url("series", { ...common(side, Math.floor(found.from), Math.ceil(found.to)), by: "stream", cells: 1024 }));
      return extreme(inner, wide, what) ?? found;
    }
    async command(row, view) {
      const part = this.own(row);
      try {
        if (this.isOutside(row)) return textDialog("Copy as command", OUTSIDE, "There is no command for this view.");
        const { command } = await ask(url("command", { ...common(row.side, part?.from, part?.to), view }));
        textDialog("Copy as command", command, "The command that prints the same numbers.");
      } catch (error) {
        textDialog("Copy as command", said(error), "There is no command for this view.");
      }
    }
    async workload() {
      const first = this.rows[0];
      if (!first) return;
      const part = this.own(first);
      try {
        const { toml } = await ask(url("workload", common(first.side, part?.from, part?.to)));
        textDialog("Derive workload", toml, "Save this file and apply it: steadfast run replay-native --workload FILE --target DEVICE", { name: "workload.toml", type: "application/toml" });
      } catch (error) {
        textDialog("Derive workload", said(error), "No workload of this part.");
      }
    }
    about(item) {
      const text2 = [item.workload_name, item.comment].filter((one) => Boolean(one)).join(" – ");
      this.facts.replaceChildren(...text2 ? [h("p", { class: "quiet" }, text2)] : []);
      if (item.step_ns) {
        this.facts.append(h("p", { class: "quiet" }, `Totals of capture steps of ${span(item.step_ns)}. I/Os within a step are not kept; parts of the time are whole steps.`));
      }
      if (exported()) {
        this.facts.append(h("p", { class: "notice" }, "Exported page: its numbers are inside. It cannot filter, compare, count a part again or list single I/Os; open the file with steadfast explore for that."));
      }
    }
    key(event) {
      const { state } = this.app;
      const [from, to] = this.reach();
      const moves = ["ArrowLeft", "ArrowRight", "+", "-", "Home"];
      const part = moves.includes(event.key) ? byKey(event.key, from, to, this.duration()) : void 0;
      if (part) this.zoom(inside(part.from, part.to, this.duration()));
      else if (event.key === "s") void this.find("slowest");
      else if (event.key === "b") void this.find("busiest");
      else if (event.key === "m") this.app.go({ measure: state.measure === "iops" ? "mb" : "iops" });
      else if (event.key === "p") this.app.go({ by: state.by === "stream" ? "process" : "stream" });
      else return false;
      return true;
    }
    redraw() {
      [this.layout, this.overviewShown] = ["", ""];
      this.update();
    }
    close() {
      this.overview.pane.destroy();
      this.rows.forEach((row) => row.panels.forEach((panel) => panel.pane.destroy()));
    }
  }
  function deviceNames(item) {
    return (item.devices ?? []).map((device) => typeof device === "string" ? device : device.name);
  }
  function devicesOf({ side, item }) {
    const chosen = side.filters.device;
    return deviceNames(item).filter((name) => chosen.length === 0 || chosen.includes(name));
  }
  function addressDevice(row) {
    const names = devicesOf(row);
    if (names.length < 2) return void 0;
    return names.find((name) => name === row.hitDevice) ?? names[0];
  }
  function describe(filters) {
    if (!anyFilter(filters)) return "";
    return FACETS.flatMap((facet2) => filters[facet2]).join(", ");
  }
  function nameOfPid(item, pid) {
    const found = (item.processes ?? []).find((process) => process.pids?.some((one) => String(one) === pid));
    return found ? `${found.name} (${pid})` : pid;
  }
  const bySeconds = (from, to, most) => timeTicks(from * 1e9, to * 1e9, void 0, most).map(([ns, name]) => [ns / 1e9, name]);
  const byNumber = (from, to) => ticks$1({ label: "", low: from, high: to, log: false }).filter(([value]) => Number.isInteger(value));
  const byNines = () => [[0, "0 %"], [nines(0.5), "50 %"], [1, "90 %"], [2, "99 %"], [3, "99.9 %"], [4, "99.99 %"], [5, "99.999 %"], [6, "99.9999 %"]];
  function plain(line2) {
    return { kind: "line", ...line2 };
  }
  function tips(head2, x, lines, text2) {
    return (at) => ({
      head: head2(x[at] ?? 0),
      rows: lines.flatMap((line2) => {
        const value = line2.y[at];
        return value === null || value === void 0 ? [] : [{ name: line2.name, value: text2(line2, value), color: line2.color }];
      })
    });
  }
  function keysOf(lines, right = "") {
    return lines.map((line2) => ({ name: line2.name + (line2.right ? right : ""), color: line2.color, dash: true }));
  }
  function track(name, runs) {
    const found = runs.flatMap((run) => {
      const one = run.answer.tracks.find((candidate) => candidate.name === name);
      return one ? [{ run, one }] : [];
    });
    const rounds = joined(found.map(({ one }) => ({ x: one.rounds.map((each) => each.round), y: one.rounds.map((each) => each.value) })));
    if (rounds.x.length === 0) return "No round is finished yet.";
    const first = found[0]?.one;
    const unit2 = first?.unit ?? "";
    const lines = found.map(({ run }, at) => ({ name: run.name, color: color(run.place, dark()), y: rounds.y[at] ?? [], kind: "points" }));
    const window2 = first?.window ?? void 0;
    const sheet = {
      x: rounds.x,
      marks: [],
      ticks: byNumber,
      lines: [...lines, ...window2 ? limits(rounds.x, window2) : []],
      left: { name: `${name} ${unit2}`, format: brief },
      tips: () => ({ head: "", rows: [] })
    };
    if (window2) sheet.shaded = { from: window2.from - 0.5, to: window2.to + 0.5 };
    const values2 = sheet.lines.flatMap((line2) => line2.y).filter((value) => typeof value === "number");
    const [low, high] = [Math.min(...values2), Math.max(...values2)];
    sheet.left.low = Math.max(0, low - (high - low || high) * 0.15);
    sheet.left.high = high + (high - low || high) * 0.15;
    sheet.tips = tips((x) => `Round ${x}`, rounds.x, sheet.lines, (_2, value) => number(value, unit2));
    const verdict = first?.verdict ?? "";
    return {
      sheet,
      keys: keysOf(sheet.lines),
      xName: "round",
      note: [unit2, window2 ? `window: rounds ${window2.from} to ${window2.to}` : "no window yet", verdict].filter(Boolean).join("; "),
      spoken: `${name} by round. ${verdict}`
    };
  }
  function limits(x, window2) {
    const held = (value) => x.map((round2) => round2 >= window2.from && round2 <= window2.to ? value((round2 - window2.from) / Math.max(1, window2.to - window2.from)) : null);
    return [
      plain({ name: "average", color: ink("quiet"), y: held(() => window2.average), width: 1.5 }),
      plain({ name: "lowest allowed", color: ink("bad"), y: held(() => window2.low), dash: [5, 3], width: 1 }),
      plain({ name: "highest allowed", color: ink("bad"), y: held(() => window2.high), dash: [5, 3], width: 1 }),
      plain({ name: "slope", color: ink("mild"), y: held((share) => window2.slope_from + share * (window2.slope_to - window2.slope_from)), dash: [2, 2] })
    ];
  }
  function stepsOver(runs, what) {
    const value = (step) => what === "iops" ? step.iops : what === "mb" ? step.mb_s : step.rt_mean_ns;
    const placed2 = runs.map(({ answer }) => answer.steps.filter((step) => step.start_s !== null));
    const all = joined(placed2.map((steps2) => ({ x: steps2.map((step) => step.start_s ?? 0), y: steps2.map(value) })));
    if (all.x.length === 0) return "No step is finished yet.";
    const lines = runs.map(({ name, place }, at) => ({ name, color: color(place, dark()), y: all.y[at] ?? [], kind: "points" }));
    const text2 = (one) => what === "rt" ? span(one) : number(one, what === "iops" ? "IOPS" : "MB/s");
    const steps = new Map(placed2.flat().map((step) => [step.start_s, step]));
    const marks = (runs[0]?.answer.caveats ?? []).flatMap((caveat) => {
      const at = caveat.t ?? runs[0]?.answer.steps.find((step) => step.i === caveat.step)?.start_s;
      return at === null || at === void 0 ? [] : [{ x: at, text: caveat.text }];
    });
    const sheet = {
      x: all.x,
      lines,
      marks,
      ticks: bySeconds,
      left: { name: what === "rt" ? "mean response time ns" : what === "iops" ? "IOPS" : "MB/s", log: true, format: what === "rt" ? span : brief },
      tips: tips((x) => `${steps.get(x)?.place ?? ""} ${steps.get(x)?.name ?? ""} at ${lasting(x)}`.trim(), all.x, lines, (_2, one) => text2(one))
    };
    return {
      sheet,
      keys: runs.length > 1 ? keysOf(lines) : [],
      xName: "start_s",
      note: `One point for each step, at its start; logarithmic axis.${marks.length > 0 ? " Dashed lines: caveats." : ""} Click a point to see the step.`,
      spoken: `${sheet.left.name} of ${count(steps.size)} steps over time.`
    };
  }
  function sensors(runs) {
    const known2 = runs.flatMap((run) => run.answer.sensors && run.answer.sensors.t.length > 0 ? [{ run, one: run.answer.sensors }] : []);
    const has2 = (pick) => known2.some((one) => pick(one).some((value) => typeof value === "number"));
    const [warm, busy] = [has2(({ one }) => one.temperature), has2(({ one }) => one.load)];
    if (!warm && !busy) return "Neither temperature nor host load was recorded.";
    const columns = known2.flatMap(({ run, one }) => [
      { run, x: one.t, y: one.temperature, right: false, name: "temperature" },
      { run, x: one.t, y: one.load.map((share) => typeof share === "number" ? share * 100 : null), right: warm, name: "host load" }
    ]).filter((column) => column.y.some((value) => typeof value === "number"));
    const all = joined(columns);
    const several = known2.length > 1;
    const load = { name: "load %", format: (value) => `${brief(value)} %` };
    const lines = columns.map(({ run, right, name }, at) => ({
      name: several ? `${name}, ${run.name}` : name,
      color: color(several ? run.place : right ? 0 : 1, dark()),
      y: all.y[at] ?? [],
      kind: "points",
      right,
      ...right ? { dash: [5, 3] } : {}
    }));
    const sheet = {
      x: all.x,
      lines,
      marks: [],
      ticks: bySeconds,
      left: !warm ? load : { name: "°C", low: lowest(known2.flatMap(({ one }) => one.temperature)), format: (value) => `${brief(value)} °C` },
      ...warm && busy ? { right: load } : {},
      tips: tips((x) => `At ${lasting(x)}`, all.x, lines, (line2, value) => line2.name.startsWith("host") ? number(value, "%") : number(value, "°C"))
    };
    return { sheet, keys: keysOf(lines, " (right)"), xName: "t_s", note: [warm ? "Temperature of the drive." : "No temperature was recorded.", !busy ? "No host load was recorded." : `Load of the host's processors${warm ? " (right)." : "."}`].join(" "), spoken: "Temperature and host load over time." };
  }
  function lowest(values2) {
    const known2 = values2.filter((value) => typeof value === "number");
    return known2.length > 0 ? Math.floor(Math.min(...known2) / 5 - 1) * 5 : 0;
  }
  const COLUMN = {
    reads: "reads",
    writes: "writes",
    bytes: "bytes",
    iops: "IOPS",
    rt_mean: "mean",
    rt_p99: "99 %",
    rt_max: "maximum"
  };
  function seconds(runs, what) {
    const wanted = (key) => key !== "t" && (what === "rt" ? key.includes("rt") : key === "reads" || key === "writes");
    const columns = runs.flatMap((run) => Object.keys(run.answer.intervals).filter(wanted).filter((key) => greatest(run.answer.intervals[key] ?? []) > 0).map((key) => ({ run, key, x: (run.answer.intervals["t"] ?? []).map((value) => value ?? 0), y: run.answer.intervals[key] ?? [] })));
    if (columns.length === 0) return what === "rt" ? "No response times by second." : "This step has no accounting by second.";
    const all = joined(columns);
    const several = runs.length > 1;
    const lines = columns.map(({ run, key }, at) => ({
      name: several ? `${COLUMN[key] ?? key}, ${run.name}` : COLUMN[key] ?? key,
      color: color(several ? run.place : at, dark()),
      y: all.y[at] ?? [],
      kind: "points",
      ...several && (key.includes("max") || key === "writes") ? { dash: [5, 3] } : {}
    }));
    const sheet = {
      x: all.x,
      lines,
      marks: [],
      ticks: bySeconds,
      left: { name: what === "rt" ? "response time ns" : "I/Os per second", log: what === "rt", format: what === "rt" ? span : brief },
      tips: tips((x) => `At ${lasting(x)}`, all.x, lines, (_2, value) => what === "rt" ? span(value) : count(value))
    };
    return { sheet, keys: keysOf(lines), xName: "t_s", note: what === "rt" ? "Response times of each second." : "I/Os of each second.", spoken: `${sheet.left.name} by second.` };
  }
  function percentiles(runs) {
    const curves = runs.map(({ answer }) => {
      const curve = exceedance(answer.histogram.upper_ns, answer.histogram.counts);
      const said2 = answer.percentiles.filter((pair) => pair[1] !== null && pair[0] < 100);
      return curve.x.length > 0 ? curve : { x: said2.map(([p]) => nines(p / 100)), y: said2.map(([, ns]) => ns) };
    });
    const all = joined(curves);
    if (all.x.length === 0) return "No response times in this step.";
    const lines = runs.map(({ name, place }, at) => plain({ name, color: color(place, dark()), y: bridged(all.x, curves[at] ?? { x: [], y: [] }), width: 1.8 }));
    const sheet = {
      x: all.x,
      lines,
      marks: [],
      ticks: (from, to) => byNines().filter(([value]) => value >= from - 1e-9 && value <= to),
      left: { name: "response time ns", log: true, format: span },
      tips: tips((x) => `${number((1 - Math.pow(10, -x)) * 100)} % of I/Os took at most`, all.x, lines, (_2, value) => span(value))
    };
    return { sheet, keys: runs.length > 1 ? keysOf(lines) : [], xName: "nines", note: "How many I/Os took at most how long, from the histogram of the step.", spoken: "Response time by percentile." };
  }
  function bridged(x, curve) {
    let at = 0;
    return x.map((value) => {
      while (at < curve.x.length - 2 && (curve.x[at + 1] ?? 0) < value) at += 1;
      const [x0, x1, y0, y1] = [curve.x[at], curve.x[at + 1] ?? curve.x[at], curve.y[at], curve.y[at + 1] ?? curve.y[at]];
      if (x0 === void 0 || x1 === void 0 || y0 === void 0 || y1 === void 0 || value < x0 || value > x1) return null;
      return x1 === x0 ? y0 : y0 + (value - x0) / (x1 - x0) * (y1 - y0);
    });
  }
  const AGAIN_MS = 2e3;
  const TRACKS = 9;
  class RunPage {
    constructor(app) {
      this.app = app;
      this.root = h("div", { class: "page" });
      this.facts = h("div", { class: "facts", role: "status" });
      this.bar = h("div", { class: "bar" });
      this.rounds = h("div", { class: "grid" });
      this.file = () => shortNameOf(this.app);
      this.rate = new DrawingPanel("Steps", this.file, "run", 220, this.hands());
      this.times = new DrawingPanel("Response time of steps", this.file, "run", 180, this.hands());
      this.sense = new DrawingPanel("Temperature and host load", this.file, "run", 150, { zoom: (from, to) => this.zoom(from, to) });
      this.list = new TablePanel("Step list", this.file);
      this.caveats = h("section", { class: "panel" });
      this.detail = h("section", { class: "detail", "aria-label": "Step" });
      this.closer = {
        ios: new DrawingPanel("Seconds of the step", this.file, "second", 180, {}),
        rt: new DrawingPanel("Response times by second", this.file, "second", 180, {}),
        nines: new DrawingPanel("Response time by percentile", this.file, void 0, 220, {}),
        table: new TablePanel("Percentiles and disk statistics", this.file)
      };
      this.tracks = /* @__PURE__ */ new Map();
      this.all = false;
      this.runs = [];
      this.closed = false;
      this.turn = 0;
      this.drawn = "";
      this.lastNines = 3;
      this.rate.root.dataset["view"] = "steps";
      this.times.root.dataset["view"] = "times";
      this.sense.root.dataset["view"] = "sensors";
      this.list.root.dataset["view"] = "list";
      this.closer.nines.root.dataset["view"] = "nines";
      this.closer.ios.root.dataset["view"] = "seconds";
      this.detail.append(h("h2", {}, "Step"), this.closer.ios.root, this.closer.rt.root, this.closer.nines.root, this.closer.table.root);
      this.root.append(this.facts, this.bar, this.rounds, this.rate.root, this.times.root, this.sense.root, this.detail, this.list.root, this.caveats);
    }
    hands() {
      return { pick: (_2, x) => this.pickAt(x), zoom: (from, to) => this.zoom(from, to) };
    }
    /** Shows a part of the run, in seconds; the address has nanoseconds, as for captures. */
    zoom(from, to) {
      const part = inside(from * 1e9, to * 1e9, this.end() * 1e9);
      this.app.go({ from: part?.from, to: part?.to });
    }
    update() {
      void this.load(false);
    }
    async load(fresh) {
      this.turn += 1;
      const turn = this.turn;
      window.clearTimeout(this.timer);
      const { n, runs } = this.app.state;
      const wanted = [n, ...runs].filter((one) => one !== void 0 && itemOf(this.app, one)?.kind === "run");
      try {
        const answers = await Promise.all([...new Set(wanted)].map(async (one, place) => {
          const item = itemOf(this.app, one);
          const answer = await ask(url("run", { n: one }), fresh || item?.live === true);
          return { name: item ? shortName(item) : String(one), place, answer, n: one };
        }));
        if (this.closed || turn !== this.turn) return;
        this.runs = distinct(answers);
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
    draw(numbers, refreshed) {
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
      this.caveats.replaceChildren(h("h3", {}, "Caveats"), caveatList(first?.caveats ?? [], (caveat) => this.app.go({ step: caveat.step ?? void 0 })));
      void this.drawStep(numbers, refreshed);
    }
    reach() {
      const { from, to } = this.app.state;
      return from !== void 0 && to !== void 0 ? [from / 1e9, to / 1e9] : [0, this.end()];
    }
    end() {
      const ends = this.runs.flatMap(({ answer }) => answer.steps.map((step) => (step.start_s ?? 0) + (step.seconds ?? 0)));
      return ends.reduce((last, one) => Math.max(last, one), 1);
    }
    about() {
      const first = this.runs[0]?.answer;
      if (!first) return;
      const left = first.state === "live" && first.time_left_s !== null && first.time_left_s !== void 0 ? `about ${lasting(first.time_left_s)} left` : "";
      const words = [first.procedure, deviceText(first.device), first.state_text ?? first.state, left, `${count(first.steps.length)} steps`].filter(Boolean);
      this.facts.replaceChildren(h("p", { class: "headline" }, words.join(" · ")));
      if (first.counts_flushes) this.facts.append(h("p", { class: "quiet" }, "Flushes count as I/Os, as in the report of a replay."));
      if (first.state === "live") this.facts.append(h("p", { class: "quiet" }, "This run goes on. The page refreshes by itself."));
      if (exported()) this.facts.append(h("p", { class: "notice" }, "Exported page: its numbers are inside. Steps without stored details, and a run that goes on, need steadfast explore."));
    }
    controls() {
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
      if (state.from !== void 0) {
        chips.push(button(`${lasting(from)} to ${lasting(to)} ×`, () => this.app.go({ from: void 0, to: void 0 }), { class: "chip", title: "Show the whole run" }));
      }
      this.bar.replaceChildren(
        choice("Measure", [["iops", "IOPS"], ["mb", "MB/s"]], state.measure, (measure) => this.app.go({ measure })),
        ...others.length > 0 && !exported() ? [select] : [],
        h("span", { class: "chips" }, ...chips)
      );
    }
    drawTracks() {
      const names = [...new Set(this.runs.flatMap(({ answer }) => answer.tracks.map((one) => one.name)))];
      const shown = this.all ? names : names.slice(0, TRACKS);
      for (const name of shown) {
        if (this.tracks.has(name)) continue;
        const panel = new DrawingPanel(name, this.file, void 0, 190, {});
        panel.root.dataset["view"] = "track";
        this.tracks.set(name, panel);
      }
      const more = names.length > shown.length ? button(`Show all ${names.length} variables`, () => {
        this.all = true;
        this.drawTracks();
      }) : void 0;
      const panels = shown.flatMap((name) => this.tracks.get(name)?.root ?? []);
      const same = panels.length > 0 && panels.every((panel, at) => this.rounds.children[at] === panel) && this.rounds.children.length === panels.length + Number(more !== void 0);
      if (!same) this.rounds.replaceChildren(...panels, ...more ? [more] : []);
      this.rounds.hidden = panels.length === 0;
      for (const name of shown) {
        const rounds = this.runs.flatMap(({ answer }) => answer.tracks.find((one) => one.name === name)?.rounds.map((each) => each.round) ?? []);
        const reach = [Math.min(1, ...rounds) - 0.5, Math.max(5, ...rounds) + 0.5];
        void this.tracks.get(name)?.load(Promise.resolve(track(name, this.runs)), () => reach);
      }
    }
    listed() {
      const steps = this.runs[0]?.answer.steps ?? [];
      if (steps.length === 0) return "No step is finished yet.";
      const columns = [
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
        { head: "Caveats", value: (step) => step.caveats?.length ?? 0, text: (step) => (step.caveats ?? []).map((one) => typeof one === "string" ? one : one.text).join("; ") || "–" }
      ];
      const choose = {
        pick: (step) => this.app.go({ step: step.i }),
        title: "Show this step closely",
        chosen: (step) => step.i === this.app.state.step
      };
      return { content: table("Steps in their order", columns, steps, choose), csv: tableCsv(columns, steps) };
    }
    pickAt(x) {
      const placed2 = this.runs.flatMap(({ answer }) => answer.steps.filter((step) => step.start_s !== null));
      const nearest = placed2.reduce((best, step) => !best || Math.abs((step.start_s ?? 0) - x) < Math.abs((best.start_s ?? 0) - x) ? step : best, void 0);
      if (nearest) this.app.go({ step: nearest.i });
    }
    async drawStep(numbers, refreshed) {
      const { step } = this.app.state;
      const first = this.runs[0]?.answer.steps.find((one) => one.i === step);
      this.detail.hidden = first === void 0;
      if (step === void 0 || first === void 0 || refreshed) return;
      const title = this.detail.querySelector("h2");
      if (title) title.textContent = `Step ${step}: ${first.place} ${first.name}`;
      const coming = this.stepAnswers(numbers, step, first);
      const drawn2 = (make) => coming.then(make);
      const long = first.seconds ?? 1;
      const ends = (await coming.catch(() => [])).flatMap(({ answer }) => (answer.intervals["t"] ?? []).map((value) => value ?? 0));
      const time = [Math.min(0, ...ends), Math.max(ends.length > 0 ? 0 : long, ...ends) + 0.5];
      void this.closer.ios.load(drawn2((found) => seconds(found, "ios")), () => time);
      void this.closer.rt.load(drawn2((found) => seconds(found, "rt")), () => time);
      void this.closer.nines.load(drawn2(percentiles), () => [0, this.lastNines]);
      void this.closer.table.load(coming.then((found) => tableOf(found)));
      if (this.closely === step) return;
      this.closely = step;
      this.detail.scrollIntoView({ block: "nearest" });
    }
    /** The same step of every run: that of the same place and name, else none. */
    async stepAnswers(numbers, i, first) {
      const found = await Promise.all(this.runs.map(async (run, at) => {
        const same = at === 0 ? i : run.answer.steps.find((one) => one.place === first?.place && one.name === first.name)?.i;
        const n = numbers[at];
        if (same === void 0 || n === void 0) return [];
        const address2 = url("run/step", { n, i: same });
        if (at > 0 && !has(address2)) return [];
        return [{ ...run, answer: await ask(address2) }];
      }));
      const all = found.flat();
      const most = Math.max(10, ...all.map(({ answer }) => answer.histogram.counts.reduce((sum, one) => sum + one, 0)));
      this.lastNines = Math.max(2, Math.min(7, Math.log10(most)));
      return all;
    }
    redraw() {
      for (const panel of [this.rate, this.times, this.sense, ...this.tracks.values(), this.closer.ios, this.closer.rt, this.closer.nines]) panel.pane.resize();
      this.update();
    }
    close() {
      this.closed = true;
      window.clearTimeout(this.timer);
      for (const panel of [this.rate, this.times, this.sense, ...this.tracks.values(), this.closer.ios, this.closer.rt, this.closer.nines]) panel.pane.destroy();
    }
    key(event) {
      const steps = this.runs[0]?.answer.steps ?? [];
      const at = steps.findIndex((step) => step.i === this.app.state.step);
      const next = event.key === "ArrowRight" ? steps[at + 1] : event.key === "ArrowLeft" ? steps[Math.max(0, at - 1)] : void 0;
      if (next) this.app.go({ step: next.i });
      else if (event.key === "Home") this.app.go({ from: void 0, to: void 0 });
      else if (event.key === "m") this.app.go({ measure: this.app.state.measure === "iops" ? "mb" : "iops" });
      else return false;
      return true;
    }
  }
  function shortNameOf(app) {
    const item = itemOf(app, app.state.n);
    return item ? shortName(item) : "run";
  }
  function distinct(runs) {
    return runs.map((run, at) => {
      const same = runs.filter((other) => other.name === run.name);
      return same.length > 1 ? { ...run, name: `${run.name} (${at + 1})` } : run;
    });
  }
  function deviceText(device) {
    if (typeof device === "string") return device;
    if (device === null || typeof device !== "object") return "";
    const facts = device;
    const size = typeof facts["capacity"] === "number" ? amount(facts["capacity"]) : "";
    return [facts["model"] ?? facts["name"], facts["path"], size].filter((one) => typeof one === "string" && one !== "").join(", ");
  }
  function tableOf(found) {
    const first = found[0]?.answer;
    if (!first) return "No details of this step.";
    const columns = [
      { head: "Percentile", value: (row) => row[0] },
      ...found.map((run, at) => ({ head: run.name, value: (row) => row[at + 1], text: (row) => span(row[at + 1]) }))
    ];
    const rows = first.percentiles.map(([p]) => [`${Number(p.toFixed(6))} %`, ...found.map(({ answer }) => answer.percentiles.find(([q]) => q === p)?.[1] ?? null)]);
    const disk = Object.entries(first.diskstats ?? {}).map(([name, value]) => [name.replace(/_/g, " "), typeof value === "number" ? count(value) : String(value ?? "–")]);
    const diskColumns = [{ head: "Disk statistics (/proc/diskstats)", value: (row) => row[0] }, { head: "Value", value: (row) => row[1] }];
    return {
      content: h(
        "div",
        { class: "pair" },
        table("Percentiles", columns, rows),
        disk.length > 0 ? table("Disk statistics of the step", diskColumns, disk) : h("p", { class: "quiet" }, "No disk statistics of this step.")
      ),
      csv: tableCsv(columns, rows) + "\r\n" + tableCsv(diskColumns, disk)
    };
  }
  const READING_MS = 500;
  const LIVE_MS = 5e3;
  class Explorer {
    constructor() {
      this.meta = { version: "", items: [] };
      this.files = h("nav", { class: "files", "aria-label": "Captures and runs" });
      this.place = h("main", { id: "view", tabindex: -1 });
      this.depth = 0;
      this.state = parse(location.hash);
      const title = h("h1", {}, "Steadfast explorer");
      const theme = themeButton();
      theme.addEventListener("click", () => this.page?.redraw());
      const back = button("Back", () => this.back(), { title: "Back to what was shown before (Esc)", id: "back" });
      const about = button("?", () => help(exported()), { title: "Help (?)", "aria-label": "Help" });
      const top = h("header", { class: "top" }, title, this.files, h("div", { class: "tools" }, back, about, theme));
      document.body.append(h("a", { class: "skip", href: "#view", onclick: (event) => this.skip(event) }, "Skip to the drawings"), top, this.place);
      window.addEventListener("popstate", () => this.returned());
      window.addEventListener("keydown", (event) => this.key(event));
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.page?.redraw());
      this.watchWidth();
    }
    /** The address holds the state, so this link must not change it. */
    skip(event) {
      event.preventDefault();
      this.place.focus();
    }
    watchWidth() {
      let [width, timer] = [window.innerWidth, 0];
      window.addEventListener("resize", () => {
        if (window.innerWidth === width) return;
        width = window.innerWidth;
        window.clearTimeout(timer);
        timer = window.setTimeout(() => this.page?.redraw(), 150);
      });
    }
    async start() {
      try {
        open();
        await this.poll();
      } catch (error) {
        this.words(said(error));
      }
    }
    /** The list of files, again while one is being read or a run goes on. */
    async poll() {
      const before = states(this.meta);
      this.meta = await ask("api/meta", true);
      if (this.meta.items.length === 0) return this.words("No file is open. Start steadfast explore with a capture or a run directory.");
      if (this.state.n === void 0 || !this.meta.items.some((item) => item.n === this.state.n)) {
        this.state.n = this.meta.items[0]?.n;
      }
      const reading = this.meta.items.some((item) => item.state === "indexing");
      if (states(this.meta) === before && this.shown !== void 0) this.list();
      else this.show();
      if (reading || this.meta.items.some((item) => item.live)) this.again(reading ? READING_MS : LIVE_MS);
    }
    again(after) {
      if (exported()) return;
      window.setTimeout(() => void this.poll().catch((error) => {
        if (this.shown === void 0) this.words(said(error));
        else announce(said(error));
      }), after);
    }
    go(change2) {
      const next = { ...this.state, ...change2 };
      if (address(next) === address(this.state)) return;
      this.state = next;
      this.depth += 1;
      history.pushState({ depth: this.depth }, "", address(next));
      this.show();
    }
    back() {
      if (document.querySelector("dialog[open]")) return;
      if (this.depth > 0) return history.back();
      this.state = { ...parse(""), n: this.state.n };
      history.replaceState({ depth: 0 }, "", address(this.state));
      this.show();
    }
    returned() {
      var _a;
      const now = history.state;
      this.depth = now?.depth ?? 0;
      const n = this.state.n;
      this.state = parse(location.hash);
      (_a = this.state).n ?? (_a.n = this.meta.items[0]?.n ?? n);
      this.show();
    }
    key(event) {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.ctrlKey || event.metaKey || event.altKey || typing || document.querySelector("dialog[open]")) return;
      if (event.key === "Escape") this.back();
      else if (event.key === "?") help(exported());
      else if (event.target instanceof HTMLElement && event.target.closest(".scroll, pre") && event.key.startsWith("Arrow")) return;
      else if (!this.page?.key(event)) return;
      event.preventDefault();
    }
    show() {
      this.list();
      const item = this.meta.items.find((one) => one.n === this.state.n);
      if (!item) return;
      document.title = `${shortName(item)} – Steadfast explorer`;
      if (item.state === "failed") return this.words(`${item.name}: ${item.error ?? "it could not be read."}`);
      if (item.state === "indexing") return this.progress(item);
      const wanted = `${item.kind} ${item.n}`;
      if (this.shown !== wanted) {
        this.page?.close();
        this.page = item.kind === "run" ? new RunPage(this) : new CapturePage(this);
        this.place.replaceChildren(this.page.root);
        this.shown = wanted;
      }
      this.page?.update();
    }
    words(text2) {
      this.page?.close();
      [this.page, this.shown] = [void 0, void 0];
      this.place.replaceChildren(h("p", { class: "notice", role: "alert" }, text2));
    }
    progress(item) {
      this.page?.close();
      [this.page, this.shown] = [void 0, void 0];
      const share = item.progress ?? 0;
      const bar = h("progress", { max: 1, value: share, "aria-label": "Index" });
      this.place.replaceChildren(h("p", { class: "notice" }, `Reading ${shortName(item)} once, to answer quickly from then on: ${percent(share)}`), bar);
    }
    list() {
      this.files.replaceChildren(...this.meta.items.map((item) => {
        const now = item.n === this.state.n;
        const beside = this.state.versus?.n === item.n || this.state.runs.includes(item.n);
        const live = item.live ? " (running)" : item.state === "indexing" ? " (reading)" : item.state === "failed" ? " (failed)" : "";
        return button(`${shortName(item)}${live}`, (event) => this.choose(item, event.shiftKey), {
          "aria-current": now ? "page" : void 0,
          class: beside && !now ? "beside" : void 0,
          title: `${item.kind === "run" ? "Run" : "Capture"}: ${item.name}
Shift-click: beside what is shown`
        });
      }));
    }
    choose(item, shift) {
      const now = this.meta.items.find((one) => one.n === this.state.n);
      if (!shift || !now || now.n === item.n) return this.go({ n: item.n, filters: noFilters(), versus: void 0, runs: [], from: void 0, to: void 0, step: void 0 });
      if (exported()) return announce("An exported page cannot compare. Open the files with steadfast explore.");
      if (now.kind !== item.kind) return announce("A capture cannot be compared with a run.");
      if (item.kind === "run") this.go({ runs: [.../* @__PURE__ */ new Set([...this.state.runs, item.n])] });
      else this.go({ versus: { n: item.n, filters: this.state.filters } });
    }
  }
  function states(meta) {
    return JSON.stringify(meta.items.map((item) => [item.n, item.state]));
  }
  document.body.append(h("p", { id: "said", class: "said", role: "status", "aria-live": "polite" }));
  void new Explorer().start();
})();
