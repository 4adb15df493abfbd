// Keys for everything: lishogi's, with ShogiHome's arrows as a setting.
import {setting} from "./settings.js";

/** Actions by keys. @type {Record<string, string>} */
const LISHOGI = {ArrowLeft: "back", ArrowRight: "forward", ArrowUp: "first", ArrowDown: "last"};
/** @type {Record<string, string>} */
const SHOGIHOME = {ArrowUp: "back", ArrowDown: "forward", ArrowLeft: "first", ArrowRight: "last"};
/** @type {Record<string, string>} */
// biome-ignore format: a table
const OTHERS = {
  k: "back", j: "forward", Home: "first", End: "last", n: "nextMistake", f: "flip", l: "engine", " ": "best",
  a: "arrows", z: "hide", Escape: "stop", "?": "help",
};

/** What a key means; undefined if it belongs to something else on the page. @param {KeyboardEvent} event */
export function actionOf(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.defaultPrevented) return undefined;
  const target = /** @type {Element} */ (event.target);
  const isLeft = target.closest?.("dialog:not([open])"); // a dialog that has just closed keeps the focus for a moment
  if (!isLeft && target.closest?.("input, textarea, select, dialog[open], [contenteditable]")) return undefined;
  if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight"))
    return event.key === "ArrowLeft" ? "previousVariation" : "nextVariation";
  if (event.key === " " && target.closest("button, a, summary")) return undefined;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === "n" && event.shiftKey) return "previousMistake";
  const arrows = setting("arrows-up-down", false) ? SHOGIHOME : LISHOGI;
  return arrows[key] ?? OTHERS[key];
}
