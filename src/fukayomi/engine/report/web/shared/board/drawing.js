// A position as SVG, in the geometry of fukayomi.shogi.svg. Pieces are paths; nothing needs a Japanese font.

import {IN_HAND, isMove, placeOf, sideOf, squareAt} from "../position.js";
import {html, nothing, svg} from "../vendor/lit-html.js";

/** @import {Position, Side} from "../position.js" */

const CELL_W = 35;
const CELL_H = 37;
const LEFT = 2;
const TOP = 18;
const RIGHT = 18;
const BOTTOM = 2;
const HEIGHT = TOP + 9 * CELL_H + BOTTOM;
export const WIDTH = LEFT + 9 * CELL_W + RIGHT;
/** @type {Record<string, string>} */
// biome-ignore format: a table
const FACES = {
  P: "pawn", L: "lance", N: "knight", S: "silver", G: "gold", B: "bishop", R: "rook", K: "king",
  "+P": "pro-pawn", "+L": "pro-lance", "+N": "pro-knight", "+S": "pro-silver", "+B": "horse", "+R": "dragon",
};
// Numerals as strokes in a box of 10 by 10, as in shogi/svg.py, so that a board needs no font.
// biome-ignore format: a table
const DIGITS = [
  "M3.5,2.6L5.6,1V9.5", "M2.5,3.2C2.5,.2 7.5,.2 7.5,3.1C7.5,5 4,6.6 2.5,9.4H7.6",
  "M2.5,2.2C3.4,.4 7.2,.5 7.2,2.9C7.2,4.6 5.6,5 4.3,5C6,5 7.6,5.6 7.6,7.2C7.6,9.9 3.5,10.1 2.3,8", "M6.3,9.5V.9L2,6.8H8.2",
  "M7.2,1H3.4L2.9,5C4.5,3.7 7.6,4.2 7.6,6.9C7.6,9.9 3.7,10.1 2.4,8.2", "M6.9,1.2C4,1.2 2.5,4 2.5,6.8C2.5,10.4 7.5,10.4 7.5,6.8C7.5,3.7 3.4,3.9 2.6,6.4",
  "M2.4,1H7.6C5.8,3.5 4.6,6.2 4.3,9.5", "M5,4.8C2.5,4.8 2.5,.9 5,.9S7.5,4.8 5,4.8C1.8,4.8 1.8,9.5 5,9.5S8.2,4.8 5,4.8",
  "M3.1,9.2C6,9.2 7.5,6.4 7.5,3.6C7.5,0 2.5,0 2.5,3.6C2.5,6.7 6.6,6.5 7.4,4",
];
// biome-ignore format: a table
const KANJI = [
  "M1,5H9", "M2,2.5H8M1,8H9", "M2,1.5H8M2.5,5H7.5M1,8.7H9", "M1.2,1.8H8.8V8.8H1.2ZM4,1.8C4,4 3.6,5.2 2.4,6.2M6,1.8V4.8C6,5.9 6.6,6.1 8,6.1",
  "M1.5,1.5H8.5M4.6,1.5L3.4,8.8M2,4.8H7.4L7,8.8M.8,8.8H9.2", "M5,.8V2.8M1,3.4H9M3.8,5.2L1.6,9.2M6.2,5.2L8.4,9.2",
  "M.9,5L9.1,3.6M4.4,1V7.4C4.4,8.9 5,9.1 8.6,9.1V7.6", "M3.6,1.8C3.4,5 2.7,7.3 .8,9.1M5.6,1.4C6,5.2 7,7.5 9.2,9.1",
  "M1.2,3.6H6.8V7.6C6.8,9 7.2,9.1 9.2,9.1V7.4M4,.8C4,5 3.4,7.4 .9,9.2",
];
/** 詰, in the same box. */
const MATE =
  "M1.6,.6H3.4M.4,2.2H4.600M1,3.800H4M1,5.300H4M1,6.800H4V9.300H1ZM5.200,2.300H9.800M7.500,.5V4.300M5.800,4.300H9.200M5.800,6H9.200V9.300H5.800Z";
/** Width of a badge, and from its middle to the edges of the square. */
const BADGE = {width: 17, side: 7, top: 5};

/**
 * @typedef {{usi: string, label?: string, isMate?: boolean, css?: string, width?: number}} Arrow  `width` is 1 for the usual one. An arrow
 *   lies under the pieces and hides none; `label` stands at a corner of its goal, or 詰 where the move mates.
 * @typedef {{square: string, css: string, depth: number, text: string}} Tint  A colour over a square and its piece, or with `b:P` for the square
 *   over a kind of piece in hand, from 0 to 1 deep; `text` is written small on it.
 */

/**
 * @typedef {object} Drawing
 * @property {Position} position
 * @property {string | null} [last]  The last move.
 * @property {Arrow[]} [arrows]  The first is drawn on top.
 * @property {Tint[]} [tints]
 * @property {boolean} [flip]  White at the bottom.
 * @property {string | null} [selected]  A square whose piece is about to move.
 * @property {string[]} [targets]  Squares that it can go to.
 * @property {string | null} [cursor]  The square of the keyboard.
 * @property {Side | "both" | "none"} [movable]  Whose pieces the reader may move.
 */

/** The shapes of all pieces, once in the document. @param {string} text The file pieces.svg. */
export function defineShapes(text) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const element = document.importNode(root, true);
  element.setAttribute("class", "symbols");
  element.setAttribute("aria-hidden", "true");
  document.body.prepend(element);
}

/** The face of a piece. @param {string} piece */
export function faceOf(piece) {
  const kind = piece.toUpperCase();
  return kind === "K" && sideOf(piece) === "b" ? "king-dotted" : FACES[kind];
}

/** Upper left corner of a square. @param {string} square @param {boolean} flip @returns {[number, number]} */
function corner(square, flip) {
  const [column, row] = placeOf(square);
  return [LEFT + (flip ? 8 - column : column) * CELL_W, TOP + (flip ? 8 - row : row) * CELL_H];
}

/** Centre of a square. @param {string} square @param {boolean} flip @returns {[number, number]} */
function center(square, flip) {
  const [x, y] = corner(square, flip);
  return [x + CELL_W / 2, y + CELL_H / 2];
}

/** The square at a point of the drawing. @param {number} x @param {number} y @param {boolean} flip */
export function squareUnder(x, y, flip) {
  const column = Math.floor((x - LEFT) / CELL_W);
  const row = Math.floor((y - TOP) / CELL_H);
  if (column < 0 || column > 8 || row < 0 || row > 8) return null;
  return flip ? squareAt(8 - column, 8 - row) : squareAt(column, row);
}

/** @param {string} piece @param {number} x @param {number} y @param {boolean} flip */
function koma(piece, x, y, flip, scale = 1) {
  const turn = (sideOf(piece) === "w") !== flip ? " rotate(180)" : "";
  const transform = `translate(${x},${y})${turn} scale(${scale}) translate(${-CELL_W / 2},${-CELL_H / 2})`;
  return svg`<use href=${`#koma-${faceOf(piece)}`} width=${CELL_W} height=${CELL_H} transform=${transform} />`;
}

/** @param {string} square @param {string} css @param {boolean} flip */
function marked(square, css, flip) {
  const [x, y] = corner(square, flip);
  return svg`<rect class=${css} x=${x} y=${y} width=${CELL_W} height=${CELL_H} />`;
}

function grid() {
  let d = "";
  for (let i = 0; i < 10; i++) d += `M${LEFT + i * CELL_W},${TOP}v${9 * CELL_H}M${LEFT},${TOP + i * CELL_H}h${9 * CELL_W}`;
  const stars = [3, 6].flatMap(column => [3, 6].map(row => [column, row]));
  return svg`<path class="grid" d=${d} />
    ${stars.map(([column, row]) => svg`<circle class="star" cx=${LEFT + column * CELL_W} cy=${TOP + row * CELL_H} r="2.4" />`)}`;
}

/** @param {boolean} flip */
function numbers(flip) {
  return [1, 2, 3, 4, 5, 6, 7, 8, 9].map(number => {
    const [x, y] = center(squareAt(9 - number, number - 1), flip);
    /** @param {string} css @param {string[]} strokes @param {number} left @param {number} top */
    const stroke = (css, strokes, left, top) =>
      svg`<path class=${css} d=${strokes[number - 1]} data-number=${number} transform=${`translate(${left},${top}) scale(.9)`} />`;
    return [stroke("file", DIGITS, x - 4.5, TOP - 13), stroke("rank", KANJI, LEFT + 9 * CELL_W + 4.5, y - 4.5)];
  });
}

/** @param {Arrow} arrow @param {Position} position @param {boolean} flip */
function arrowShape({usi, css = "", width = 1}, position, flip) {
  if (!isMove(usi)) return nothing;
  const to = usi.slice(2, 4);
  const [x, y] = center(to, flip);
  if (usi[1] === "*") {
    const piece = position.turn === "b" ? usi[0] : usi[0].toLowerCase();
    return svg`<g class=${`arrow ${css}`} data-usi=${usi}>${marked(to, "goal", flip)}${koma(piece, x, y, flip, 0.72)}</g>`;
  }
  const [x0, y0] = center(usi.slice(0, 2), flip);
  const length = Math.hypot(x - x0, y - y0);
  const angle = (Math.atan2(y - y0, x - x0) * 180) / Math.PI;
  const half = 2.6 * width;
  const wing = 5 + 3.2 * width;
  const tip = position.squares.has(to) ? length - 14 : length + 4; // before the piece that it takes
  const neck = tip - 14;
  const d = `M3,${-half}H${neck}V${-wing}L${tip},0L${neck},${wing}V${half}H3Z`;
  return svg`<g class=${`arrow ${css}`} data-usi=${usi}>${marked(to, "goal", flip)}<path d=${d} transform=${`translate(${x0},${y0}) rotate(${angle})`} /></g>`;
}

/** What stands at the corner of an arrow's goal, the further to the left the more arrows before it end there. @param {Arrow} arrow @param {number} index @param {Arrow[]} all @param {boolean} flip */
function badge({usi, label, isMate = false, css = ""}, index, all, flip) {
  if (!isMove(usi) || !(label || isMate)) return nothing;
  const to = usi.slice(2, 4);
  const before = all.slice(0, index).filter(each => each.usi.slice(2, 4) === to && (each.label || each.isMate)).length;
  const [left, top] = corner(to, flip);
  const [x, y] = [left + CELL_W - BADGE.side - before * BADGE.width, top + BADGE.top];
  return svg`<g class=${`arrow-label ${css}`} data-usi=${usi}><rect class="badge" x=${x - BADGE.width / 2} y=${y - 6} width=${BADGE.width} height="12" rx="5" />
    ${isMate ? svg`<path class="badge-mate" d=${MATE} transform=${`translate(${x - 4.7},${y - 4.7}) scale(.94)`} />` : svg`<text class="badge-text" x=${x} y=${y + 3.2}>${label}</text>`}</g>`;
}

/** @param {Tint} tint @param {boolean} flip */
function tintShape({square, css, depth, text}, flip) {
  if (square.includes(":")) return nothing; // of a hand, see view.js
  const [x, y] = corner(square, flip);
  return svg`<rect class=${`tint ${css}`} data-square=${square} x=${x} y=${y} width=${CELL_W} height=${CELL_H} fill-opacity=${depth.toFixed(3)} />
    ${css.includes("hatched") ? svg`<path class=${`hatch ${css}`} d=${hatch(x, y)} />` : nothing}
    <text class="tint-text" x=${x + CELL_W / 2} y=${y + CELL_H - 2}>${text}</text>`;
}

/** Slanted lines over a square. @param {number} x @param {number} y */
function hatch(x, y) {
  let d = "";
  for (let at = 6; at < CELL_W + CELL_H; at += 6) {
    const [left, right] = [Math.max(0, at - CELL_H), Math.min(at, CELL_W)];
    d += `M${x + left},${y + at - left}L${x + right},${y + at - right}`;
  }
  return d;
}

/** The contents of a board. @param {Drawing} drawing */
function contents({position, last, arrows = [], tints = [], flip = false, selected, targets = [], cursor}) {
  const squares = [...position.squares];
  return svg`
    <rect class="wood" x=${LEFT} y=${TOP} width=${9 * CELL_W} height=${9 * CELL_H} />
    ${last && isMove(last) ? svg`${last[1] === "*" ? nothing : marked(last.slice(0, 2), "last from", flip)}${marked(last.slice(2, 4), "last to", flip)}` : nothing}
    ${selected && !selected.includes(":") ? marked(selected, "selected", flip) : nothing}
    ${grid()}${numbers(flip)}
    <g class="arrows">${arrows.toReversed().map(arrow => arrowShape(arrow, position, flip))}</g>
    <g class="pieces">${squares.map(([square, piece]) => koma(piece, ...center(square, flip), flip))}</g>
    ${targets.map(square => {
      const [x, y] = center(square, flip);
      return svg`<circle class="target" cx=${x} cy=${y} r="6" />`;
    })}
    <g class="tints">${tints.map(tint => tintShape(tint, flip))}</g>
    <g class="labels">${arrows.map((arrow, index) => badge(arrow, index, arrows, flip))}</g>
    ${cursor ? marked(cursor, "cursor", flip) : nothing}`;
}

/** A board as `<svg>`, hidden from screen readers: what stands around it says the position. @param {Drawing} drawing */
export function boardSvg(drawing) {
  return html`<svg class="board" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">${contents(drawing)}</svg>`;
}

/** A piece alone, as on a hand. @param {string} piece @param {boolean} turned */
export function pieceSvg(piece, turned = false) {
  const transform = turned ? `rotate(180 ${CELL_W / 2} ${CELL_H / 2})` : "";
  return html`<svg class="piece" viewBox=${`0 0 ${CELL_W} ${CELL_H}`} aria-hidden="true"><use href=${`#koma-${faceOf(piece)}`} width=${CELL_W} height=${CELL_H} transform=${transform} /></svg>`;
}

/** Pieces in hand, with their counts. @param {Record<string, number>} hand @param {boolean} [turned] */
export const handSvg = (hand, turned) =>
  IN_HAND.filter(kind => hand[kind] > 0).map(kind => html`${pieceSvg(kind, turned)}<b>${hand[kind] > 1 ? hand[kind] : ""}</b>`);

/** The arrows of a judged position. @param {string | undefined} best @param {string | null | undefined} [mistake]  The move of the game, if it is one. @param {boolean} [isMate]  Whether the best move mates. @returns {Arrow[]} */
export function verdictArrows(best, mistake, isMate = false) {
  const arrows = best ? [{usi: best, css: "best", width: 1.4, isMate}] : [];
  return mistake && mistake !== best ? [...arrows, {usi: mistake, css: "played"}] : arrows;
}
