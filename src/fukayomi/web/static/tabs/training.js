// Training: training runs overlaid, learning runs, folders of self-play.
import {html, nothing} from "../vendor/lit-html.js";
import {colorClass} from "../runs/chart.js";
import {Follower} from "../runs/follow.js";
import {GameList} from "../runs/games.js";
import {learningView, selfplayView} from "../runs/learning.js";
import {followList, leaveList, shown} from "../runs/list.js";
import {TrainingRuns} from "../runs/training.js";

const KINDS = ["training", "learning", "selfplay"];
/** @type {TrainingRuns | null} */
let curves = null;
/** The learning run or folder of self-play that is shown instead of curves. @type {string | null} */
let single = null;
/** @type {any} */
let found = null;
/** @type {Follower | null} */
let follower = null;
/** The games of self-play. @type {GameList | null} */
let games = null;
let hasChosen = false;

/** @param {import("../page.js").Page} page */
export function enter(page) {
  curves ??= new TrainingRuns(page);
  games ??= new GameList(page);
  follower ??= new Follower(page, document => {
    found = document;
    games?.refresh(document.kind === "selfplay" && !document.error ? `api/runs/${document.id}` : "");
    page.update();
  });
  followList(page, () => listed(page));
  if (single) follower.start();
  else curves.start();
}

export function leave() {
  leaveList();
  follower?.stop();
  curves?.stop();
}

/** Show the first run at once; forget what is there no longer. @param {import("../page.js").Page} page */
function listed(page) {
  const runs = shown(KINDS) ?? [], ids = new Set(runs.map(run => run.id));
  curves?.keep(ids);
  if (single && !ids.has(single)) show(page, null);
  if (!hasChosen && runs.length) {
    hasChosen = true;
    const first = runs.find(run => run.kind === "learning") ?? runs[0];
    if (first.kind === "training") curves?.toggle(first.id);
    else show(page, first.id);
  }
  page.update();
}

/** @param {import("../page.js").Page} page @param {string | null} run */
function show(page, run) {
  single = run;
  found = null;
  follower?.follow(run ? `api/runs/${run}` : "");
  if (run) {
    curves?.stop();
    follower?.start();
  } else {
    follower?.stop();
    curves?.start();
  }
  page.update();
}

/** @param {import("../page.js").Page} page @param {string} run */
function toggle(page, run) {
  const wasHidden = single !== null && curves?.isChosen(run);
  if (single) show(page, null);
  if (!wasHidden) curves?.toggle(run);
}

/** @param {import("../page.js").Page} page */
export function render(page) {
  const {t} = page, runs = shown(KINDS);
  if (runs === null) return html`<p class="muted">${t("runs.loading")}</p>`;
  if (!runs.length) return html`<p class="card">${t("runs.none")} <code>fukayomi web runs/</code></p>`;
  return html`<div class="runs"><div><section class="card"><h2>${t("runs.list")}</h2><ul class="run-list">${runs.map(run => item(page, run))}</ul></section></div>
    <div>${single ? singleView(page) : curves?.render()}</div></div>`;
}

function item(page, run) {
  const {t} = page;
  if (run.kind !== "training") {
    return html`<li><button type="button" data-run=${run.name} aria-current=${single === run.id ? "true" : "false"} @click=${() => show(page, run.id)}><span>${run.name}</span> <small>${t(`runs.kind.${run.kind}`)}</small></button></li>`;
  }
  const isOn = !single && curves?.isChosen(run.id);
  return html`<li><label data-run=${run.name}><input type="checkbox" .checked=${isOn ?? false} @change=${() => toggle(page, run.id)}>
    ${isOn ? html`<span class=${`swatch ${colorClass(curves?.color(run.id) ?? 0)}`}></span>` : nothing}<span>${run.name}</span></label></li>`;
}

function singleView(page) {
  if (!found) return html`<p class="muted">${page.t("runs.loading")}</p>`;
  if (found.error) return html`<p class="error" role="alert">${found.name}: ${found.error}</p>`;
  return found.kind === "learning" ? learningView(page, found) : html`${selfplayView(page, found)}${games?.render()}`;
}
