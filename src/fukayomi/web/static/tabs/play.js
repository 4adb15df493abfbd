// Play against the engine.
import {html, nothing} from "../vendor/lit-html.js";
import {PlayedGame} from "../play/game.js";
import {remember, setting} from "../settings.js";

export const id = "play";
export const title = "tab.play";

const NODES = [1, 10, 50, 200, 800, 3200, 12800, 51200];
const TIMES_MS = [100, 1000, 3000, 10_000, 30_000];
const TEMPERATURES = [0, 0.5, 1, 1.5];
const DECLARATIONS = ["27", "27H", "24", "24H", "try", "none"];
/** Clocks of the reader: main time, byoyomi and increment in seconds. */
const CLOCKS = {none: [0, 0, 0], "600": [600, 0, 0], "600b30": [600, 30, 0], "900b60": [900, 60, 0], b30: [0, 30, 0], "300i5": [300, 0, 5]};
const ON_BOARD = "board";
/** The network of the measurements, as the server calls it alone and beside others. */
const MEASURED_NETWORKS = ["embedded network", "embedded network 5x64"];

/** @type {PlayedGame | null} */
let played = null;
/** What docs/strength.md has, when the server has told it. @type {any[] | null} */
let measured = null;

/** @param {import("../page.js").Page} page */
function session(page) {
  played ??= new PlayedGame(page);
  return played;
}

/** @param {import("../page.js").Page} page */
export async function enter(page) {
  const game = session(page);
  await game.resume();
  if (measured === null) {
    measured = (await page.api.get("api/strength")).measured;
    page.update();
  }
}

/** Moves on the board are the reader's while a game is played. @param {string} usi @param {import("../page.js").Page} page */
export function onMove(usi, page) {
  const game = session(page);
  if (!game.isRunning) return false;
  game.move(usi);
  return true;
}

/** @param {import("../page.js").Page} page */
export function overlay(page) {
  const game = session(page);
  if (!game.isRunning) return {};
  const movable = game.state.phase === "reader" && game.isAtEnd ? game.state.color[0] : "none";
  return {movable, arrows: game.hint && game.isAtEnd ? [{usi: game.hint.usi, css: "best", width: 1.4}] : []};
}

/** @param {import("../page.js").Page} page */
export function render(page) {
  const game = session(page);
  return html`${game.state ? board(page, game) : nothing}${game.isRunning ? nothing : beginning(page, game)}`;
}

// ---------------------------------------------------------------------------------------- a game

/** @param {import("../page.js").Page} page @param {PlayedGame} game */
function board(page, game) {
  const {t} = page, {state} = game;
  return html`<section class="play-game" data-phase=${state.phase}>
    <h2 class="play-turn" role="status">${situation(page, state)}</h2>
    ${clocks(page, game)}
    ${game.isRunning ? html`<div class="row">
      <button type="button" data-action="hint" ?disabled=${state.phase !== "reader" || game.isBusy} @click=${() => game.askHint()}>${t("play.hint")}</button>
      <button type="button" data-action="take-back" ?disabled=${!state.can_take_back || game.isBusy} @click=${() => game.act("take-back")}>${t("play.takeBack")}</button>
      ${state.can_declare ? html`<button type="button" class="primary" data-action="declare" @click=${() => game.act("declare")}>${t("play.declare")}</button>` : nothing}
      <button type="button" data-action="resign" @click=${() => confirm_("resign") && game.act("resign")}>${t(sure === "resign" ? "play.resignSure" : "play.resign")}</button>
    </div>` : html`<div class="row">
      <button type="button" data-action="take-back" ?disabled=${!state.can_take_back || game.isBusy} @click=${() => game.act("take-back")}>${t("play.takeBack")}</button>
      <button type="button" data-action="report" @click=${() => page.openTab("game")}>${t("play.report")}</button>
    </div>`}
    ${game.hint ? html`<p class="card play-hint" data-hint=${game.hint.usi}>${t("play.hintIs", {move: hintName(page, game.hint), rate: (100 * game.hint.win_rate).toFixed(0)})}</p>` : nothing}
    ${game.isRunning && !game.isAtEnd ? html`<button type="button" data-action="to-game" @click=${() => game.goToEnd()}>${t("play.toGame")}</button>` : nothing}
    <p class="muted small">${t("play.opponent", {name: state.names[state.color === "black" ? 1 : 0]})}</p>
  </section>`;
}

/** Resigning takes two clicks. @type {string} */
let sure = "";

/** @param {string} what */
function confirm_(what) {
  const isSure = sure === what;
  sure = isSure ? "" : what;
  if (!isSure) {
    setTimeout(() => {
      sure = "";
      played?.page.update();
    }, 4000);
    played?.page.update();
  }
  return isSure;
}

function hintName(page, hint) {
  return page.nameOf({japanese: hint.japanese[0], english: hint.english?.[0], usi: hint.usi});
}

/** @param {import("../page.js").Page} page @param {import("../play/game.js").PlayState} state */
function situation(page, state) {
  const {t} = page;
  if (state.error) return t("play.failed", {text: state.error});
  if (state.phase === "reader") return t("play.yourTurn");
  if (state.phase === "engine") return t("play.thinking");
  const how = page.word("play.end", state.end ?? "error");
  if (state.winner === "draw") return t("play.drawn", {how});
  if (state.winner === null) return t("play.over", {how});
  return t(state.winner === state.color ? "play.won" : "play.lostGame", {how});
}

/** @param {import("../page.js").Page} page @param {PlayedGame} game */
function clocks(page, game) {
  if (!game.hasClock) return nothing;
  const sides = /** @type {const} */ (["black", "white"]);
  return html`<dl class="clocks">${sides.map(color => {
    const clock = game.clock(color);
    return html`<div class=${game.isRunning && game.state.turn === color ? "ticking" : ""} data-clock=${color}>
      <dt>${color === "black" ? "☗" : "☖"}</dt><dd>${clock ? clockText(page, clock) : "–"}</dd></div>`;
  })}</dl>`;
}

function clockText(page, {main_ms, byoyomi_ms}) {
  const seconds = Math.ceil(main_ms / 1000), text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return byoyomi_ms === null ? text : page.t("play.byoyomi", {main: text, seconds: Math.ceil(byoyomi_ms / 1000)});
}

// ---------------------------------------------------------------------------------------- before a game

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

/** @param {import("../page.js").Page} page @param {PlayedGame} game */
function beginning(page, game) {
  const {t, language} = page, is = chosen(), handicaps = page.state.handicaps ?? [];
  const names = Object.keys(CLOCKS), hasClock = is.clock !== "none";
  return html`<form class="play-options column" @submit=${event => {
    event.preventDefault();
    game.begin(question(page));
  }}>
    <h2>${t("play.title")}</h2>
    ${choice(page, "play.color", t("play.side"), ["black", "white", "random"].map(each => [each, t(`play.side.${each}`)]), is.color)}
    ${choice(page, "play.start", t("play.start"), [
      ...(handicaps.length ? handicaps.map(each => [each.sfen, language === "ja" ? each.name : each.english]) : [["", t("play.even")]]),
      [ON_BOARD, t("play.onBoard")],
    ], is.start || handicaps[0]?.sfen || "")}
    ${choice(page, "play.strength", t("play.strength"), ["nodes", "time", ...(hasClock ? ["clock"] : [])].map(each => [each, t(`play.strength.${each}`)]), strengthOf(is))}
    ${strengthOf(is) === "nodes" ? choice(page, "play.nodes", t("play.nodes"), NODES.map(each => [each, each.toLocaleString("en")]), is.nodes) : nothing}
    ${strengthOf(is) === "time" ? choice(page, "play.timeMs", t("play.time"), TIMES_MS.map(each => [each, t("play.seconds", {n: each / 1000})]), is.timeMs) : nothing}
    ${choice(page, "play.temperature", t("play.temperature"), TEMPERATURES.map(each => [each, each === 0 ? t("play.bestMove") : String(each)]), is.temperature)}
    ${choice(page, "play.clock", t("play.clock"), names.map(each => [each, clockName(page, each)]), is.clock)}
    ${choice(page, "play.declaration", t("play.declaration"), DECLARATIONS.map(each => [each, t(`play.declaration.${each}`)]), is.declaration)}
    <div class="row"><button type="submit" class="primary" data-action="begin" ?disabled=${game.isBusy}>${t("play.begin")}</button></div>
    ${rating(page, is)}
  </form>`;
}

/** The engine has the reader's clock only where there is one. */
const strengthOf = is => (is.strength === "clock" && is.clock === "none" ? "nodes" : is.strength);

function clockName({t}, name) {
  const [main, byoyomi, increment] = CLOCKS[name];
  if (name === "none") return t("play.noClock");
  const parts = [main ? t("play.minutes", {n: main / 60}) : "", byoyomi ? t("play.byoyomiOf", {n: byoyomi}) : "", increment ? t("play.incrementOf", {n: increment}) : ""];
  return parts.filter(Boolean).join(" + ");
}

/** A choice that is remembered. @param {import("../page.js").Page} page @param {string} name @param {string} label @param {[string | number, string][]} options @param {string | number} value */
function choice(page, name, label, options, value) {
  return html`<label class="play-choice"><span>${label}</span> <select name=${name} @change=${event => {
    remember(name, typeof value === "number" ? Number(event.target.value) : event.target.value);
    page.update();
  }}>${options.map(([each, text]) => html`<option value=${each} ?selected=${each === value}>${text}</option>`)}</select></label>`;
}

/** What the server is asked to begin. @param {import("../page.js").Page} page */
function question(page) {
  const is = chosen(), strength = strengthOf(is), {game} = page;
  const [main, byoyomi, increment] = CLOCKS[is.clock] ?? CLOCKS.none;
  const color = is.color === "random" ? (Math.random() < 0.5 ? "black" : "white") : is.color;
  const start = is.start === ON_BOARD ? {sfen: game.start, moves: game.moves()} : is.start ? {sfen: is.start} : {};
  return {
    color,
    ...start,
    ...(strength === "nodes" ? {nodes: is.nodes} : strength === "time" ? {time_ms: is.timeMs} : {}),
    temperature: is.temperature,
    declaration: is.declaration,
    main_ms: 1000 * main,
    byoyomi_ms: 1000 * byoyomi,
    increment_ms: 1000 * increment,
    name: page.t("play.you"),
  };
}

/** What is measured of this strength, and what is not. */
function rating({t, state}, is) {
  const isOther = state.network?.state === "ready" && !MEASURED_NETWORKS.includes(state.network.name), strength = strengthOf(is), near = strength === "time" ? nearest(is.timeMs) : strength === "clock" ? measured ?? [] : [];
  const seconds = ms => ms / 1000;
  return html`<section class="card play-rating" aria-label=${t("play.rating")}>
    <h3>${t("play.rating")}</h3>
    ${near.map(each => html`<p data-measured=${each.time_ms}>${t("play.measured", {
      seconds: seconds(each.time_ms), cores: each.cores, opponent: each.opponent, theirs: seconds(each.opponent_ms),
      won: each.won, lost: each.lost, drawn: each.drawn, score: each.score,
    })}</p>`)}
    ${near.length && isOther ? html`<p data-other-network>${t("play.rating.otherNetwork", {name: state.network.name})}</p>` : nothing}
    ${strength === "nodes" ? html`<p>${t(is.nodes === 1 ? "play.rating.intuition" : "play.rating.nodes")}</p>` : nothing}
    ${strength !== "nodes" && !near.some(each => each.time_ms === is.timeMs) ? html`<p>${t("play.rating.otherTime")}</p>` : nothing}
    ${is.temperature > 0 ? html`<p>${t("play.rating.temperature")}</p>` : nothing}
    <p>${t("play.rating.people")}</p>
  </section>`;
}

/** The matches at this time for a move, or at the nearest one. @param {number} timeMs */
function nearest(timeMs) {
  const all = measured ?? [], off = each => Math.abs(Math.log(each.time_ms / timeMs));
  const least = Math.min(...all.map(off));
  return all.filter(each => off(each) === least);
}
