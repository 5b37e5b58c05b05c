// Made of ui/src 534af07e2b0dfcfa by make ui.
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
    return multiples(step / unit, reach).map((value) => {
      const seconds = value * unit;
      if (Math.abs(seconds) < step / 1e6) return [0, "0"];
      if (whole(3600)) return [value, `${readable(seconds / 3600)} h`];
      if (whole(60)) return [value, `${readable(seconds / 60, 5)} min`];
      return [value, readable(value, 6)];
    });
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
      this.tip = document.createElement("div");
      this.tip.className = "tip";
      this.tip.hidden = true;
      figure.append(this.tip);
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
      return a.label === b.label && a.log === b.log && a.low < b.high && b.low < a.high && !a.names?.length && !b.names?.length;
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
          const mark = document.createElement("i");
          mark.style.background = series.colour;
          button.append(mark, series.name);
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
      this.tell(event, x);
    }
    left() {
      this.tip.hidden = true;
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
      if (rows.length === 0) {
        this.tip.hidden = true;
        return;
      }
      const distance = (row) => Math.abs(part(this.x, row.x) - part(this.x, x));
      const closest = rows.reduce((best, row) => distance(row) < distance(best) ? row : best);
      const at = rows.filter((row) => Math.abs(distance(row) - distance(closest)) < 0.01);
      const named2 = at.length > LINES ? [...at].sort((a, b) => b.y - a.y).slice(0, LINES) : at;
      const head = document.createElement("b");
      head.textContent = `${this.data.x.label}: ${this.nameOf(closest.x)}`;
      const lines = named2.map((row) => {
        const line = document.createElement("div");
        const mark = document.createElement("i");
        mark.style.background = row.series.colour;
        const from = row.series.upper ? row.series.y[row.at] : void 0;
        const value = typeof from === "number" ? `${readable(from)} to ${readable(row.y)}` : readable(row.y);
        line.append(mark, `${row.series.name}: ${value}`);
        return line;
      });
      this.tip.replaceChildren(head, ...lines);
      this.tip.hidden = false;
      this.put(event);
    }
    nameOf(x) {
      const names = this.data.x.names;
      return names?.[Math.round(x)] ?? readable(x, 5);
    }
    /** Beside the pointer, inside the figure. */
    put(event) {
      const box = this.figure.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const beside = x + 16 + this.tip.offsetWidth > box.width ? x - 16 - this.tip.offsetWidth : x + 16;
      this.tip.style.left = `${Math.max(0, beside)}px`;
      this.tip.style.top = `${Math.max(0, y - this.tip.offsetHeight - 8)}px`;
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
          out.push(element("polygon", { points, fill: series.colour, "fill-opacity": 0.45 }));
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
          const line = element("polyline", { points: run.join(" "), fill: "none", stroke: series.colour, "stroke-width": series.width });
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
          out.push(element("circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 3, fill: series.colour }));
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
    return new Chart(figure, svg, JSON.parse(text));
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
    if (!body || body.rows.length < 3 || [...body.rows].some((row) => row.cells[0]?.textContent === "")) return;
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
        const text = (row) => row.cells[column]?.textContent ?? "";
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
