// Texts of the card of a position.
import {translate} from "../language.js";

const japanese = {
  start: "開始局面",
  ply: "{ply}手目",
  next: "次の手",
  best: "最善は",
  unknown: "この局面は解析していません",
  score: "評価値",
  candidates: "候補手",
  win: "☗勝率",
  visits: "訪問数",
  rate: "{side}の勝率",
  played: "実戦",
  line: "読み筋 {step}/{count}",
  back: "本譜に戻る",
};

/** @type {typeof japanese} */
const english = {
  start: "Start",
  ply: "{ply}.",
  next: "Next:",
  best: "Best: ",
  unknown: "This position was not analysed",
  score: "eval.",
  candidates: "Candidates",
  win: "☗ win",
  visits: "visits",
  rate: "{side} win rate",
  played: "played",
  line: "Line {step}/{count}",
  back: "Back to the game",
};

/** A text of the card. @param {"ja" | "en"} language @param {keyof typeof japanese} key @param {Record<string, string | number>} [values] */
export const cardText = (language, key, values) => translate(language === "ja" ? japanese : english, key, values);
