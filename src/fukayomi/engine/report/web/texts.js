// Texts that the script of an analysis writes; all others are in page.html.

export const TEXTS = {
  ja: {
    start: "開始局面",
    ply: "{ply}手目",
    best: "最善は",
    unknown: "この局面は解析していません",
    score: "評価値",
    played: "実戦",
    line: "読み筋 {step}/{count}",
    back: "本譜に戻る",
  },
  en: {
    start: "Start",
    ply: "{ply}.",
    best: "Best: ",
    unknown: "This position was not analysed",
    score: "eval.",
    played: "played",
    line: "Line {step}/{count}",
    back: "Back to the game",
  },
};
