// A position set up by hand: pieces placed on the board, handicaps, an SFEN. The server says whether it can be played.

import {api, messageOf} from "../api.js";
import {pieceSvg} from "../board/drawing.js";
import {copyOf, heldAt, isSfen, parse, pieceName, START, sfenOf, sideOf, swapSide} from "../position.js";
import {html, nothing} from "../vendor/lit-html.js";
import {emptyRecord, Game} from "./game.js";

/** @import {Page} from "../page.js" */

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
    /** The position with which it began. */
    this.first = START;
  }

  /** @param {string} [sfen]  Another position than that on the board. */
  open(sfen) {
    this.isOpen = true;
    this.first = sfenOf({...copyOf(this.page.game.position), ply: 1});
    this.position = parse(sfen ?? this.first);
    this.piece = null;
    this.error = "";
    this.page.view.clear();
    this.page.live.positionChanged();
    this.page.update();
  }

  /** Close it. What was set up can be brought back. */
  close() {
    if (!this.isOpen) return;
    this.isOpen = false;
    const sfen = sfenOf(this.position);
    if (sfen !== this.first) this.page.undoable(this.page.t("undo.setup"), () => this.open(sfen));
    this.page.view.clear();
    this.page.live.positionChanged();
    this.page.update();
  }

  /** Use another position. @param {string} sfen */
  show(sfen) {
    const text = sfen.trim().replace(/^(position )?sfen /, "");
    this.error = isSfen(text) ? "" : this.page.t("setup.notSfen");
    if (!this.error) this.position = parse(text);
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
    this.error = "";
    this.page.update();
  }

  /** A piece tapped twice: promoted, then the other side's. @param {string} square */
  turnOver(square) {
    const {squares} = this.position;
    const piece = squares.get(square);
    if (!piece || square.includes(":")) return;
    const canPromote = !"KG".includes(piece.toUpperCase()) && !piece.startsWith("+");
    squares.set(square, canPromote ? `+${piece}` : swapSide(piece.replace("+", "")));
    this.page.update();
  }

  async use() {
    const {page} = this;
    const sfen = sfenOf(this.position);
    try {
      await api.post("api/position", {sfen, moves: []});
    } catch (error) {
      this.error = messageOf(error);
      page.update();
      return;
    }
    this.first = sfen; // nothing is lost
    const game = new Game(page.changed, emptyRecord(sfen));
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
          this.page.update();
        }}>${["b", "w"].map(side => html`<option value=${side} ?selected=${position.turn === side}>${t(`side.${side}`)}</option>`)}</select></label>
      </div>
      <label for="sfen">SFEN</label>
      <input id="sfen" autocomplete="off" spellcheck="false" .value=${sfen} @change=${event => this.show(event.target.value)}>
      ${this.error ? html`<p class="error" role="alert">${this.error}</p>` : nothing}
      <div class="row"><button type="button" class="primary" data-action="use" @click=${() => this.use()}>${t("setup.use")}</button>
        <button type="button" data-action="cancel" @click=${() => this.close()}>${t("setup.cancel")}</button></div>
    </div>`;
  }
}
