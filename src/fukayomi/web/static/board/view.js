// The main board: hands, moves by mouse, touch and keyboard, the choice of promotion, the position in words.

import {heldAt, IN_HAND, inWords, pieceName, placeOf, sideOf, squareAt, squareName} from "../position.js";
import {html, nothing} from "../vendor/lit-html.js";
import {boardSvg, faceOf, pieceSvg, squareUnder, WIDTH} from "./drawing.js";

/** @import {Drawing} from "./drawing.js" */

const BLACK_ABOVE = /** @type {const} */ (["b", "w"]);
const WHITE_ABOVE = /** @type {const} */ (["w", "b"]);
/** Steps of the cursor by key. @type {Record<string, [number, number]>} */
const STEPS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
/** Pixels that a pressed mouse moves before it drags. */
const DRAG_AFTER = 4;

/**
 * @typedef {object} Host  What the board needs from the page.
 * @property {() => Drawing} drawing
 * @property {() => string[]} legal  The legal moves of the position.
 * @property {(usi: string) => void} move  The reader has made a move.
 * @property {((from: string | null, to: string) => void) | null} place  In a position that is set up by hand: a piece goes from a square
 *   or hand to another; `from` is null for a tap without a piece taken up.
 * @property {() => boolean} holdsPiece  Whether the next tap places a piece that is not on the board.
 * @property {(from: string | null, to: string) => void} illegal  The reader has tried what is no legal move; `from` is null where a piece of the other side was taken up.
 * @property {(text: string) => void} say  To screen readers.
 * @property {() => void} update
 * @property {(key: string, values?: Record<string, string | number>) => string} t
 * @property {(side: "b" | "w") => string} side  What a side is called.
 * @property {() => "ja" | "en"} language
 */

export class BoardView {
  /** @param {Host} host */
  constructor(host) {
    this.host = host;
    /** A square, or `b:P` for a piece in hand. @type {string | null} */
    this.selected = null;
    /** @type {string | null} */
    this.cursor = null;
    /** Moves among which the reader chooses: with promotion and without. @type {string[]} */
    this.choice = [];
    /** @type {{from: string, x: number, y: number, ghost: SVGElement | null} | null} */
    this.drag = null;
    this.wasDragged = false;
    addEventListener("pointermove", event => this.moveDrag(event));
    addEventListener("pointerup", event => this.endDrag(event));
    addEventListener("pointercancel", () => this.cancelDrag());
    addEventListener("pointerdown", event => {
      if (this.choice.length === 0 || /** @type {Element} */ (event.target).closest(".squares")) return;
      this.clear(); // a press anywhere else takes the move back, too
      this.host.update();
    });
  }

  /** Forget what was begun; the position has changed. */
  clear() {
    this.selected = null;
    this.choice = [];
    this.cancelDrag();
  }

  // ------------------------------------------------------------------------------------ moves

  /** The piece at a place, a square or a hand. @param {string} place */
  pieceAt(place) {
    const {position} = this.host.drawing();
    if (!place.includes(":")) return position.squares.get(place);
    const [side, kind] = heldAt(place);
    return position.hands[side][kind] > 0 ? (side === "b" ? kind : kind.toLowerCase()) : undefined;
  }

  /** Whether the reader may take up what is there. @param {string} place */
  isMovable(place) {
    const piece = this.pieceAt(place);
    if (!piece) return false;
    if (this.host.place) return true;
    const {position, movable = "both"} = this.host.drawing();
    const side = sideOf(piece);
    return side === position.turn && (movable === "both" || movable === side);
  }

  /** The legal moves from a place to a square. @param {string} from @param {string} [to] */
  movesOf(from, to) {
    const start = from.includes(":") ? `${from[2]}*` : from;
    return this.host.legal().filter(usi => usi.startsWith(start) && (!to || usi.slice(2, 4) === to));
  }

  /** The reader points at a place. @param {string} place */
  tap(place) {
    this.choice = [];
    const from = this.selected;
    if (this.host.place) {
      this.selected = from === null && !this.host.holdsPiece() && this.isMovable(place) ? place : null;
      if (this.selected === null) this.host.place(from, place);
    } else if (from === place) {
      this.selected = null;
    } else if (this.isMovable(place)) {
      this.selected = place;
      this.host.say(this.host.t("board.selected", {piece: this.nameOf(place)}));
    } else if (from !== null) {
      this.finish(from, place);
    } else if (this.isOthers(place)) {
      this.host.illegal(null, place);
    }
    this.host.update();
  }

  /** Whether a piece of the side that is not to move is there, where the reader moves both sides. @param {string} place */
  isOthers(place) {
    const {position, movable = "both"} = this.host.drawing();
    const piece = this.pieceAt(place);
    return movable === "both" && piece !== undefined && sideOf(piece) !== position.turn;
  }

  /** @param {string} from @param {string} to */
  finish(from, to) {
    const moves = to.includes(":") ? [] : this.movesOf(from, to);
    this.selected = null;
    if (moves.length === 0) this.host.illegal(from, to);
    else if (moves.length === 1) this.host.move(moves[0]);
    else this.choice = moves.toSorted((a, b) => b.length - a.length);
  }

  /** @param {string} usi */
  choose(usi) {
    this.choice = [];
    this.host.move(usi);
  }

  /** @param {string} place */
  nameOf(place) {
    const piece = this.pieceAt(place);
    const language = this.host.language();
    if (place.includes(":")) return this.host.t("board.inHand", {piece: pieceName(place[2], language)});
    const name = squareName(place, language);
    return piece ? `${name} ${this.host.side(sideOf(piece))} ${pieceName(piece, language)}` : `${name} ${this.host.t("board.empty")}`;
  }

  // ------------------------------------------------------------------------------------ mouse and touch

  /** The place under a point of the window. @param {number} x @param {number} y */
  placeAt(x, y) {
    const element = document.elementFromPoint(x, y);
    const held = element?.closest("[data-place]");
    if (held instanceof HTMLElement) return held.dataset.place ?? null;
    const board = element?.closest(".main-board svg.board");
    if (!board) return null;
    const box = board.getBoundingClientRect();
    const scale = WIDTH / box.width;
    return squareUnder((x - box.left) * scale, (y - box.top) * scale, this.host.drawing().flip ?? false);
  }

  /** @param {PointerEvent} event */
  press(event) {
    const target = /** @type {Element} */ (event.target);
    if (event.button !== 0 || target.closest(".choice")) return;
    const place = this.placeAt(event.clientX, event.clientY);
    if (place === null) return;
    if (event.pointerType === "mouse" && target.closest("svg.board")) event.preventDefault(); // keep the focus where it is
    this.cursor = null;
    if (event.pointerType === "mouse" && this.isMovable(place) && this.selected === null) {
      this.drag = {from: place, x: event.clientX, y: event.clientY, ghost: null};
    }
  }

  /** A click: the board's own, and a button's of a hand, by Enter, too. @param {Event & {clientX?: number, clientY?: number}} event @param {string} [held] */
  click(event, held) {
    if (this.wasDragged) return;
    const place = held ?? this.placeAt(event.clientX ?? 0, event.clientY ?? 0);
    if (place !== null) this.tap(place);
  }

  /** @param {PointerEvent} event */
  moveDrag(event) {
    const drag = this.drag;
    if (!drag) return;
    if (!drag.ghost) {
      if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_AFTER) return;
      this.selected = drag.from;
      drag.ghost = this.makeGhost(drag.from);
      this.host.update();
    }
    drag.ghost.style.transform = `translate(${event.clientX}px, ${event.clientY}px) translate(-50%, -50%)`;
  }

  /** @param {string} from */
  makeGhost(from) {
    const piece = this.pieceAt(from) ?? "P";
    const flip = this.host.drawing().flip ?? false;
    const ghost = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    const box = document.querySelector(".main-board svg.board")?.getBoundingClientRect();
    ghost.setAttribute("class", "ghost");
    ghost.setAttribute("viewBox", "0 0 35 37");
    ghost.setAttribute("width", String(((box?.width ?? WIDTH) * 37) / WIDTH));
    use.setAttribute("href", `#koma-${faceOf(piece)}`);
    for (const [name, value] of Object.entries({width: "35", height: "37"})) use.setAttribute(name, value);
    if ((sideOf(piece) === "w") !== flip) use.setAttribute("transform", "rotate(180 17.5 18.5)");
    ghost.append(use);
    document.body.append(ghost);
    return ghost;
  }

  /** @param {PointerEvent} event */
  endDrag(event) {
    const drag = this.drag;
    if (!drag) return;
    const wasMoved = drag.ghost !== null;
    this.cancelDrag();
    if (!wasMoved) return;
    this.wasDragged = true; // the click that follows at once belongs to the drag
    setTimeout(() => (this.wasDragged = false));
    const to = this.placeAt(event.clientX, event.clientY);
    this.selected = null;
    if (to !== null && to !== drag.from) {
      if (this.host.place) this.host.place(drag.from, to);
      else this.finish(drag.from, to);
    } else if (to === null && this.host.place) {
      this.host.place(drag.from, "");
    }
    this.host.update();
  }

  cancelDrag() {
    this.drag?.ghost?.remove();
    this.drag = null;
  }

  // ------------------------------------------------------------------------------------ keyboard

  /** Keys of the focused board: arrows move a cursor, Enter and Space point. @param {KeyboardEvent} event */
  key(event) {
    const step = STEPS[event.key];
    if (event.target !== event.currentTarget || event.ctrlKey || event.altKey || event.metaKey) return;
    const sign = this.host.drawing().flip ? -1 : 1;
    if (step) {
      const [column, row] = this.cursor ? placeOf(this.cursor) : [4, 4];
      /** @param {number} value */
      const clamp = value => Math.max(0, Math.min(8, value));
      this.cursor = squareAt(clamp(column + sign * step[0]), clamp(row + sign * step[1]));
      this.host.say(this.nameOf(this.cursor));
    } else if ((event.key === "Enter" || event.key === " ") && this.cursor) {
      this.tap(this.cursor);
    } else if (event.key === "Escape" && (this.selected || this.choice.length)) {
      this.clear();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    this.host.update();
  }

  // ------------------------------------------------------------------------------------ drawing

  /** A side's name and hand. @param {"b" | "w"} side @param {[string, string]} names */
  hand(side, names) {
    const {position, flip = false, tints = []} = this.host.drawing();
    const {t} = this.host;
    const held = IN_HAND.filter(kind => position.hands[side][kind] > 0);
    const language = this.host.language();
    const pieces = held.map(kind => {
      const place = `${side}:${kind}`;
      const count = position.hands[side][kind];
      const tint = tints.find(each => each.square === place);
      const label = t("board.handPiece", {side: this.host.side(side), piece: pieceName(kind, language), count});
      return html`<button type="button" class=${`held ${this.selected === place ? "selected" : ""} ${tint ? `tinted ${tint.css} depth-${Math.round(6 * tint.depth)}` : ""}`} data-place=${place}
        aria-label=${label} aria-pressed=${this.selected === place ? "true" : "false"} @click=${event => this.click(event, place)}>
        ${pieceSvg(side === "b" ? kind : kind.toLowerCase(), (side === "w") !== flip)}${count > 1 ? html`<b>${count}</b>` : nothing}
        ${tint?.text ? html`<small class="tint-note">${tint.text}</small>` : nothing}</button>`;
    });
    const mark = side === "b" ? "☗" : "☖";
    return html`<div class=${`plate ${position.turn === side ? "to-move" : ""}`} data-side=${side}>
      <span class="player"><span aria-hidden="true">${mark}</span> ${names[side === "b" ? 0 : 1] || this.host.side(side)}</span>
      <span class="hand" role="group" aria-label=${t("board.hand", {side: this.host.side(side)})} data-place=${this.host.place ? `${side}:` : nothing}
        @click=${event => this.host.place && !event.target.closest("button") && this.tap(`${side}:`)}>${pieces}</span>
    </div>`;
  }

  /** The whole: hands above and below. @param {[string, string]} names @param {unknown} beside  Stands at the board's left. */
  render(names, beside) {
    const drawing = this.host.drawing();
    const {t} = this.host;
    const language = this.host.language();
    const targets = this.selected && !this.host.place ? this.movesOf(this.selected).map(usi => usi.slice(2, 4)) : [];
    const [upper, lower] = drawing.flip ? BLACK_ABOVE : WHITE_ABOVE;
    return html`<div class="main-board" @pointerdown=${event => this.press(event)}>
      ${this.hand(upper, names)}
      <div class="board-row">${beside}<div class="squares" role="application" tabindex="0" aria-label=${t("board.label")} aria-describedby="position-text"
        @keydown=${event => this.key(event)} @click=${event => this.click(event)} @blur=${() => this.blur()}>
        ${boardSvg({...drawing, selected: this.selected, targets, cursor: this.cursor})}
        ${this.choice.length ? this.choiceOf() : nothing}
      </div></div>
      ${this.hand(lower, names)}
      <p id="position-text" class="unseen">${inWords(drawing.position, language, [this.host.side("b"), this.host.side("w")])}</p>
    </div>`;
  }

  blur() {
    if (this.cursor === null) return;
    this.cursor = null;
    this.host.update();
  }

  /** A press beside the buttons takes the move back. @param {Event} event */
  clickChoice(event) {
    event.stopPropagation();
    if (event.target === event.currentTarget) this.dropChoice(event);
  }

  /** @param {Event} event */
  dropChoice(event) {
    event.stopPropagation();
    this.clear();
    this.host.update();
  }

  choiceOf() {
    const {t} = this.host;
    const {position, flip = false} = this.host.drawing();
    return html`<div class="choice" role="group" aria-label=${t("board.promote?")} @click=${event => this.clickChoice(event)}
      @keydown=${event => event.key === "Escape" && this.dropChoice(event)}>
      ${this.choice.map(usi => {
        const piece = position.squares.get(usi.slice(0, 2)) ?? "P";
        const promoted = usi.endsWith("+");
        const face = promoted ? `+${piece}` : piece;
        return html`<button type="button" data-usi=${usi} @click=${() => this.choose(usi)}>
          ${pieceSvg(face, (sideOf(piece) === "w") !== flip)}<span>${t(promoted ? "board.promote" : "board.unpromoted")}</span></button>`;
      })}
      <button type="button" class="cancel" data-action="cancel-promotion" @click=${event => this.dropChoice(event)}>${t("board.cancel")}</button>
    </div>`;
  }
}
