// Matches and leagues, live; every game opens on the board.
import {html, nothing} from "../vendor/lit-html.js";
import {Follower} from "../runs/follow.js";
import {GameList} from "../runs/games.js";
import {followList, leaveList, shown} from "../runs/list.js";
import {crossTable, endings, forfeitTable, leagueTable, matchState, pairTable, sprtView, strategies, timesTable} from "../runs/match.js";

const KINDS = ["match", "league"];
/** @type {string | null} */
let chosen = null;
/** @type {any} */
let found = null;
/** @type {Follower | null} */
let follower = null;
/** @type {GameList | null} */
let games = null;

/** @param {import("../page.js").Page} page */
export function enter(page) {
  games ??= new GameList(page);
  follower ??= new Follower(page, document => {
    found = document;
    games?.refresh(document.kind === "match" && !document.error ? `api/matches/${document.id}` : "");
    page.update();
  });
  followList(page, () => listed(page));
  follower.start();
}

export function leave() {
  leaveList();
  follower?.stop();
}

/** @param {import("../page.js").Page} page */
function listed(page) {
  const matches = shown(KINDS) ?? [];
  if (!matches.some(match => match.id === chosen)) choose(page, matches[0]?.id ?? null);
  page.update();
}

/** @param {import("../page.js").Page} page @param {string | null} match */
function choose(page, match) {
  chosen = match;
  found = null;
  follower?.follow(match ? `api/matches/${match}` : "");
  page.update();
}

/** @param {import("../page.js").Page} page */
export function render(page) {
  const {t} = page, matches = shown(KINDS);
  if (matches === null) return html`<p class="muted">${t("runs.loading")}</p>`;
  if (!matches.length) return html`<p class="card">${t("match.none")} <code>fukayomi web matches/</code></p>`;
  return html`<div class="runs"><div><section class="card"><h2>${t("match.list")}</h2><ul class="run-list">${matches.map(match => html`<li>
      <button type="button" data-match=${match.name} aria-current=${chosen === match.id ? "true" : "false"} @click=${() => choose(page, match.id)}><span>${match.name}</span>${match.kind === "league" ? html` <small>${t("match.together")}</small>` : nothing}</button></li>`)}</ul></section></div>
    <div>${view(page)}</div></div>`;
}

function view(page) {
  if (!found) return html`<p class="muted">${page.t("runs.loading")}</p>`;
  if (found.error) return html`<p class="error" role="alert">${found.name}: ${found.error}</p>`;
  return html`${matchState(page, found)}${sprtView(page, found)}${leagueTable(page, found)}${crossTable(page, found)}${pairTable(page, found)}${endings(page, found)}${forfeitTable(page, found)}${timesTable(page, found)}
    ${found.members ? html`<section class="card"><h2>${page.t("match.members")}</h2><p class="row">${found.members.map(({id: member, name}) => html`<button type="button" @click=${() => choose(page, member)}>${name}</button>`)}</p></section>` : nothing}
    ${games?.render()}${strategies(page, found)}`;
}
