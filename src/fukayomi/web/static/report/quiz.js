// A quiz from the mistakes of a game: find a better move than the one that was played. A move that the report has no line
// of is searched, so that every good move counts.

import {api} from "../api.js";
import {westernLine} from "../position.js";
import {html, nothing} from "../vendor/lit-html.js";

/** @import {AnalysedLine, Analyse, EndMessage, Facts, PositionQuestion, ReportMessage} from "documents" */
/** @import {NamedLine, Page} from "../page.js" */

/** A candidate that loses less than an inaccuracy counts as right. */
const RIGHT_WITHIN = 0.05;
/** Nodes for a move that the report has no line of: at least so many, and as many as the report's for a position. */
const LEAST_NODES = 400;
/** The evaluation of a mate. */
const MATE_CP = 30000;

/**
 * What a reload goes on with.
 * @typedef {object} KeptQuiz
 * @property {number} at
 * @property {number} right
 * @property {number} done
 * @property {"asked" | "wrong" | "played" | "right" | "shown"} state
 * @property {{japanese: string, english: string, usi: string} | null} tried
 * @property {boolean} hadTry
 * @property {NamedLine | null} line
 */

export class Quiz {
  /** @param {Page} page @param {KeptQuiz} [kept]  Where it was. */
  constructor(page, kept) {
    this.page = page;
    this.game = page.game;
    this.questions = page.report.mistakes;
    this.at = 0;
    this.right = 0;
    this.done = 0;
    /** @type {"asked" | "searched" | "wrong" | "played" | "right" | "shown"} */
    this.state = "asked";
    /** The names of the move that was tried. @type {{japanese: string, english: string, usi: string} | null} */
    this.tried = null;
    /** The search for the move that was tried. @type {{id: number, usi: string, japanese: string, last: ReportMessage | null} | null} */
    this.search = null;
    /** Whether the reader has tried another move before. */
    this.hadTry = false;
    /** The right line, once it is known. @type {NamedLine | undefined} */
    this.line = undefined;
    if (kept) Object.assign(this, kept, {line: kept.line ?? undefined});
    else this.ask();
  }

  /** @returns {KeptQuiz} */
  get kept() {
    const {at, right, done, state, tried, hadTry, line} = this;
    return {at, right, done, state: state === "searched" ? "asked" : state, tried, hadTry, line: line ?? null};
  }

  get question() {
    return this.questions[this.at];
  }

  get isOver() {
    return this.at >= this.questions.length;
  }

  get isAnswered() {
    return this.state === "right" || this.state === "shown";
  }

  /** Put the question to the reader. */
  ask() {
    this.state = "asked";
    this.hadTry = false;
    this.goOn();
    this.page.update();
  }

  /** Put the position before the mistake on the board: at first, and when the reader comes back to the quiz. */
  goOn() {
    const {game} = this.page;
    if (!this.isOver) game.go(game.mainLine()[this.question.ply - 1]);
  }

  next() {
    this.search = null;
    this.at += 1;
    this.ask();
  }

  /** Whether the quiz takes a move that was made on the board. @param {string} usi */
  move(usi) {
    if (this.state === "searched") return true;
    if (this.isOver || this.isAnswered || this.page.game.place !== this.page.game.mainLine()[this.question.ply - 1]) return false;
    const sign = this.question.color === "black" ? 1 : -1;
    const lines = this.page.report.positionAt(this.question.ply - 1)?.lines ?? [];
    const line = lines.find(each => each.pv[0] === usi);
    const best = lines[0];
    if (usi === this.question.move) this.fail("played");
    else if (line && sign * (best.win_rate - line.win_rate) < RIGHT_WITHIN) this.finish("right", line);
    else this.look(usi, line !== undefined);
    this.page.update();
    return true;
  }

  /** @param {"wrong" | "played"} state */
  fail(state) {
    this.state = state;
    this.hadTry = true;
  }

  /** Ask for the name of a move, and for its score unless that is known to be bad. @param {string} usi @param {boolean} isBad */
  async look(usi, isBad) {
    const {page} = this;
    const {game, socket} = page;
    this.state = "searched";
    const moves = [...game.moves(), usi];
    /** @type {PositionQuestion} */
    const question = {sfen: game.start, moves};
    /** @type {Facts} */
    const facts = await api.post("api/position", question);
    if (this.state !== "searched") return;
    this.tried = {japanese: facts.japanese ?? "", english: facts.english ?? "", usi};
    this.search = {id: socket.newId(), usi, japanese: this.tried.japanese, last: null};
    const nodes = Math.max(LEAST_NODES, page.report.positionAt(this.question.ply - 1)?.nodes ?? 0);
    /** @type {Analyse & {type: "analyse"}} */
    const message = {type: "analyse", id: this.search.id, sfen: game.start, moves, multipv: 1, limit: {nodes}};
    if (facts.end === "mate") this.judge(game.position.turn === "b" ? 1 : 0);
    else if (isBad || !socket.send(message)) this.judge(null);
    page.update();
  }

  /** @param {ReportMessage} message */
  reported(message) {
    if (message.id === this.search?.id) this.search.last = message;
  }

  /** @param {EndMessage} message */
  ended(message) {
    if (message.id !== this.search?.id) return;
    this.judge(this.search.last?.lines[0]?.win_rate ?? null);
    this.page.update();
  }

  /** The connection is lost, and the search with it: the move may be tried again. */
  lost() {
    if (!this.search) return;
    this.search = null;
    this.state = "asked";
    this.page.update();
  }

  /** Judge the move that was searched. @param {number | null} rate  Black's win rate after it; null: it is not good, or not known. */
  judge(rate) {
    const {search, page, question} = this;
    this.search = null;
    if (!search || this.state !== "searched") return;
    const best = page.report.positionAt(question.ply - 1)?.lines[0];
    const sign = question.color === "black" ? 1 : -1;
    if (rate === null || !best || sign * (best.win_rate - rate) >= RIGHT_WITHIN) return this.fail("wrong");
    const reply = search.last?.lines[0];
    const cp = reply?.cp ?? (rate > 0.5 ? MATE_CP : -MATE_CP);
    const mate = reply ? reply.mate : sign;
    const [pv, japanese] = [reply?.pv ?? [], reply?.japanese ?? []];
    this.finish("right", {
      win_rate: rate,
      cp,
      mate,
      visits: search.last?.visits ?? 0,
      pv: [search.usi, ...pv],
      japanese: [search.japanese, ...japanese],
    });
  }

  /** @param {"right" | "shown"} state @param {AnalysedLine | undefined} line */
  finish(state, line) {
    this.state = state;
    this.line = line && {
      ...line,
      english: westernLine(this.page.game.positionAt(this.page.game.mainLine()[this.question.ply - 1]), line.pv),
    };
    this.done += 1;
    if (state === "right" && !this.hadTry) this.right += 1;
  }

  show() {
    this.finish("shown", this.page.report.positionAt(this.question.ply - 1)?.lines[0]);
    this.page.update();
  }

  /** The answer as an arrow. */
  arrows() {
    return this.isAnswered && this.line ? [{usi: this.line.pv[0], css: "best", width: 1.4}] : [];
  }

  /** @param {() => void} end */
  render(end) {
    const {page, question} = this;
    const {t} = page;
    const score = html`<p class="muted" data-quiz-score>${t("quiz.score", {right: this.right, done: this.done})}</p>`;
    const endButton = html`<button type="button" data-action="end-quiz" @click=${end}>${t("quiz.end")}</button>`;
    if (this.isOver) return html`<div class="card quiz">${score}${endButton}</div>`;
    const {ply, color} = question;
    const side = page.side(color === "black" ? "b" : "w");
    return html`<div class="card quiz" data-state=${this.state}>
      <p>${t("quiz.question", {n: this.at + 1, count: this.questions.length, ply, side, move: page.judgedName(question)})}</p>
      <p aria-live="polite" class=${this.state === "right" ? "right" : ""}><strong>${this.verdict()}</strong></p>
      ${score}
      <div class="row">
        ${
          this.isAnswered
            ? html`<button type="button" class="primary" data-action="next-question" @click=${() => this.next()}>${t("quiz.next")}</button>`
            : html`<button type="button" data-action="show-answer" @click=${() => this.show()}>${t("quiz.show")}</button>`
        }
        ${endButton}
      </div>
      ${this.isAnswered && this.line ? html`<p class="pv muted">${page.lineText(this.line)}</p>` : nothing}
    </div>`;
  }

  verdict() {
    const {page} = this;
    const {t} = page;
    if (this.state === "right" && this.line) return t("quiz.right", {move: page.moveName(this.line, 0), score: page.scoreText(this.line)});
    if (this.state === "shown") return this.line ? t("quiz.answer", {move: page.moveName(this.line, 0)}) : "";
    if (this.state === "searched") return t("quiz.searched");
    if (this.state === "wrong") return t("quiz.wrong", {move: page.nameOf(this.tried)});
    return this.state === "played" ? t("quiz.playedAgain") : "";
  }
}
