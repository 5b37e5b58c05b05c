// Made of ui/src 9371369992bb082d by make ui.
(function() {
  "use strict";
  function part(reach, value) {
    if (reach.log) return Math.log(value / reach.low) / Math.log(reach.high / reach.low);
    return (value - reach.low) / (reach.high - reach.low);
  }
  function valueAt(reach, place) {
    if (reach.log) return reach.low * Math.pow(reach.high / reach.low, place);
    return reach.low + place * (reach.high - reach.low);
  }
  function readable(value, digits = 4) {
    if (!Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    const power = Math.floor(Math.log10(size));
    const decimals = Math.min(9, Math.max(0, digits - 1 - power));
    const [whole = "0", fraction] = size.toFixed(decimals).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    const tail = fraction === void 0 ? "" : `.${fraction}`.replace(/\.?0+$/, "");
    return `${value < 0 ? "−" : ""}${grouped}${tail}`;
  }
  const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];
  function niceStep(span) {
    const rough = span / 6;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const factor = rough / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
  }
  function ticks(reach) {
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
  function clockTicks(reach, unit) {
    const span = (reach.high - reach.low) * unit;
    const step = span < 6 ? niceStep(span) : CLOCK.find((one) => span / one <= 8) ?? niceStep(span / 86400) * 86400;
    const whole = (seconds) => step % seconds === 0 && unit < seconds;
    if (reach.clock?.length) return timesOfDay(reach, reach.clock, unit, step);
    return multiples(step / unit, reach).map((value) => {
      const seconds = value * unit;
      if (Math.abs(seconds) < step / 1e6) return [0, "0"];
      if (whole(3600)) return [value, `${readable(seconds / 3600)} h`];
      if (whole(60)) return [value, `${readable(seconds / 60, 5)} min`];
      return [value, readable(value, 6)];
    });
  }
  function timesOfDay(reach, clock, unit, step) {
    return clock.flatMap(([from, ahead], index) => {
      const end = clock[index + 1]?.[0];
      const low = Math.max(reach.low, index > 0 ? from : reach.low) * unit + ahead;
      const high = Math.min(reach.high, end === void 0 ? reach.high : end - step / unit * 1e-6) * unit + ahead;
      const part2 = { ...reach, low, high };
      return multiples(step, part2).map((seconds) => [(seconds - ahead) / unit, face(seconds, step)]);
    });
  }
  function face(seconds, step) {
    const decimals = step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
    const ticks2 = Math.round(seconds * Math.pow(10, decimals));
    const perDay = 86400 * Math.pow(10, decimals);
    if (ticks2 % perDay === 0 && step >= 60) return dateOf(seconds);
    return timeOf(ticks2 / Math.pow(10, decimals), step >= 60 ? -1 : decimals);
  }
  function dateOf(seconds) {
    return new Date(Math.floor(seconds / 86400) * 864e5).toISOString().slice(0, 10);
  }
  function timeOf(seconds, decimals) {
    const rest = seconds - Math.floor(seconds / 86400) * 86400;
    const two = (value) => String(Math.floor(value)).padStart(2, "0");
    const text = `${two(rest / 3600)}:${two(rest / 60 % 60)}`;
    if (decimals < 0) return text;
    const part2 = (rest % 60).toFixed(decimals);
    return `${text}:${part2.padStart(decimals > 0 ? decimals + 3 : 2, "0")}`;
  }
  function onClock(reach, clock, value) {
    const [, ahead] = clock.filter(([from], index) => index === 0 || from <= value).slice(-1)[0] ?? [0, 0];
    const span = (reach.high - reach.low) * (reach.time ?? 1);
    const decimals = span < 6 ? 4 : span < 600 ? 1 : 0;
    const seconds = Math.floor((value * (reach.time ?? 1) + ahead) * Math.pow(10, decimals)) / Math.pow(10, decimals);
    return `${dateOf(seconds)} ${timeOf(seconds, decimals)}`;
  }
  function nameAt(reach, value) {
    if (reach.clock?.length) return onClock(reach, reach.clock, value);
    return reach.names?.[Math.round(value)] ?? readable(value, 5);
  }
  function logTicks(reach) {
    const wide = Math.log10(reach.high / reach.low);
    const factors = wide > 2.5 ? [1] : [1, 2, 5];
    const out = [];
    for (let power = Math.floor(Math.log10(reach.low)); power <= Math.ceil(Math.log10(reach.high)); power += 1) {
      for (const factor of factors) {
        const value = factor * Math.pow(10, power);
        if (value >= reach.low * 0.999999 && value <= reach.high * 1.000001) out.push([value, readable(value)]);
      }
    }
    return out;
  }
  function nearest(xs, x) {
    let low = 0;
    let high = xs.length - 1;
    if (high < 0) return -1;
    while (high - low > 1) {
      const middle = low + high >> 1;
      if ((xs[middle] ?? 0) < x) low = middle;
      else high = middle;
    }
    return Math.abs((xs[low] ?? 0) - x) <= Math.abs((xs[high] ?? 0) - x) ? low : high;
  }
  class Tip {
    constructor(figure) {
      this.figure = figure;
      this.box = document.createElement("div");
      this.box.className = "tip";
      this.box.hidden = true;
      figure.append(this.box);
    }
    hide() {
      this.box.hidden = true;
    }
    /** Shows it beside the pointer, inside the figure; nothing where there is no line. */
    show(event, title, lines) {
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
  function row(line) {
    const made = document.createElement("div");
    if (line.color !== void 0) {
      const mark = document.createElement("i");
      mark.style.background = line.color;
      made.append(mark);
    }
    made.append(line.text);
    return made;
  }
  function cellAt(grid, x, y, across, up) {
    const rows = grid.values.length;
    const row2 = Math.min(rows - 1, Math.max(0, Math.floor(up * rows)));
    const column = Math.min(grid.columns - 1, Math.max(0, Math.floor(across * grid.columns)));
    const slot = Math.floor(column / grid.together);
    const value = grid.values[row2]?.[slot];
    if (value === void 0) return void 0;
    const first = slot * grid.together;
    const edgeName = (at) => nameAt(x, valueAt(x, Math.min(1, at / grid.columns)));
    const columnName = x.names?.length ? x.names[column] ?? "" : `${edgeName(first)} to ${edgeName(first + grid.together)}`;
    const text = value === null ? "none" : y.names?.[value] ?? readable(value);
    const prefix = grid.folded && value !== null && !y.names?.length ? "at most " : "";
    return {
      head: `${x.label}: ${columnName}`,
      lines: [{ text: `${grid.label}: ${grid.names[row2] ?? ""}` }, { text: `${y.label}: ${prefix}${text}` }]
    };
  }
  function attachColumnTips(figure, svg, x, y, allSeries) {
    const tip = new Tip(figure);
    svg.addEventListener("pointerleave", () => tip.hide());
    svg.addEventListener("pointermove", (event) => {
      const attribute = event.target.closest("[data-value]")?.getAttribute("data-value");
      const [seriesIndex, at] = (attribute ?? "").split(",").map(Number);
      const series = at === void 0 ? void 0 : allSeries[seriesIndex ?? -1];
      const value = at === void 0 ? void 0 : series?.y[series.x.indexOf(at)];
      if (!series || at === void 0 || value === void 0 || value === null) return tip.hide();
      tip.show(event, `${x.label}: ${nameAt(x, at)}`, [
        { color: series.color, text: series.name },
        { text: `${y.label}: ${readable(value)}` }
      ]);
    });
  }
  const SVG = "http://www.w3.org/2000/svg";
  const LINES = 12;
  const CLICK = 0.01;
  function element(name, attributes) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
    return made;
  }
  class Chart {
    constructor(figure, svg, data) {
      this.hidden = /* @__PURE__ */ new Set();
      this.buttons = [];
      this.onPoint = () => void 0;
      this.onZoom = () => void 0;
      this.figure = figure;
      this.svg = svg;
      this.data = data;
      this.x = { ...data.x };
      const [left, top, width, height] = data.area;
      this.groups = data.series.map(
        (_, index) => svg.querySelector(`g[data-series="${index}"]`) ?? void 0
      );
      this.overlay = element("g", {});
      this.band = element("rect", { y: top, height, width: 0, x: left, fill: "#0072b2", "fill-opacity": 0.15 });
      this.cursor = element("line", { y1: top, y2: top + height, x1: left, x2: left, stroke: "#444444", "stroke-dasharray": "3 3" });
      this.cursor.style.display = "none";
      const cover = element("rect", { x: left, y: top, width, height, fill: "transparent" });
      svg.append(this.overlay, this.band, this.cursor, cover);
      this.tip = new Tip(figure);
      cover.addEventListener("pointermove", (event) => this.moved(event));
      cover.addEventListener("pointerleave", () => this.left());
      if (data.zoom) {
        cover.style.cursor = "crosshair";
        cover.addEventListener("pointerdown", (event) => this.pressed(event, cover));
        cover.addEventListener("pointerup", (event) => this.released(event));
        cover.addEventListener("dblclick", () => this.onZoom(data.x.low, data.x.high));
      }
      this.keys();
    }
    /** Whether both show the same quantity over the same values. */
    sharesAxis(other) {
      const [a, b] = [this.data.x, other.data.x];
      const sameClock = JSON.stringify(a.clock) === JSON.stringify(b.clock);
      return sameClock && a.label === b.label && a.log === b.log && a.low < b.high && b.low < a.high && !a.names?.length && !b.names?.length;
    }
    /** The buttons of the series, and the way back from a closer look. */
    keys() {
      const bar = document.createElement("div");
      bar.className = "keys";
      const drawn = this.groups.filter(Boolean).length;
      if (drawn > 1) {
        this.buttons = this.data.series.map((series, index) => {
          const button = document.createElement("button");
          button.type = "button";
          button.setAttribute("aria-pressed", "true");
          button.title = "Click to hide or show; double-click to show alone";
          button.append(this.markOf(index), series.name);
          button.addEventListener("click", () => this.toggle(index));
          button.addEventListener("dblclick", () => this.isolate(index));
          bar.append(button);
          return button;
        });
      }
      if (this.data.zoom) {
        this.back = document.createElement("button");
        this.back.type = "button";
        this.back.textContent = "Whole axis";
        this.back.hidden = true;
        this.back.addEventListener("click", () => this.onZoom(this.data.x.low, this.data.x.high));
        bar.append(this.back);
      }
      if (bar.childElementCount > 0) this.figure.querySelector("figcaption")?.before(bar);
      if (this.buttons.length > 0) this.withoutLegend();
    }
    /** The mark of a series as the drawing's legend shows it, with its dash and its marker. */
    markOf(index) {
      const entry = this.svg.querySelectorAll("g.legend > g")[index];
      const [left, middle] = (entry?.dataset["mark"] ?? "0 0").split(" ").map(Number);
      const mark = element("svg", { viewBox: `${left ?? 0} ${(middle ?? 0) - 6} 26 12`, width: 26, height: 12, "aria-hidden": "true" });
      const shapes = [...entry?.children ?? []].filter((shape) => shape.tagName !== "text");
      mark.append(...shapes.map((shape) => shape.cloneNode()));
      return mark;
    }
    /** The buttons are the legend: the drawing's own is shown on paper only. */
    withoutLegend() {
      const legend = this.svg.querySelector("g.legend");
      if (!legend) return;
      const [sheet, whole] = [this.svg.viewBox.baseVal, this.svg.viewBox.baseVal.height];
      const under = Number(legend.dataset["under"]);
      const show = (paper) => {
        legend.style.display = paper ? "" : "none";
        sheet.height = paper ? whole : whole - under;
        this.svg.setAttribute("height", String(sheet.height));
      };
      show(false);
      addEventListener("beforeprint", () => show(true));
      addEventListener("afterprint", () => show(false));
    }
    toggle(index) {
      if (!this.hidden.delete(index)) this.hidden.add(index);
      this.shown();
    }
    isolate(index) {
      const alone = this.hidden.size === this.data.series.length - 1 && !this.hidden.has(index);
      this.hidden.clear();
      if (!alone) this.data.series.forEach((_, other) => other !== index && this.hidden.add(other));
      this.shown();
    }
    shown() {
      this.groups.forEach((group, index) => {
        if (group) group.style.display = this.hidden.has(index) ? "none" : "";
      });
      this.buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(!this.hidden.has(index))));
      if (this.isZoomed()) this.draw();
    }
    isZoomed() {
      return this.x.low !== this.data.x.low || this.x.high !== this.data.x.high;
    }
    /** The place of the pointer on the horizontal axis, from 0 to 1. */
    placeOf(event) {
      const box = this.svg.getBoundingClientRect();
      const scale = this.svg.viewBox.baseVal.width / box.width;
      const [left, , width] = this.data.area;
      return Math.min(1, Math.max(0, ((event.clientX - box.left) * scale - left) / width));
    }
    /** The same on the vertical axis, from the foot. */
    heightOf(event) {
      const box = this.svg.getBoundingClientRect();
      const scale = this.svg.viewBox.baseVal.height / box.height;
      const [, top, , height] = this.data.area;
      return 1 - Math.min(1, Math.max(0, ((event.clientY - box.top) * scale - top) / height));
    }
    pressed(event, cover) {
      if (event.pointerType === "touch") return;
      this.dragFrom = this.placeOf(event);
      cover.setPointerCapture(event.pointerId);
    }
    released(event) {
      const [from, to] = [this.dragFrom, this.placeOf(event)];
      this.dragFrom = void 0;
      this.band.setAttribute("width", "0");
      if (from === void 0 || Math.abs(to - from) < CLICK) return;
      this.onZoom(valueAt(this.x, Math.min(from, to)), valueAt(this.x, Math.max(from, to)));
    }
    moved(event) {
      const place = this.placeOf(event);
      const [left, , width] = this.data.area;
      if (this.dragFrom !== void 0) {
        const [low, high] = [Math.min(this.dragFrom, place), Math.max(this.dragFrom, place)];
        this.band.setAttribute("x", String(left + low * width));
        this.band.setAttribute("width", String((high - low) * width));
      }
      const x = valueAt(this.x, place);
      this.onPoint(x);
      if (this.data.grid) this.tellCell(event, this.data.grid, place, x);
      else this.tell(event, x);
    }
    left() {
      this.tip.hide();
      this.onPoint(void 0);
    }
    /** Puts the cursor at a value. */
    point(x) {
      const [left, , width] = this.data.area;
      const place = x === void 0 ? -1 : part(this.x, x);
      const inside = place >= 0 && place <= 1;
      this.cursor.style.display = inside ? "" : "none";
      if (!inside) return;
      this.cursor.setAttribute("x1", String(left + place * width));
      this.cursor.setAttribute("x2", String(left + place * width));
    }
    /** The values of the series at the point that is nearest to x. */
    tell(event, x) {
      const rows = [];
      this.data.series.forEach((series, index) => {
        if (this.hidden.has(index)) return;
        const at2 = nearest(series.x, x);
        const [found, y] = [series.x[at2], series.upper?.[at2] ?? series.y[at2]];
        if (found !== void 0 && y !== null && y !== void 0) rows.push({ series, at: at2, x: found, y });
      });
      if (rows.length === 0) return this.tip.hide();
      const distance = (row2) => Math.abs(part(this.x, row2.x) - part(this.x, x));
      const closest = rows.reduce((best, row2) => distance(row2) < distance(best) ? row2 : best);
      const at = rows.filter((row2) => Math.abs(distance(row2) - distance(closest)) < 0.01);
      const named2 = at.length > LINES ? [...at].sort((a, b) => b.y - a.y).slice(0, LINES) : at;
      const lines = named2.map((row2) => {
        const from = row2.series.upper ? row2.series.y[row2.at] : void 0;
        const value = typeof from === "number" ? `${readable(from)} to ${readable(row2.y)}` : readable(row2.y);
        return { color: row2.series.color, text: `${row2.series.name}: ${value}` };
      });
      this.tip.show(event, `${this.data.x.label}: ${nameAt(this.data.x, closest.x)}`, lines);
    }
    /** The cell under the pointer, and in which row each line over the cells is there. */
    tellCell(event, grid, place, x) {
      const cell = cellAt(grid, this.data.x, this.data.y, place, this.heightOf(event));
      if (!cell) return this.tip.hide();
      const lines = this.data.series.flatMap((series) => {
        const y = series.y[nearest(series.x, x)];
        const row2 = y === null || y === void 0 ? void 0 : grid.names[Math.round(y)];
        return row2 === void 0 ? [] : [{ color: series.color, text: `${series.name}: ${row2}` }];
      });
      this.tip.show(event, cell.head, [...cell.lines, ...lines]);
    }
    /** Looks at a part of the horizontal axis. */
    zoom(low, high) {
      if (!this.data.zoom || !(high > low)) return;
      this.x = { ...this.data.x, low: Math.max(low, this.data.x.low), high: Math.min(high, this.data.x.high) };
      if (this.back) this.back.hidden = !this.isZoomed();
      this.draw();
    }
    /** The part that is looked at, over the page's own drawing of the whole. */
    draw() {
      this.overlay.replaceChildren();
      const zoomed = this.isZoomed();
      this.groups.forEach((group, index) => {
        if (group) group.style.display = zoomed || this.hidden.has(index) ? "none" : "";
      });
      if (!zoomed) return;
      const [left, top, width, height] = this.data.area;
      const inside = (x) => x >= this.x.low && x <= this.x.high;
      this.overlay.append(element("rect", { x: left - 1, y: top + height + 1, width: width + 2, height: 25, fill: "#ffffff" }));
      this.overlay.append(element("rect", { x: left + 0.5, y: top + 0.5, width: width - 1, height: height - 1, fill: "#ffffff" }));
      for (const [value, name] of ticks(this.x)) {
        const x = left + part(this.x, value) * width;
        this.overlay.append(element("line", { x1: x, x2: x, y1: top, y2: top + height, stroke: "#dddddd" }));
        const label = element("text", { x, y: top + height + 19, "font-size": 13, "text-anchor": "middle" });
        label.textContent = name;
        this.overlay.append(label);
      }
      for (const [value] of ticks(this.data.y)) {
        const y = top + (1 - part(this.data.y, value)) * height;
        this.overlay.append(element("line", { x1: left, x2: left + width, y1: y, y2: y, stroke: "#dddddd" }));
      }
      this.data.series.forEach((series, index) => {
        if (!this.hidden.has(index)) this.overlay.append(...this.lines(series, inside));
      });
    }
    /** A band between its edges; a missing value breaks it. */
    bands(series, upper, inside) {
      const [left, top, width, height] = this.data.area;
      const reach = (series.right ? this.data.right : void 0) ?? this.data.y;
      const out = [];
      let [low, high] = [[], []];
      const finish = () => {
        if (low.length > 1) {
          const points = [...high, ...low.reverse()].join(" ");
          out.push(element("polygon", { points, fill: series.color, "fill-opacity": 0.45 }));
        }
        [low, high] = [[], []];
      };
      const place = (y) => y === null || y === void 0 ? Number.NaN : top + (1 - part(reach, y)) * height;
      series.x.forEach((x, at) => {
        const seen = inside(x) || inside(series.x[at + 1] ?? x) || inside(series.x[at - 1] ?? x);
        const [below, above] = [place(series.y[at]), place(upper[at])];
        if (!seen || !Number.isFinite(below) || !Number.isFinite(above)) return finish();
        const px = (left + Math.min(1, Math.max(0, part(this.x, x))) * width).toFixed(1);
        low.push(`${px},${below.toFixed(1)}`);
        high.push(`${px},${above.toFixed(1)}`);
      });
      finish();
      return out;
    }
    lines(series, inside) {
      if (series.upper) return this.bands(series, series.upper, inside);
      const [left, top, width, height] = this.data.area;
      const reach = (series.right ? this.data.right : void 0) ?? this.data.y;
      const out = [];
      let run = [];
      const finish = () => {
        if (run.length > 1 && series.width > 0) {
          const line = element("polyline", { points: run.join(" "), fill: "none", stroke: series.color, "stroke-width": series.width });
          if (series.dash) line.setAttribute("stroke-dasharray", series.dash);
          out.push(line);
        }
        run = [];
      };
      series.x.forEach((x, at) => {
        const y = series.y[at];
        const seen = inside(x) || inside(series.x[at + 1] ?? x) || inside(series.x[at - 1] ?? x);
        const place = y === null || y === void 0 ? Number.NaN : part(reach, y);
        if (!seen || !Number.isFinite(place)) return finish();
        const across = Math.min(1, Math.max(0, part(this.x, x)));
        const [px, py] = [left + across * width, top + (1 - place) * height];
        run.push(`${px.toFixed(1)},${py.toFixed(1)}`);
        if (inside(x) && (series.width === 0 || series.x.length < 80)) {
          out.push(element("circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 3, fill: series.color }));
        }
      });
      finish();
      return out;
    }
  }
  function chartOf(figure) {
    const text = figure.querySelector('script[type="application/json"]')?.textContent;
    const svg = figure.querySelector("svg");
    if (!text || !svg) return void 0;
    const data = JSON.parse(text);
    if (!data.solid) return new Chart(figure, svg, data);
    attachColumnTips(figure, svg, data.x, data.y, data.series);
    return void 0;
  }
  function linked(charts) {
    for (const chart of charts) {
      const others = charts.filter((other) => other === chart || chart.sharesAxis(other));
      chart.onPoint = (x) => others.forEach((other) => other.point(x));
      chart.onZoom = (low, high) => others.forEach((other) => other.zoom(low, high));
    }
  }
  function numberOf(text) {
    const plain = text.trim().replace(/,/g, "").replace(/−/g, "-");
    const match = /^-?\d+(\.\d+)?(e[+-]?\d+)?/i.exec(plain);
    return match ? Number(match[0]) : void 0;
  }
  function compare(a, b, up) {
    const [x, y] = [numberOf(a), numberOf(b)];
    const missing = (text) => text === "" || text === "–";
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    const order = x !== void 0 && y !== void 0 ? x - y : a.localeCompare(b);
    return up ? order : -order;
  }
  function sortable(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? []];
    if (!body || body.rows.length < 3 || [...body.rows].some((row2) => row2.cells[0]?.textContent === "")) return;
    const first = [...body.rows];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.title = "Sort";
      head.append(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const next = now === "descending" ? "ascending" : now === "ascending" ? void 0 : "descending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (next) head.setAttribute("aria-sort", next);
        const text = (row2) => row2.cells[column]?.textContent ?? "";
        const rows = [...first];
        if (next) rows.sort((a, b) => compare(text(a), text(b), next === "ascending"));
        body.append(...rows);
      });
    });
  }
  function themeButton() {
    const root = document.documentElement;
    const bar = document.createElement("div");
    bar.className = "keys theme";
    const button = document.createElement("button");
    button.type = "button";
    const dark = () => {
      const said = root.dataset["theme"];
      return said ? said === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    };
    const name = () => {
      button.textContent = dark() ? "Light" : "Dark";
    };
    button.addEventListener("click", () => {
      root.dataset["theme"] = dark() ? "light" : "dark";
      name();
    });
    name();
    bar.append(button);
    return bar;
  }
  const figures = [...document.querySelectorAll("figure.chart")];
  linked(figures.map(chartOf).filter((chart) => chart !== void 0));
  document.querySelectorAll("table.values").forEach(sortable);
  document.querySelector("section.cover")?.append(themeButton());
  document.documentElement.dataset["interactive"] = "yes";
})();
