// What each piece of the position on the board is worth: the tinted board, a table, combinations.

import {api, messageOf} from "../api.js";
import {remember, setting} from "../settings.js";
import {html, nothing} from "../vendor/lit-html.js";
import {Tab} from "./tab.js";

/** @import {WorthAnswer, WorthPiece, WorthPosition, WorthQuestion} from "documents" */
/** @import {Drawing, Tint} from "../board/drawing.js" */
/** @import {Page} from "../page.js" */

const VIEWS = /** @type {const} */ (["worth", "relative", "change"]);
const MOST_TOGETHER = 6;
/** How deep the tints of a worth of 0, and of the greatest, are; those of engine/worth/picture.py. */
const [LEAST, MOST] = [0.04, 0.66];

/** @param {number | null} value */
const signed = value => (value === null ? "–" : value > 0 ? `+${Math.round(value)}` : `${Math.round(value)}`.replace("-", "−"));
/** @param {number | null} value */
const percent = value => (value === null ? "–" : `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`.replace("-", "−"));
/** @param {WorthPiece} piece @param {number} value @param {number} scale @returns {Tint} */
function tintOf({place, piece, color}, value, scale) {
  const square = place.endsWith("*") ? `${color === "black" ? "b" : "w"}:${piece}` : place;
  const depth = LEAST + (MOST - LEAST) * Math.sqrt(Math.min(1, Math.abs(value) / scale));
  return {square, css: `${color}${Math.round(value) < 0 ? " hatched" : ""}`, depth, text: `${Math.round(value)}`.replace("-", "−")};
}

/** @param {WorthPosition} position */
const byPlace = ({pieces}) => new Map(pieces.map(piece => [piece.place, piece]));

export class WorthTab extends Tab {
  /** @param {Page} page */
  constructor(page) {
    super(page, "worth");
    /** What the server said last. @type {WorthAnswer | null} */
    this.found = null;
    /** The question that it answers. */
    this.asked = "";
    /** Pieces whose combinations are asked for, by place. @type {Set<string>} */
    this.together = new Set();
    /** The position that stands beside the one on the board. @type {{sfen: string, moves: string[], ply: number} | null} */
    this.beside = null;
    this.isShown = false;
    this.problem = "";
    page.socket.on("open", () => this.isShown && this.askAnew());
  }

  /** What the pieces on the board are worth, as long as it is known of its position. @returns {WorthPosition | undefined} */
  get current() {
    const [board, turn, hands] = this.page.game.sfen.split(" ");
    const last = this.found?.positions.at(-1);
    return last?.sfen.startsWith(`${board} ${turn} ${hands}`) ? last : undefined;
  }

  winRate() {
    return this.current?.win_rate ?? null;
  }

  /** The tinted board. @returns {Partial<Drawing>} */
  overlay() {
    const {current, found} = this;
    if (!current || !found) return {};
    const key = /** @type {const} */ (`${this.view}_cp`);
    const scale = Math.max(1, ...found.positions.flatMap(({pieces}) => pieces.map(each => Math.abs(each[key] ?? 0))));
    return {tints: current.pieces.filter(each => each[key] !== null).map(each => tintOf(each, each[key] ?? 0, scale))};
  }

  enter() {
    this.isShown = true;
    this.askAnew();
  }

  leave() {
    this.isShown = false;
  }

  positionChanged() {
    if (!this.isShown) return;
    this.together.clear();
    this.ask();
  }

  get view() {
    const chosen = setting("worth.view", /** @type {string} */ ("worth"));
    return VIEWS.find(each => each === chosen) ?? "worth";
  }

  /** Ask, also what was refused before. */
  askAnew() {
    if (this.problem) this.asked = "";
    this.ask();
  }

  /** Ask the server, unless it has answered that; what is older than the last question is dropped. */
  async ask() {
    const {page, beside} = this;
    const {game} = page;
    /** @type {WorthQuestion} */
    const question = {
      sfen: game.start,
      moves: game.moves(),
      view: this.view,
      flip: page.flip,
      together: [...this.together],
      ...(beside ? {beside: {sfen: beside.sfen, moves: beside.moves}} : {}),
    };
    const text = JSON.stringify(question);
    if (text === this.asked) return;
    this.asked = text;
    try {
      /** @type {WorthAnswer} */
      const answer = await api.post("api/worth", question);
      if (text !== this.asked) return;
      [this.found, this.problem] = [answer, ""];
    } catch (error) {
      if (text !== this.asked) return;
      [this.found, this.problem] = [null, messageOf(error)]; // asked again when the tab is opened, or the server is back
    }
    page.update();
  }

  /** Ask after a change of what is wanted. */
  askAgain() {
    this.ask();
    this.page.update();
  }

  render() {
    const {found, problem} = this;
    const {t} = this.page;
    if (this.isShown) queueMicrotask(() => this.ask()); // the board may have been turned
    return html`
      ${this.controls()}
      ${problem ? html`<p class="error" role="status">${problem}</p>` : nothing}
      ${
        found
          ? html`
        ${found.positions.length > 1 ? nothing : html`<p class="muted small">${t("worth.onBoard")}</p>`}
        <img class="worth-picture" ?hidden=${found.positions.length < 2} alt=${t("worth.picture", {plies: found.positions.map(each => each.ply).join(", ")})} src=${`data:image/svg+xml,${encodeURIComponent(found.svg)}`}>
        ${this.answers(found)}
        <p class="muted small">${t("worth.help")}</p>`
          : problem
            ? nothing
            : html`<p class="muted">${t("worth.waiting")}</p>`
      }`;
  }

  /** The tables; the position on the board is the last of the two. @param {WorthAnswer} found */
  answers(found) {
    const current = /** @type {WorthPosition} */ (found.positions.at(-1));
    return html`${this.differences(found, current)}${this.combined(current)}${this.table(current)}`;
  }

  controls() {
    const {beside} = this;
    const {t, game} = this.page;
    /** @param {typeof beside} position */
    const setBeside = position => {
      this.beside = position;
      this.askAgain();
    };
    return html`<div class="row" role="group" aria-label=${t("worth.view")}>
      ${VIEWS.map(
        each =>
          html`<button type="button" data-view=${each} aria-pressed=${each === this.view ? "true" : "false"} @click=${() => {
            remember("worth.view", each);
            this.askAgain();
          }}>${t(`worth.view.${each}`)}</button>`,
      )}
      ${
        beside
          ? html`<button type="button" data-action="beside" aria-pressed="true" @click=${() => setBeside(null)}>${t("worth.alone", {ply: beside.ply})}</button>`
          : html`<button type="button" data-action="beside" @click=${() => setBeside({sfen: game.start, moves: game.moves(), ply: game.plyOf()})}>${t("worth.beside")}</button>`
      }
    </div>`;
  }

  /** @param {WorthPiece | undefined} piece */
  nameOf(piece) {
    if (!piece) return "";
    return this.page.language === "ja"
      ? piece.japanese
      : `${piece.color === "black" ? "☗" : "☖"} ${piece.piece}${piece.count > 1 ? ` × ${piece.count}` : ""} ${piece.place}`;
  }

  /** @param {WorthPosition} current */
  table(current) {
    const {together} = this;
    const {t} = this.page;
    const key = /** @type {const} */ (`${this.view}_cp`);
    const pieces = current.pieces.toSorted((a, b) => (b[key] ?? -Infinity) - (a[key] ?? -Infinity));
    return html`<table class="worth-table"><caption class="unseen">${t("worth.table")}</caption>
      <thead><tr><th scope="col"><span class="unseen">${t("worth.choose")}</span></th><th scope="col">${t("worth.piece")}</th><th scope="col" class="number">${t("worth.view.worth")}</th>
        <th scope="col" class="number">${t("worth.winRate")}</th><th scope="col" class="number">${t("worth.view.relative")}</th><th scope="col" class="number">${t("worth.view.change")}</th></tr></thead>
      <tbody>${pieces.map(
        piece => html`<tr data-place=${piece.place} data-color=${piece.color}>
        <td><input type="checkbox" aria-label=${t("worth.chooseOne", {piece: this.nameOf(piece)})} .checked=${together.has(piece.place)}
          ?disabled=${!together.has(piece.place) && together.size >= MOST_TOGETHER} @change=${event => this.choose(piece.place, event.target.checked)}></td>
        <th scope="row" class=${piece.color}>${this.nameOf(piece)}</th><td class="number">${signed(piece.worth_cp)}</td><td class="number">${percent(piece.worth_win_rate)}</td>
        <td class="number">${signed(piece.relative_cp)}</td><td class="number">${signed(piece.change_cp)}</td></tr>`,
      )}</tbody></table>`;
  }

  /** @param {string} place @param {boolean} isChosen */
  choose(place, isChosen) {
    if (isChosen) this.together.add(place);
    else this.together.delete(place);
    this.askAgain();
  }

  /** @param {WorthPosition} current */
  combined(current) {
    const {t} = this.page;
    const {together: sets} = current;
    const places = byPlace(current);
    if (sets.length === 0) return this.together.size === 1 ? html`<p class="muted">${t("worth.oneMore")}</p>` : nothing;
    return html`<table class="worth-together"><caption>${t("worth.together")}</caption>
      <thead><tr><th scope="col">${t("worth.pieces")}</th><th scope="col" class="number">${t("worth.atOnce")}</th><th scope="col" class="number">${t("worth.oneByOne")}</th><th scope="col" class="number">${t("worth.difference")}</th></tr></thead>
      <tbody>${sets.map(
        each => html`<tr data-places=${each.pieces.join(" ")}><th scope="row">${each.pieces.map(place => this.nameOf(places.get(place))).join("  ")}</th>
        <td class="number">${signed(each.worth_cp)}</td><td class="number">${signed(each.sum_cp)}</td><td class="number">${signed(each.extra_cp)}</td></tr>`,
      )}</tbody></table>`;
  }

  /** The pieces whose worth differs most between the two positions. @param {WorthAnswer} found @param {WorthPosition} current */
  differences(found, current) {
    const {t} = this.page;
    const rows = found.differences.slice(0, 10);
    const places = byPlace(current);
    const [first, second] = found.positions;
    if (rows.length === 0) return nothing;
    return html`<table class="worth-differences"><caption>${t("worth.differences")}</caption>
      <thead><tr><th scope="col">${t("worth.piece")}</th><th scope="col" class="number">${t("worth.ply", {ply: first.ply})}</th><th scope="col" class="number">${t("worth.ply", {ply: second.ply})}</th>
        <th scope="col" class="number">${t("worth.difference")}</th></tr></thead>
      <tbody>${rows.map(
        row => html`<tr data-place=${row.place}><th scope="row">${this.nameOf(places.get(row.place))}</th><td class="number">${signed(row.first_cp)}</td>
        <td class="number">${signed(row.second_cp)}</td><td class="number">${signed(row.difference_cp)}</td></tr>`,
      )}</tbody></table>`;
  }
}
