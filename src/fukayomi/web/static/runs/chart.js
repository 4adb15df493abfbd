// A chart of uPlot in an element that lit-html keeps where a template puts it. Colours are those of the page's theme.
import uPlot from "../vendor/uplot.js";
import {figure} from "./numbers.js";

/** @import {Data, Series} from "../vendor/uplot.js" */

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {number} color  Number of the run's colour.
 * @property {number[]} x  Ascending.
 * @property {(number | null)[]} y
 * @property {"raw" | "strong" | "points" | "steps"} style  raw: faint, and not in the legend; points: of the test set.
 * @property {(number | null)[]} [low]  Ends of intervals.
 * @property {(number | null)[]} [high]
 */

/**
 * @typedef {object} View
 * @property {boolean} logX
 * @property {boolean} logY
 * @property {(value: number) => string} xText
 * @property {string} xLabel
 * @property {boolean} [isWhole]  The axis has whole numbers only.
 * @property {number} [from]  The range of y ignores what is before this x.
 * @property {[number, number]} [range]  Of y.
 */

const HEIGHT = 210;
const COLORS = 10;
const DASH = [4, 3];

/** The colours of the style sheet, as a canvas needs them, and the charts that have them. */
const theme = {
  probe: document.createElement("span"),
  /** @type {Set<Chart>} */
  charts: new Set(),
  shown: "",
};

/** The value of a colour of the style sheet. @param {string} name */
function color(name) {
  const {probe} = theme;
  if (!probe.isConnected) document.body.append(probe);
  probe.hidden = true;
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** The class of a run's colour in tables and legends. @param {number} index */
export const colorClass = index => `run-color-${index % COLORS}`;

/** Draw all charts again if the theme has changed. */
export function followTheme() {
  const now = color("--ink") + color("--card");
  if (now === theme.shown) return;
  theme.shown = now;
  for (const chart of theme.charts) chart.rebuild();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", followTheme);

class Chart {
  /** @param {string} title */
  constructor(title) {
    this.node = document.createElement("figure");
    this.node.className = "chart card";
    this.caption = document.createElement("figcaption");
    this.place = document.createElement("div");
    this.node.append(this.caption, this.place);
    this.retitle(title);
    /** @type {uPlot | null} */
    this.plot = null;
    this.hasZoomed = false;
    /** @type {View | null} */
    this.view = null;
    this.shape = "";
    /** @type {Line[]} */
    this.lines = [];
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.place);
    theme.charts.add(this);
  }

  /** @param {string} title */
  retitle(title) {
    if (this.caption.textContent !== title) this.caption.textContent = title;
    this.place.setAttribute("role", "group");
    this.place.setAttribute("aria-label", title);
  }

  close() {
    theme.charts.delete(this);
    this.sizes.disconnect();
    this.plot?.destroy();
    this.plot = null;
    this.node.remove();
  }

  /** Show lines; a part that the reader has zoomed into stays. @param {Line[]} lines @param {View} view */
  show(lines, view) {
    this.lines = lines;
    this.view = view;
    const shape = JSON.stringify([
      lines.map(({label, color: own, style}) => [label, own, style]),
      view.logX,
      view.logY,
      view.isWhole,
      view.xLabel,
    ]);
    this.node.dataset.lines = String(lines.length);
    this.node.dataset.last = String(Math.max(0, ...lines.map(line => line.x.at(-1) ?? 0)));
    if (this.plot && shape === this.shape) {
      const isZoomed = this.isZoomed(this.plot);
      this.plot.setData(this.data(), !isZoomed);
      if (isZoomed) this.plot.redraw();
    } else {
      this.shape = shape;
      this.rebuild();
    }
  }

  /** @param {uPlot} plot */
  isZoomed({
    scales: {
      x: {min, max},
    },
    data: [xs],
  }) {
    return this.hasZoomed && xs.length > 1 && (min > xs[0] || max < xs[xs.length - 1]);
  }

  /** The values of all lines at the places of all of them. @returns {Data} */
  data() {
    const tables = this.lines.map(line => {
      /** @type {[number[], (number | null)[]]} */
      const [x, y] = [[], []];
      line.x.forEach((place, index) => {
        if ((this.view?.logX && place <= 0) || place <= (x.at(-1) ?? -Infinity)) return;
        const value = line.y[index];
        x.push(place);
        y.push(value === null || (this.view?.logY && value <= 0) ? null : value);
      });
      return /** @type {[number[], (number | null)[]]} */ ([x, y]);
    });
    return tables.length ? uPlot.join(tables) : [[]];
  }

  rebuild() {
    this.plot?.destroy();
    this.plot = null;
    this.hasZoomed = false;
    if (!this.view || !this.place.isConnected) return;
    const {view, lines} = this;
    const width = Math.max(200, this.place.clientWidth);
    const ink = color("--muted");
    const grid = {stroke: color("--line"), width: 1};
    const axis = {stroke: ink, grid, ticks: {show: false}, font: "11px system-ui"};
    this.plot = new uPlot(
      {
        width,
        height: HEIGHT,
        cursor: {sync: {key: "runs", scales: ["x", null], setSeries: false}, drag: {x: true, y: false}, points: {size: 6}},
        legend: {
          live: true,
          markers: {width: 0, fill: (_, index) => (lines[index - 1] ? color(`--run-${lines[index - 1].color % COLORS}`) : "transparent")},
        },
        scales: {
          x: {time: false, distr: view.logX ? 3 : 1},
          y: {distr: view.logY ? 3 : 1, ...(view.logY ? {} : {range: (_, low, high) => this.range(low, high)})},
        },
        axes: [
          {
            ...axis,
            size: 28,
            values: (_, ticks) => ticks.map(tick => (tick === null ? "" : view.xText(tick))),
            ...(view.isWhole ? {incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]} : {}),
          },
          {...axis, size: 54, values: (_, ticks) => ticks.map(tick => (tick === null ? "" : figure(tick)))},
        ],
        series: [
          {value: ({data: [xs]}, value) => (xs.length ? view.xText(value ?? xs[xs.length - 1]) : "–"), label: view.xLabel},
          ...lines.map(line => this.series(line)),
        ],
        hooks: {
          draw: [plot => this.drawIntervals(plot)],
          setSelect: [
            () => {
              this.hasZoomed = true;
            },
          ],
        },
      },
      this.data(),
      this.place,
    );
  }

  /** @param {Line} line @returns {Series} */
  series(line) {
    const stroke = color(`--run-${line.color % COLORS}`);
    /** @type {Series} */
    const common = {
      label: line.label,
      class: `line-${line.style}`,
      spanGaps: true,
      stroke,
      alpha: 1,
      value: (plot, value, index, place) => figure(value ?? nearest(plot.data[index], place ?? plot.data[0].length - 1)),
    };
    if (line.style === "raw") return {...common, alpha: 0.28, width: 0.8, points: {show: false}};
    if (line.style === "points")
      return {...common, width: 0.8, dash: DASH, points: {show: true, size: line.x.length < 60 ? 6 : 3.5, fill: stroke, width: 0}};
    if (line.style === "steps") return {...common, width: 1.4, points: {show: line.x.length < 100, size: 6, fill: stroke, width: 0}};
    return {...common, width: 1.8, points: {show: line.x.length < 3, size: 6, fill: stroke}};
  }

  /**
   * The range of y: of the whole axis without its beginning, whose high losses would hide everything after.
   * @param {number | null} low  Of what is shown. @param {number | null} high @returns {[number, number]}
   */
  range(low, high) {
    const {view, lines} = this;
    const from = view && !view.logX && !this.hasZoomed ? view.from : undefined;
    if (view?.range) return view.range;
    const later = from
      ? lines.filter(line => line.style !== "raw").flatMap(line => line.y.filter((_, index) => line.x[index] >= from))
      : [];
    const values = (later.some(value => value !== null) ? later : [low, high]).concat(
      lines.flatMap(line => [...(line.low ?? []), ...(line.high ?? [])]),
    );
    const ends = values.filter(value => value !== null);
    if (!ends.length) return [0, 1];
    const least = Math.min(...ends);
    const most = Math.max(...ends);
    const margin = 0.06 * (most - least) || Math.abs(most) * 0.1 || 1;
    return [least - margin, most + margin];
  }

  /** Vertical lines from the lower to the upper ends. @param {uPlot} plot */
  drawIntervals(plot) {
    const {ctx} = plot;
    for (const line of this.lines) {
      if (!line.low || !line.high) continue;
      ctx.save();
      ctx.strokeStyle = color(`--run-${line.color % COLORS}`);
      ctx.lineWidth = 1.2 * devicePixelRatio;
      ctx.beginPath();
      line.x.forEach((place, index) => {
        const low = line.low?.[index];
        const high = line.high?.[index];
        if (low === null || low === undefined || high === null || high === undefined) return;
        const x = plot.valToPos(place, "x", true);
        ctx.moveTo(x, plot.valToPos(low, "y", true));
        ctx.lineTo(x, plot.valToPos(high, "y", true));
      });
      ctx.stroke();
      ctx.restore();
    }
  }

  resize() {
    const width = this.place.clientWidth;
    if (!width) return;
    if (!this.plot) this.rebuild();
    else if (this.plot.width !== width) this.plot.setSize({width, height: HEIGHT});
  }
}

/** The value of a line at a place where another one has a point: that of its last point before. @param {(number | null | undefined)[]} values @param {number} place */
function nearest(values, place) {
  for (let index = Math.min(place, values.length - 1); index >= 0; index--) {
    const value = values[index];
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

/** Charts by name: those that are not wanted any more are closed. */
export class ChartSet {
  constructor() {
    /** @type {Map<string, Chart>} */
    this.charts = new Map();
  }

  /** The element of a chart. @param {string} name @param {string} title @param {Line[]} lines @param {View} view */
  show(name, title, lines, view) {
    const chart = this.charts.get(name) ?? new Chart(title);
    this.charts.set(name, chart);
    chart.retitle(title);
    chart.node.dataset.chart = name;
    chart.show(lines, view);
    return chart.node;
  }

  /** @param {Set<string>} names */
  keep(names) {
    for (const [name, chart] of this.charts) {
      if (names.has(name)) continue;
      chart.close();
      this.charts.delete(name);
    }
  }
}
