// A game against the engine. The server has the rules, the clocks and the engine; here is what the page knows of it.
import {api, messageOf} from "../api.js";

/** @import {GameRecord, PlayHint, PlayMessage, PlayQuestion} from "documents" */
/** @import {Page} from "../page.js" */

const KEPT = "fukayomi.play";
const TICK_MS = 250;

/** A game of the server, and what the board shows of it; of two states the one with the higher version is newer. */
export class PlayedGame {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** @type {PlayMessage | null} */
    this.state = null;
    /** @type {PlayHint | null} */
    this.hint = null;
    this.isBusy = false;
    this.heardAt = 0;
    /** The node of the last move. @type {number | undefined} */
    this.end = undefined;
    /** What was last heard of a game that is not this page's, or not yet. @type {PlayMessage | null} */
    this.early = null;
    page.socket.on("play", message => {
      if (message.id === this.state?.id) this.take(message);
      else this.early = message;
    });
    page.socket.on("open", () => this.refresh());
    setInterval(() => this.running && this.hasClock && page.update(), TICK_MS);
  }

  /** The game that is being played. */
  get running() {
    return this.state?.phase === "over" ? null : this.state;
  }

  get hasClock() {
    return Boolean(this.state && (this.state.clocks.black ?? this.state.clocks.white));
  }

  /** Go on with the game that this page had before it was loaded again. */
  async resume() {
    const id = kept();
    if (!id || this.state) return;
    try {
      this.take(await api.get(`api/play/${id}`));
    } catch {
      keep("");
    }
  }

  /** Begin a game. @param {PlayQuestion} question */
  async begin(question) {
    if (this.state) await this.leave();
    await this.ask(async () => {
      /** @type {PlayMessage} */
      const state = await api.post("api/play", question);
      this.state = null;
      this.page.setFlip(state.color === "white");
      this.page.game.newGame(state.start, state.names);
      keep(state.id);
      this.take(this.early?.id === state.id && this.early.version > state.version ? this.early : state);
    });
  }

  /** The reader moves on the board. @param {string} usi */
  async move(usi) {
    const {page, state} = this;
    if (!state) return;
    if (state.phase !== "reader") return page.notify(page.t("play.notYourTurn"));
    if (!this.isAtEnd) {
      page.notify(page.t("play.notThere"));
      return this.goToEnd();
    }
    page.game.play(usi); // at once; the server's answer says whether it stays
    await this.act("move", {usi, ply: state.moves.length});
  }

  /** @param {"move" | "take-back" | "resign" | "declare"} what @param {object} [question] */
  async act(what, question = {}) {
    const {state} = this;
    if (!state) return;
    await this.ask(async () => this.take(await api.post(`api/play/${state.id}/${what}`, question)));
    if (this.state) this.follow(this.state);
  }

  async askHint() {
    const {state} = this;
    if (state) await this.ask(async () => (this.hint = await api.post(`api/play/${state.id}/hint`, {})));
  }

  /** Leave the game; its moves stay in the record. */
  async leave() {
    const {state} = this;
    this.state = this.hint = null;
    keep("");
    if (state) await api.remove(`api/play/${state.id}`).catch(() => undefined); // the server may have forgotten it
    this.page.update();
  }

  /** After the connection was lost: the game goes on where it is, if the server still has it. */
  async refresh() {
    if (!this.state) return;
    try {
      this.take(await api.get(`api/play/${this.state.id}`));
    } catch {
      this.state = this.hint = null;
      keep("");
      this.page.notify(this.page.t("play.lost"));
    }
  }

  /** @param {() => Promise<unknown>} request */
  async ask(request) {
    this.isBusy = true;
    this.page.update();
    try {
      await request();
    } catch (error) {
      this.page.notify(messageOf(error));
    } finally {
      this.isBusy = false;
      this.page.update();
    }
  }

  /** Take what the server says, if it is not older than what is known. @param {PlayMessage} state */
  take(state) {
    if (this.state && state.version < this.state.version) return;
    const wasRunning = this.state?.phase !== "over";
    const before = this.state?.moves.length ?? 0;
    this.state = state;
    this.heardAt = performance.now();
    if (this.hint && this.hint.ply !== state.moves.length) this.hint = null;
    this.follow(state);
    const last = state.moves.at(-1);
    if (last && state.moves.length > before && state.phase !== "engine") this.page.say(this.page.nameOf(last));
    if (state.phase === "over" && wasRunning) this.finish(state);
  }

  /** Bring the record on the board to the game. @param {PlayMessage} state */
  follow(state) {
    const {game} = this.page;
    if (game.start !== state.start) game.newGame(state.start, state.names);
    const wasAtEnd = this.isAtEnd;
    let id = 0;
    let isNew = false;
    for (const move of state.moves) {
      let child = game.childrenOf(id).find(each => game.node(each).usi === move.usi);
      if (child === undefined) {
        game.go(id);
        child = game.play(move.usi).id;
        isNew = true;
      }
      const node = game.node(child);
      node.japanese ||= move.japanese;
      node.english ||= move.english;
      Object.assign(node, {time_ms: move.time_ms, cp: move.cp, mate: move.mate});
      id = child;
    }
    this.end = id;
    // What was taken back is no part of the game any more.
    const extra = game.childrenOf(id)[0];
    if (extra !== undefined && state.phase !== "over") game.remove(extra);
    if (isNew || wasAtEnd || extra !== undefined) game.go(id);
  }

  /** The game is over: the record has its end. @param {PlayMessage} state */
  async finish(state) {
    const {page} = this;
    page.say(page.t("play.over", {how: page.word("play.end", state.end ?? "error")}));
    try {
      /** @type {GameRecord} */
      const record = await api.get(`api/play/${state.id}/record`);
      if (this.state?.id !== state.id || this.running) return;
      page.openRecord(record);
      page.game.goToPly(state.moves.length);
      this.end = page.game.place;
    } catch (error) {
      page.notify(messageOf(error));
    }
  }

  /** Whether the board shows the position of the game. */
  get isAtEnd() {
    return this.end === undefined || this.page.game.place === this.end;
  }

  goToEnd() {
    if (this.end !== undefined) this.page.game.go(this.end);
  }

  /** What is left on a clock: main time, then byoyomi. @param {"black" | "white"} color @returns {{main_ms: number, byoyomi_ms: number | null} | null} */
  clock(color) {
    const {state} = this;
    const clock = state?.clocks[color];
    if (!state || !clock) return null;
    const isTicking = this.running !== null && state.turn === color;
    const used = isTicking ? state.elapsed_ms + performance.now() - this.heardAt : 0;
    const left = clock.main_ms + clock.increment_ms * Number(isTicking) - used;
    if (left > 0 || !clock.byoyomi_ms) return {main_ms: Math.max(0, left), byoyomi_ms: clock.byoyomi_ms || null};
    return {main_ms: 0, byoyomi_ms: Math.max(0, clock.byoyomi_ms + left)};
  }
}

/** The id of the game of this page, which outlives a reload. */
function kept() {
  try {
    return sessionStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} id */
function keep(id) {
  try {
    sessionStorage.setItem(KEPT, id);
  } catch {
    // then a reload forgets the game
  }
}
