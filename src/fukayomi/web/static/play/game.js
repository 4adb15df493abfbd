// A game against the engine. The server has the rules, the clocks and the engine; here is what the page knows of it.
// The game has a record of its own, also while another one is on the board.
import {api} from "../api.js";
import {emptyRecord, Game} from "../record/game.js";

/** @import {GameRecord, PlayHint, PlayMessage, PlayQuestion, PlayedMove} from "documents" */
/** @import {Page} from "../page.js" */

const KEPT = "fukayomi.play";
const TICK_MS = 250;

/** A game of the server, and its record; of two states the one with the higher version is newer. */
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
    /** The record of the game, or of the last one. @type {Game | null} */
    this.record = null;
    /** The nodes of the game, from the start. */
    this.line = [0];
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

  /** Whether the board shows the record of the game. */
  get isShown() {
    return this.record !== null && this.page.game === this.record;
  }

  /** The node of the last move. */
  get end() {
    return this.line.at(-1) ?? 0;
  }

  /** Whether a move belongs to the game that is being played. @param {Game} game @param {number} id */
  owns(game, id) {
    return this.running !== null && game === this.record && this.line.includes(id);
  }

  /** Go on with the game that this page had before it was loaded again. */
  async resume() {
    const id = kept();
    if (!id || this.state) return;
    try {
      await this.join(id);
    } catch {
      keep("");
    }
  }

  /** Go on with the game of a kept record, if it is not over. @param {Game} game */
  async goOn(game) {
    if (!game.played || game.last !== null || game.played === this.state?.id) return;
    try {
      await this.join(game.played);
      this.page.openTab("play");
    } catch {
      this.page.notify(this.page.t("play.lost"));
    }
  }

  /** @param {string} id */
  async join(id) {
    const {page} = this;
    /** @type {PlayMessage} */
    const state = await api.get(`api/play/${id}`);
    const record = page.game.played === id ? page.game : await page.keeper.find(({played}) => played === id);
    if (this.running) return; // another one is being played
    keep(id);
    this.record = record ?? new Game(page.changed, emptyRecord(state.start, state.names));
    this.record.played = id;
    this.line = [0];
    const {place} = this.record;
    const wasAtEnd = !this.record.childrenOf(place).length;
    this.take(state);
    if (wasAtEnd && this.line.includes(place)) this.record.go(this.end); // the engine answered meanwhile
  }

  /** Begin a game, in a record of its own. @param {PlayQuestion} question @param {Game} [record]  Whose moves are those of the question. */
  async begin(question, record) {
    const {page} = this;
    if (this.state) await this.leave();
    await this.ask(async () => {
      /** @type {PlayMessage} */
      const state = await api.post("api/play", question);
      this.state = null;
      this.record = record ?? new Game(page.changed, emptyRecord(state.start, state.names));
      Object.assign(this.record, {played: state.id, question});
      this.line = [0];
      page.setFlip(state.color === "white");
      keep(state.id);
      page.notify("");
      this.take(this.early?.id === state.id && this.early.version > state.version ? this.early : state);
      this.record.changed("notes");
      page.show(this.record);
      this.goToEnd();
    });
  }

  /** The game on the board, which the server does not have any more. */
  get interrupted() {
    const {game} = this.page;
    return !this.running && game.question && game.last === null && !this.page.facts.get(game)?.end ? game : null;
  }

  /** Play on with an interrupted game, in its record; the clock has what the reader's moves have left. */
  async playOn() {
    const game = this.interrupted;
    const question = game?.question;
    if (!game || !question) return;
    const main = game.mainLine();
    const isWhiteFirst = game.start.split(" ")[1] === "w";
    const own = main.slice(1).filter((_, index) => (index % 2 === 1) === ((question.color === "black") === isWhiteFirst));
    const used = own.reduce((sum, id) => sum + (game.node(id).time_ms ?? 0) - (question.increment_ms ?? 0), 0);
    const main_ms = question.main_ms ? Math.max(1000, question.main_ms - Math.max(0, used)) : 0;
    await this.begin({...question, main_ms, sfen: game.start, moves: game.moves(main.at(-1))}, game);
    if (game.question) game.question = question;
  }

  /** The reader moves on the board. @param {string} usi */
  async move(usi) {
    const {page, record, state} = this;
    if (!state || !record) return;
    if (state.phase !== "reader") return page.notify(page.t("play.notYourTurn"));
    if (!this.isAtEnd) {
      page.notify(page.t("play.notThere"));
      return this.goToEnd();
    }
    this.line = [...this.line, record.add(this.end, usi)]; // at once; the server's answer says whether it stays
    record.go(this.end);
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

  /** Bring the record to the game again, after something was undone in it. */
  followAgain() {
    if (this.state && this.record) this.follow(this.state);
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
      this.page.notify(this.page.because(error));
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

  /** Bring the record to the game. @param {PlayMessage} state */
  follow(state) {
    const {page, record} = this;
    if (!record) return;
    const before = this.line.filter(id => record.nodes.has(id));
    const wasAtEnd = record.place === before.at(-1);
    const {size} = record.nodes;
    const line = [0];
    for (const move of state.moves) line.push(this.nodeOf(record, /** @type {number} */ (line.at(-1)), move));
    this.line = line;
    record.lead(line);
    if (state.phase !== "over") record.reopen();
    const back = before.filter(id => !line.includes(id));
    if (back.length && !this.isNoted(record, back)) record.remove(back[0]);
    const hasChanged = back.length > 0 || record.nodes.size !== size || line.length !== before.length;
    if (wasAtEnd || !record.nodes.has(record.place)) {
      if (record.place !== this.end) page.keepNoting(record);
      record.visit(this.end);
    }
    if (hasChanged) record.changed("moves");
    else if (wasAtEnd) record.changed("place");
  }

  /** The node of a move of the game, with what the server says of it. @param {Game} record @param {number} parent @param {PlayedMove} move */
  nodeOf(record, parent, {usi, japanese, english, time_ms, cp, mate}) {
    const id = record.add(parent, usi);
    const node = record.node(id);
    node.japanese ||= japanese;
    node.english ||= english;
    if (time_ms !== null) Object.assign(node, {time_ms, cp, mate}); // moves before the game have no time
    return id;
  }

  /** Whether moves that were taken back stay in the record: something is noted on them, or variations leave them. @param {Game} record @param {number[]} back */
  isNoted(record, back) {
    return back.some((id, index) => record.node(id).comment || record.childrenOf(id).some(child => child !== back[index + 1]));
  }

  /** The game is over: its record has its end. @param {PlayMessage} state */
  async finish(state) {
    const {page} = this;
    const text = page.t("play.over", {how: page.word("play.end", state.end ?? "error")});
    if (this.isShown) page.say(text);
    else page.notify(text);
    try {
      /** @type {GameRecord} */
      const record = await api.get(`api/play/${state.id}/record`);
      if (this.state?.id === state.id && !this.running) this.record?.conclude(this.end, record);
    } catch (error) {
      page.notify(page.because(error));
    }
  }

  /** Whether the board shows the position of the game. */
  get isAtEnd() {
    return this.isShown && this.page.game.place === this.end;
  }

  goToEnd() {
    const {page, record} = this;
    if (!record) return;
    if (!this.isShown) page.show(record);
    record.go(this.end);
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
