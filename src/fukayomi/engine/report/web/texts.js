// Texts that the script of an analysis writes; all others are in page.html.

const japanese = {
  start: "開始局面",
  ply: "{ply}手目",
  best: "最善は",
  unknown: "この局面は解析していません",
  score: "評価値",
  played: "実戦",
  line: "読み筋 {step}/{count}",
  back: "本譜に戻る",
};

/** @type {typeof japanese} */
const english = {
  start: "Start",
  ply: "{ply}.",
  best: "Best: ",
  unknown: "This position was not analysed",
  score: "eval.",
  played: "played",
  line: "Line {step}/{count}",
  back: "Back to the game",
};

export const TEXTS = {ja: japanese, en: english};
