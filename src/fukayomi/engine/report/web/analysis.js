// The page of an analysis: the board, what the search says of the position on it, and the ways from ply to ply.
import "./languages.js";
import {boardSvg, handSvg, verdictArrows} from "./shared/board/drawing.js";
import {actionOf} from "./shared/keys.js";
import {translate} from "./shared/language.js";
import {inWords, isMove, parse, played} from "./shared/position.js";
import {html, nothing, render} from "./shared/vendor/lit-html.js";
import {TEXTS} from "./texts.js";

/** @import {Drawing} from "./shared/board/drawing.js" */

/**
 * @typedef {string | [string, string]} Words  The same in both languages, or Japanese and English.
 * @typedef {{winrate: number, evaluation: Words}} Score
 * @typedef {Score & {visits: number | null, usi: string, names: string}} Line  Moves are separated by spaces.
 * @typedef {{kind: string, words: Words, loss: string, marks: Words[], best: string}} Verdict
 * @typedef {{sfen: string, usi?: string, name?: string, lines?: Line[], played?: Line, verdict?: Verdict} & Partial<Score>} Ply  As in replay.py.
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
    /** The line that is being played through, after so many of its moves. @type {{line: Line, step: number} | null} */
    this.trial = null;
  }

  get language() {
    return document.documentElement.lang === "ja" ? "ja" : "en";
  }

  /** @param {keyof typeof TEXTS.ja} key @param {Record<string, string | number>} [values] */
  t(key, values) {
    return translate(TEXTS[this.language], key, values);
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

  /** Show a line on the board, after its first moves. @param {Line} line @param {number} step */
  tryLine(line, step) {
    step = Math.min(step, line.usi.split(" ").filter(isMove).length);
    if (step < 1) return this.go(this.ply);
    this.trial = {line, step};
    this.render();
  }

  /** Where the actions lead. @returns {Record<string, number | undefined>} */
  targets() {
    const {ply} = this;
    const last = plies.length - 1;
    return {
      first: 0,
      back: Math.max(0, ply - 1),
      forward: Math.min(last, ply + 1),
      last,
      previousMistake: mistakes.findLast(each => each < ply),
      nextMistake: mistakes.find(each => each > ply),
    };
  }

  /** Whether the page knows the action. @param {string} action */
  act(action) {
    const step = {back: -1, forward: 1, flip: 0}[action];
    const targets = this.targets();
    if (step === undefined && action !== "stop" && !(action in targets)) return false;
    if (action === "flip") this.flip = !this.flip;
    if (this.trial && step !== undefined) this.tryLine(this.trial.line, this.trial.step + step);
    else this.go(targets[action] ?? this.ply);
    return true;
  }

  // ------------------------------------------------------------------------------------ drawing

  render() {
    const entry = plies[this.ply];
    const next = plies[this.ply + 1];
    const start = parse(entry.sfen);
    if (this.trial) {
      const moves = this.trial.line.usi.split(" ").slice(0, this.trial.step);
      this.renderBoard({position: moves.reduce(played, start), last: moves.at(-1)});
      render(this.trialStatus(this.trial), element("status"));
    } else {
      const mistake = next?.verdict && next.usi;
      this.renderBoard({position: start, last: entry.usi, arrows: verdictArrows(entry.lines?.[0]?.usi.split(" ")[0], mistake)});
      render(this.status(entry), element("status"));
    }
    render(this.candidates(entry, next), element("lines"));
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
    const isOpen = trial ? {back: true, forward: trial.step < trial.line.usi.split(" ").filter(isMove).length} : {};
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

  /** @param {Ply} entry */
  status({name, verdict, ...score}) {
    return html`<p class="headline">${name ? html`<span class="count">${this.t("ply", {ply: this.ply})}</span><b>${name}</b>` : html`<b>${this.t("start")}</b>`}
      ${verdict ? html`<span class=${`kind ${verdict.kind}`}>${this.say(verdict.words)} −${verdict.loss} %</span>${verdict.marks.map(mark => html`<span class="sub">${this.say(mark)}</span>`)}` : nothing}</p>
      ${this.score(score)}
      <p class="advice">${verdict ? html`${this.t("best")}<button type="button" @click=${() => this.go(this.ply - 1)}>${verdict.best}</button>` : nothing}</p>`;
  }

  /** @param {{line: Line, step: number}} trial */
  trialStatus({line, step}) {
    return html`<p class="headline"><span class="count">${this.t("line", {step, count: line.usi.split(" ").filter(isMove).length})}</span><b>${line.names.split(" ")[step - 1]}</b></p>
      ${this.score(line)}
      <p class="advice"><button type="button" @click=${() => this.go(this.ply)}>${this.t("back")}</button></p>`;
  }

  /** @param {Partial<Score>} score */
  score({evaluation, winrate = 0}) {
    if (!evaluation) return html`<p class="sub">${this.t("unknown")}</p>`;
    return html`<p class="scores"><span>${this.t("score")} <b>${this.say(evaluation)}</b></span><svg class="bar" aria-hidden="true"><rect width=${`${winrate}%`} height="100%" /></svg>
      <span>☗ ${Math.round(winrate)} %</span></p>`;
  }

  /** The lines of the search, and the move of the game if it is none of them. @param {Ply} entry @param {Ply} [next] */
  candidates({lines = [], played: other}, next) {
    return html`${lines.map(line => this.candidate(line, line.usi.split(" ")[0] === next?.usi))}
      ${other ? this.candidate(other, true, `played ${next?.verdict?.kind ?? ""}`) : nothing}`;
  }

  /** @param {Line} line @param {boolean} isPlayed @param {string} [css] */
  candidate(line, isPlayed, css = "") {
    const [first, ...rest] = line.names.split(" ");
    const at = this.trial?.line === line ? this.trial.step : 0;
    return html`<li class=${css} @click=${event => this.tryLine(line, Number(event.target.dataset.step ?? 1))}>
      <button type="button" class=${at === 1 ? "name at" : "name"}>${first}${isPlayed ? html`<span class="tag">${this.t("played")}</span>` : nothing}</button>
      <span class="numbers-of-line"><b>${this.say(line.evaluation)}</b><span>${line.winrate.toFixed(1)} %</span><span>${line.visits?.toLocaleString("en")}</span></span>
      <span class="line">${rest.map((move, index) => html`<span class=${at === index + 2 ? "at" : ""} data-step=${index + 2}>${move}</span> `)}</span></li>`;
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
