// Reasons of the server in Japanese: why a move, a position or a record is refused. The server gives them in English; what
// is not known here stays as it is.
import {squareName} from "../position.js";

/** @type {Record<string, string>} */
// biome-ignore format: a table
const PIECES = {
  pawn: "歩", lance: "香", knight: "桂", silver: "銀", gold: "金", bishop: "角", rook: "飛車", king: "玉",
  "promoted pawn": "と金", "promoted lance": "成香", "promoted knight": "成桂", "promoted silver": "成銀", horse: "馬", dragon: "龍",
  Black: "先手", White: "後手",
};
/** @param {string} name */
const named = name => PIECES[name] ?? name;
/** @param {string} square */
const at = square => squareName(square, "ja");

/** Forms of reasons, and their Japanese, of what the form has found. @type {[RegExp, (...found: string[]) => string][]} */
// biome-ignore format: a table
const FORMS = [
  // a move
  [/^there is no (.+) in hand$/, piece => `持駒に${named(piece)}がありません`],
  [/^(\d[a-i]) is occupied$/, () => "駒のある升には打てません"],
  [/^the (.+) could never move from \d[a-i]$/, piece => `${named(piece)}の行き所がありません`],
  [/^the (.+) must promote on \d[a-i]$/, piece => `${named(piece)}は成らなければなりません`],
  [/^there is a pawn of the same side .*nifu\)$/, () => "二歩です"],
  [/uchifuzume\)$/, () => "打ち歩詰めです"],
  [/^the king would be in check$/, () => "玉を取られてしまいます"],
  [/^(\d[a-i]) is empty$/, square => `${at(square)}に駒がありません`],
  [/^the piece on \d[a-i] is the opponent's$/, () => "相手の駒です"],
  [/^a piece of the same side is on (\d[a-i])$/, square => `${at(square)}に自分の駒があります`],
  [/^the (.+) cannot reach (\d[a-i])$/, (piece, square) => `${named(piece)}は${at(square)}へ動けません`],
  [/^the (.+) cannot promote$/, piece => `${named(piece)}は成れません`],
  [/^the move does not touch the promotion zone$/, () => "敵陣に関わらない手では成れません"],
  [/^a dropped piece cannot promote at once$/, () => "打つ手では成れません"],
  [/^it does not move$/, () => "動いていません"],
  // a book
  [/^(.+): the move cannot be taken back: the book was changed since$/, file => `${file}：定跡がその後変わったため、元に戻せません`],
  [/^(.+); nothing was changed: fukayomi book convert makes .*$/, text => `定跡に読めない部分があり、変更しませんでした（${text}）。fukayomi book convert で読める部分だけの定跡を作れます`],
  [/^(.+) is too large to be changed move by move .*$/, file => `${file} は大きすぎて一手ずつ加えられません。別の定跡に加え、fukayomi book merge で合わせてください`],
  [/^(.+): a book to write is named \.db .*$/, file => `${file} には書けません（書けるのは .db と .bin）。fukayomi book convert で変換できます`],
  [/^(.+) holds a book in the format of \.(\w+); fukayomi book convert .*$/, (file, kind) => `${file} の中身は .${kind} 形式です。fukayomi book convert で変換できます`],
  // a position
  [/^invalid SFEN '.*?': (.*)$/, rest => inJapanese(rest)],
  [/^(Black|White) has two pawns on file (\d)/, (side, file) => `${named(side)}の二歩です（${file}筋）`],
  [/^a side has two kings$/, () => "玉が二枚あります"],
  [/^(?:Black|White)'s (.+) on (\d[a-i]) can never move$/, (piece, square) => `${at(square)}の${named(piece)}に行き所がありません`],
  [/^it is (Black|White)'s turn, but .* king is attacked$/, side => `${named(side)}の手番で、相手の玉に王手がかかっています`],
  [/^\d+ pieces of the type (.+?) .*a set has only (\d+)$/, (piece, count) => `${named(piece)}は${count}枚までです`],
  // a record
  [/^record(?:, line (\d+))?: (.*)$/, (line, rest) => `${line ? `${line}行目：` : ""}${inJapanese(rest)}`],
  [/^ply (\d+): (.*)$/, (ply, rest) => `${ply}手目：${inJapanese(rest)}`],
  [/^illegal move '([^']*)' \((?:illegal move '[^']*' in '[^']*': )?(.*)\)(?: in '[^']*')?$/, (move, why) => `「${move}」は指せません（${inJapanese(why)}）`],
  [/^illegal move '([^']*)' in '[^']*': (.*)$/, (move, why) => `「${move}」は指せません（${inJapanese(why)}）`],
  [/^neither CSA, KIF, .* it begins '(.*)'$/s, text => `棋譜の形ではありません（「${text}」）`],
  [/^it is the turn of .*of the other side: '(.*)'$/, move => `手番が違います（「${move}」）`],
  [/^not text: /, () => "文字のファイルではありません"],
  [/^there is no game$/, () => "対局がありません"],
  // games and analyses
  [/^this game is not on the server any more$/, () => "この対局はサーバーに残っていません"],
  [/^there are (\d+) games; end one of them$/, count => `対局は${count}局までです。どれかを終えてください`],
  [/^only games with both kings can be analysed$/, () => "両方の玉がある対局だけを解析できます"],
  [/^(\d+) analyses wait already$/, count => `解析が${count}件待っています`],
];

/** @param {string} text @returns {string} */
function inJapanese(text) {
  for (const [form, say] of FORMS) {
    const found = form.exec(text);
    if (found) return say(...found.slice(1));
  }
  return text;
}

/** A reason of the server in the reader's language. @param {string} text @param {"ja" | "en"} language */
export const reasonIn = (text, language) => (language === "ja" ? inJapanese(text) : text);
