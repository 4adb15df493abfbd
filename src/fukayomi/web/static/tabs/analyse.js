// Live analysis: the lines of the position on the board.

import {boardSvg, handSvg} from "../board/drawing.js";
import {LIMITS} from "../live/analysis.js";
import {BookMoves} from "../live/book.js";
import {MateSearch} from "../live/mate.js";
import {IN_HAND, isMove, played} from "../position.js";
import {icon} from "../record/view.js";
import {gameGraph} from "../report/graph.js";
import {html, nothing} from "../vendor/lit-html.js";
import {Tab} from "./tab.js";

/** @import {LiveLine, ReportMessage} from "documents" */
/** @import {Page} from "../page.js" */
/** @import {Position} from "../position.js" */

const SIDES = /** @type {const} */ (["b", "w"]);
/** @param {number} value */
const whole = value => value.toLocaleString("en");

export class AnalyseTab extends Tab {
  /** @param {Page} page */
  constructor(page) {
    super(page, "analyse");
    /** The line that is played through. @type {{key: string, rank: number, step: number} | null} */
    this.trial = null;
    this.mate = new MateSearch(page);
    this.book = new BookMoves(page);
  }

  enter() {
    this.page.live.setActive(true);
    this.book.forget();
  }

  leave() {
    this.page.live.setActive(false);
  }

  positionChanged() {
    if (this.page.tab === this) this.book.load();
  }

  winRate() {
    const {live, report} = this.page;
    return live.isHidden ? null : (live.report?.lines[0]?.win_rate ?? report.winRate);
  }

  overlay() {
    return {arrows: this.page.live.arrows()};
  }

  render() {
    const {page, trial} = this;
    const {t, live} = page;
    const {report} = live;
    if (this.mate.isWanted) return this.mate.render();
    const line = trial?.key === live.key && report?.lines[trial.rank];
    return html`
      ${this.controls()}
      ${live.isHidden ? nothing : gameGraph(page)}
      ${
        live.isHidden
          ? html`<p class="muted">${t("live.hidden")}</p>`
          : html`
        <div class=${`lines ${live.isStale ? "stale" : ""}`} data-nodes=${report?.nodes ?? 0}>
          ${report ? this.lineTable(report) : html`<p class="muted">${page.facts.get(page.game)?.end ? page.situation() : t(live.isOn ? "live.nothing" : "live.off")}</p>`}
        </div>
        ${trial && line ? this.trialBoard(line, trial.rank, trial.step) : nothing}
        ${this.book.render()}`
      }
      ${this.statusLine()}`;
  }

  /** A limit of the search in words. @param {number} limit */
  limitText(limit) {
    const {t} = this.page;
    if (limit === 0) return "∞";
    return limit > 0 ? t("live.limit.nodes", {n: whole(limit)}) : t("live.limit.seconds", {n: -limit / 1000});
  }

  controls() {
    const {page} = this;
    const {t, live} = page;
    const isRunning = live.state === "running" || live.state === "waiting";
    const canResume =
      live.isOn && !live.report?.decided && !page.facts.get(page.game)?.end && ["stopped", "taken", "limit", "error"].includes(live.state);
    return html`<div class="row live-controls">
      <button type="button" data-action="engine" aria-pressed=${live.isOn ? "true" : "false"} title=${`${t("keys.engine")} (l)`} @click=${() => live.toggle()}>${t("live.engine")}</button>
      ${isRunning ? html`<button type="button" data-action="stop" title="Esc" @click=${() => live.stop()}>${t("live.stop")}</button>` : nothing}
      ${canResume ? html`<button type="button" class="primary" data-action="resume" @click=${() => live.resume()}>${t("live.resume")}</button>` : nothing}
      <label>${t("live.lines")} <select id="multipv" @change=${event => live.showLines(Number(event.target.value))}>
        ${[1, 2, 3, 5, 10].map(count => html`<option value=${count} ?selected=${live.shown === count}>${count}</option>`)}</select></label>
      <label>${t("live.limit")} <select id="limit" @change=${event => live.setLimit(Number(event.target.value))}>
        ${LIMITS.map(limit => html`<option value=${limit} ?selected=${live.limit === limit}>${this.limitText(limit)}</option>`)}</select></label>
      <button type="button" data-action="arrows" aria-pressed=${live.hasArrows ? "true" : "false"} title=${`${t("keys.arrows")} (a)`} @click=${() => live.toggleArrows()}>${t("live.arrows")}</button>
      <button type="button" data-action="hide" aria-pressed=${live.isHidden ? "true" : "false"} title=${`${t("keys.hide")} (z)`} @click=${() => live.toggleHidden()}>${t("live.hide")}</button>
    </div>`;
  }

  statusLine() {
    const {t, live} = this.page;
    const {report, state} = live;
    const numbers =
      report && !live.isHidden
        ? t("live.numbers", {nodes: whole(report.nodes), nps: whole(Math.round(report.nps)), seconds: (report.time_ms / 1000).toFixed(1)})
        : "";
    return html`<p class=${`live-state ${state === "taken" || state === "error" ? "warning" : "muted"}`} data-state=${state}>${t(`live.state.${state}`)}
      ${state === "error" ? live.errorText : numbers}</p>`;
  }

  /** @param {ReportMessage} report */
  lineTable(report) {
    const {page} = this;
    const {t, live} = page;
    return html`<table class="candidates">
      <caption class="unseen">${t("live.candidates")}</caption>
      <thead><tr><th scope="col">${t("live.move")}</th><th scope="col" class="number">☗ ${t("live.winRate")}</th><th scope="col" class="number">${t("live.cp")}</th>
        <th scope="col" class="number">${t("live.visits")}</th><th scope="col" class="number">${t("live.prior")}</th><th scope="col" class="number">${t("live.depth")}</th></tr></thead>
      ${report.lines.slice(0, live.shown).map(
        (line, rank) => html`<tbody class=${rank === 0 ? "best" : ""} data-move=${line.move}>
        <tr><th scope="row"><button type="button" class="link name" @click=${() => isMove(line.move) && page.move(line.move)} title=${t("live.play")}>${page.moveName(line, 0)}</button></th>
          <td class="number">${line.win_rate === null ? "–" : `${(100 * line.win_rate).toFixed(1)} %`}</td><td class="number score">${page.scoreText(line)}</td>
          <td class="number">${whole(line.visits)}</td><td class="number">${(100 * line.prior).toFixed(1)} %</td>
          <td class="number">${line.depth}</td></tr>
        <tr><td colspan="6" class="pv">${line.pv.map((_, step) => this.pvMove(line, rank, step + 1))}</td></tr>
      </tbody>`,
      )}
    </table>`;
  }

  /** @param {LiveLine} line @param {number} rank @param {number} step */
  pvMove(line, rank, step) {
    const {trial, page} = this;
    const isAt = trial?.key === page.live.key && trial.rank === rank && trial.step === step;
    return html`<button type="button" class=${`link step ${isAt ? "at" : ""}`} @click=${() => this.show(rank, step)}>${page.moveName(line, step - 1)}</button> `;
  }

  /** @param {number} rank @param {number} step */
  show(rank, step) {
    this.trial = {key: this.page.live.key, rank, step};
    this.page.update();
  }

  /** A small board with the line played through. @param {LiveLine} line @param {number} rank @param {number} wanted */
  trialBoard(line, rank, wanted) {
    const {page} = this;
    const {t, game, flip} = page;
    const moves = line.pv.filter(isMove);
    const step = Math.max(0, Math.min(moves.length, wanted));
    const position = moves.slice(0, step).reduce(played, game.position);
    /** @type {[string, number][]} */
    const steps = [
      ["first", 0],
      ["back", step - 1],
      ["forward", step + 1],
      ["last", moves.length],
    ];
    return html`<div class="trial card">
      ${boardSvg({position, last: step ? moves[step - 1] : game.current.usi, flip})}
      <div><p aria-live="polite">${t("live.trial", {step, count: moves.length})} <strong>${step ? page.moveName(line, step - 1) : ""}</strong></p>
        ${this.hands(position)}
        <div class="row">${steps.map(
          ([action, to]) => html`<button type="button" data-trial=${action}
          aria-label=${`${t("live.pv")}: ${t(`keys.${action}`)}`} @click=${() => this.show(rank, Math.max(0, Math.min(moves.length, to)))}>${icon(action)}</button>`,
        )}</div>
        <div class="row"><button type="button" data-action="adopt" @click=${() => game.playAll(moves.slice(0, step))}>${t("live.adopt")}</button>
          <button type="button" data-action="close-trial" @click=${() => {
            this.trial = null;
            page.update();
          }}>${t("page.close")}</button></div></div>
    </div>`;
  }

  /** The hands of the small board. @param {Position} position */
  hands({hands}) {
    const {t} = this.page;
    return html`<div class="trial-hands">${SIDES.map(
      side => html`<span role="img" aria-label=${`${t("board.hand", {side: t(`side.${side}`)})}: ${this.held(hands[side])}`}>
      ${side === "b" ? "☗" : "☖"} ${handSvg(hands[side])}</span>`,
    )}</div>`;
  }

  /** @param {Record<string, number>} hand */
  held(hand) {
    return (
      IN_HAND.filter(kind => hand[kind] > 0)
        .map(kind => `${this.page.pieceName(kind)} ${hand[kind]}`)
        .join(" ") || "–"
    );
  }
}
