// Reasons of the server in Japanese: why a move, a position or a record is refused, or a request failed. The server gives
// them in English.
import {squareName} from "../position.js";

/** @type {Record<string, string>} */
// biome-ignore format: a table
const PIECES = {
  pawn: "歩", lance: "香", knight: "桂", silver: "銀", gold: "金", bishop: "角", rook: "飛車", king: "玉",
  "promoted pawn": "と金", "promoted lance": "成香", "promoted knight": "成桂", "promoted silver": "成銀", horse: "馬", dragon: "龍",
  Black: "先手", White: "後手",
  FU: "歩", KY: "香", KE: "桂", GI: "銀", KI: "金", KA: "角", HI: "飛車", OU: "玉",
  TO: "と金", NY: "成香", NK: "成桂", NG: "成銀", UM: "馬", RY: "龍",
};
/** @param {string} name */
const named = name => PIECES[name.replace(/^[+-]/, "")] ?? name;
/** @param {string} square */
const at = square => squareName(square, "ja");
/** What the server quotes. @param {string} text */
const quoted = text => `「${text.replace(/^'|'$/g, "")}」`;
/** @param {string | undefined} text */
const inBrackets = text => (text ? `（${quoted(text)}）` : "");

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
  [/^it starts and ends on the same square$/, () => "動いていません"],
  [/^there is no move before it$/, () => "「同」の前に指し手がありません"],
  [/^a piece in hand is not promoted, and the king is never in hand$/, () => "打てない駒です"],
  [/^there is no square (\d+)$/, square => `${square}という升はありません`],
  [/^there is no piece on (\d\d)$/, square => `${square}に駒がありません`],
  [/^there is (\S+) on (\d\d)$/, (piece, square) => `${square}にあるのは${piece}です`],
  [/^('.*?') is a move of the wrong side$/s, move => `${quoted(move)}は手番が違います`],
  [/^('.*?') may mean (.+)$/s, (move, moves) => `${quoted(move)}は一つに決まりません（${moves}）`],
  [/^(?:it has no target square|it names no piece that can be dropped|it is against the rules|too many|no such move|there is no such piece)$/, () => "指せない手です"],
  [/^it is the other side's turn$/, () => "手番が違います"],
  [/^a move without (?:target or piece|origin)$/, () => "移動元、移動先または駒の種類がない指し手です"],
  [/^illegal move (?:\d[a-i]){2}: there is no \S+$/, () => "移動元にその駒がありません"],
  [/^illegal move of \S+ to (\d[a-i])(?:: (\d+) moves fit)?$/, (square, count) => (count ? `${at(square)}への手が一つに決まりません` : `${at(square)}へ動ける駒がありません`)],
  [/^(\S+) stands there, no (\S+)$/, (found, wanted) => (found === "nothing" ? `移動元に${named(wanted)}がありません` : `移動元にあるのは${named(found)}です`)],
  [/^invalid USI move ('.*?'): (.*)$/s, (move, why) => `${quoted(move)}は指し手ではありません（${inJapanese(why)}）`],
  [/^invalid CSA move ('.*?'): (.*)$/s, (move, why) => `${quoted(move)}は指し手ではありません（${inJapanese(why)}）`],
  [/^expected a move like 7g7f, 8h2b\+ or P\*5e$/, () => "7g7f、8h2b+、P*5e のように書きます"],
  [/^('.*') is not a piece that can be dropped/s, piece => `${quoted(piece)}は打てる駒ではありません`],
  [/^(?:invalid square )?('.*?')(?: is not a square| is not a square \(1a to 9i\)|: expected 1a to 9i)(?:: '.*')?$/s, square => `${quoted(square)}は升目ではありません`],
  // a position
  [/^invalid SFEN '.*?': (.*)$/s, rest => inJapanese(rest)],
  [/^invalid USI position ('.*'): expected/s, () => "「startpos」か「sfen …」で始まる局面ではありません"],
  [/^(Black|White) has two pawns on file (\d)/, (side, file) => `${named(side)}の二歩です（${file}筋）`],
  [/^(?:a side has two kings|(?:Black|White) has \d+ kings)$/, () => "玉が二枚あります"],
  [/^(Black|White) has no king$/, side => `${named(side)}の玉がありません`],
  [/^(?:Black|White)'s (.+) on (\d[a-i]) can never move$/, (piece, square) => `${at(square)}の${named(piece)}に行き所がありません`],
  [/^it is (Black|White)'s turn, but .* king is attacked$/, side => `${named(side)}の手番で、相手の玉に王手がかかっています`],
  [/^\d+ pieces of the type (.+?)(?:,| in a hand,) .*a set has only (\d+)$/, (piece, count) => `${named(piece)}は${count}枚までです`],
  [/^(?:expected board, side to move, hands and move number|'0' empty squares|no piece after)/, () => "SFENの形ではありません"],
  [/^the board has (\d+) ranks instead of 9$/, count => `盤の段が9ではなく${count}あります`],
  [/^rank (\d+) \(.*\) does not fill nine squares$/s, rank => `${rank}段目が9升になっていません`],
  [/^a count of 0 in the hands/, () => "持駒の枚数が0です"],
  [/^('.*?') is not a piece that can be in hand/s, piece => `${quoted(piece)}は持駒になりません`],
  [/^the move number ('.*?') is not a number/s, number => `手数${quoted(number)}が数ではありません`],
  [/^the side to move is ('.*?'), not/s, side => `手番${quoted(side)}が b でも w でもありません`],
  [/^the first position is impossible: (.*)$/s, rest => `開始局面が正しくありません：${inJapanese(rest)}`],
  [/^the first position is impossible \((.*)\)(?:: '.*')?$/s, rest => `開始局面が正しくありません：${inJapanese(rest)}`],
  // the text of a record
  [/^neither CSA, KIF, .* it begins '(.*)'$/s, text => `棋譜の形ではありません（「${text}」）`],
  [/^neither 'startpos moves \.\.\.' nor .*: ('.*')$/s, text => `「startpos moves …」でも「sfen …」でもありません（${quoted(text)}）`],
  [/^neither a header nor a move nor the end of the game: ('.*')$/s, text => `対局情報でも指し手でも終局でもありません（${quoted(text)}）`],
  [/^neither a move nor (?:the end of the game|an end): ('.*')$/s, text => `指し手でも終局でもありません（${quoted(text)}）`],
  [/^neither UTF-8 nor /, () => "文字コードがわかりません"],
  [/^not text: /, () => "文字のファイルではありません"],
  [/^not JSON: /, () => "JSONの形ではありません"],
  [/^not a move(?:: ('.*'))?$/s, move => `指し手ではありません${inBrackets(move)}`],
  [/^no CSA statement(?:: ('.*'))?$/s, text => `CSA形式の行ではありません${inBrackets(text)}`],
  [/^a move after the end of the game(?:: ('.*'))?$/s, move => `終局の後に指し手があります${inBrackets(move)}`],
  [/^there is no move before ('.*')$/s, move => `${quoted(move)}の前に指し手がありません`],
  [/^illegal move '([^']*)' \((?:illegal move '[^']*' in '[^']*': )?(.*)\)(?: in '[^']*')?$/, (move, why) => `「${move}」は指せません（${inJapanese(why)}）`],
  [/^illegal move '([^']*)' in '[^']*': (.*)$/, (move, why) => `「${move}」は指せません（${inJapanese(why)}）`],
  [/^illegal move '([^']*)'(?:: no such move)?(?: in '[^']*')?$/, move => `「${move}」は指せません`],
  [/^it is the turn of .*of the other side(?:: ('.*'))?$/s, move => `手番が違います${inBrackets(move)}`],
  [/^the (?:board is set up after the first move|first position is given below the moves)(?:: ('.*'))?$/s, text => `指し手の後に開始局面があります${inBrackets(text)}`],
  [/^a line for the side to move after the first move(?:: ('.*'))?$/s, text => `指し手の後に手番の行があります${inBrackets(text)}`],
  [/^not a row of a board: ('.*')$/s, text => `盤面の行ではありません（${quoted(text)}）`],
  [/^not pieces in hand: ('.*')$/s, text => `持駒ではありません（${quoted(text)}）`],
  [/^a board of (\d+) rows instead of 9$/, count => `盤面が9行ではなく${count}行です`],
  [/^pieces in hand without a board$/, () => "持駒だけで、盤面がありません"],
  [/^handicap ('.*?') names two positions/s, text => `手合割${quoted(text)}が二つの局面を指しています。盤面を書くか、ほかの手合割にしてください`],
  [/^handicap ('.*?') names several games/s, text => `手合割${quoted(text)}だけでは、この対局の手合がわかりません。盤面を書いてください`],
  [/^(?:unknown handicap|handicap) ('.*?') (?:does not tell|without a board)/s, text => `手合割${quoted(text)}がわかりません。盤面を書くか、ほかの手合割にしてください`],
  [/^no such way to set up a board(?:: ('.*'))?$/s, text => `盤面の書き方が正しくありません${inBrackets(text)}`],
  [/^there is no (\S+) on (\d\d) to take away(?:: ('.*'))?$/s, (piece, square) => `${square}に、取り除く${named(piece)}がありません`],
  [/^\d+ squares instead of 9(?:: ('.*'))?$/s, text => `段が9升になっていません${inBrackets(text)}`],
  [/^a row has more than nine squares(?:: ('.*'))?$/s, text => `段が9升より長くなっています${inBrackets(text)}`],
  [/^('.*?') is neither a piece nor an empty square(?:: '.*')?$/s, text => `${quoted(text)}は駒でも空き升でもありません`],
  [/^('.*?') is not a piece for a hand(?:: '.*')?$/s, text => `${quoted(text)}は持駒になりません`],
  [/^('.*?') is no list of squares and pieces(?:: '.*')?$/s, text => `${quoted(text)}は升と駒の並びではありません`],
  [/^('.*?') is not a piece/s, text => `${quoted(text)}は駒ではありません`],
  [/^(\S+) cannot be dropped(?:: '.*')?$/s, piece => `${named(piece)}は打てません`],
  [/^JKF: (.*) is no (?:object|list)$/s, () => "JKFの形ではありません"],
  [/^JKF: unknown preset ('.*')$/s, text => `手合割${quoted(text)}がわかりません`],
  [/^JKF: unknown piece ('.*') on the board$/s, text => `${quoted(text)}は駒ではありません`],
  [/^JKF: .* in a hand$/s, () => "持駒が正しくありません"],
  [/^nested too deeply$/, () => "入れ子が深すぎます"],
  [/^the variations are nested too deeply for JKF; write KIF$/, () => "変化の入れ子が深すぎてJKFでは保存できません。KIFで保存してください"],
  [/^(\S+) has no character (.+?), in '.*'(?:; write UTF-8)?$/s, (encoding, letter) => `文字 ${letter} は ${encoding} にありません`],
  [/^encoding ('.*') is not one of/s, text => `文字コード${quoted(text)}は使えません`],
  [/^no piece on (\d[a-i])$/, square => `${at(square)}に駒がありません`],
  [/^(?:invalid|ambiguous) move ('.*?')/s, move => `${quoted(move)}は指せません`],
  [/^variation \d+ leaves variation \S+, not above it$/, () => "変化の順序が正しくありません"],
  [/^a variation at ply .* of .* plies$/, () => "変化の始まりが正しくありません"],
  [/^a game (?:has|may have) at most (\d+) (?:moves|plies)(?:: '.*')?$/s, count => `一局は${count}手までです`],
  [/^(?:the variations have )?more than (\d+) moves(?: with its variations)?$/, count => `変化を含めて${count}手までです`],
  [/^(?:there is no game|the file has no game|empty: it holds no game)$/, () => "対局がありません"],
  [/^the (comment|bookmark) is cut to (\d+) characters$/, (what, count) => `${what === "comment" ? "コメント" : "しおり"}が長いため、はじめの${count}文字だけを読みました`],
  [/^before the first move: (.*)$/s, rest => `開始局面：${inJapanese(rest)}`],
  [/^at the end: (.*)$/s, rest => `終局：${inJapanese(rest)}`],
  // what the page sends
  [/^start: (.*)$/s, rest => inJapanese(rest)],
  [/^node \d+: (.*)$/s, rest => inJapanese(rest)],
  [/^(?:nodes: a number is there twice|main: it is not a line)/, () => "棋譜の木が正しくありません"],
  [/^(\S+): (?:String|Value) should have at most (\d+) characters/, (field, count) => `${field} は${count}文字までです`],
  [/^(\S+): \w+ should have at most (\d+) items/, (field, count) => `${field} は${count}件までです`],
  [/^(\S+) is missing$/, field => `${field} がありません`],
  [/^nodes and time_ms exclude each other$/, () => "nodes と time_ms は一方だけを指定できます"],
  [/^the engine needs nodes, time_ms or a clock$/, () => "エンジンには nodes、time_ms または時計が必要です"],
  [/^a message is a JSON object$|^the type of a message is/, () => "知らない問い合わせです"],
  // games and analyses
  [/^this game is not on the server any more$/, () => "この対局はサーバーに残っていません"],
  [/^there are (\d+) games; end one of them$/, count => `対局は${count}局までです。どれかを終えてください`],
  [/^the game is over in this position$/, () => "この局面で対局は終わっています"],
  [/^the game is over$/, () => "対局は終わっています"],
  [/^the position has changed$/, () => "局面が変わっています"],
  [/^(\S+) is not a legal move$/, move => `${quoted(move)}は指せない手です`],
  [/^the engine is to move$/, () => "エンジンの手番です"],
  [/^the conditions of a declaration are not met$/, () => "入玉宣言の条件を満たしていません"],
  [/^there is no move to take back$/, () => "戻せる手がありません"],
  [/^only games with both kings can be analysed$/, () => "両方の玉がある対局だけを解析できます"],
  [/^(\d+) analyses wait already$/, count => `解析が${count}件待っています`],
  [/^no job (\d+)$/, () => "サーバーに解析が残っていません"],
  [/^(.+) is a damaged analysis: (.*)$/s, (name, why) => `${name} の解析は壊れています（${inJapanese(why)}）`],
  [/^the analysis is damaged: (.*)$/s, why => `解析が壊れています（${inJapanese(why)}）`],
  [/^the analysis is that of another game$/, () => "別の対局の解析です"],
  [/^a page without an analysis in it: /, () => "解析のないページです。同じフォルダーの analysis.json を開くか、解析し直してください"],
  [/^the analysis in the page is larger than (\d+) MiB$/, size => `ページの解析が${size} MiBより大きくなっています`],
  [/^the analysis in the page is damaged: (.*)$/s, why => `ページの解析が壊れています（${why}）`],
  [/^(\S+) does not agree with the rest$/, field => `${field} がほかと合いません`],
  [/^(.+) is not an analysis, or damaged: (.*)$/s, (name, why) => `${name} は解析でないか、壊れています（${why}）`],
  [/^there is no king to mate: /, () => "詰ませる玉がありません（手番の側が攻めます）"],
  // files, runs and matches
  [/^no file (\d+)$/, () => "そのファイルはありません"],
  [/^(.+) is no record: its runs and matches are at/s, name => `${name} は棋譜ではありません`],
  [/^cannot read (.+): (.*)$/s, (name, why) => `${name} を読めません（${why}）`],
  [/^(.+): the folder has no files$/s, name => `${name}：フォルダーが空です`],
  [/^no such (?:file or )?folder$/, () => "そのファイルやフォルダーはありません"],
  [/^(.+): no such file or folder$/s, name => `${name}：ファイルもフォルダーもありません`],
  [/^(.+): cannot be read: (.*)$/s, (name, why) => `${name}：読めません（${why}）`],
  [/^(.+): (\S+) archives are not supported; unpack it first$/s, (name, kind) => `${name}：${kind} の書庫は開けません。先に展開してください`],
  [/^there is no such game$/, () => "その対局はありません"],
  [/^the game cannot be read: /, () => "対局を読めません。ファイルが壊れているか、なくなっています"],
  [/^there is no such run or match/, () => "その記録はありません。移動されたかもしれません"],
  [/^(?:smooth|before) is /, () => "問い合わせの値が正しくありません"],
  [/^(.+) is not installed; /s, name => `${name} がインストールされていません（追加機能 train）`],
  // the server
  [/^the server does not answer$/, () => "サーバーが応答しません"],
  [/^the server ends$/, () => "サーバーが終了します"],
  [/^the network (?:failed|cannot be loaded): (.*)$/s, why => `ネットワークのエラーです（${why}）`],
  [/^internal error/, () => "サーバーの内部エラーです"],
  [/^the server was started anew: /, () => "サーバーが起動し直されました。表示された新しいアドレスを開いてください"],
  [/^this server does not answer to that name/, () => "この名前のサーバーではありません（--allow-host）"],
  [/^the request comes from another page$/, () => "ほかのページからの問い合わせです"],
  [/^it is larger than the server takes; records may have (\d+) MiB$/, size => `大きすぎます（棋譜は${size} MiBまで）`],
  [/^(?:404 )?Not Found$|^(?:405 )?Method Not Allowed$/, () => "サーバーが知らない問い合わせです"],
  // where in a file something is wrong
  [/^ply (\d+): (.*)$/s, (ply, rest) => `${ply}手目：${inJapanese(rest)}`],
  [/^record(?:, line (\d+))?: (.*)$/s, (line, rest) => `${line ? `${line}行目：` : ""}${inJapanese(rest)}`],
  [/^(.{1,250}?), line (\d+): (.*)$/s, (name, line, rest) => `${name}、${line}行目：${inJapanese(rest)}`],
  [/^(\S.{0,250}?): (.*)$/s, (name, rest) => `${name}：${inJapanese(rest)}`],
];

/** @param {string} text @returns {string} */
function inJapanese(text) {
  for (const [form, say] of FORMS) {
    const found = form.exec(text);
    if (found) return say(...found.slice(1));
  }
  return text;
}

/** Whether a text is Japanese, whatever it quotes. @param {string} text */
const isJapanese = text => /[ぁ-ヿ一-鿿]/.test(text.replace(/'[^']*'/g, ""));

/** A reason of the server in the reader's language. What has no form, such as the words of a library, is called an error. @param {string} text @param {"ja" | "en"} language */
export function reasonIn(text, language) {
  if (language === "en" || text === "") return text;
  const found = inJapanese(text);
  return isJapanese(found) ? found : `エラー：${text}`;
}
