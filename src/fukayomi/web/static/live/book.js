// The opening book (定跡) of the server: its moves for the position on the board, and the move on the board added to it.

import {api} from "../api.js";
import {html, nothing} from "../vendor/lit-html.js";

/** @import {AddQuestion, BookAdded, BookAnswer, PageBookMove, PositionQuestion, TakeBackQuestion} from "documents" */
/** @import {Page} from "../page.js" */

/** Positions remembered. */
const KEPT = 1000;

export class BookMoves {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** What the book has, by position; null while the server is asked. @type {Map<string, BookAnswer | null>} */
    this.known = new Map();
    this.isAdding = false;
  }

  /** Whether the server has a book. */
  get isThere() {
    return this.page.state.book !== null;
  }

  /** Ask for the moves of the position on the board, unless they are known. */
  async load() {
    const {page, known} = this;
    const {game} = page;
    const key = game.keyOf();
    if (!this.isThere || known.has(key)) return;
    if (known.size >= KEPT) known.delete(known.keys().next().value ?? "");
    known.set(key, null);
    try {
      /** @type {PositionQuestion} */
      const question = {sfen: game.start, moves: game.moves()};
      /** @type {BookAnswer} */
      const answer = await api.post("api/book", question);
      if (known.has(key)) known.set(key, answer);
    } catch (error) {
      known.delete(key);
      page.notify(page.because(error));
    }
    page.update();
  }

  /** The file may have changed. */
  forget() {
    this.known.clear();
    return this.load();
  }

  /** Add the move that led to the position on the board. */
  async add() {
    const {page} = this;
    const {t, game} = page;
    const {usi, parent} = game.current;
    if (!usi || parent === null) return;
    const name = page.nameOf(game.current);
    this.isAdding = true;
    page.update();
    try {
      /** @type {AddQuestion} */
      const question = {sfen: game.start, moves: game.moves(parent), usi};
      /** @type {BookAdded} */
      const {number, count, is_new} = await api.post("api/book/add", question);
      page.undoable(t(is_new ? "book.added" : "book.counted", {move: name, count}), () => this.takeBack(number, name));
    } catch (error) {
      page.notify(page.because(error));
    }
    this.isAdding = false;
    await this.forget();
  }

  /** @param {number} number @param {string} name  Of the move. */
  async takeBack(number, name) {
    const {page} = this;
    try {
      /** @type {TakeBackQuestion} */
      const question = {number};
      await api.post("api/book/take-back", question);
      page.say(page.t("book.takenBack", {move: name}));
    } catch (error) {
      page.notify(page.because(error));
    }
    await this.forget();
  }

  render() {
    const {page, isAdding} = this;
    const {t, game, state} = page;
    if (!this.isThere) return nothing;
    const answer = this.known.get(game.keyOf());
    return html`<section class="book" aria-label=${t("book.title")}>
      <h3>${t("book.title")} <span class="muted">${state.book}</span></h3>
      ${answer?.problem ? html`<p class="warning" data-book-problem>${page.because(new Error(answer.problem))}</p>` : nothing}
      ${answer?.moves.length ? this.table(answer.moves) : html`<p class="muted" data-book-empty>${answer && !answer.problem ? t("book.nothing") : ""}</p>`}
      ${game.current.usi ? html`<div class="row"><button type="button" data-action="add-to-book" ?disabled=${isAdding} @click=${() => this.add()}>${t("book.add", {move: page.nameOf(game.current)})}</button></div>` : nothing}
    </section>`;
  }

  /** @param {PageBookMove[]} moves */
  table(moves) {
    const {page} = this;
    const {t} = page;
    return html`<table class="candidates book-moves">
      <caption class="unseen">${t("book.title")}</caption>
      <thead><tr><th scope="col">${t("live.move")}</th><th scope="col" class="number">☗ ${t("live.cp")}</th><th scope="col" class="number">${t("live.depth")}</th>
        <th scope="col" class="number">${t("book.count")}</th><th scope="col">${t("book.reply")}</th></tr></thead>
      <tbody>${moves.map(
        move => html`<tr data-book-move=${move.usi}><th scope="row"><button type="button" class="link name" title=${t("live.play")} @click=${() => page.move(move.usi)}>${page.nameOf(move)}</button></th>
        <td class="number">${page.scoreText({cp: move.cp, mate: null})}</td><td class="number">${move.depth ?? "–"}</td>
        <td class="number">${move.count.toLocaleString("en")}</td><td>${move.reply ? page.nameOf({japanese: move.reply_japanese ?? "", english: move.reply_english ?? "", usi: move.reply}) : "–"}</td></tr>`,
      )}</tbody>
    </table>`;
  }
}
