// The card of a position in an analysed game: its score, the mistake that led to it, the mistake that follows, and the
// candidates, which are played through on the board.

import {isMove} from "../position.js";
import {html, nothing} from "../vendor/lit-html.js";
import {cardText} from "./texts.js";

/**
 * @typedef {{rate: number, text: string}} CardScore  Black's win rate in percent, and the evaluation in words.
 * @typedef {object} CardMistake  A bad move, and how its win rate changed for the side that played it.
 * @property {number} ply
 * @property {string} name
 * @property {string} kind  "blunder" and the like, a class of the style.
 * @property {string} words  The kind in the reader's language.
 * @property {string} loss  In percent.
 * @property {string[]} marks  Further faults.
 * @property {string} best  The name of the best move.
 * @property {{side: "☗" | "☖", before: CardScore, after: CardScore} | null} change
 */

/**
 * @typedef {object} CardLine
 * @property {CardScore} score
 * @property {number | null} visits
 * @property {string[]} usi
 * @property {string[]} names
 */

/**
 * @typedef {object} CardEntry  What is known of a position.
 * @property {number} ply
 * @property {string} name  Of the move that led to it; empty at the start.
 * @property {CardScore | null} score
 * @property {CardMistake | null} mistake  The move that led to it, if it is one.
 * @property {CardMistake | null} next  The move that was played in it, if it is one.
 * @property {CardLine[]} lines
 * @property {CardLine | null} other  The move that was played in it, if no line begins with it.
 * @property {string | null} played  The move that was played in it, in USI form.
 */

/**
 * @typedef {object} CardHost  What the card needs from its page.
 * @property {"ja" | "en"} language
 * @property {{usi: string[], step: number} | null} trial  The line that is played through, and after how many moves.
 * @property {(ply: number) => void} go
 * @property {(line: CardLine, step: number) => void} tryLine
 * @property {unknown} [buttons]  Stands at the head's end.
 * @property {unknown} [adopt]  Stands beside the way back from a line.
 */

/** The moves of a line that stand on a board. @param {string[]} usi */
export const playable = usi => usi.filter(isMove);

/** The head of the card. @param {CardEntry} entry @param {CardHost} host */
export function positionCard(entry, host) {
  const {trial, language, buttons = nothing} = host;
  const line = trial && linesOf(entry).find(each => isSame(each.usi, trial.usi));
  if (trial && line) return trialCard(line, trial.step, entry, host);
  const {ply, name, mistake, next, score} = entry;
  return html`<div class="card-head"><p class="headline">${name ? html`<span class="count">${cardText(language, "ply", {ply})}</span> <b>${name}</b>` : html`<b>${cardText(language, "start")}</b>`}
      ${mistake ? verdict(mistake) : nothing}</p>${buttons}</div>
    ${scoreRow(score, language)}
    ${mistake ? html`<p class="advice">${changeOf(mistake, language)} ${betterMove(mistake, language, () => host.go(ply - 1))}</p>` : nothing}
    ${
      next
        ? html`<div class=${`next-mistake ${next.kind}`}><p class="headline"><span class="count">${cardText(language, "next")} ${cardText(language, "ply", {ply: next.ply})}</span>
      <button type="button" class="link" @click=${() => host.go(next.ply)}><b>${next.name}</b></button> ${verdict(next)}</p>
      <p class="advice">${changeOf(next, language)} ${betterMove(next, language, () => entry.lines[0] && host.tryLine(entry.lines[0], 1))}</p></div>`
        : nothing
    }`;
}

/** What stands above the candidates. @param {"ja" | "en"} language */
export const candidateHeads = language => html`<h2>${cardText(language, "candidates")} <span class="heads">
  <small>${cardText(language, "score")}</small><small>${cardText(language, "win")}</small><small>${cardText(language, "visits")}</small></span></h2>`;

/** The lines of the search, and the move of the game if it is none of them. @param {CardEntry} entry @param {CardHost} host */
export function candidateList(entry, host) {
  const {lines, other, next, played} = entry;
  return html`${lines.map(line => candidate(line, line.usi[0] === played, "", host))}
    ${other ? candidate(other, true, `played ${next?.kind ?? ""}`, host) : nothing}`;
}

/** @param {CardEntry} entry */
const linesOf = ({lines, other}) => (other ? [...lines, other] : lines);

/** @param {string[]} one @param {string[]} another */
const isSame = (one, another) => one.join() === another.join();

/** @param {CardMistake} mistake */
const verdict = ({kind, words, loss, marks}) =>
  html`<span class=${`kind ${kind}`}>${words} −${loss} %</span>${marks.map(mark => html` <span class="sub">${mark}</span>`)}`;

/** Both numbers round, for the side that moved. @param {CardMistake} mistake @param {"ja" | "en"} language */
function changeOf({change}, language) {
  if (!change) return nothing;
  const {side, before, after} = change;
  /** @param {number} rate */
  const own = rate => Math.round(side === "☗" ? rate : 100 - rate);
  return html`<span class="change">${cardText(language, "rate", {side})} ${own(before.rate)} → ${own(after.rate)} % <span class="sub">(${before.text} → ${after.text})</span></span>`;
}

/** @param {CardMistake} mistake @param {"ja" | "en"} language @param {() => void} show */
const betterMove = ({best}, language, show) =>
  html`<span class="better">${cardText(language, "best")}<button type="button" class="link" @click=${show}>${best}</button></span>`;

/** @param {CardScore | null} score @param {"ja" | "en"} language */
function scoreRow(score, language) {
  if (!score) return html`<p class="sub">${cardText(language, "unknown")}</p>`;
  return html`<p class="scores"><span>${cardText(language, "score")} <b>${score.text}</b></span>${rateBar(score.rate)}<span>☗ ${Math.round(score.rate)} %</span></p>`;
}

/** Black's win rate as a bar. @param {number} rate  In percent. */
export const rateBar = rate => html`<svg class="rate-bar" aria-hidden="true"><rect width=${`${rate}%`} height="100%" /></svg>`;

/** @param {CardLine} line @param {number} step @param {CardEntry} entry @param {CardHost} host */
function trialCard(line, step, entry, host) {
  const {language, buttons = nothing, adopt = nothing} = host;
  return html`<div class="card-head"><p class="headline"><span class="count">${cardText(language, "line", {step, count: playable(line.usi).length})}</span> <b>${line.names[step - 1]}</b></p>${buttons}</div>
    ${scoreRow(line.score, language)}
    <p class="advice"><button type="button" class="link" @click=${() => host.go(entry.ply)}>${cardText(language, "back")}</button> ${adopt}</p>`;
}

/** @param {CardLine} line @param {boolean} isPlayed @param {string} css @param {CardHost} host */
function candidate(line, isPlayed, css, host) {
  const [first, ...rest] = line.names;
  const at = host.trial && isSame(host.trial.usi, line.usi) ? host.trial.step : 0;
  const {score, visits} = line;
  return html`<li class=${css} @click=${event => host.tryLine(line, Number(event.target.dataset.step ?? 1))}>
    <span><button type="button" class=${at === 1 ? "name at" : "name"}>${first}</button>${isPlayed ? html`<span class="tag">${cardText(host.language, "played")}</span>` : nothing}</span>
    <span class="numbers-of-line"><b>${score.text}</b><span>${score.rate.toFixed(1)} %</span><span>${visits?.toLocaleString("en")}</span></span>
    <span class="line">${rest.map((move, index) => html`<span class=${at === index + 2 ? "at" : ""} data-step=${index + 2}>${move}</span> `)}</span></li>`;
}

/** The positions before the mistakes of a game: those before and after a place in it. @param {number[]} plies  Of the mistakes. @param {number} ply */
export function mistakesAround(plies, ply) {
  const before = plies.map(each => each - 1);
  return {previous: before.findLast(each => each < ply), next: before.find(each => each > ply)};
}
