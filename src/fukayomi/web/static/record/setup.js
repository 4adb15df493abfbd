// A position set up by hand: pieces placed on the board, handicaps, an SFEN. The server says whether it can be played.

import {api} from "../api.js";
import {pieceSvg} from "../board/drawing.js";
import {copyOf, heldAt, isSfen, parse, pieceName, START, sfenOf, sideOf, swapSide} from "../position.js";
import {html, nothing} from "../vendor/lit-html.js";
import {emptyRecord, Game} from "./game.js";

/** @import {Page} from "../page.js" */
/** @import {KeptGame} from "./game.js" */

const PALETTE = ["K", "R", "B", "G", "S", "N", "L", "P", "+R", "+B", "+S", "+N", "+L", "+P"];
const EMPTY = "9/9/9/9/9/9/9/9/9 b - 1";

export class Setup {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.isOpen = false;
    this.position = parse(START);
    /** The piece of the palette that the next tap places; "" removes. @type {string | null} */
    this.piece = null;
    this.error = "";
    /** What was typed into the field of the SFEN and is not on the board yet. @type {string | null} */
    this.typed = null;
    /** The position with which it began. */
    this.first = START;
    /** The record that keeps what is set up. @type {Game | null} */
    this.draft = null;
  }

  /** The position as text, or what is typed of one. */
  get text() {
    return this.typed ?? sfenOf(this.position);
  }

  /** @param {string} [text]  Another position than that on the board, or what is typed of one. */
  open(text) {
    this.isOpen = true;
    this.first = sfenOf({...copyOf(this.page.game.position), ply: 1});
    this.position = parse(this.first);
    this.piece = null;
    this.error = "";
    this.typed = null;
    if (text === undefined) this.draft = null;
    else this.take(text);
    this.page.view.clear();
    this.page.live.positionChanged();
    this.page.update();
  }

  /** Go on after the page was loaded again. @param {{text: string, draft: KeptGame | null}} before */
  goOn({text, draft}) {
    if (draft) this.draft = this.page.keeper.goOn(draft);
    this.open(text);
  }

  /** Close it. What was set up can be brought back. */
  close() {
    if (!this.isOpen) return;
    this.isOpen = false;
    const {text} = this;
    if (text !== this.first) this.page.undoable(this.page.t("undo.setup"), () => this.open(text));
    this.page.view.clear();
    this.page.live.positionChanged();
    this.page.update();
  }

  /** Text was typed, which may be no position yet. @param {string} text */
  type(text) {
    this.typed = text;
    this.page.update();
  }

  /** Use another position, and say what is wrong with it. @param {string} sfen */
  show(sfen) {
    this.error = this.take(sfen) ? "" : this.page.t("setup.notSfen");
    this.page.update();
  }

  /** Put a text on the board if it is a position. @param {string} sfen */
  take(sfen) {
    const text = sfen.trim().replace(/^(position )?sfen /, "");
    const isPosition = isSfen(text);
    if (isPosition) {
      this.position = parse(text);
      this.changed();
    } else this.typed = sfen;
    return isPosition;
  }

  /** Another position is set up: it is kept like a record that was changed. */
  changed() {
    this.error = "";
    this.typed = null;
    const sfen = sfenOf(this.position);
    if (sfen !== (this.draft?.start ?? this.first)) {
      this.draft ??= new Game(this.page.changed, emptyRecord(sfen));
      this.draft.reset(emptyRecord(sfen));
      this.draft.changed("notes");
    }
    this.page.update();
  }

  /** A piece goes to a place, from a place or from the palette. @param {string | null} from @param {string} to */
  place(from, to) {
    const {squares, hands} = this.position;
    let piece = this.piece;
    if (from !== null) {
      if (from === to) return this.turnOver(to);
      const [side, kind] = heldAt(from);
      piece = from.includes(":") ? (side === "b" ? kind : kind.toLowerCase()) : (squares.get(from) ?? "");
      if (from.includes(":")) hands[side][kind] -= 1;
      else squares.delete(from);
    }
    if (piece === null) return;
    if (to.includes(":")) {
      const kind = piece.replace("+", "").toUpperCase();
      if (kind && kind !== "K") hands[heldAt(to)[0]][kind] = (hands[heldAt(to)[0]][kind] ?? 0) + 1;
    } else if (to) {
      if (piece) squares.set(to, piece);
      else squares.delete(to);
    }
    this.changed();
  }

  /** A piece tapped twice: promoted, then the other side's. @param {string} square */
  turnOver(square) {
    const {squares} = this.position;
    const piece = squares.get(square);
    if (!piece || square.includes(":")) return;
    const canPromote = !"KG".includes(piece.toUpperCase()) && !piece.startsWith("+");
    squares.set(square, canPromote ? `+${piece}` : swapSide(piece.replace("+", "")));
    this.changed();
  }

  async use() {
    const {page} = this;
    if (this.typed !== null) this.show(this.typed);
    if (this.typed !== null) return; // it is no position
    const sfen = sfenOf(this.position);
    try {
      await api.post("api/position", {sfen, moves: []});
    } catch (error) {
      this.error = page.because(error);
      page.update();
      return;
    }
    this.first = sfen; // nothing is lost
    const game = this.draft ?? new Game(page.changed, emptyRecord(sfen));
    game.changed("notes"); // a position that was set up is work, too
    page.show(game);
  }

  render() {
    const {t, language, state} = this.page;
    const {position} = this;
    const sfen = sfenOf(position);
    const {handicaps} = state;
    /** @param {string} piece */
    const choose = piece => {
      this.piece = this.piece === piece ? null : piece;
      this.page.view.clear();
      this.page.update();
    };
    /** @param {string} piece */
    const button =
      piece => html`<button type="button" class="held" aria-pressed=${this.piece === piece ? "true" : "false"} data-piece=${piece}
      aria-label=${`${t(`side.${sideOf(piece)}`)} ${pieceName(piece, language)}`} @click=${() => choose(piece)}>${pieceSvg(piece, sideOf(piece) === "w")}</button>`;
    return html`<div class="setup card">
      <p class="muted">${t("setup.help")}</p>
      <div class="palette" role="group" aria-label=${t("setup.black")}>${PALETTE.map(button)}</div>
      <div class="palette" role="group" aria-label=${t("setup.white")}>${PALETTE.map(piece => button(piece.toLowerCase()))}
        <button type="button" class="held" aria-pressed=${this.piece === "" ? "true" : "false"} data-piece="" aria-label=${t("setup.remove")} @click=${() => choose("")}>×</button></div>
      <div class="row">
        <label>${t("setup.handicap")} <select id="handicap" @change=${event => this.show(event.target.value)}>
          <option value=${sfen} ?selected=${handicaps.every(each => each.sfen !== sfen)}>–</option>
          ${handicaps.map(each => html`<option value=${each.sfen} ?selected=${each.sfen === sfen}>${language === "ja" ? each.name : each.english}</option>`)}
        </select></label>
        <button type="button" data-action="clear" @click=${() => this.show(EMPTY)}>${t("setup.clear")}</button>
        <label>${t("setup.turn")} <select id="turn" @change=${event => {
          position.turn = event.target.value === "w" ? "w" : "b";
          this.changed();
        }}>${["b", "w"].map(side => html`<option value=${side} ?selected=${position.turn === side}>${t(`side.${side}`)}</option>`)}</select></label>
      </div>
      <label for="sfen">SFEN</label>
      <input id="sfen" autocomplete="off" spellcheck="false" .value=${this.text}
        @input=${event => this.type(event.target.value)} @change=${event => this.show(event.target.value)}>
      ${this.error ? html`<p class="error" role="alert">${this.error}</p>` : nothing}
      <div class="row"><button type="button" class="primary" data-action="use" @click=${() => this.use()}>${t("setup.use")}</button>
        <button type="button" data-action="cancel" @click=${() => this.close()}>${t("setup.cancel")}</button></div>
    </div>`;
  }
}
