// What keys and buttons do, and the list of keys.

import {actionOf} from "./keys.js";
import {remember, setting} from "./settings.js";
import {html, nothing} from "./vendor/lit-html.js";

/** @import {Page} from "./page.js" */

/** Action, its keys as they are written in the list. */
// biome-ignore format: a table
const KEYS = [
  ["back", "← k"], ["forward", "→ j"], ["first", "↑ Home"], ["last", "↓ End"], ["variation", "Shift+← Shift+→"],
  ["nextMistake", "n"], ["previousMistake", "Shift+n"], ["flip", "f"], ["engine", "l"], ["best", "Space"], ["arrows", "a"],
  ["hide", "z"], ["undo", "Ctrl+z"], ["stop", "Esc"], ["help", "?"],
];

/** @param {KeyboardEvent} event @param {Page} page */
export function keyPressed(event, page) {
  if (!page.tab.hasBoard) {
    if (event.key === "?" && actionOf(event)) page.toggleKeys();
    return;
  }
  const action = isUndo(event) ? "undo" : actionOf(event);
  if (!action) return;
  event.preventDefault();
  page.live.keyIsRepeating = event.repeat;
  act(action, page);
}

/** Ctrl+Z, outside of fields, which undo by themselves. @param {KeyboardEvent} event */
const isUndo = event =>
  (event.ctrlKey || event.metaKey) &&
  !event.shiftKey &&
  event.key.toLowerCase() === "z" &&
  !(/** @type {Element} */ (event.target).closest?.("input, textarea, select, dialog[open]"));

/** @param {string} action @param {Page} page */
export function act(action, page) {
  const {game, live} = page;
  if (page.tab.onAction(action)) return;
  switch (action) {
    case "back":
      return game.step(-1);
    case "forward":
      return game.step(1);
    case "first":
      return game.goToPly(0);
    case "last":
      return game.goToPly(Infinity);
    case "nextVariation":
      return game.switchVariation(1);
    case "previousVariation":
      return game.switchVariation(-1);
    case "nextMistake":
      return page.goToMistake(1);
    case "previousMistake":
      return page.goToMistake(-1);
    case "flip":
      return page.setFlip(!page.flip);
    case "engine":
      return live.toggle();
    case "best":
      return live.playBest();
    case "arrows":
      return live.toggleArrows();
    case "hide":
      return live.toggleHidden();
    case "undo":
      return page.undo();
    case "stop":
      return page.stopAll();
    case "help":
      return page.toggleKeys();
  }
}

/** The list of keys, a dialog. @param {Page} page */
export function keyList(page) {
  const {t} = page;
  const swapped = setting("arrows-up-down", false);
  /** @param {string} keys */
  const written = keys => (swapped ? keys.replace(/[←→↑↓]/g, arrow => "↑↓←→"["←→↑↓".indexOf(arrow)]) : keys);
  return html`<dialog id="keys" aria-labelledby="keys-title">
    <h2 id="keys-title">${t("keys.title")}</h2>
    <table><tbody>${KEYS.map(
      ([action, keys]) => html`<tr>
      <td>${(action === "variation" ? keys : written(keys)).split(" ").map((key, index) => html`${index ? " " : nothing}<kbd>${key}</kbd>`)}</td>
      <td>${t(`keys.${action}`)}</td></tr>`,
    )}</tbody></table>
    <label class="row"><input type="checkbox" .checked=${swapped} @change=${event => {
      remember("arrows-up-down", event.target.checked);
      page.update();
    }}> ${t("keys.swap")}</label>
    <form method="dialog"><button class="primary">${t("page.close")}</button></form>
  </dialog>`;
}
