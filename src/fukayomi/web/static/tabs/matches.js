// Matches and leagues, live; every game opens on the board.

import {Follower} from "../runs/follow.js";
import {GameList} from "../runs/games.js";
import {crossTable, endings, forfeitTable, leagueTable, matchState, pairTable, sprtView, strategies, timesTable} from "../runs/match.js";
import {html, nothing} from "../vendor/lit-html.js";
import {Tab} from "./tab.js";

/** @import {DamagedDocument, MatchDocument} from "documents" */
/** @import {Page} from "../page.js" */

const KINDS = ["match", "league"];

export class MatchesTab extends Tab {
  /** @param {Page} page */
  constructor(page) {
    super(page, "matches");
    this.games = new GameList(page);
    /** @type {string | null} */
    this.chosen = null;
    /** @type {MatchDocument | DamagedDocument | null} */
    this.found = null;
    /** @type {Follower<MatchDocument | DamagedDocument>} */
    this.follower = new Follower(page, document => {
      this.found = document;
      this.games.refresh(document.kind === "match" && !("error" in document) ? `api/matches/${document.id}` : "");
      page.update();
    });
  }

  enter() {
    this.page.runs.follow(() => this.listed());
    this.follower.start();
  }

  leave() {
    this.page.runs.leave();
    this.follower.stop();
  }

  listed() {
    const matches = this.page.runs.shown(KINDS) ?? [];
    if (!matches.some(match => match.id === this.chosen)) this.choose(matches[0]?.id ?? null);
    this.page.update();
  }

  /** @param {string | null} match */
  choose(match) {
    if (match === this.chosen) return; // its document is shown, and would not come again
    this.chosen = match;
    this.found = null;
    this.follower.follow(match ? `api/matches/${match}` : "");
    this.page.update();
  }

  render() {
    const {t, runs} = this.page;
    const matches = runs.shown(KINDS);
    if (matches === null) return html`<p class="muted">${t("runs.loading")}</p>`;
    if (!matches.length) return html`<p class="card">${t("match.none")} <code>fukayomi web matches/</code></p>`;
    return html`<div class="runs"><div><section class="card"><h2>${t("match.list")}</h2><ul class="run-list">${matches.map(
      ({id, kind, name}) => html`<li>
        <button type="button" data-match=${name} aria-current=${this.chosen === id ? "true" : "false"} @click=${() => this.choose(id)}><span>${name}</span>${kind === "league" ? html` <small>${t("match.together")}</small>` : nothing}</button></li>`,
    )}</ul></section></div>
      <div>${this.view()}</div></div>`;
  }

  view() {
    const {found, page} = this;
    if (!found) return html`<p class="muted">${page.t("runs.loading")}</p>`;
    if ("error" in found) return html`<p class="error" role="alert">${found.name}: ${page.because(found.error)}</p>`;
    const parts = [matchState, sprtView, leagueTable, crossTable, pairTable, endings, forfeitTable, timesTable];
    return html`${parts.map(part => part(page, found))}
      ${found.members ? html`<section class="card"><h2>${page.t("match.members")}</h2><p class="row">${found.members.map(({id, name}) => html`<button type="button" @click=${() => this.choose(id)}>${name}</button>`)}</p></section>` : nothing}
      ${this.games.render()}${strategies(page, found)}`;
  }
}
