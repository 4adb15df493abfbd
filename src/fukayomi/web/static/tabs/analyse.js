// Live analysis: the lines of the position on the board.
import {html, nothing} from "../vendor/lit-html.js";
import {boardSvg, handSvg} from "../board/drawing.js";
import {LIMITS} from "../live/analysis.js";
import {icon} from "../record/view.js";
import {IN_HAND, isMove, played} from "../position.js";

export const id = "analyse";
export const title = "tab.analyse";

/** The line that is played through. @type {{key: string, rank: number, step: number} | null} */
let trial = null;

/** @param {import("../page.js").Page} page */
export function enter(page) {
  page.live.setActive(true);
}

/** @param {import("../page.js").Page} page */
export function leave(page) {
  page.live.setActive(false);
}

/** @param {import("../page.js").Page} page */
export function overlay(page) {
  return {arrows: page.live.arrows()};
}

/** @param {import("../page.js").Page} page */
export function render(page) {
  const {t, live} = page, {report} = live;
  return html`
    ${controls(page)}
    ${live.isHidden ? html`<p class="muted">${t("live.hidden")}</p>` : html`
      <div class=${`lines ${live.isStale ? "stale" : ""}`} data-nodes=${report?.nodes ?? 0}>
        ${report ? lineTable(page, report) : html`<p class="muted">${page.facts.get(page.game)?.end ? page.situation() : t(live.isOn ? "live.nothing" : "live.off")}</p>`}
      </div>
      ${report && trial && trial.key === live.key && report.lines[trial.rank] ? trialBoard(page, report.lines[trial.rank]) : nothing}`}
    ${statusLine(page)}`;
}

/** A limit of the search in words. @param {import("../page.js").Page} page @param {number} limit */
function limitText({t}, limit) {
  if (limit === 0) return "∞";
  return limit > 0 ? t("live.limit.nodes", {n: limit.toLocaleString("en")}) : t("live.limit.seconds", {n: -limit / 1000});
}

function controls(page) {
  const {t, live} = page, isRunning = live.state === "running" || live.state === "waiting";
  const canResume = live.isOn && !live.report?.decided && !page.facts.get(page.game)?.end && ["stopped", "taken", "limit", "error"].includes(live.state);
  return html`<div class="row live-controls">
    <button type="button" data-action="engine" aria-pressed=${live.isOn ? "true" : "false"} title=${`${t("keys.engine")} (l)`} @click=${() => live.toggle()}>${t("live.engine")}</button>
    ${isRunning ? html`<button type="button" data-action="stop" title="Esc" @click=${() => live.stop()}>${t("live.stop")}</button>` : nothing}
    ${canResume ? html`<button type="button" class="primary" data-action="resume" @click=${() => live.resume()}>${t("live.resume")}</button>` : nothing}
    <label>${t("live.lines")} <select id="multipv" @change=${event => live.showLines(Number(event.target.value))}>
      ${[1, 2, 3, 5, 10].map(count => html`<option value=${count} ?selected=${live.shown === count}>${count}</option>`)}</select></label>
    <label>${t("live.limit")} <select id="limit" @change=${event => live.setLimit(Number(event.target.value))}>
      ${LIMITS.map(limit => html`<option value=${limit} ?selected=${live.limit === limit}>${limitText(page, limit)}</option>`)}</select></label>
    <button type="button" data-action="arrows" aria-pressed=${live.hasArrows ? "true" : "false"} title=${`${t("keys.arrows")} (a)`} @click=${() => live.toggleArrows()}>${t("live.arrows")}</button>
    <button type="button" data-action="hide" aria-pressed=${live.isHidden ? "true" : "false"} title=${`${t("keys.hide")} (z)`} @click=${() => live.toggleHidden()}>${t("live.hide")}</button>
  </div>`;
}

function statusLine(page) {
  const {t, live} = page, {report, state} = live, number = value => value.toLocaleString("en");
  const numbers = report && !live.isHidden ? t("live.numbers", {nodes: number(report.nodes), nps: number(Math.round(report.nps ?? 0)), seconds: ((report.time_ms ?? 0) / 1000).toFixed(1)}) : "";
  return html`<p class=${`live-state ${state === "taken" || state === "error" ? "warning" : "muted"}`} data-state=${state}>${t(`live.state.${state}`)}
    ${state === "error" ? live.errorText : numbers}</p>`;
}

function lineTable(page, report) {
  const {t, live} = page;
  return html`<table class="candidates">
    <caption class="unseen">${t("live.candidates")}</caption>
    <thead><tr><th scope="col">${t("live.move")}</th><th scope="col" class="number">☗ ${t("live.winRate")}</th><th scope="col" class="number">${t("live.cp")}</th>
      <th scope="col" class="number">${t("live.visits")}</th><th scope="col" class="number">${t("live.prior")}</th><th scope="col" class="number">${t("live.depth")}</th></tr></thead>
    ${report.lines.slice(0, live.shown).map((line, rank) => html`<tbody class=${rank === 0 ? "best" : ""} data-move=${line.move}>
      <tr><th scope="row"><button type="button" class="link name" @click=${() => isMove(line.move) && page.move(line.move)} title=${t("live.play")}>${page.moveName(line, 0)}</button></th>
        <td class="number">${line.win_rate === null ? "–" : `${(100 * line.win_rate).toFixed(1)} %`}</td><td class="number score">${page.scoreText(line)}</td>
        <td class="number">${line.visits.toLocaleString("en")}</td><td class="number">${line.prior === null || line.prior === undefined ? "–" : `${(100 * line.prior).toFixed(1)} %`}</td>
        <td class="number">${line.depth ?? line.pv.length}</td></tr>
      <tr><td colspan="6" class="pv">${line.pv.map((usi, step) => pvMove(page, line, rank, step))}</td></tr>
    </tbody>`)}
  </table>`;
}

function pvMove(page, line, rank, step) {
  const {live} = page, isAt = trial && trial.key === live.key && trial.rank === rank && trial.step === step + 1;
  return html`<button type="button" class=${`link step ${isAt ? "at" : ""}`} @click=${() => show(page, rank, step + 1)}>${page.moveName(line, step)}</button> `;
}

function show(page, rank, step) {
  trial = {key: page.live.key, rank, step};
  page.update();
}

/** A small board with the line played through. */
function trialBoard(page, line) {
  const {t, game, flip} = page, moves = line.pv.filter(isMove), step = Math.max(0, Math.min(moves.length, trial.step));
  const position = moves.slice(0, step).reduce(played, game.position);
  const go = to => show(page, trial.rank, Math.max(0, Math.min(moves.length, to)));
  return html`<div class="trial card">
    ${boardSvg({position, last: step ? moves[step - 1] : game.current.usi, flip})}
    <div><p aria-live="polite">${t("live.trial", {step, count: moves.length})} <strong>${step ? page.moveName(line, step - 1) : ""}</strong></p>
      ${hands(page, position)}
      <div class="row">${[["first", 0], ["back", step - 1], ["forward", step + 1], ["last", moves.length]].map(([action, to]) => html`<button type="button" data-trial=${action}
        aria-label=${`${t("live.pv")}: ${t(`keys.${action}`)}`} @click=${() => go(Number(to))}>${icon(String(action))}</button>`)}</div>
      <div class="row"><button type="button" data-action="adopt" @click=${() => moves.slice(0, step).forEach(usi => page.game.play(usi))}>${t("live.adopt")}</button>
        <button type="button" data-action="close-trial" @click=${() => {
          trial = null;
          page.update();
        }}>${t("page.close")}</button></div></div>
  </div>`;
}

/** The hands of the small board. */
function hands(page, position) {
  return html`<div class="trial-hands">${["b", "w"].map(side => html`<span role="img" aria-label=${`${page.t("board.hand", {side: page.t(`side.${side}`)})}: ${held(page, position, side)}`}>
    ${side === "b" ? "☗" : "☖"} ${handSvg(position.hands[side])}</span>`)}</div>`;
}

function held(page, {hands}, side) {
  return IN_HAND.filter(kind => hands[side][kind] > 0).map(kind => `${page.pieceName(kind)} ${hands[side][kind]}`).join(" ") || "–";
}
