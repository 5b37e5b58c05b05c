// Made of ui/src a51efd7a23ef48e0 by make ui.
(function() {
  "use strict";
  function fractionOf(axis, value) {
    if (axis.log) return Math.log(value / axis.low) / Math.log(axis.high / axis.low);
    return (value - axis.low) / (axis.high - axis.low);
  }
  function valueAt(axis, fraction) {
    if (axis.log) return axis.low * Math.pow(axis.high / axis.low, fraction);
    return axis.low + fraction * (axis.high - axis.low);
  }
  function formatSignificant(value, digits = 4) {
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
  const NICE_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];
  function niceStep(span) {
    const rough = span / 6;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const factor = rough / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
  }
  function ticks(axis) {
    if (axis.log) return logTicks(axis);
    if (axis.time !== void 0) return clockTicks(axis, axis.time);
    const step = niceStep(axis.high - axis.low);
    return multiples(step, axis).map((value) => [value, tickLabel(value, step)]);
  }
  function multiples(step, axis) {
    const first = Math.ceil(axis.low / step - 1e-9);
    const values = [];
    for (let n = first; n * step <= axis.high + step * 1e-9 && values.length < 50; n += 1) values.push(n * step);
    return values;
  }
  function tickLabel(value, step) {
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
    const part = (rest % 60).toFixed(decimals);
    return `${text}:${part.padStart(decimals > 0 ? decimals + 3 : 2, "0")}`;
  }
  function dateAndTime(axis, clock, value) {
    const [, ahead] = clock.filter(([from], index) => index === 0 || from <= value).slice(-1)[0] ?? [0, 0];
    const span = (axis.high - axis.low) * (axis.time ?? 1);
    const decimals = span < 6 ? 4 : span < 600 ? 1 : 0;
    const seconds = Math.floor((value * (axis.time ?? 1) + ahead) * Math.pow(10, decimals)) / Math.pow(10, decimals);
    return `${dateOf(seconds)} ${timeOf(seconds, decimals)}`;
  }
  function formatValue(axis, value) {
    if (axis.clock?.length) return dateAndTime(axis, axis.clock, value);
    return axis.names?.[Math.round(value)] ?? formatSignificant(value, 5);
  }
  function logTicks(axis) {
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
  class Tooltip {
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
    /** Shows the tooltip next to the pointer, inside the figure; hides it if there are no lines. */
    show(event, title, lines) {
      if (lines.length === 0) return this.hide();
      const head = document.createElement("b");
      head.textContent = title;
      this.box.replaceChildren(head, ...lines.map(renderLine));
      this.box.hidden = false;
      const frame = this.figure.getBoundingClientRect();
      const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
      const left = x + 16 + this.box.offsetWidth > frame.width ? x - 16 - this.box.offsetWidth : x + 16;
      this.box.style.left = `${Math.max(0, left)}px`;
      this.box.style.top = `${Math.max(0, y - this.box.offsetHeight - 8)}px`;
    }
  }
  function renderLine(line) {
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
    const row = Math.min(rows - 1, Math.max(0, Math.floor(up * rows)));
    const column = Math.min(grid.columns - 1, Math.max(0, Math.floor(across * grid.columns)));
    const slot = Math.floor(column / grid.together);
    const value = grid.values[row]?.[slot];
    if (value === void 0) return void 0;
    const first = slot * grid.together;
    const edgeName = (at) => formatValue(x, valueAt(x, Math.min(1, at / grid.columns)));
    const columnName = x.names?.length ? x.names[column] ?? "" : `${edgeName(first)} to ${edgeName(first + grid.together)}`;
    const text = value === null ? "none" : y.names?.[value] ?? formatSignificant(value);
    const prefix = grid.folded && value !== null && !y.names?.length ? "at most " : "";
    return {
      head: `${x.label}: ${columnName}`,
      lines: [{ text: `${grid.label}: ${grid.names[row] ?? ""}` }, { text: `${y.label}: ${prefix}${text}` }]
    };
  }
  function attachColumnTips(figure, svg, x, y, allSeries) {
    const tip = new Tooltip(figure);
    svg.addEventListener("pointerleave", () => tip.hide());
    svg.addEventListener("pointermove", (event) => {
      const attribute = event.target.closest("[data-value]")?.getAttribute("data-value");
      const [seriesIndex, at] = (attribute ?? "").split(",").map(Number);
      const series = at === void 0 ? void 0 : allSeries[seriesIndex ?? -1];
      const value = at === void 0 ? void 0 : series?.y[series.x.indexOf(at)];
      if (!series || at === void 0 || value === void 0 || value === null) return tip.hide();
      tip.show(event, `${x.label}: ${formatValue(x, at)}`, [
        { color: series.color, text: series.name },
        { text: `${y.label}: ${formatSignificant(value)}` }
      ]);
    });
  }
  const SVG = "http://www.w3.org/2000/svg";
  const MAX_TOOLTIP_LINES = 12;
  const MIN_ZOOM = 0.01;
  function element(name, attributes) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
    return node;
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
      const [handlePointerLeave, top, width, height] = data.area;
      this.seriesGroups = data.series.map(
        (_, index) => svg.querySelector(`g[data-series="${index}"]`) ?? void 0
      );
      this.zoomedView = element("g", {});
      this.selection = element("rect", {
        y: top,
        height,
        width: 0,
        x: handlePointerLeave,
        fill: "#0072b2",
        "fill-opacity": 0.15
      });
      this.cursorLine = element("line", {
        y1: top,
        y2: top + height,
        x1: handlePointerLeave,
        x2: handlePointerLeave,
        stroke: "#444444",
        "stroke-dasharray": "3 3"
      });
      this.cursorLine.style.display = "none";
      const cover = element("rect", { x: handlePointerLeave, y: top, width, height, fill: "transparent" });
      svg.append(this.zoomedView, this.selection, this.cursorLine, cover);
      this.tip = new Tooltip(figure);
      cover.addEventListener("pointermove", (event) => this.handlePointerMove(event));
      cover.addEventListener("pointerleave", () => this.handlePointerLeave());
      if (data.zoom) {
        cover.style.cursor = "crosshair";
        cover.addEventListener("pointerdown", (event) => this.handlePointerDown(event, cover));
        cover.addEventListener("pointerup", (event) => this.handlePointerUp(event));
        cover.addEventListener("dblclick", () => this.onZoom(data.x.low, data.x.high));
      }
      this.addButtons();
    }
    /** Returns true if both charts have the same quantity on their x axes, and overlapping ranges. */
    sharesAxis(other) {
      const [a, b] = [this.data.x, other.data.x];
      const sameClock = JSON.stringify(a.clock) === JSON.stringify(b.clock);
      return sameClock && a.label === b.label && a.log === b.log && a.low < b.high && b.low < a.high && !a.names?.length && !b.names?.length;
    }
    /** Adds a button for each series, and one that ends the zoom. */
    addButtons() {
      const bar = document.createElement("div");
      bar.className = "keys";
      const drawn = this.seriesGroups.filter(Boolean).length;
      if (drawn > 1) {
        this.buttons = this.data.series.map((series, index) => {
          const button = document.createElement("button");
          button.type = "button";
          button.setAttribute("aria-pressed", "true");
          button.title = "Click to hide or show; double-click to show alone";
          button.append(this.legendMark(index), series.name);
          button.addEventListener("click", () => this.toggle(index));
          button.addEventListener("dblclick", () => this.isolate(index));
          bar.append(button);
          return button;
        });
      }
      if (this.data.zoom) {
        this.wholeAxisButton = document.createElement("button");
        this.wholeAxisButton.type = "button";
        this.wholeAxisButton.textContent = "Whole axis";
        this.wholeAxisButton.hidden = true;
        this.wholeAxisButton.addEventListener("click", () => this.onZoom(this.data.x.low, this.data.x.high));
        bar.append(this.wholeAxisButton);
      }
      if (bar.childElementCount > 0) this.figure.querySelector("figcaption")?.before(bar);
      if (this.buttons.length > 0) this.hideLegendOnScreen();
    }
    /** Returns the mark of a series in the chart's legend, with its dash and its marker. */
    legendMark(index) {
      const entry = this.svg.querySelectorAll("g.legend > g")[index];
      const [handlePointerLeave, middle] = (entry?.dataset["mark"] ?? "0 0").split(" ").map(Number);
      const mark = element("svg", {
        viewBox: `${handlePointerLeave ?? 0} ${(middle ?? 0) - 6} 26 12`,
        width: 26,
        height: 12,
        "aria-hidden": "true"
      });
      const shapes = [...entry?.children ?? []].filter((shape) => shape.tagName !== "text");
      mark.append(...shapes.map((shape) => shape.cloneNode()));
      return mark;
    }
    /** Shows the chart's legend on paper only, because on the screen the buttons are the legend. */
    hideLegendOnScreen() {
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
      this.updateVisibility();
    }
    isolate(index) {
      const alone = this.hidden.size === this.data.series.length - 1 && !this.hidden.has(index);
      this.hidden.clear();
      if (!alone) this.data.series.forEach((_, other) => other !== index && this.hidden.add(other));
      this.updateVisibility();
    }
    updateVisibility() {
      this.seriesGroups.forEach((group, index) => {
        if (group) group.style.display = this.hidden.has(index) ? "none" : "";
      });
      this.buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(!this.hidden.has(index))));
      if (this.isZoomed()) this.drawZoomed();
    }
    isZoomed() {
      return this.x.low !== this.data.x.low || this.x.high !== this.data.x.high;
    }
    /** Returns the pointer's position along the x axis, from 0 to 1. */
    fractionX(event) {
      const box = this.svg.getBoundingClientRect();
      const scale = this.svg.viewBox.baseVal.width / box.width;
      const [left, , width] = this.data.area;
      return Math.min(1, Math.max(0, ((event.clientX - box.left) * scale - left) / width));
    }
    /** Returns the pointer's position along the y axis, from 0 at the bottom to 1. */
    fractionY(event) {
      const box = this.svg.getBoundingClientRect();
      const scale = this.svg.viewBox.baseVal.height / box.height;
      const [, top, , height] = this.data.area;
      return 1 - Math.min(1, Math.max(0, ((event.clientY - box.top) * scale - top) / height));
    }
    handlePointerDown(event, cover) {
      if (event.pointerType === "touch") return;
      this.dragFrom = this.fractionX(event);
      cover.setPointerCapture(event.pointerId);
    }
    handlePointerUp(event) {
      const [from, to] = [this.dragFrom, this.fractionX(event)];
      this.dragFrom = void 0;
      this.selection.setAttribute("width", "0");
      if (from === void 0 || Math.abs(to - from) < MIN_ZOOM) return;
      this.onZoom(valueAt(this.x, Math.min(from, to)), valueAt(this.x, Math.max(from, to)));
    }
    handlePointerMove(event) {
      const fraction = this.fractionX(event);
      const [left, , width] = this.data.area;
      if (this.dragFrom !== void 0) {
        const [low, high] = [Math.min(this.dragFrom, fraction), Math.max(this.dragFrom, fraction)];
        this.selection.setAttribute("x", String(left + low * width));
        this.selection.setAttribute("width", String((high - low) * width));
      }
      const x = valueAt(this.x, fraction);
      this.onPoint(x);
      if (this.data.grid) this.showCell(event, this.data.grid, fraction, x);
      else this.showValues(event, x);
    }
    handlePointerLeave() {
      this.tip.hide();
      this.onPoint(void 0);
    }
    /** Moves the cursor to an x value; hides it if the value is undefined or not shown. */
    setCursor(x) {
      const [left, , width] = this.data.area;
      const fraction = x === void 0 ? -1 : fractionOf(this.x, x);
      const inside = fraction >= 0 && fraction <= 1;
      this.cursorLine.style.display = inside ? "" : "none";
      if (!inside) return;
      this.cursorLine.setAttribute("x1", String(left + fraction * width));
      this.cursorLine.setAttribute("x2", String(left + fraction * width));
    }
    /** Shows the values of all series at the point nearest to x. */
    showValues(event, x) {
      const rows = [];
      this.data.series.forEach((series, index) => {
        if (this.hidden.has(index)) return;
        const at2 = nearestIndex(series.x, x);
        const [found, y] = [series.x[at2], series.upper?.[at2] ?? series.y[at2]];
        if (found !== void 0 && y !== null && y !== void 0) rows.push({ series, at: at2, x: found, y });
      });
      if (rows.length === 0) return this.tip.hide();
      const distance = (row) => Math.abs(fractionOf(this.x, row.x) - fractionOf(this.x, x));
      const nearestRow = rows.reduce((best, row) => distance(row) < distance(best) ? row : best);
      const at = rows.filter((row) => Math.abs(distance(row) - distance(nearestRow)) < 0.01);
      const listed = at.length > MAX_TOOLTIP_LINES ? [...at].sort((a, b) => b.y - a.y).slice(0, MAX_TOOLTIP_LINES) : at;
      const lines = listed.map((row) => {
        const from = row.series.upper ? row.series.y[row.at] : void 0;
        const value = typeof from === "number" ? `${formatSignificant(from)} to ${formatSignificant(row.y)}` : formatSignificant(row.y);
        return { color: row.series.color, text: `${row.series.name}: ${value}` };
      });
      this.tip.show(event, `${this.data.x.label}: ${formatValue(this.data.x, nearestRow.x)}`, lines);
    }
    /** Shows the cell under the pointer, and the row of each line at its column. */
    showCell(event, grid, fraction, x) {
      const cell = cellAt(grid, this.data.x, this.data.y, fraction, this.fractionY(event));
      if (!cell) return this.tip.hide();
      const lines = this.data.series.flatMap((series) => {
        const y = series.y[nearestIndex(series.x, x)];
        const row = y === null || y === void 0 ? void 0 : grid.names[Math.round(y)];
        return row === void 0 ? [] : [{ color: series.color, text: `${series.name}: ${row}` }];
      });
      this.tip.show(event, cell.head, [...cell.lines, ...lines]);
    }
    /** Zooms to a range of the x axis. */
    zoom(low, high) {
      if (!this.data.zoom || !(high > low)) return;
      this.x = { ...this.data.x, low: Math.max(low, this.data.x.low), high: Math.min(high, this.data.x.high) };
      if (this.wholeAxisButton) this.wholeAxisButton.hidden = !this.isZoomed();
      this.drawZoomed();
    }
    /** Draws the zoomed range over the chart. */
    drawZoomed() {
      this.zoomedView.replaceChildren();
      const zoomed = this.isZoomed();
      this.seriesGroups.forEach((group, index) => {
        if (group) group.style.display = zoomed || this.hidden.has(index) ? "none" : "";
      });
      if (!zoomed) return;
      const [left, top, width, height] = this.data.area;
      const isVisible = (x) => x >= this.x.low && x <= this.x.high;
      this.zoomedView.append(
        element("rect", { x: left - 1, y: top + height + 1, width: width + 2, height: 25, fill: "#ffffff" })
      );
      this.zoomedView.append(
        element("rect", { x: left + 0.5, y: top + 0.5, width: width - 1, height: height - 1, fill: "#ffffff" })
      );
      for (const [value, name] of ticks(this.x)) {
        const x = left + fractionOf(this.x, value) * width;
        this.zoomedView.append(element("line", { x1: x, x2: x, y1: top, y2: top + height, stroke: "#dddddd" }));
        const label = element("text", { x, y: top + height + 19, "font-size": 13, "text-anchor": "middle" });
        label.textContent = name;
        this.zoomedView.append(label);
      }
      for (const [value] of ticks(this.data.y)) {
        const y = top + (1 - fractionOf(this.data.y, value)) * height;
        this.zoomedView.append(element("line", { x1: left, x2: left + width, y1: y, y2: y, stroke: "#dddddd" }));
      }
      this.data.series.forEach((series, index) => {
        if (!this.hidden.has(index)) this.zoomedView.append(...this.linesOf(series, isVisible));
      });
    }
    /** Returns the polygons of a band; a missing value interrupts it. */
    bandsOf(series, upper, isVisible) {
      const [left, top, width, height] = this.data.area;
      const axis = (series.right ? this.data.right : void 0) ?? this.data.y;
      const polygons = [];
      let [low, high] = [[], []];
      const finish = () => {
        if (low.length > 1) {
          const points = [...high, ...low.reverse()].join(" ");
          polygons.push(element("polygon", { points, fill: series.color, "fill-opacity": 0.45 }));
        }
        [low, high] = [[], []];
      };
      const yOf = (y) => y === null || y === void 0 ? Number.NaN : top + (1 - fractionOf(axis, y)) * height;
      series.x.forEach((x, at) => {
        const isDrawn = isVisible(x) || isVisible(series.x[at + 1] ?? x) || isVisible(series.x[at - 1] ?? x);
        const [below, above] = [yOf(series.y[at]), yOf(upper[at])];
        if (!isDrawn || !Number.isFinite(below) || !Number.isFinite(above)) return finish();
        const px = (left + Math.min(1, Math.max(0, fractionOf(this.x, x))) * width).toFixed(1);
        low.push(`${px},${below.toFixed(1)}`);
        high.push(`${px},${above.toFixed(1)}`);
      });
      finish();
      return polygons;
    }
    linesOf(series, isVisible) {
      if (series.upper) return this.bandsOf(series, series.upper, isVisible);
      const [left, top, width, height] = this.data.area;
      const axis = (series.right ? this.data.right : void 0) ?? this.data.y;
      const elements = [];
      let points = [];
      const finish = () => {
        if (points.length > 1 && series.width > 0) {
          const line = element("polyline", {
            points: points.join(" "),
            fill: "none",
            stroke: series.color,
            "stroke-width": series.width
          });
          if (series.dash) line.setAttribute("stroke-dasharray", series.dash);
          elements.push(line);
        }
        points = [];
      };
      series.x.forEach((x, at) => {
        const y = series.y[at];
        const isDrawn = isVisible(x) || isVisible(series.x[at + 1] ?? x) || isVisible(series.x[at - 1] ?? x);
        const fraction = y === null || y === void 0 ? Number.NaN : fractionOf(axis, y);
        if (!isDrawn || !Number.isFinite(fraction)) return finish();
        const across = Math.min(1, Math.max(0, fractionOf(this.x, x)));
        const [px, py] = [left + across * width, top + (1 - fraction) * height];
        points.push(`${px.toFixed(1)},${py.toFixed(1)}`);
        if (isVisible(x) && (series.width === 0 || series.x.length < 80)) {
          elements.push(element("circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 3, fill: series.color }));
        }
      });
      finish();
      return elements;
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
  function linkCharts(charts) {
    for (const chart of charts) {
      const others = charts.filter((other) => other === chart || chart.sharesAxis(other));
      chart.onPoint = (x) => others.forEach((other) => other.setCursor(x));
      chart.onZoom = (low, high) => others.forEach((other) => other.zoom(low, high));
    }
  }
  function parseNumber(text) {
    const plain = text.trim().replace(/,/g, "").replace(/−/g, "-");
    const match = /^-?\d+(\.\d+)?(e[+-]?\d+)?/i.exec(plain);
    return match ? Number(match[0]) : void 0;
  }
  function compare(a, b, ascending) {
    const [x, y] = [parseNumber(a), parseNumber(b)];
    const missing = (text) => text === "" || text === "–";
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    const order = x !== void 0 && y !== void 0 ? x - y : a.localeCompare(b);
    return ascending ? order : -order;
  }
  function makeSortable(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? []];
    if (!body || body.rows.length < 3 || [...body.rows].some((row) => row.cells[0]?.textContent === "")) return;
    const original = [...body.rows];
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
        const rows = [...original];
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
    const isDark = () => {
      const chosen = root.dataset["theme"];
      return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    };
    const updateLabel = () => {
      button.textContent = isDark() ? "Light" : "Dark";
    };
    button.addEventListener("click", () => {
      root.dataset["theme"] = isDark() ? "light" : "dark";
      updateLabel();
    });
    updateLabel();
    bar.append(button);
    return bar;
  }
  const figures = [...document.querySelectorAll("figure.chart")];
  linkCharts(figures.map(chartOf).filter((chart) => chart !== void 0));
  document.querySelectorAll("table.values").forEach(makeSortable);
  document.querySelector("section.cover")?.append(themeButton());
  document.documentElement.dataset["interactive"] = "yes";
})();
