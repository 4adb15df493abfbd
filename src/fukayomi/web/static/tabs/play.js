// Play against the engine.

import {api} from "../api.js";
import {verdictArrows} from "../board/drawing.js";
import {remember, setting} from "../settings.js";
import {html, nothing} from "../vendor/lit-html.js";
import {Tab} from "./tab.js";

/** @import {Measured, PlayHint, PlayMessage, PlayQuestion} from "documents" */
/** @import {Drawing} from "../board/drawing.js" */
/** @import {Page} from "../page.js" */

const NODES = [1, 10, 50, 200, 800, 3200, 12800, 51200];
const TIMES_MS = [100, 1000, 3000, 10_000, 30_000];
const TEMPERATURES = [0, 0.5, 1, 1.5];
/** Named strengths, the weakest first. @type {Record<string, {nodes: number, temperature: number} | {timeMs: number, temperature: number}>} */
const LEVELS = {
  beginner: {nodes: 1, temperature: 1.5},
  easy: {nodes: 10, temperature: 1},
  medium: {nodes: 50, temperature: 0},
  hard: {nodes: 800, temperature: 0},
  expert: {nodes: 12800, temperature: 0},
  strongest: {timeMs: 10_000, temperature: 0},
};
const OWN_LEVEL = "own";
const DECLARATIONS = /** @type {const} */ (["27", "27H", "24", "24H", "try", "none"]);
/** Clocks of the reader: main time, byoyomi and increment in seconds. @type {Record<string, [number, number, number]>} */
const CLOCKS = {none: [0, 0, 0], 600: [600, 0, 0], "600b30": [600, 30, 0], "900b60": [900, 60, 0], b30: [0, 30, 0], "300i5": [300, 0, 5]};
const ON_BOARD = "board";
/** The network of the measurements, as the server calls it alone and beside others. */
const MEASURED_NETWORKS = ["embedded network", "embedded network 5x64"];

/** What the reader has chosen of a game to begin. */
function chosen() {
  return {
    color: setting("play.color", "black"),
    start: setting("play.start", ""),
    strength: setting("play.strength", "nodes"),
    nodes: setting("play.nodes", 50),
    timeMs: setting("play.timeMs", 1000),
    temperature: setting("play.temperature", 0),
    clock: setting("play.clock", "none"),
    declaration: setting("play.declaration", "27"),
  };
}

/** The engine has the reader's clock only where there is one. @param {ReturnType<typeof chosen>} is */
const strengthOf = is => (is.strength === "clock" && is.clock === "none" ? "nodes" : is.strength);

/** The name of the strength that is chosen. @param {ReturnType<typeof chosen>} is */
function levelOf(is) {
  const strength = strengthOf(is);
  const found = Object.entries(LEVELS).find(
    ([, level]) =>
      level.temperature === is.temperature &&
      ("nodes" in level ? strength === "nodes" && level.nodes === is.nodes : strength === "time" && level.timeMs === is.timeMs),
  );
  return found?.[0] ?? OWN_LEVEL;
}

export class PlayTab extends Tab {
  /** @param {Page} page */
  constructor(page) {
    super(page, "play");
    this.game = page.play;
    /** What docs/strength.md has, when the server has told it. @type {Measured[] | null} */
    this.measured = null;
    /** Whether the reader has pressed once: resigning takes two clicks. */
    this.isSure = false;
  }

  async enter() {
    await this.game.resume();
    if (this.measured !== null) return;
    /** @type {{measured: Measured[]}} */
    const {measured} = await api.get("api/strength");
    this.measured = measured;
    this.page.update();
  }

  /** Moves on the board are the reader's while a game is played, and on the board. @param {string} usi */
  onMove(usi) {
    if (!this.game.running || !this.game.isShown) return false;
    this.game.move(usi);
    return true;
  }

  /** @returns {Partial<Drawing>} */
  overlay() {
    const {hint, isAtEnd, running} = this.game;
    if (!running || !this.game.isShown) return {};
    const movable = running.phase !== "reader" || !isAtEnd ? "none" : running.color === "black" ? "b" : "w";
    return {movable, arrows: hint && isAtEnd ? verdictArrows(hint.usi) : []};
  }

  render() {
    const {state, running} = this.game;
    this.countDown();
    return html`${state ? this.board(state) : nothing}${running ? nothing : this.beginning()}`;
  }

  /** Nothing of it is seen while the game is played. */
  winRate() {
    return this.game.running ? null : this.page.report.winRate;
  }

  // -------------------------------------------------------------------------------------- a game

  /** @param {PlayMessage} state */
  board(state) {
    const {page, game} = this;
    const {t} = page;
    const {hint, running} = game;
    const takeBack = html`<button type="button" data-action="take-back" ?disabled=${!state.can_take_back || game.isBusy} @click=${() => game.act("take-back")}>${t("play.takeBack")}</button>`;
    return html`<section class="play-game" data-phase=${state.phase}>
      <h2 class="play-turn" role="status">${this.situation(state)}</h2>
      ${game.hasClock ? this.clocks() : nothing}
      ${
        running
          ? html`<div class="row">
        <button type="button" data-action="hint" ?disabled=${state.phase !== "reader" || game.isBusy} @click=${() => game.askHint()}>${t("play.hint")}</button>
        ${takeBack}
        ${state.can_declare ? html`<button type="button" class="primary" data-action="declare" @click=${() => game.act("declare")}>${t("play.declare")}</button>` : nothing}
        <button type="button" data-action="resign" @click=${() => this.resign()}>${t(this.isSure ? "play.resignSure" : "play.resign")}</button>
      </div>`
          : html`<div class="row">
        ${takeBack}
        <button type="button" data-action="report" @click=${() => page.openTab("game")}>${t("play.report")}</button>
      </div>`
      }
      ${hint ? html`<p class="card play-hint" data-hint=${hint.usi}>${t("play.hintIs", {move: this.hintName(hint), rate: (100 * hint.win_rate).toFixed(0)})}</p>` : nothing}
      ${running && !game.isShown ? html`<p class="muted">${t("play.otherRecord")}</p>` : nothing}
      ${(running && !game.isAtEnd) || !game.isShown ? html`<button type="button" data-action="to-game" @click=${() => game.goToEnd()}>${t("play.toGame")}</button>` : nothing}
      <p class="muted small">${t("play.opponent", {name: state.names[state.color === "black" ? 1 : 0]})}</p>
    </section>`;
  }

  resign() {
    const {isSure, page} = this;
    this.isSure = !isSure;
    if (isSure) this.game.act("resign");
    else
      setTimeout(() => {
        this.isSure = false;
        page.update();
      }, 4000);
    page.update();
  }

  /** @param {PlayHint} hint */
  hintName({japanese, english, usi}) {
    return this.page.nameOf({japanese: japanese[0], english: english[0], usi});
  }

  /** @param {PlayMessage} state */
  situation(state) {
    const {page} = this;
    const {t} = page;
    if (state.error) return t("play.failed", {text: page.because(state.error)});
    if (state.phase === "reader") return t("play.yourTurn");
    if (state.phase === "engine") return t("play.thinking");
    const how = page.word("play.end", state.end ?? "error");
    if (state.winner === "draw") return t("play.drawn", {how});
    if (state.winner === null) return t("play.over", {how});
    return t(state.winner === state.color ? "play.won" : "play.lostGame", {how});
  }

  /** Count the last seconds of the reader's clock. */
  countDown() {
    const {running} = this.game;
    if (running?.phase !== "reader") return;
    const clock = this.game.clock(running.color);
    if (!clock || (clock.main_ms > 0 && clock.byoyomi_ms)) return; // byoyomi follows
    this.page.sounds.countDown(Math.ceil((clock.main_ms || clock.byoyomi_ms || 0) / 1000));
  }

  clocks() {
    const {game} = this;
    const sides = /** @type {const} */ (["black", "white"]);
    return html`<dl class="clocks">${sides.map(color => {
      const clock = game.clock(color);
      return html`<div class=${game.running?.turn === color ? "ticking" : ""} data-clock=${color}>
        <dt>${color === "black" ? "☗" : "☖"}</dt><dd>${clock ? this.clockText(clock) : "–"}</dd></div>`;
    })}</dl>`;
  }

  /** @param {{main_ms: number, byoyomi_ms: number | null}} clock */
  clockText({main_ms, byoyomi_ms}) {
    const seconds = Math.ceil(main_ms / 1000);
    const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    return byoyomi_ms === null ? text : this.page.t("play.byoyomi", {main: text, seconds: Math.ceil(byoyomi_ms / 1000)});
  }

  // -------------------------------------------------------------------------------------- before a game

  beginning() {
    const {page, game} = this;
    const {t, language} = page;
    const is = chosen();
    const {handicaps} = page.state;
    const strength = strengthOf(is);
    /** @type {[string, string][]} */
    const starts = handicaps.map(each => [each.sfen, language === "ja" ? each.name : each.english]);
    return html`<form class="play-options column" @submit=${event => {
      event.preventDefault();
      game.begin(this.question());
    }}>
      ${
        game.interrupted
          ? html`<div class="card row"><span>${t("play.interrupted")}</span>
        <button type="button" class="primary" data-action="play-on" ?disabled=${game.isBusy} @click=${() => game.playOn()}>${t("play.on")}</button></div>`
          : nothing
      }
      <h2>${t("play.title")}</h2>
      <label class="play-choice play-level"><span>${t("play.level")}</span> <select name="play.level" @change=${event => this.chooseLevel(event.target.value)}>
        ${[...Object.keys(LEVELS), ...(levelOf(is) === OWN_LEVEL ? [OWN_LEVEL] : [])].map(
          each => html`<option value=${each} ?selected=${each === levelOf(is)}>${t(`play.level.${each}`)}</option>`,
        )}</select></label>
      ${this.choice(
        "play.color",
        t("play.side"),
        ["black", "white", "random"].map(each => [each, t(`play.side.${each}`)]),
        is.color,
      )}
      ${this.choice("play.start", t("play.start"), [...starts, [ON_BOARD, t("play.onBoard")]], is.start || starts[0][0])}
      ${this.choice(
        "play.clock",
        t("play.clock"),
        Object.keys(CLOCKS).map(each => [each, this.clockName(each)]),
        is.clock,
      )}
      ${this.choice(
        "play.declaration",
        t("play.declaration"),
        DECLARATIONS.map(each => [each, t(`play.declaration.${each}`)]),
        is.declaration,
      )}
      <div class="row"><button type="submit" class="primary" data-action="begin" ?disabled=${game.isBusy}>${t("play.begin")}</button></div>
      <fieldset class="column play-details"><legend>${t("play.details")}</legend>
      ${this.choice(
        "play.strength",
        t("play.strength"),
        ["nodes", "time", ...(is.clock === "none" ? [] : ["clock"])].map(each => [each, t(`play.strength.${each}`)]),
        strength,
      )}
      ${
        strength === "nodes"
          ? this.choice(
              "play.nodes",
              t("play.nodes"),
              NODES.map(each => [each, each.toLocaleString("en")]),
              is.nodes,
            )
          : nothing
      }
      ${
        strength === "time"
          ? this.choice(
              "play.timeMs",
              t("play.time"),
              TIMES_MS.map(each => [each, t("play.seconds", {n: each / 1000})]),
              is.timeMs,
            )
          : nothing
      }
      ${this.choice(
        "play.temperature",
        t("play.temperature"),
        TEMPERATURES.map(each => [each, each === 0 ? t("play.bestMove") : String(each)]),
        is.temperature,
      )}
      </fieldset>
      ${this.rating(is)}
    </form>`;
  }

  /** @param {string} name */
  clockName(name) {
    const {t} = this.page;
    const [main, byoyomi, increment] = CLOCKS[name];
    if (name === "none") return t("play.noClock");
    const parts = [
      main ? t("play.minutes", {n: main / 60}) : "",
      byoyomi ? t("play.byoyomiOf", {n: byoyomi}) : "",
      increment ? t("play.incrementOf", {n: increment}) : "",
    ];
    return parts.filter(Boolean).join(" + ");
  }

  /** @param {string} name */
  chooseLevel(name) {
    const level = LEVELS[name];
    if (!level) return;
    remember("play.strength", "nodes" in level ? "nodes" : "time");
    if ("nodes" in level) remember("play.nodes", level.nodes);
    else remember("play.timeMs", level.timeMs);
    remember("play.temperature", level.temperature);
    this.page.update();
  }

  /** A choice that is remembered. @param {string} name @param {string} label @param {[string | number, string][]} options @param {string | number} value */
  choice(name, label, options, value) {
    return html`<label class="play-choice"><span>${label}</span> <select name=${name} @change=${event => {
      remember(name, typeof value === "number" ? Number(event.target.value) : event.target.value);
      this.page.update();
    }}>${options.map(([each, text]) => html`<option value=${each} ?selected=${each === value}>${text}</option>`)}</select></label>`;
  }

  /** What the server is asked to begin. @returns {PlayQuestion} */
  question() {
    const is = chosen();
    const strength = strengthOf(is);
    const {game} = this.page;
    const [main, byoyomi, increment] = CLOCKS[is.clock] ?? CLOCKS.none;
    const color = is.color === "random" ? (Math.random() < 0.5 ? "black" : "white") : is.color === "white" ? "white" : "black";
    const start = is.start === ON_BOARD ? {sfen: game.start, moves: game.moves()} : is.start ? {sfen: is.start} : {};
    return {
      color,
      ...start,
      ...(strength === "nodes" ? {nodes: is.nodes} : strength === "time" ? {time_ms: is.timeMs} : {}),
      temperature: is.temperature,
      declaration: DECLARATIONS.find(each => each === is.declaration),
      main_ms: 1000 * main,
      byoyomi_ms: 1000 * byoyomi,
      increment_ms: 1000 * increment,
      name: this.page.t("play.you"),
    };
  }

  /** What is measured of this strength, and what is not. @param {ReturnType<typeof chosen>} is */
  rating(is) {
    const {
      t,
      state: {network},
    } = this.page;
    const strength = strengthOf(is);
    const all = this.measured ?? [];
    const near = strength === "time" ? nearest(all, is.timeMs) : strength === "clock" ? all : [];
    const isOther = network.state === "ready" && !MEASURED_NETWORKS.includes(network.name);
    return html`<section class="card play-rating" aria-label=${t("play.rating")}>
      <h3>${t("play.rating")}</h3>
      ${near.map(
        each =>
          html`<p data-measured=${each.time_ms}>${t("play.measured", {
            seconds: each.time_ms / 1000,
            cores: each.cores,
            opponent: each.opponent,
            theirs: each.opponent_ms / 1000,
            won: each.won,
            lost: each.lost,
            drawn: each.drawn,
            score: each.score,
          })}</p>`,
      )}
      ${near.length && isOther ? html`<p data-other-network>${t("play.rating.otherNetwork", {name: network.name})}</p>` : nothing}
      ${strength === "nodes" ? html`<p>${t(is.nodes === 1 ? "play.rating.intuition" : "play.rating.nodes")}</p>` : nothing}
      ${strength !== "nodes" && !near.some(each => each.time_ms === is.timeMs) ? html`<p>${t("play.rating.otherTime")}</p>` : nothing}
      ${is.temperature > 0 ? html`<p>${t("play.rating.temperature")}</p>` : nothing}
      <p>${t("play.rating.people")}</p>
    </section>`;
  }
}

/** The matches at this time for a move, or at the nearest one. @param {Measured[]} all @param {number} timeMs */
function nearest(all, timeMs) {
  /** @param {Measured} each */
  const off = each => Math.abs(Math.log(each.time_ms / timeMs));
  const least = Math.min(...all.map(off));
  return all.filter(each => off(each) === least);
}
