// A quiz from the mistakes of a game: find a better move than the one that was played.

import {western, westernLine} from "../position.js";
import {html, nothing} from "../vendor/lit-html.js";

/** @import {AnalysedLine} from "documents" */
/** @import {NamedLine, Page} from "../page.js" */

/** A candidate that loses less than an inaccuracy counts as right. */
const RIGHT_WITHIN = 0.05;

export class Quiz {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.game = page.game;
    this.questions = page.report.mistakes;
    this.at = 0;
    this.right = 0;
    this.done = 0;
    /** @type {"asked" | "wrong" | "played" | "right" | "shown"} */
    this.state = "asked";
    this.tried = "";
    /** Whether the reader has tried another move before. */
    this.hadTry = false;
    /** The right line, once it is known. @type {NamedLine | undefined} */
    this.line = undefined;
    this.ask();
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

  /** Put the position before the mistake on the board. */
  ask() {
    const {game} = this.page;
    this.state = "asked";
    this.hadTry = false;
    if (!this.isOver) game.go(game.mainLine()[this.question.ply - 1]);
    this.page.update();
  }

  next() {
    this.at += 1;
    this.ask();
  }

  /** Whether the quiz takes a move that was made on the board. @param {string} usi */
  move(usi) {
    if (this.isOver || this.isAnswered || this.page.game.place !== this.page.game.mainLine()[this.question.ply - 1]) return false;
    const sign = this.question.color === "black" ? 1 : -1;
    const lines = this.page.report.positionAt(this.question.ply - 1)?.lines ?? [];
    const line = lines.find(each => each.pv[0] === usi);
    const best = lines[0];
    this.tried = usi;
    if (usi === this.question.move) this.state = "played";
    else if (line && sign * (best.win_rate - line.win_rate) < RIGHT_WITHIN) this.finish("right", line);
    else this.state = "wrong";
    if (!this.isAnswered) this.hadTry = true;
    this.page.update();
    return true;
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
    if (this.state === "wrong") return t("quiz.wrong", {move: western(page.game.position, this.tried)});
    return this.state === "played" ? t("quiz.playedAgain") : "";
  }
}
