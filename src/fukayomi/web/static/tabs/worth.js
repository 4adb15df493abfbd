// What each piece of the position on the board is worth: the tinted board, a table, combinations.
import {html, nothing} from "../vendor/lit-html.js";
import {remember, setting} from "../settings.js";

export const id = "worth";
export const title = "tab.worth";

const VIEWS = ["worth", "relative", "change"], MOST_TOGETHER = 6;

/** What the server said last. @type {{positions: any[], differences: any[], svg: string} | null} */
let found = null;
/** The question that it answers. */
let asked = "";
/** Pieces whose combinations are asked for, by place. @type {Set<string>} */
const together = new Set();
/** The position that stands beside the one on the board. @type {{sfen: string, moves: string[], ply: number} | null} */
let beside = null;
let isShown = false;
let problem = "";
/** @type {(() => void) | null} */
let hears = null;

/** @param {import("../page.js").Page} page */
export function enter(page) {
  isShown = true;
  hears ??= page.socket.on("open", () => isShown && askAnew(page));
  askAnew(page);
}

/** Ask, also what was refused before. @param {import("../page.js").Page} page */
function askAnew(page) {
  if (problem) asked = "";
  ask(page);
}

export function leave() {
  isShown = false;
}

/** @param {import("../page.js").Page} page */
export function positionChanged(page) {
  if (!isShown) return;
  together.clear();
  ask(page);
}

/** Ask the server, unless it has answered that; what is older than the last question is dropped. @param {import("../page.js").Page} page */
async function ask(page) {
  const {game} = page, view = setting("worth.view", "worth");
  const question = {
    sfen: game.start, moves: game.moves(), view, flip: page.flip, together: [...together],
    ...(beside ? {beside: {sfen: beside.sfen, moves: beside.moves}} : {}),
  };
  const text = JSON.stringify(question);
  if (text === asked) return;
  asked = text;
  try {
    const answer = await page.api.post("api/worth", question);
    if (text !== asked) return;
    [found, problem] = [answer, ""];
  } catch (error) {
    if (text !== asked) return;
    [found, problem] = [null, error.message]; // asked again when the tab is opened, or the server is back
  }
  page.update();
}

/** @param {import("../page.js").Page} page */
export function render(page) {
  const {t} = page;
  if (isShown) queueMicrotask(() => ask(page)); // the board may have been turned
  return html`
    ${controls(page)}
    ${problem ? html`<p class="error" role="status">${problem}</p>` : nothing}
    ${found ? html`
      <img class="worth-picture" alt=${t("worth.picture", {plies: found.positions.map(each => each.ply).join(", ")})} src=${`data:image/svg+xml,${encodeURIComponent(found.svg)}`}>
      ${differences(page)}${combined(page)}${table(page)}
      <p class="muted small">${t("worth.help")}</p>` : problem ? nothing : html`<p class="muted">${t("worth.waiting")}</p>`}`;
}

function controls(page) {
  const {t, game} = page, view = setting("worth.view", "worth");
  return html`<div class="row" role="group" aria-label=${t("worth.view")}>
    ${VIEWS.map(each => html`<button type="button" data-view=${each} aria-pressed=${each === view ? "true" : "false"} @click=${() => {
      remember("worth.view", each);
      ask(page);
      page.update();
    }}>${t(`worth.view.${each}`)}</button>`)}
    ${beside ? html`<button type="button" data-action="beside" aria-pressed="true" @click=${() => {
      beside = null;
      ask(page);
      page.update();
    }}>${t("worth.alone", {ply: beside.ply})}</button>` : html`<button type="button" data-action="beside" @click=${() => {
      beside = {sfen: game.start, moves: game.moves(), ply: game.plyOf()};
      ask(page);
      page.update();
    }}>${t("worth.beside")}</button>`}
  </div>`;
}

/** The position on the board is the last of the two. */
const current = () => found.positions.at(-1);
const signed = value => (value === null ? "–" : value > 0 ? `+${Math.round(value)}` : `${Math.round(value)}`.replace("-", "−"));
const percent = value => (value === null ? "–" : `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`.replace("-", "−"));

/** @param {import("../page.js").Page} page */
function pieceName({language}, piece) {
  return language === "ja" ? piece.japanese : `${piece.color === "black" ? "☗" : "☖"} ${piece.piece}${piece.count > 1 ? ` × ${piece.count}` : ""} ${piece.place}`;
}

function table(page) {
  const {t} = page, view = setting("worth.view", "worth"), key = `${view}_cp`;
  const pieces = current().pieces.toSorted((a, b) => (b[key] ?? -Infinity) - (a[key] ?? -Infinity));
  return html`<table class="worth-table"><caption class="unseen">${t("worth.table")}</caption>
    <thead><tr><th scope="col"><span class="unseen">${t("worth.choose")}</span></th><th scope="col">${t("worth.piece")}</th><th scope="col" class="number">${t("worth.view.worth")}</th>
      <th scope="col" class="number">${t("worth.winRate")}</th><th scope="col" class="number">${t("worth.view.relative")}</th><th scope="col" class="number">${t("worth.view.change")}</th></tr></thead>
    <tbody>${pieces.map(piece => html`<tr data-place=${piece.place} data-color=${piece.color}>
      <td><input type="checkbox" aria-label=${t("worth.chooseOne", {piece: pieceName(page, piece)})} .checked=${together.has(piece.place)}
        ?disabled=${!together.has(piece.place) && together.size >= MOST_TOGETHER} @change=${event => choose(page, piece.place, event.target.checked)}></td>
      <th scope="row" class=${piece.color}>${pieceName(page, piece)}</th><td class="number">${signed(piece.worth_cp)}</td><td class="number">${percent(piece.worth_win_rate)}</td>
      <td class="number">${signed(piece.relative_cp)}</td><td class="number">${signed(piece.change_cp)}</td></tr>`)}</tbody></table>`;
}

function choose(page, place, isChosen) {
  if (isChosen) together.add(place);
  else together.delete(place);
  ask(page);
  page.update();
}

function combined(page) {
  const {t} = page, {together: sets, pieces} = current();
  if (sets.length === 0) return together.size === 1 ? html`<p class="muted">${t("worth.oneMore")}</p>` : nothing;
  const byPlace = new Map(pieces.map(piece => [piece.place, piece]));
  return html`<table class="worth-together"><caption>${t("worth.together")}</caption>
    <thead><tr><th scope="col">${t("worth.pieces")}</th><th scope="col" class="number">${t("worth.atOnce")}</th><th scope="col" class="number">${t("worth.oneByOne")}</th><th scope="col" class="number">${t("worth.difference")}</th></tr></thead>
    <tbody>${sets.map(each => html`<tr data-places=${each.pieces.join(" ")}><th scope="row">${each.pieces.map(place => pieceName(page, byPlace.get(place))).join("  ")}</th>
      <td class="number">${signed(each.worth_cp)}</td><td class="number">${signed(each.sum_cp)}</td><td class="number">${signed(each.extra_cp)}</td></tr>`)}</tbody></table>`;
}

/** The pieces whose worth differs most between the two positions. */
function differences(page) {
  const {t} = page, rows = found.differences.slice(0, 10);
  if (rows.length === 0) return nothing;
  const byPlace = new Map(current().pieces.map(piece => [piece.place, piece])), [first, second] = found.positions;
  return html`<table class="worth-differences"><caption>${t("worth.differences")}</caption>
    <thead><tr><th scope="col">${t("worth.piece")}</th><th scope="col" class="number">${t("worth.ply", {ply: first.ply})}</th><th scope="col" class="number">${t("worth.ply", {ply: second.ply})}</th>
      <th scope="col" class="number">${t("worth.difference")}</th></tr></thead>
    <tbody>${rows.map(row => html`<tr data-place=${row.place}><th scope="row">${pieceName(page, byPlace.get(row.place))}</th><td class="number">${signed(row.first_cp)}</td>
      <td class="number">${signed(row.second_cp)}</td><td class="number">${signed(row.difference_cp)}</td></tr>`)}</tbody></table>`;
}
