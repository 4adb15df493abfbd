// Training runs overlaid: their curves, the settings in which they differ, the last metrics on the test set.
import {html, nothing} from "../vendor/lit-html.js";
import {ChartSet, colorClass, followTheme} from "./chart.js";
import {Follower} from "./follow.js";
import {compact, duration, figure, number} from "./numbers.js";

/** @import {DamagedDocument, MeasuredCurve, TrainingDocument} from "documents" */
/** @import {Page} from "../page.js" */
/** @import {Line} from "./chart.js" */

/** @typedef {{color: number, name: string, document: TrainingDocument}} Run */

/** Curves in the order of their charts; further ones of a run come after. */
// biome-ignore format: a table
const MEASURES = ["policy_loss", "result_loss", "search_value_loss", "total_loss", "policy_accuracy", "value_accuracy", "policy_entropy", "learning_rate", "positions_a_second", "steps_a_second"];
const AXES = /** @type {const} */ (["step", "positions", "time"]);
/** Share of the runs whose high losses do not stretch the axes. */
const BEGINNING = 0.05;
/** Runs that can be overlaid. */
const MOST = 10;

export class TrainingRuns {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.charts = new ChartSet();
    /** @type {Map<string, Follower<TrainingDocument | DamagedDocument>>} */
    this.followers = new Map();
    /** @type {Map<string, TrainingDocument | DamagedDocument>} */
    this.documents = new Map();
    /** Ids of the chosen runs; their places are their colours. @type {(string | null)[]} */
    this.chosen = [];
    this.isActive = false;
    /** @type {"step" | "positions" | "time"} */
    this.axis = "step";
    this.logX = false;
    this.logY = false;
    this.smooth = "";
  }

  /** @param {string} id */
  isChosen(id) {
    return this.chosen.includes(id);
  }

  /** The number of a run's colour. @param {string} id */
  color(id) {
    return this.chosen.indexOf(id);
  }

  /** Choose a run, or no longer. @param {string} id */
  toggle(id) {
    const place = this.chosen.indexOf(id);
    const free = this.chosen.indexOf(null);
    if (place >= 0) this.chosen[place] = null;
    else if (free >= 0) this.chosen[free] = id;
    else if (this.chosen.length < MOST) this.chosen.push(id);
    this.follow();
    this.page.update();
  }

  /** Leave out runs that are there no longer. @param {Set<string>} ids */
  keep(ids) {
    this.chosen = this.chosen.map(id => (id !== null && ids.has(id) ? id : null));
    this.follow();
  }

  start() {
    this.isActive = true;
    this.follow();
  }

  stop() {
    this.isActive = false;
    for (const follower of this.followers.values()) follower.stop();
  }

  follow() {
    for (const [id, follower] of this.followers) {
      if (this.isChosen(id)) continue;
      follower.stop();
      this.followers.delete(id);
      this.documents.delete(id);
    }
    for (const id of this.chosen) {
      if (id === null) continue;
      const follower =
        this.followers.get(id) ??
        new Follower(this.page, document => {
          this.documents.set(id, document);
          this.page.update();
        });
      this.followers.set(id, follower);
      follower.follow(`api/runs/${id}${this.query()}`);
      if (this.isActive) follower.start();
    }
  }

  query() {
    const words = [...(this.smooth === "" ? [] : [`smooth=${this.smooth}`]), ...(this.logX ? ["x=log"] : [])];
    return words.length ? `?${words.join("&")}` : "";
  }

  render() {
    const found = this.chosen.map(id => (id === null ? undefined : this.documents.get(id)));
    const good = found.flatMap((document, color) => (document && !("error" in document) ? [{color, document, name: document.name}] : []));
    requestAnimationFrame(followTheme);
    return html`${this.controls(good)}
      ${found.map(document => (document && "error" in document ? html`<p class="error" role="alert">${document.name}: ${this.page.because(document.error)}</p>` : nothing))}
      ${good.length ? html`<div class="charts">${this.panels(good)}</div>${this.differences(good)}${this.lastTests(good)}` : nothing}`;
  }

  /** Axes, scales and smoothing. @param {Run[]} runs */
  controls(runs) {
    const {t} = this.page;
    const has = {
      step: true,
      positions: runs.length > 0 && runs.every(({document}) => document.batch),
      time: runs.length > 0 && runs.every(({document}) => document.seconds.step.length),
    };
    /** @param {Partial<Pick<TrainingRuns, "axis" | "logX" | "logY" | "smooth">>} values */
    const set = values => {
      Object.assign(this, values);
      this.follow();
      this.page.update();
    };
    return html`<div class="row">
      <label class="inline">${t("runs.axis")} <select id="axis" @change=${event => set({axis: AXES.find(each => each === event.target.value)})}>
        ${AXES.map(each => html`<option value=${each} ?disabled=${!has[each]} ?selected=${this.axis === each}>${t(`runs.axis.${each}`)}</option>`)}</select></label>
      <button type="button" data-action="log-x" aria-pressed=${this.logX ? "true" : "false"} @click=${() => set({logX: !this.logX})}>${t("runs.logX")}</button>
      <button type="button" data-action="log-y" aria-pressed=${this.logY ? "true" : "false"} @click=${() => set({logY: !this.logY})}>${t("runs.logY")}</button>
      <label class="inline">${t("runs.smooth")} <input type="number" id="smooth" min="0" step="1" placeholder=${t("runs.auto")} .value=${this.smooth}
        @change=${event => set({smooth: event.target.value === "" || !(Number(event.target.value) >= 0) ? "" : String(Number(event.target.value))})}></label>
      <span class="muted">${t("runs.zoom")}</span>
    </div>`;
  }

  /** A chart for each measure that a run has. @param {Run[]} runs */
  panels(runs) {
    const {t} = this.page;
    const there = new Set(runs.flatMap(({document}) => Object.keys(document.curves)));
    const measures = [...MEASURES.filter(each => there.has(each)), ...[...there].filter(each => !MEASURES.includes(each))];
    const axes = runs.map(({document}) => this.places(document));
    const end = Math.max(0, ...axes.map(({last}) => last));
    const texts = {step: compact, positions: compact, time: duration};
    this.charts.keep(new Set(measures));
    return measures.map(measure => {
      const lines = runs.flatMap(({document, color, name}, index) =>
        measureLines(document.curves[measure], axes[index].of, color, name, t),
      );
      const view = {logX: this.logX, logY: this.logY, xText: texts[this.axis], xLabel: t(`runs.axis.${this.axis}`), from: BEGINNING * end};
      return this.charts.show(measure, this.page.word("runs.measure", measure), lines, view);
    });
  }

  /** How steps become places on the axis. @param {TrainingDocument} document */
  places(document) {
    const {axis} = this;
    const {batch, seconds} = document;
    /** @param {number} step */
    const place = step =>
      axis === "step" ? step : axis === "positions" ? step * (batch ?? NaN) : between(seconds.step, seconds.value, step);
    return {of: (/** @type {number[]} */ steps) => steps.map(place), last: place(document.last_step)};
  }

  /** Settings that are not the same in all runs. @param {Run[]} runs */
  differences(runs) {
    const {t} = this.page;
    if (runs.length < 2) return nothing;
    const names = [...new Set(runs.flatMap(({document}) => Object.keys(document.settings)))];
    const rows = names.filter(name => new Set(runs.map(({document}) => document.settings[name])).size > 1);
    return html`<section class="card scroll" tabindex="0"><h2>${t("runs.differences")}</h2>
      ${
        rows.length === 0
          ? html`<p class="muted">${t("runs.noDifferences")}</p>`
          : html`<table data-table="differences">
        <thead><tr><th scope="col">${t("runs.setting")}</th>${runs.map(run => runHead(run))}</tr></thead>
        <tbody>${rows.map(name => html`<tr><th scope="row">${name}</th>${runs.map(({document}) => html`<td>${document.settings[name] ?? "–"}</td>`)}</tr>`)}</tbody>
      </table>`
      }</section>`;
  }

  /** The last metrics on the test set. @param {Run[]} runs */
  lastTests(runs) {
    const {page} = this;
    const {t} = page;
    const measures = MEASURES.filter(each => runs.some(({document}) => document.curves[each]?.test));
    /** @param {TrainingDocument} document @param {string} measure */
    const last = (document, measure) => document.curves[measure]?.test?.value.at(-1);
    return html`<section class="card scroll" tabindex="0"><h2>${t("runs.progress")}</h2><table data-table="runs">
      <thead><tr><th scope="col">${t("runs.run")}</th><th scope="col" class="number">${t("runs.axis.step")}</th>${measures.map(each => html`<th scope="col" class="number">${page.word("runs.measure", each)}</th>`)}</tr></thead>
      <tbody>${runs.map(
        ({
          document,
          color,
          name,
        }) => html`<tr data-run=${name}><th scope="row"><span class=${`swatch ${colorClass(color)}`}></span> ${name}</th>
        <td class="number" data-last-step=${document.last_step}>${number(document.last_step)}${document.steps ? ` / ${number(document.steps)}` : ""}</td>
        ${measures.map(each => html`<td class="number">${figure(last(document, each))}</td>`)}</tr>`,
      )}</tbody></table>
      ${measures.length ? html`<p class="muted small">${t("runs.testNote")}</p>` : nothing}</section>`;
  }
}

/** @param {Run} run */
const runHead = ({color, name}) => html`<th scope="col"><span class=${`swatch ${colorClass(color)}`}></span> ${name}</th>`;

/** Training strong and smoothed over the faint raw points; the test set as points. @param {MeasuredCurve | undefined} curve @param {(steps: number[]) => number[]} of @param {number} color @param {string} name @param {Page["t"]} t */
function measureLines(curve, of, color, name, t) {
  if (!curve) return [];
  const {train, test} = curve;
  /** @type {Line[]} */
  const lines = [];
  if (train?.smooth)
    lines.push(
      {label: `${name} raw`, color, x: of(train.step), y: train.value, style: "raw"},
      {label: name, color, x: of(train.smooth.step), y: train.smooth.value, style: "strong"},
    );
  else if (train) lines.push({label: name, color, x: of(train.step), y: train.value, style: "strong"});
  if (test) lines.push({label: t("runs.ofTest", {name}), color, x: of(test.step), y: test.value, style: "points"});
  return lines;
}

/** The value at a place between points, which ascend; beyond them, as fast as at their end. @param {number[]} places @param {number[]} values @param {number} place */
function between(places, values, place) {
  if (!places.length) return NaN;
  let low = 0;
  let high = places.length - 1;
  if (place <= places[0]) return values[0] * (places[0] ? place / places[0] : 1);
  if (place >= places[high]) return (values[high] * place) / places[high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (places[middle] <= place) low = middle;
    else high = middle;
  }
  return values[low] + ((values[high] - values[low]) * (place - places[low])) / (places[high] - places[low]);
}
