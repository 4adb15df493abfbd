// Training: training runs overlaid, learning runs, folders of self-play.

import {ChartSet, colorClass} from "../runs/chart.js";
import {Follower} from "../runs/follow.js";
import {GameList} from "../runs/games.js";
import {learningView, selfplayView} from "../runs/learning.js";
import {TrainingRuns} from "../runs/training.js";
import {html, nothing} from "../vendor/lit-html.js";
import {Tab} from "./tab.js";

/** @import {DamagedDocument, LearningDocument, ListedRun, SelfplayDocument} from "documents" */
/** @import {Page} from "../page.js" */

const KINDS = ["training", "learning", "selfplay"];

export class TrainingTab extends Tab {
  /** @param {Page} page */
  constructor(page) {
    super(page, "training");
    this.curves = new TrainingRuns(page);
    /** Of the learning run or the self-play that is shown. */
    this.charts = new ChartSet();
    /** The games of self-play. */
    this.games = new GameList(page);
    /** The learning run or folder of self-play that is shown instead of curves. @type {string | null} */
    this.single = null;
    /** @type {LearningDocument | SelfplayDocument | DamagedDocument | null} */
    this.found = null;
    /** @type {Follower<LearningDocument | SelfplayDocument | DamagedDocument>} */
    this.follower = new Follower(page, document => {
      this.found = document;
      this.games.refresh(document.kind === "selfplay" && !("error" in document) ? `api/runs/${document.id}` : "");
      page.update();
    });
    this.hasChosen = false;
  }

  enter() {
    this.page.runs.follow(() => this.listed());
    if (this.single) this.follower.start();
    else this.curves.start();
  }

  leave() {
    this.page.runs.leave();
    this.follower.stop();
    this.curves.stop();
  }

  /** Show the first run at once; forget what is there no longer. */
  listed() {
    const runs = this.page.runs.shown(KINDS) ?? [];
    const ids = new Set(runs.map(run => run.id));
    this.curves.keep(ids);
    if (this.single && !ids.has(this.single)) this.show(null);
    if (!this.hasChosen && runs.length) {
      this.hasChosen = true;
      const first = runs.find(run => run.kind === "learning") ?? runs[0];
      if (first.kind === "training") this.curves.toggle(first.id);
      else this.show(first.id);
    }
    this.page.update();
  }

  /** @param {string | null} run */
  show(run) {
    if (run === this.single) return; // its document is shown, and would not come again
    this.single = run;
    this.found = null;
    this.follower.follow(run ? `api/runs/${run}` : "");
    if (run) {
      this.curves.stop();
      this.follower.start();
    } else {
      this.follower.stop();
      this.curves.start();
    }
    this.page.update();
  }

  /** @param {string} run */
  toggle(run) {
    const wasHidden = this.single !== null && this.curves.isChosen(run);
    if (this.single) this.show(null);
    if (!wasHidden) this.curves.toggle(run);
  }

  render() {
    const {t, runs} = this.page;
    const listed = runs.shown(KINDS);
    if (listed === null) return html`<p class="muted">${t("runs.loading")}</p>`;
    if (!listed.length) return html`<p class="card">${t("runs.none")} <code>fukayomi web runs/</code></p>`;
    return html`<div class="runs"><div><section class="card"><h2>${t("runs.list")}</h2><ul class="run-list">${listed.map(run => this.item(run))}</ul></section></div>
      <div>${this.single ? this.singleView() : this.curves.render()}</div></div>`;
  }

  /** @param {ListedRun} run */
  item({id, kind, name}) {
    const {single, curves} = this;
    const {t} = this.page;
    if (kind !== "training") {
      return html`<li><button type="button" data-run=${name} aria-current=${single === id ? "true" : "false"} @click=${() => this.show(id)}><span>${name}</span> <small>${t(`runs.kind.${kind}`)}</small></button></li>`;
    }
    const isOn = !single && curves.isChosen(id);
    return html`<li><label data-run=${name}><input type="checkbox" .checked=${isOn} @change=${() => this.toggle(id)}>
      ${isOn ? html`<span class=${`swatch ${colorClass(curves.color(id))}`}></span>` : nothing}<span>${name}</span></label></li>`;
  }

  singleView() {
    const {found, page, charts} = this;
    if (!found) return html`<p class="muted">${page.t("runs.loading")}</p>`;
    if ("error" in found) return html`<p class="error" role="alert">${found.name}: ${page.because(found.error)}</p>`;
    return found.kind === "learning" ? learningView(page, found, charts) : html`${selfplayView(page, found, charts)}${this.games.render()}`;
  }
}
