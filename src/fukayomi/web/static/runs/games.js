// The games of a match or of self-play, the last first; each opens on the board.

import {api} from "../api.js";
import {html, nothing} from "../vendor/lit-html.js";
import {moment, number} from "./numbers.js";

/** @import {GameRecord, GamePage, ListedGame} from "documents" */
/** @import {Page} from "../page.js" */

const RESULTS = ["draw", "b", "w"];

export class GameList {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.source = "";
    this.reset();
  }

  reset() {
    /** @type {ListedGame[]} */
    this.games = [];
    this.more = false;
    this.isLoading = false;
    this.error = "";
  }

  /** Show the games of a match or of self-play; again after new ones. @param {string} source  Address of its document; empty for none. */
  async refresh(source) {
    if (source !== this.source) {
      this.source = source;
      this.reset();
    }
    if (!source || this.isLoading) return;
    await this.load("", found => {
      const newest = this.games[0]?.number ?? 0;
      const all = found.games;
      const isJoined = all.some(game => game.number <= newest);
      if (isJoined) {
        const seen = new Set(all.map(game => game.number));
        this.games = [...all, ...this.games.filter(game => !seen.has(game.number))].sort((one, other) => other.number - one.number);
      } else {
        this.games = all;
        this.more = found.more;
      }
    });
  }

  /** The games before the last one that is shown. */
  loadMore() {
    const last = this.games.at(-1);
    if (last)
      this.load(`?before=${last.number}`, found => {
        this.games = [...this.games, ...found.games];
        this.more = found.more;
      });
  }

  /** @param {string} query @param {(found: GamePage) => void} arrived */
  async load(query, arrived) {
    const {source} = this;
    this.isLoading = true;
    try {
      /** @type {GamePage | {error: string}} */
      const found = await api.get(`${source}/games${query}`);
      if (source !== this.source) return;
      this.error = "error" in found ? this.page.because(found.error) : "";
      if (!("error" in found)) arrived(found);
    } catch (error) {
      if (source === this.source) this.error = this.page.because(error);
    } finally {
      if (source === this.source) this.isLoading = false;
      this.page.update();
    }
  }

  /** @param {number} number */
  async open(number) {
    try {
      /** @type {{games: GameRecord[]}} */
      const {
        games: [record],
      } = await api.get(`${this.source}/games/${number}`);
      this.page.openRecord(record);
    } catch (error) {
      this.page.notify(this.page.because(error));
    }
  }

  render() {
    const {page, games} = this;
    const {t} = page;
    if (this.error) return html`<p class="error" role="alert">${this.error}</p>`;
    if (!games.length) return nothing;
    return html`<section class="card scroll" tabindex="0"><h2>${t("match.gameList")}</h2><table data-table="games">
      <thead><tr><th scope="col" class="number">#</th><th scope="col">☗ ${t("side.b")}</th><th scope="col">☖ ${t("side.w")}</th><th scope="col">${t("match.result")}</th><th scope="col">${t("match.ending")}</th><th scope="col" class="number">${t("match.plies")}</th><th scope="col">${t("match.date")}</th></tr></thead>
      <tbody>${games.map(
        game => html`<tr data-game=${game.number}><td class="number"><button type="button" class="link" @click=${() => this.open(game.number)} aria-label=${t("match.open", {number: game.number})}>${number(game.number)}</button></td>
        <td>${game.black}</td><td>${game.white}</td><td>${t(`match.result.${RESULTS[game.result] ?? "none"}`)}</td><td>${page.word("end", game.termination)}</td><td class="number">${number(game.plies)}</td><td>${typeof game.date === "number" ? moment(game.date) : game.date}</td></tr>`,
      )}</tbody></table>
      ${this.more ? html`<button type="button" data-action="more" ?disabled=${this.isLoading} @click=${() => this.loadMore()}>${t("match.more")}</button>` : nothing}</section>`;
  }
}
