// The report of a game: graph, mistakes with the better lines, the players' figures, "think first", the quiz.

import {verdictArrows} from "../board/drawing.js";
import {isMove, played, western, westernLine} from "../position.js";
import {saveAs} from "../record/files.js";
import {icon} from "../record/view.js";
import {candidateHeads, candidateList, playable, positionCard} from "../report/card.js";
import {gameGraph} from "../report/graph.js";
import {Quiz} from "../report/quiz.js";
import {html, nothing} from "../vendor/lit-html.js";
import {Tab} from "./tab.js";

/** @import {AnalysedLine, AnalysisDocument, JudgedMove} from "documents" */
/** @import {Drawing} from "../board/drawing.js" */
/** @import {NamedLine, Page} from "../page.js" */
/** @import {KeptQuiz} from "../report/quiz.js" */
/** @import {CardEntry, CardHost, CardLine, CardMistake, CardScore} from "../report/card.js" */

/** @param {number | null | undefined} share @param {number} [digits] */
const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);

export class GameTab extends Tab {
  /** @param {Page} page */
  constructor(page) {
    super(page, "game");
    /** @type {Quiz | null} */
    this.quiz = null;
    /** A line of the report that is played through on the board. @type {{usi: string[], step: number} | null} */
    this.trial = null;
    page.socket.on("report", message => this.quiz?.reported(message));
    page.socket.on("end", message => this.quiz?.ended(message));
    page.socket.on("close", () => this.quiz?.lost());
  }

  enter() {
    this.quiz?.goOn();
  }

  leave() {
    this.trial = null;
  }

  /** @returns {KeptQuiz | null} */
  get kept() {
    return this.quiz?.kept ?? null;
  }

  /** The page was loaded again in the middle of a quiz. @param {KeptQuiz} kept */
  goOn(kept) {
    const {page} = this;
    if (!page.report.current || kept.at > page.report.mistakes.length) return;
    this.quiz = new Quiz(page, kept);
    if (page.tab === this) this.quiz.goOn();
    page.update();
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

  /** Keys and buttons step through a line that is played through. @param {string} action */
  onAction(action) {
    const {trial} = this;
    if (!trial) return false;
    const step = {back: trial.step - 1, forward: trial.step + 1, first: 1, last: Infinity, stop: 0}[action];
    if (step === undefined) return false;
    this.tryLine(trial, step);
    return true;
  }

  /** Show a line on the board, after its first moves. @param {{usi: string[]}} line @param {number} step  0 leaves it. */
  tryLine({usi}, step) {
    const moves = playable(usi);
    this.trial = step < 1 || moves.length === 0 ? null : {usi, step: Math.min(step, moves.length)};
    this.page.view.clear();
    this.page.update();
  }

  winRate() {
    const {report} = this.page;
    return this.quiz && !this.quiz.isAnswered ? null : report.winRate;
  }

  positionChanged() {
    const {game, report} = this.page;
    if (this.quiz && (this.quiz.game !== game || !report.current)) this.quiz = null; // its game is on the board no more
    this.trial = null;
    this.page.report?.positionChanged();
  }

  /** The best move of the position, and the mistake that was played. @returns {Partial<Drawing>} */
  overlay() {
    const {trial} = this;
    const {report, game, live} = this.page;
    if (trial) {
      const moves = playable(trial.usi).slice(0, trial.step);
      return {position: moves.reduce(played, game.position), last: moves.at(-1), movable: "none"};
    }
    if (this.quiz) return {arrows: this.quiz.arrows()};
    if (report.isHidden || !live.hasArrows) return {};
    const ply = game.mainLine().indexOf(game.place);
    const at = ply < 0 ? undefined : report.positionAt(ply);
    const next = report.moves.find(move => move.ply === ply + 1);
    const best = at?.lines[0];
    const isMate = best?.mate ? best.mate > 0 === (game.position.turn === "b") : false;
    return {arrows: verdictArrows(best?.pv[0], next?.mistake && next.move, isMate)};
  }

  render() {
    const {page, quiz} = this;
    const {t, report, game} = page;
    const {current, job} = report;
    const hasMoves = game.childrenOf(0).length > 0;
    if (quiz) return quiz.render(() => this.setQuiz(null));
    return html`
      ${current && !report.isHidden ? this.position() : nothing}
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
      <button type="button" data-action="stop-job" @click=${() => report.stop()}>${t("game.stop")}</button></div>`;
  }

  hidden() {
    const {t, report} = this.page;
    return html`<div class="card"><p>${t("game.hiddenHint")}</p>
      <button type="button" data-action="reveal" @click=${() => report.reveal()}>${t("game.reveal")}</button></div>`;
  }

  /** What the report says of the position on the board. */
  position() {
    const {page} = this;
    const entry = this.cardEntry();
    const host = this.cardHost();
    return html`${gameGraph(page)}
      <section class="card position-card" aria-live="polite">${positionCard(entry, host)}</section>
      <section class="card candidates-card">${candidateHeads(page.language)}
        <ol>${candidateList(entry, host)}</ol></section>`;
  }

  /** What it says of the game. @param {AnalysisDocument} document_ */
  findings(document_) {
    const {t} = this.page;
    return html`${this.players(document_)}${this.mistakes()}<p class="muted small">${t("game.thresholds")}</p>
      <p class="muted small">${document_.engine} · ${this.limitText(document_)}</p>`;
  }

  // -------------------------------------------------------------------------------------- the card

  /** @returns {CardHost} */
  cardHost() {
    const {page, trial} = this;
    const {t, game, report} = page;
    const {previous, next} = report.around;
    /** @param {string} action @param {number | undefined} ply @param {1 | -1} direction */
    const button = (action, ply, direction) =>
      html`<button type="button" class="icon" data-action=${action} aria-label=${t(`keys.${action}`)} title=${`${t(`keys.${action}`)} (${direction > 0 ? "n" : "Shift+n"})`}
        ?disabled=${ply === undefined} @click=${() => report.goToMistake(direction)}>${icon(action)}</button>`;
    return {
      language: page.language,
      trial,
      go: ply => {
        this.trial = null;
        if (ply !== report.ply) game.go(game.mainLine()[ply]);
        page.update();
      },
      tryLine: (line, step) => this.tryLine(line, step),
      buttons: html`<span class="steps">${button("previousMistake", previous, -1)}${button("nextMistake", next, 1)}</span>`,
      adopt: html`<button type="button" class="link" data-action="adopt" @click=${() => this.adopt()}>${t("live.adopt")}</button>`,
    };
  }

  /** Add the line that is played through to the record, as far as it is on the board. */
  adopt() {
    const {trial} = this;
    if (trial) this.page.game.playAll(playable(trial.usi).slice(0, trial.step));
  }

  /** @returns {CardEntry} */
  cardEntry() {
    const {page} = this;
    const {report, game} = page;
    const {ply} = report;
    const at = ply < 0 ? undefined : report.positionAt(ply);
    const next = ply < 0 ? undefined : report.moves.find(move => move.ply === ply + 1);
    const lines = at?.lines ?? [];
    const isOther = next && at && !lines.some(line => line.pv[0] === next.move);
    return {
      ply: game.plyOf(),
      name: page.nameOf(game.current),
      score: at ? this.scoreOf(at) : null,
      mistake: this.mistakeOf(report.moveAt(game.place)),
      next: this.mistakeOf(next),
      lines: lines.map(line => this.lineOf(line)),
      other: isOther ? this.otherLine(next, at.played) : null,
      played: next?.move ?? null,
    };
  }

  /** @param {{cp: number, mate: number | null, win_rate: number}} score @returns {CardScore} */
  scoreOf(score) {
    return {rate: 100 * score.win_rate, text: this.page.scoreText(score)};
  }

  /** @param {AnalysedLine} line @returns {CardLine} */
  lineOf(line) {
    const {language, game} = this.page;
    const names = language === "ja" ? line.japanese : westernLine(game.position, line.pv);
    return {score: this.scoreOf(line), visits: line.visits, usi: line.pv, names};
  }

  /** The move of the game, with the score by which it was judged, and the line of whichever search has one. @param {JudgedMove} move @param {AnalysedLine | null} found @returns {CardLine} */
  otherLine(move, found) {
    if (found && found.win_rate === move.win_rate) return this.lineOf(found);
    const reply = this.page.report.positionAt(move.ply)?.lines[0];
    const {win_rate, cp, mate} = move;
    const line = {
      win_rate,
      cp,
      mate,
      visits: 0,
      pv: [move.move, ...(reply?.pv ?? [])],
      japanese: [move.japanese, ...(reply?.japanese ?? [])],
    };
    return {...this.lineOf(line), visits: null};
  }

  /** @param {JudgedMove | undefined} move @returns {CardMistake | null} */
  mistakeOf(move) {
    if (!move?.mistake) return null;
    const {page} = this;
    const {t, report, game, language} = page;
    const {ply, color, loss, mistake: kind} = move;
    const before = report.positionAt(ply - 1);
    const start = game.positionAt(game.mainLine()[ply - 1]);
    const best = move.best ?? "";
    return {
      ply,
      name: page.judgedName(move),
      kind,
      words: `${t(`mistake.${kind}`)}${move.certain ? "" : "?"}`,
      loss: (100 * loss).toFixed(1),
      marks: [move.missed_mate ? t("game.missedMate") : "", move.allowed_mate ? t("game.allowedMate") : ""].filter(Boolean),
      best: language === "ja" || !isMove(best) ? (move.best_japanese ?? best) : western(start, best),
      change: before ? {side: color === "black" ? "☗" : "☖", before: this.scoreOf(before), after: this.scoreOf(move)} : null,
    };
  }

  // -------------------------------------------------------------------------------------- the game

  /** How far positions were searched, as the first one was. @param {AnalysisDocument} document_ */
  limitText({positions, limits}) {
    const {t} = this.page;
    const {nodes, time_ms: time} = positions[0]?.limits ?? {};
    if (!nodes && !time) return limits;
    return [nodes ? t("live.limit.nodes", {n: nodes.toLocaleString("en")}) : "", time ? t("live.limit.seconds", {n: time / 1000}) : ""]
      .filter(Boolean)
      .join(", ");
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
      return html`<li class=${`card ${move.mistake}`} data-ply=${move.ply} aria-current=${report.ply === move.ply - 1 ? "step" : nothing}>
        <p><button type="button" class="link" @click=${() => game.go(game.mainLine()[move.ply - 1])}><strong>${move.ply}. ${page.judgedName(move)}</strong></button>
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
