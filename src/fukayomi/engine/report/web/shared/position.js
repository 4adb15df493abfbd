// Positions as the page draws them. The rules stay on the server, which lists the legal moves.

/** The even game's initial position. */
export const START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";
/** The order of pieces in hand. */
export const IN_HAND = ["R", "B", "G", "S", "N", "L", "P"];
const SIDES = /** @type {const} */ (["b", "w"]);
const RANKS = "abcdefghi";

/**
 * @typedef {"b" | "w"} Side
 * @typedef {object} Position
 * @property {Map<string, string>} squares  Pieces by square, as in SFEN: `7g` has `P`, `2b` has `+b`.
 * @property {{b: Record<string, number>, w: Record<string, number>}} hands  Counts by kind, in capitals.
 * @property {Side} turn
 * @property {number} ply  Number of the next move.
 */

/** Whether a first position is that of a handicap game: White moves first and lacks pieces, Black has all. @param {string} sfen */
export function isHandicap(sfen) {
  const [rows, turn] = sfen.split(" ");
  const own = START.split(" ")[0].split("/").slice(6).join("/");
  return turn === "w" && rows.endsWith(`/${own}`) && rows !== START.split(" ")[0];
}

/** @param {Side} side @returns {Side} */
export const opponent = side => (side === "b" ? "w" : "b");

/** The side of a piece. @param {string} piece @returns {Side} */
export const sideOf = piece => (piece === piece.toUpperCase() ? "b" : "w");

/** The piece of the other side. @param {string} piece */
export const swapSide = piece => (sideOf(piece) === "b" ? piece.toLowerCase() : piece.toUpperCase());

/** Side and kind of a place in a hand, which is written `b:P`. @param {string} place @returns {[Side, string]} */
export const heldAt = place => [place[0] === "w" ? "w" : "b", place[2]];

/** A square by its column from the left (0 is file 9) and its row from the top. @param {number} column @param {number} row */
export const squareAt = (column, row) => `${9 - column}${RANKS[row]}`;

/** Column and row of a square. @param {string} square @returns {[number, number]} */
export const placeOf = square => [9 - Number(square[0]), RANKS.indexOf(square[1])];

/** @param {string} sfen @returns {Position} */
export function parse(sfen) {
  const [rows, turn, held, ply] = sfen.split(" ");
  /** @type {Position} */
  const position = {squares: new Map(), hands: {b: {}, w: {}}, turn: turn === "w" ? "w" : "b", ply: Number(ply) || 1};
  for (const [row, text] of rows.split("/").entries()) {
    let column = 0;
    for (const [piece] of text.matchAll(/\d|\+?[a-z]/gi)) {
      if (/\d/.test(piece)) column += Number(piece);
      else position.squares.set(squareAt(column++, row), piece);
    }
  }
  for (const [, count, piece] of (held ?? "-").matchAll(/(\d*)([a-z])/gi)) {
    position.hands[sideOf(piece)][piece.toUpperCase()] = Number(count || 1);
  }
  return position;
}

/** Whether a text has the form of an SFEN; whether the position can be played is the server's to say. @param {string} text */
export function isSfen(text) {
  const [rows, turn, hands] = text.split(" ");
  /** @param {string} row */
  const isRow = row => {
    const found = [...row.matchAll(/[1-9]|\+?[PLNSBR]|[GK]/gi)].map(([each]) => each);
    return found.reduce((sum, each) => sum + (Number(each) || 1), 0) === 9 && found.join("") === row;
  };
  return rows.split("/").length === 9 && rows.split("/").every(isRow) && /^[bw]$/.test(turn) && /^(-|(\d*[PLNSGBR])+)$/i.test(hands ?? "");
}

/** The SFEN of a position. @param {Position} position */
export function sfenOf({squares, hands, turn, ply}) {
  const rows = [];
  for (let row = 0; row < 9; row++) {
    let text = "";
    let empty = 0;
    for (let column = 0; column < 9; column++) {
      const piece = squares.get(squareAt(column, row));
      if (!piece) {
        empty++;
        continue;
      }
      text += (empty || "") + piece;
      empty = 0;
    }
    rows.push(text + (empty || ""));
  }
  const held = SIDES.flatMap(side =>
    IN_HAND.filter(kind => hands[side][kind] > 0).map(kind => {
      const count = hands[side][kind];
      return (count > 1 ? count : "") + (side === "b" ? kind : kind.toLowerCase());
    }),
  );
  return `${rows.join("/")} ${turn} ${held.join("") || "-"} ${ply}`;
}

/** A copy that can be changed. @param {Position} position @returns {Position} */
export function copyOf({squares, hands, turn, ply}) {
  return {squares: new Map(squares), hands: {b: {...hands.b}, w: {...hands.w}}, turn, ply};
}

/** Whether both sides have a king, which mate problems lack. @param {Position} position */
export const hasKings = ({squares}) => [...squares.values()].filter(piece => piece.toUpperCase() === "K").length === 2;

/** Whether a USI move stands on the board; `win`, `resign` and the like do not. @param {string | null | undefined} usi */
export const isMove = usi => typeof usi === "string" && /^([1-9][a-i]|[A-Z]\*)[1-9][a-i]\+?$/.test(usi);

/** The position after a move, which the server has found legal. @param {Position} before @param {string} usi */
export function played(before, usi) {
  const position = copyOf(before);
  const {squares, hands, turn} = position;
  if (isMove(usi)) {
    const to = usi.slice(2, 4);
    if (usi[1] === "*") {
      hands[turn][usi[0]] -= 1;
      squares.set(to, turn === "b" ? usi[0] : usi[0].toLowerCase());
    } else {
      const from = usi.slice(0, 2);
      const taken = squares.get(to)?.replace("+", "").toUpperCase();
      if (taken) hands[turn][taken] = (hands[turn][taken] ?? 0) + 1;
      squares.set(to, (usi[4] ?? "") + (squares.get(from) ?? ""));
      squares.delete(from);
    }
  }
  position.turn = opponent(turn);
  position.ply += 1;
  return position;
}

/** @type {Record<"ja" | "en", Record<string, string>>} */
// biome-ignore format: a table
const NAMES = {
  ja: {
    P: "歩", L: "香", N: "桂", S: "銀", G: "金", B: "角", R: "飛", K: "玉",
    "+P": "と", "+L": "成香", "+N": "成桂", "+S": "成銀", "+B": "馬", "+R": "龍",
  },
  en: {
    P: "pawn", L: "lance", N: "knight", S: "silver", G: "gold", B: "bishop", R: "rook", K: "king",
    "+P": "promoted pawn", "+L": "promoted lance", "+N": "promoted knight", "+S": "promoted silver", "+B": "horse", "+R": "dragon",
  },
};

/** The name of a kind of piece. @param {string} piece @param {"ja" | "en"} language */
export const pieceName = (piece, language) => NAMES[language][piece.toUpperCase()] ?? piece;

/** The name of a square: ７六 in Japanese, 7f in English. @param {string} square @param {"ja" | "en"} language */
export function squareName(square, language) {
  if (language === "en") return square;
  return "１２３４５６７８９"[Number(square[0]) - 1] + "一二三四五六七八九"[RANKS.indexOf(square[1])];
}

/** The position in words, for screen readers. @param {Position} position @param {"ja" | "en"} language @param {string[]} [names]  Of the sides, in Japanese. */
export function inWords({squares, hands, turn}, language, names = ["先手", "後手"]) {
  const isJapanese = language === "ja";
  const comma = isJapanese ? "、" : ", ";
  /** @param {Side} side */
  const of = side => (isJapanese ? names[side === "b" ? 0 : 1] : side === "b" ? "Black" : "White");
  const parts = [isJapanese ? `${of(turn)}の手番` : `${of(turn)} to move`];
  for (const side of SIDES) {
    const own = [...squares].filter(([, piece]) => sideOf(piece) === side);
    /** @param {string} piece */
    const rank = piece => "KRBGSNLP".indexOf(piece.replace("+", "").toUpperCase());
    own.sort(([one, a], [other, b]) => rank(a) - rank(b) || one.localeCompare(other));
    const names = own.map(([square, piece]) =>
      isJapanese ? squareName(square, language) + pieceName(piece, language) : `${pieceName(piece, language)} ${square}`,
    );
    const held = IN_HAND.filter(kind => hands[side][kind] > 0).map(
      kind => `${pieceName(kind, language)}${isJapanese ? "" : " "}${hands[side][kind]}`,
    );
    const hand = held.length ? held.join(comma) : isJapanese ? "なし" : "nothing";
    parts.push(isJapanese ? `${of(side)}：${names.join(comma)}。持駒：${hand}` : `${of(side)}: ${names.join(comma)}. In hand: ${hand}`);
  }
  return parts.join(isJapanese ? "。" : ". ");
}

const KANJI = "一二三四五六七八九";

/**
 * A move in Western notation: `P-7f`, `Bx2b+`, `G6a-5b`, `P*5e`. The origin stands where the side has another such piece.
 * @param {Position} position  Before the move. @param {string} usi
 */
export function western({squares, turn}, usi) {
  if (!isMove(usi)) return usi;
  const to = usi.slice(2, 4);
  if (usi[1] === "*") return `${usi[0]}*${to}`;
  const from = usi.slice(0, 2);
  const piece = squares.get(from) ?? "";
  const isOnlyOne = [...squares.values()].filter(each => each === piece).length === 1 || piece.toUpperCase() === "P";
  const [own, other] = turn === "b" ? ["[A-Z]", "[a-z]"] : ["[a-z]", "[A-Z]"];
  const canPromote =
    RegExp(`^${own}$`).test(piece) &&
    !"KG".includes(piece.toUpperCase()) &&
    [from, to].some(square => (turn === "b" ? "abc" : "ghi").includes(square[1]));
  const end = usi.endsWith("+") ? "+" : canPromote ? "=" : "";
  return `${piece.toUpperCase()}${isOnlyOne ? "" : from}${RegExp(other).test(squares.get(to) ?? "") ? "x" : "-"}${to}${end}`;
}

/** Moves that follow each other, in Western notation. @param {Position} position @param {string[]} moves */
export function westernLine(position, moves) {
  return moves.map(usi => {
    const name = western(position, usi);
    position = played(position, usi);
    return name;
  });
}

/**
 * The move that a reader typed, in USI form: `7g7f`, `P*5e`, in Japanese `７六歩`, `５五歩打`, `２二角成`, or in Western notation `P-7f`,
 * `Bx2b+`, `G6a-5b`.
 * @param {string} text @param {Position} position @param {string[]} legal The legal moves. @param {string} [last] The square of `同`.
 * @returns {string[]} The legal moves that it can mean; empty if there is none.
 */
export function typedMoves(text, position, legal, last) {
  const typed = text
    .normalize("NFKC")
    .trim()
    .replace(/^[☗☖▲△]/, "")
    .replace(/\s/g, "");
  if (legal.includes(typed)) return [typed];
  const named = typedWestern(typed, position, legal);
  if (named) return named;
  const match =
    /^(同|[1-9][一二三四五六七八九1-9])(成香|成桂|成銀|[歩香桂銀金角飛玉王と馬龍竜])(左|右|直|上|引|寄|行|入)*(打|成|不成)?$/.exec(typed);
  if (!match) return [];
  const [, place, name, , end] = match;
  const rank = place[1] && (KANJI.includes(place[1]) ? KANJI.indexOf(place[1]) : Number(place[1]) - 1);
  const to = place === "同" ? last : place[0] + RANKS[/** @type {number} */ (rank)];
  const kind = Object.entries(NAMES.ja).find(([, each]) => each === name.replace("王", "玉").replace("竜", "龍"))?.[0];
  const found = legal.filter(usi => usi.slice(2, 4) === to && movedKind(usi, position) === kind);
  const drops = found.filter(usi => usi[1] === "*");
  const moves = found.filter(usi => usi[1] !== "*");
  if (end === "打" || moves.length === 0) return end && end !== "打" ? [] : drops;
  return moves.filter(usi => (end === "成") === usi.endsWith("+"));
}

/** The moves that a text in Western notation can mean; null if it has another form. @param {string} typed @param {Position} position @param {string[]} legal */
function typedWestern(typed, position, legal) {
  const match = /^(\+?[plnsgbrk])([1-9][a-i1-9])?([-x*])?([1-9][a-i1-9])([+=])?$/i.exec(typed);
  if (!match) return null;
  /** @param {string} square */
  const named = square => square[0] + (/\d/.test(square[1]) ? RANKS[Number(square[1]) - 1] : square[1].toLowerCase());
  const [, kind, origin, sign, goal, end] = match;
  const found = legal.filter(
    usi =>
      usi.slice(2, 4) === named(goal) &&
      movedKind(usi, position) === kind.toUpperCase() &&
      (sign === undefined || (sign === "*") === (usi[1] === "*")) &&
      (!origin || usi.slice(0, 2) === named(origin)),
  );
  const moves = found.some(usi => usi[1] !== "*") ? found.filter(usi => usi[1] !== "*") : found;
  const ended = moves.filter(usi => (end === "+") === usi.endsWith("+"));
  return ended.length || end ? ended : moves;
}

/** The kind of the piece that moves. @param {string} usi @param {Position} position */
function movedKind(usi, {squares}) {
  return usi[1] === "*" ? usi[0] : squares.get(usi.slice(0, 2))?.toUpperCase();
}
