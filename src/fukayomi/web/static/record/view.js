// The record beside the board: its moves with variations, comments and clocks; the buttons below the board.

import {act} from "../actions.js";
import {isMove, typedMoves} from "../position.js";
import {html, nothing} from "../vendor/lit-html.js";

/** @import {RecordNode} from "documents" */
/** @import {Page} from "../page.js" */
/** @import {Template} from "../vendor/lit-html.js" */
/** @import {Game} from "./game.js" */

/** @type {Record<string, string>} */
const ICONS = {
  first: "M6 5v14M19 5L8 12L19 19Z",
  back: "M17 5L6 12L17 19Z",
  forward: "M7 5L18 12L7 19Z",
  last: "M18 5v14M5 5L16 12L5 19Z",
  settings: "M4 7H12M18 7H20M15 4A3 3 0 1 0 15.010 4M4 17H6M12 17H20M9 14A3 3 0 1 0 9.010 14",
  previousMistake: "M11 5v14L1 12zM17 5V14M17 18V19",
  nextMistake: "M13 5v14l10-7zM7 5V14M7 18V19",
  flip: "M7 4v14M7 4L3 9M7 4L11 9M17 20V6M17 20L13 15M17 20L21 15",
};

/** Characters of a comment, as many as the server takes. */
const LONGEST_COMMENT = 20_000;

/** An icon as a path. @param {string} name */
export const icon = name => html`<svg class="icon-picture" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;

/** ⏮ ◀ ▶ ⏭ and flip, the typed move. @param {Page} page */
export function moveBar(page) {
  const {t, game} = page;
  const at = game.plyOf();
  const last = game.shownLine().length - 1;
  /** @type {Record<string, boolean>} */
  const disabled = {first: at === 0, back: at === 0, forward: at === last, last: at === last, flip: false};
  return html`<div class="bar" role="group" aria-label=${t("bar.title")}>
    ${["first", "back", "forward", "last", "flip"].map(
      action => html`<button type="button" data-action=${action} aria-label=${t(`keys.${action}`)}
      title=${t(`keys.${action}`)} ?disabled=${disabled[action] || (page.setup.isOpen && action !== "flip")} @click=${() => act(action, page)}>${icon(action)}</button>`,
    )}
    <form class="typed" @submit=${event => typed(event, page)}>
      <label class="unseen" for="typed-move">${t("bar.typed")}</label>
      <input id="typed-move" autocomplete="off" spellcheck="false" placeholder=${t("bar.example")} size="8">
    </form>
  </div>`;
}

/** @param {SubmitEvent} event @param {Page} page */
async function typed(event, page) {
  event.preventDefault();
  const input = /** @type {HTMLInputElement} */ (document.getElementById("typed-move"));
  const facts = await page.facts.load(page.game);
  const last = page.game.current.usi?.slice(2, 4);
  if (!facts) return;
  const found = typedMoves(input.value, page.game.position, facts.legal, last);
  if (found.length === 1) {
    input.value = "";
    page.notify("");
    page.move(found[0]);
  } else {
    page.notify(page.t(found.length ? "bar.ambiguous" : "bar.illegal", {move: input.value, moves: found.join(" ")}));
    if (!found.length && isMove(input.value.trim())) page.explainMove(input.value.trim());
  }
}

/** @param {number} seconds */
const clock = seconds => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** @param {Page} page */
export function recordView(page) {
  const {t, game} = page;
  const sides = /** @type {const} */ (["b", "w"]);
  const header = Object.entries(game.facts.header).filter(([, value]) => value);
  const noted = game.node(page.notedNode);
  return html`
    ${page.files.lists()}
    <details class="facts"><summary>${t("record.facts")}</summary>
      ${sides.map(
        (side, index) => html`<label class="row">${side === "b" ? "☗" : "☖"} <span class="unseen">${page.side(side)}</span>
        <input class="player-name" data-side=${side} autocomplete="off" maxlength="200" placeholder=${page.side(side)} .value=${game.facts.names[index]}
          @input=${event => game.rename(index ? 1 : 0, event.target.value)}></label>`,
      )}
      <dl>${header.map(([name, value]) => html`<dt>${page.word("header", name)}</dt><dd>${value}</dd>`)}</dl></details>
    <div class="moves" tabindex="0" role="group" aria-label=${t("record.moves")} @wheel=${event => wheel(event, page)}>
      <ol>${moveRow(page, game.node(0), 0)}${line(page, 0, 1)}</ol>
      ${ending(page)}
    </div>
    ${branches(page)}
    <label for="comment">${t("record.comment")}${noted === game.current ? nothing : html` <small data-noted=${noted.id}>${game.plyOf(noted.id)} ${page.nameOf(noted)}</small>`}</label>
    <textarea id="comment" rows="3" maxlength=${LONGEST_COMMENT}
      @input=${event => game.comment(event.target.value, page.notedNode)} @blur=${() => page.endNoting()}></textarea>
    <div class="row">
      <button type="button" data-action="promote" ?disabled=${isMain(game)} @click=${() => page.changeRecord("", () => game.promote(game.place))}>${t("record.promote")}</button>
      <button type="button" data-action="delete" ?disabled=${game.current.parent === null} @click=${() => page.deleteFrom(game.place)}>${t("record.delete")}</button>
      <button type="button" data-action="undo" title="Ctrl+Z" ?disabled=${!page.undoing} @click=${() => page.undo()}>${t("undo.undo")}</button>
    </div>`;
}

/** The moves that follow in the record, if there are several. @param {Page} page */
function branches(page) {
  const {game, t} = page;
  const next = game.childrenOf();
  if (next.length < 2) return nothing;
  return html`<div class="row branches" role="group" aria-label=${t("record.branches")}><span class="muted">${t("record.branches")}</span>
    ${next.map(id => html`<button type="button" data-branch=${id} class=${id === game.forward(game.place) ? "chosen" : ""} @click=${() => game.go(id)}>${page.nameOf(game.node(id))}</button>`)}</div>`;
}

/** The illegal move that ended the game, how it ended, and the comment on that. @param {Page} page */
function ending(page) {
  const {t, game} = page;
  const {end, winner, end_word: word, end_comment: comment, end_time_ms: time, illegal} = game.ending;
  const isElsewhere = game.last !== null && !game.endsOnMain;
  return html`${isElsewhere ? html`<p class="muted">${t("record.asPlayed", {count: game.plyOf(game.last ?? 0)})}</p>` : nothing}
    ${illegal ? html`<p class="end muted">${t("record.illegalMove", {move: page.nameOf({japanese: illegal.japanese, english: illegal.move})})}${timeOf(illegal.time_ms)}</p>` : nothing}
    ${end || winner ? html`<p class="end muted">${page.endText(end, winner, word)}${timeOf(time)}</p>` : nothing}
    ${comment ? html`<p class="end-comment muted">${comment}</p>` : nothing}`;
}

/** @param {number | null | undefined} time */
const timeOf = time => (time === null || time === undefined ? nothing : html`<span class="time">${clock(time / 1000)}</span>`);

/** Whether the node on the board is on the main line. @param {Game} game */
function isMain(game) {
  return game.path().every(node => node.parent === null || game.childrenOf(node.parent)[0] === node.id);
}

/** The moves that follow a node, each with the variations beside it. @param {Page} page @param {number} from @param {number} ply  Of the first one. @returns {Template[]} */
function line(page, from, ply) {
  const {game} = page;
  const rows = [];
  for (let at = /** @type {number | undefined} */ (from); at !== undefined; ply++) {
    const next = game.nextOf(at);
    if (next !== undefined) rows.push(moveRow(page, game.node(next), ply));
    for (const other of game.childrenOf(at)) {
      if (other === next) continue;
      rows.push(html`<li class="variation"><ol>${moveRow(page, game.node(other), ply)}${line(page, other, ply + 1)}</ol></li>`);
    }
    at = next;
  }
  return rows;
}

/** @param {Page} page @param {RecordNode} node @param {number} ply */
function moveRow(page, node, ply) {
  const {t, game, language} = page;
  const isCurrent = node.id === game.place;
  const name = node.parent === null ? t("record.start") : page.nameOf(node);
  const mistake = page.mistakeAt?.(node.id);
  return html`<li class=${isCurrent ? "current" : ""}><button type="button" class="move" lang=${language === "ja" || !node.english ? "ja" : "en"}
      aria-current=${isCurrent ? "step" : nothing} data-node=${node.id} @click=${() => game.go(node.id)}>
      <span class="ply">${ply || ""}</span><span class="name">${name}</span>
      ${mistake ? html`<span class=${`mark ${mistake}`}>${t(`mistake.${mistake}`)}</span>` : nothing}
      ${node.comment ? html`<span class="has-comment" title=${t("record.comment")}>✎</span>` : nothing}
      ${node.bookmark ? html`<span class="has-bookmark" title=${t("record.bookmark", {name: node.bookmark})}>⚑</span>` : nothing}
      ${timeOf(node.time_ms)}
    </button></li>`;
}

/** The wheel over the moves steps. @param {WheelEvent} event @param {Page} page */
function wheel(event, page) {
  if (event.ctrlKey || event.deltaY === 0) return;
  event.preventDefault();
  page.noted = null;
  page.game.step(event.deltaY > 0 ? 1 : -1);
}

/** Show the comment. What was typed since the last drawing is not in the template, so the field itself is looked at. @param {Page} page */
export function showComment(page) {
  const field = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("comment"));
  const {comment} = page.game.node(page.notedNode);
  if (field && field.value !== (comment ?? "")) field.value = comment ?? "";
}

/** Keep the current move in sight. */
export function scrollToCurrent() {
  const list = document.querySelector(".moves");
  const current = list?.querySelector(".current > .move");
  if (!(list instanceof HTMLElement) || !(current instanceof HTMLElement)) return;
  const box = list.getBoundingClientRect();
  const own = current.getBoundingClientRect();
  if (own.top < box.top) list.scrollTop -= box.top - own.top + 4;
  else if (own.bottom > box.bottom) list.scrollTop += own.bottom - box.bottom + 4;
}
