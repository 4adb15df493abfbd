// The report of a game: graph, mistakes with the better lines, the players' figures, "think first", the quiz.

import {verdictArrows} from "../board/drawing.js";
import {saveAs} from "../record/files.js";
import {gameGraph} from "../report/graph.js";
import {Quiz} from "../report/quiz.js";
import {html, nothing} from "../vendor/lit-html.js";
import {Tab} from "./tab.js";

/** @import {AnalysisDocument} from "documents" */
/** @import {NamedLine, Page} from "../page.js" */

/** @param {number | null | undefined} share @param {number} [digits] */
const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);

export class GameTab extends Tab {
  /** @param {Page} page */
  constructor(page) {
    super(page, "game");
    /** @type {Quiz | null} */
    this.quiz = null;
  }

  leave() {
    this.setQuiz(null);
  }

  /** @param {Quiz | null} quiz */
  setQuiz(quiz) {
    this.quiz = quiz;
    this.page.update();
  }

  /** @param {string} usi */
  onMove(usi) {
    return this.quiz?.move(usi) ?? false;
  }

  positionChanged() {
    if (this.quiz && this.quiz.game !== this.page.game) this.quiz = null; // another record is on the board
    this.page.report?.positionChanged();
  }

  /** The best move of the position, and the mistake that was played. */
  overlay() {
    const {report, game, live} = this.page;
    if (this.quiz) return {arrows: this.quiz.arrows()};
    if (report.isHidden || !live.hasArrows) return {};
    const ply = game.mainLine().indexOf(game.place);
    const at = ply < 0 ? undefined : report.positionAt(ply);
    const next = report.moves.find(move => move.ply === ply + 1);
    return {arrows: verdictArrows(at?.lines[0]?.pv[0], next?.mistake && next.move)};
  }

  render() {
    const {page, quiz} = this;
    const {t, report, game} = page;
    const {current, job} = report;
    const hasMoves = game.childrenOf(0).length > 0;
    if (quiz) return quiz.render(() => this.setQuiz(null));
    return html`
      ${job ? this.progress(job) : this.controls(hasMoves)}
      ${current ? (report.isHidden ? this.hidden() : this.findings(current)) : html`<p class="muted">${t(hasMoves ? "game.intro" : "game.noMoves")}</p>`}
      ${this.documents(current)}`;
  }

  /** @param {boolean} hasMoves */
  controls(hasMoves) {
    const {page} = this;
    const {t, report} = page;
    return html`<div class="row">
      <button type="button" class="primary" data-action="analyse-game" ?disabled=${!hasMoves} @click=${() => report.start()}>${t(report.current ? "game.again" : "game.start")}</button>
      <label>${t("game.nodes")} <select id="report-nodes" @change=${event => (report.nodes = Number(event.target.value))}>
        ${[100, 300, 1000, 3000, 10000, 30000].map(nodes => html`<option value=${nodes} ?selected=${report.nodes === nodes}>${nodes.toLocaleString("en")}</option>`)}</select></label>
      <label><input type="checkbox" id="think-first" .checked=${report.isHiding} @change=${event => report.setHiding(event.target.checked)}> ${t("game.thinkFirst")}</label>
      ${report.current ? html`<button type="button" data-action="quiz" ?disabled=${report.mistakes.length === 0} @click=${() => this.setQuiz(new Quiz(page))}>${t("game.quiz")}</button>` : nothing}
    </div>`;
  }

  /** @param {{done: number, total: number}} job */
  progress({done, total}) {
    const {t, report} = this.page;
    return html`<div class="row"><progress aria-label=${t("game.start")} max=${total || 1} .value=${done}></progress>
      <span data-progress>${t("game.progress", {done, total})}</span>
      <button type="button" data-action="stop-job" title="Esc" @click=${() => report.stop()}>${t("game.stop")}</button></div>`;
  }

  hidden() {
    const {t, report} = this.page;
    return html`<div class="card"><p>${t("game.hiddenHint")}</p>
      <button type="button" data-action="reveal" @click=${() => report.reveal()}>${t("game.reveal")}</button></div>`;
  }

  /** @param {AnalysisDocument} document_ */
  findings(document_) {
    const width = Math.max(300, Math.min(1100, (document.getElementById("panel")?.clientWidth ?? 640) - 2));
    return html`${gameGraph(this.page, document_, width)}${this.verdict()}${this.players(document_)}${this.mistakes()}<p class="muted small">${this.page.t("game.thresholds")}</p>
      <p class="muted small">${document_.engine} · ${document_.limits}</p>`;
  }

  /** What the report says of the move on the board. */
  verdict() {
    const {page} = this;
    const {t, report, game} = page;
    const move = report.moveAt(game.place);
    if (!move) return nothing;
    const marks = [move.missed_mate ? t("game.missedMate") : "", move.allowed_mate ? t("game.allowedMate") : ""].filter(Boolean).join(" ");
    return html`<p class="verdict card"><strong>${move.ply}. ${page.judgedName(move)}</strong> ${page.scoreText(move)} · ☗ ${percent(move.win_rate)}
      ${move.mistake ? html`<span class=${`kind ${move.mistake}`}>${t(`mistake.${move.mistake}`)}${move.certain ? "" : "?"} −${percent(move.loss)}</span>` : nothing}
      ${marks}</p>`;
  }

  /** @param {AnalysisDocument} document_ */
  players({sides}) {
    const {page} = this;
    const {t, report, game} = page;
    const [black, white] = game.facts.names;
    const rows = /** @type {const} */ ([
      ["black", "☗", black || page.side("b")],
      ["white", "☖", white || page.side("w")],
    ]);
    return html`<table class="players"><caption class="unseen">${t("game.players")}</caption>
      <thead><tr><th scope="col">${t("game.side")}</th><th scope="col" class="number">${t("game.agreement")}</th><th scope="col" class="number">${t("game.averageLoss")}</th>
        <th scope="col" class="number">${t("game.accuracy")}</th></tr></thead>
      ${rows.map(([color, mark, name]) => {
        const side = sides[color];
        const accuracy = report.accuracy(color);
        const counts = Object.entries(side.mistakes).filter(([, count]) => count > 0);
        return html`<tbody data-color=${color}><tr><th scope="row">${mark} ${name}</th><td class="number">${percent(side.agreement, 0)}</td><td class="number">${percent(side.average_loss, 2)}</td>
          <td class="number">${accuracy === null ? "–" : accuracy.toFixed(1)}</td></tr>
          <tr><td colspan="4" class="counts"><span class="muted">${t("game.counts")}</span> ${counts.length ? nothing : "0"} ${counts.map(([kind, count]) => html`<span class=${`kind ${kind}`}>${t(`mistake.${kind}`)} ${count}</span> `)}</td></tr></tbody>`;
      })}</table>`;
  }

  mistakes() {
    const {page} = this;
    const {t, report, game} = page;
    const {mistakes} = report;
    if (mistakes.length === 0) return html`<p>${t("game.none")}</p>`;
    return html`<h2>${t("game.mistakes")}</h2><ol class="mistakes">${mistakes.map(move => {
      const line = page.reportLine(move.ply - 1);
      return html`<li class=${`card ${move.mistake}`} data-ply=${move.ply}>
        <p><button type="button" class="link" @click=${() => game.go(game.mainLine()[move.ply])}><strong>${move.ply}. ${page.judgedName(move)}</strong></button>
          <span class=${`kind ${move.mistake}`}>${t(`mistake.${move.mistake}`)}${move.certain ? "" : "?"} −${percent(move.loss)}</span></p>
        ${line ? html`<p>${t("game.better")} <button type="button" class="link pv" @click=${() => this.addLine(move.ply - 1, line)}>${page.lineText(line)}</button></p>` : nothing}
      </li>`;
    })}</ol>`;
  }

  /** The better line as a variation of the record, at its first move. @param {number} ply @param {NamedLine} line */
  addLine(ply, line) {
    const {game} = this.page;
    game.go(game.mainLine()[ply]);
    const [first] = line.pv.map(usi => game.play(usi).id);
    game.go(first);
  }

  /** @param {AnalysisDocument | null} current */
  documents(current) {
    const {page} = this;
    const {t} = page;
    const save = () => saveAs("analysis.json", new Blob([`${JSON.stringify(current)}\n`], {type: "application/json"}));
    return html`<div class="row">
      <label class="button"><input type="file" class="unseen" id="open-document" accept=".json,.html" @change=${event => page.files.openChosen(event.target)}>${t("game.document")}</label>
      ${current ? html`<button type="button" data-action="save-annotated" @click=${() => page.files.save("kif", current)}>${t("game.saveAnnotated")}</button>` : nothing}
      ${current ? html`<button type="button" data-action="save-document" @click=${save}>${t("game.saveDocument")}</button>` : nothing}
    </div>`;
  }
}
