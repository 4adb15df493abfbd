// The page of an analysis: the board, what the search says of the position on it, and the ways from ply to ply.
import "./languages.js";
import {boardSvg, handSvg, verdictArrows} from "./shared/board/drawing.js";
import {actionOf} from "./shared/keys.js";
import {inWords, parse, played} from "./shared/position.js";
import {candidateList, mistakesAround, playable, positionCard} from "./shared/report/card.js";
import {render} from "./shared/vendor/lit-html.js";

/** @import {Drawing} from "./shared/board/drawing.js" */
/** @import {CardEntry, CardLine, CardMistake, CardScore} from "./shared/report/card.js" */

/**
 * @typedef {string | [string, string]} Words  The same in both languages, or Japanese and English.
 * @typedef {{winrate: number, evaluation: Words}} Score
 * @typedef {Score & {visits: number | null, usi: string, names: Words}} Line  Moves are separated by spaces.
 * @typedef {{kind: string, words: Words, loss: string, marks: Words[], best: Words}} Verdict
 * @typedef {{sfen: string, usi?: string, name?: Words, lines?: Line[], played?: Line, verdict?: Verdict} & Partial<Score>} Ply  As in replay.py.
 */

/** @param {string} id */
const element = id => /** @type {HTMLElement} */ (document.getElementById(id));
/** @type {Ply[]} */
const plies = JSON.parse(element("replay").textContent ?? "");
const mistakes = plies.flatMap((entry, ply) => (entry.verdict ? [ply] : []));
const viewer = element("viewer");
const graph = document.getElementById("graph");

class Replay {
  constructor() {
    this.ply = 0;
    this.flip = false;
    /** The line that is being played through, after so many of its moves. @type {{usi: string[], step: number} | null} */
    this.trial = null;
  }

  get language() {
    return document.documentElement.lang === "ja" ? "ja" : "en";
  }

  /** @param {Words} words */
  say(words) {
    return typeof words === "string" ? words : words[this.language === "ja" ? 0 : 1];
  }

  // ------------------------------------------------------------------------------------ from ply to ply

  /** @param {number} ply */
  go(ply) {
    this.trial = null;
    this.ply = Math.max(0, Math.min(plies.length - 1, ply));
    this.render();
  }

  /** Go to a ply from below the board: show the board, too. @param {number} ply */
  jump(ply) {
    this.go(ply);
    viewer.scrollIntoView({behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"});
  }

  /** Show a line on the board, after its first moves. @param {{usi: string[]}} line @param {number} step */
  tryLine({usi}, step) {
    if (step < 1) return this.go(this.ply);
    this.trial = {usi, step: Math.min(step, playable(usi).length)};
    this.render();
  }

  /** Where the actions lead. @returns {Record<string, number | undefined>} */
  targets() {
    const {ply} = this;
    const last = plies.length - 1;
    const {previous, next} = mistakesAround(mistakes, ply);
    return {
      first: 0,
      back: Math.max(0, ply - 1),
      forward: Math.min(last, ply + 1),
      last,
      previousMistake: previous,
      nextMistake: next,
    };
  }

  /** Whether the page knows the action. @param {string} action */
  act(action) {
    const step = {back: -1, forward: 1, flip: 0}[action];
    const targets = this.targets();
    if (step === undefined && action !== "stop" && !(action in targets)) return false;
    if (action === "flip") this.flip = !this.flip;
    if (this.trial && step !== undefined) this.tryLine(this.trial, this.trial.step + step);
    else this.go(targets[action] ?? this.ply);
    return true;
  }

  // ------------------------------------------------------------------------------------ drawing

  render() {
    const entry = plies[this.ply];
    const next = plies[this.ply + 1];
    const start = parse(entry.sfen);
    if (this.trial) {
      const moves = playable(this.trial.usi).slice(0, this.trial.step);
      this.renderBoard({position: moves.reduce(played, start), last: moves.at(-1)});
    } else {
      const mistake = next?.verdict && next.usi;
      const best = entry.lines?.[0];
      const isMate = Array.isArray(best?.evaluation) && best.winrate > 50 === (start.turn === "b"); // a mate has other words in each language
      this.renderBoard({position: start, last: entry.usi, arrows: verdictArrows(best?.usi.split(" ")[0], mistake, isMate)});
    }
    const card = this.cardEntry();
    render(positionCard(card, this), element("status"));
    render(candidateList(card, this), element("lines"));
    this.renderButtons();
    this.renderPlace();
  }

  /** @param {Drawing} drawing */
  renderBoard(drawing) {
    const {flip} = this;
    const {hands, turn} = drawing.position;
    const board = element("board");
    render(boardSvg({...drawing, flip}), board);
    board.setAttribute("aria-label", inWords(drawing.position, this.language));
    for (const side of /** @type {const} */ (["b", "w"])) {
      const hand = element(side === "b" ? "hand-black" : "hand-white");
      render(handSvg(hands[side], (side === "w") !== flip), hand);
      hand.parentElement?.classList.toggle("turn", turn === side);
    }
    viewer.classList.toggle("turned", flip);
  }

  renderButtons() {
    const {trial} = this;
    const targets = this.targets();
    /** @type {Record<string, boolean>} */
    const isOpen = trial ? {back: true, forward: trial.step < playable(trial.usi).length} : {};
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-action]"))) {
      const action = button.dataset.action ?? "";
      if (action in targets) button.disabled = !(isOpen[action] ?? (targets[action] ?? this.ply) !== this.ply);
    }
  }

  /** The place in the table and in the graph. */
  renderPlace() {
    document.querySelector("tr.now")?.classList.remove("now");
    document.getElementById(`ply-${this.ply}`)?.classList.add("now");
    if (!graph) return;
    const {first, last} = range();
    const share = `${(100 * (this.ply - first)) / (last - first)}%`;
    const {winrate} = plies[this.ply];
    for (const plot of graph.querySelectorAll(".plot")) {
      plot.classList.toggle("at", winrate !== undefined);
      for (const name of ["x1", "x2"]) plot.querySelector("line.cursor")?.setAttribute(name, share);
    }
    const dot = graph.querySelector("circle.cursor");
    dot?.setAttribute("cx", share);
    dot?.setAttribute("cy", `${100 - (winrate ?? 0)}%`);
  }

  /** What the card shows. @returns {CardEntry} */
  cardEntry() {
    const {ply} = this;
    const {name = "", lines = [], played: other, ...score} = plies[ply];
    return {
      ply,
      name: this.say(name),
      score: this.scoreOf(score),
      mistake: this.mistakeAt(ply),
      next: this.mistakeAt(ply + 1),
      lines: lines.map(line => this.lineOf(line)),
      other: other ? this.lineOf(other) : null,
      played: plies[ply + 1]?.usi ?? null,
    };
  }

  /** @param {Partial<Score>} score @returns {CardScore | null} */
  scoreOf({winrate = 0, evaluation}) {
    return evaluation ? {rate: winrate, text: this.say(evaluation)} : null;
  }

  /** @param {Line} line @returns {CardLine} */
  lineOf({winrate, evaluation, visits, usi, names}) {
    return {score: {rate: winrate, text: this.say(evaluation)}, visits, usi: usi.split(" "), names: this.say(names).split(" ")};
  }

  /** The mistake that leads to a ply. @param {number} ply @returns {CardMistake | null} */
  mistakeAt(ply) {
    const {verdict, name = "", ...score} = plies[ply] ?? {};
    if (!verdict) return null;
    const [before, after] = [this.scoreOf(plies[ply - 1]), this.scoreOf(score)];
    const side = /** @type {"☗" | "☖"} */ (parse(plies[ply - 1].sfen).turn === "b" ? "☗" : "☖");
    const {kind, words, loss, marks, best} = verdict;
    const change = before && after && {side, before, after};
    return {
      ply,
      name: this.say(name),
      kind,
      words: this.say(words),
      loss,
      marks: marks.map(mark => this.say(mark)),
      best: this.say(best),
      change,
    };
  }
}

/** The plies of the graph. */
function range() {
  const {first, last} = /** @type {HTMLElement} */ (graph).dataset;
  return {first: Number(first), last: Number(last)};
}

const replay = new Replay();

addEventListener("keydown", event => {
  const action = actionOf(event);
  if (action && replay.act(action)) event.preventDefault();
});

addEventListener("click", event => {
  const target = /** @type {Element} */ (event.target);
  const button = /** @type {HTMLElement | null} */ (target.closest("[data-action]"));
  if (button) replay.act(button.dataset.action ?? "");
  const link = /** @type {HTMLAnchorElement | null} */ (target.closest('a[href^="#ply-"]'));
  const row = target.closest("tbody tr");
  if (event.ctrlKey || event.metaKey) return; // another tab
  if (link?.closest("#graph")) event.preventDefault();
  else if (link ?? row) {
    event.preventDefault();
    replay.jump(Number(link?.dataset.ply ?? (link?.hash ?? `#${row?.id}`).slice(5)));
  }
});

element("language-ja")
  .closest("fieldset")
  ?.addEventListener("change", () => replay.render());

for (const plot of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".plot"))) {
  /** @param {MouseEvent} event */
  const follow = event => {
    const box = plot.getBoundingClientRect();
    const {first, last} = range();
    const share = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    replay.go(Math.round(first + share * (last - first)));
  };
  plot.addEventListener("click", follow); // not pointerdown: a finger that scrolls the page begins with it, too
  plot.addEventListener("pointermove", event => event.buttons & 1 && follow(event));
}

/** The ply in the address. */
const addressed = () => /^#ply-(\d{1,6})$/.exec(location.hash)?.[1];
addEventListener("hashchange", () => addressed() && replay.jump(Number(addressed())));
replay.go(Number(addressed() ?? 0));
// When the page is loaded the browser scrolls to the row that the address names; the board is elsewhere.
if (addressed()) addEventListener("load", () => requestAnimationFrame(() => viewer.scrollIntoView()));
