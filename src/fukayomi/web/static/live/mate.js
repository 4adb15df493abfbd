// Mates (詰み): the solver of the server, for positions that a network cannot search, such as mate problems with one king.

import {api, messageOf} from "../api.js";
import {hasKings} from "../position.js";
import {html, nothing} from "../vendor/lit-html.js";

/** @import {MateAnswer, PositionQuestion} from "documents" */
/** @import {Page} from "../page.js" */

export class MateSearch {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** What was found, by position. @type {Map<string, MateAnswer>} */
    this.found = new Map();
    this.isRunning = false;
  }

  /** Whether the position on the board is one for the solver: a king is missing. */
  get isWanted() {
    return !hasKings(this.page.game.position);
  }

  async solve() {
    const {page} = this;
    const {game} = page;
    const key = game.keyOf();
    this.isRunning = true;
    page.update();
    try {
      /** @type {PositionQuestion} */
      const question = {sfen: game.start, moves: game.moves()};
      const answer = await api.post("api/mate", question);
      this.found.set(key, answer);
      page.say(this.text(answer));
    } catch (error) {
      page.notify(messageOf(error));
    } finally {
      this.isRunning = false;
      page.update();
    }
  }

  /** @param {MateAnswer} answer */
  text({reason, moves}) {
    return this.page.t(`mate.${reason}`, {plies: moves.length});
  }

  render() {
    const {page, isRunning} = this;
    const {t, game} = page;
    const answer = this.found.get(game.keyOf());
    const names =
      answer?.moves.map((usi, index) => page.nameOf({japanese: answer.japanese[index], english: answer.english[index], usi})) ?? [];
    const isOver = Boolean(page.facts.get(game)?.end);
    return html`<section class="card mate" aria-label=${t("mate.title")}>
      <p class="muted">${t("mate.help")}</p>
      <div class="row"><button type="button" class="primary" data-action="solve-mate" ?disabled=${isRunning || isOver} @click=${() => this.solve()}>${t(isRunning ? "mate.running" : "mate.solve")}</button>
        ${answer?.moves.length ? html`<button type="button" data-action="adopt-mate" @click=${() => game.playAll(answer.moves)}>${t("live.adopt")}</button>` : nothing}</div>
      ${answer ? html`<p data-mate=${answer.reason}><strong>${this.text(answer)}</strong> ${names.map(name => html`<span class="step">${name}</span> `)}</p>` : nothing}
    </section>`;
  }
}
