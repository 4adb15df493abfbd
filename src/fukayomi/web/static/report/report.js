// The analysis of a game: runs as a job of the server; the result is the document of `fukayomi analyse`.
import {api} from "../api.js";
import {remember, setting} from "../settings.js";
import {mistakesAround} from "./card.js";

/** @import {AnalysisDocument, JobDocument, JobMessage, JobQuestion, JudgedMove, RecordNode} from "documents" */
/** @import {Page} from "../page.js" */
/** @import {Game} from "../record/game.js" */

/** A win rate is 1 / (1 + e^(−cp / this)). */
const CP_COEFFICIENT = 756;
/** States of a job that has not ended. */
const ACTIVE = ["waiting", "running"];

/** Share of the points for a move that loses so much, 0 to 100: the formula of lichess, with the loss in percent. @param {number} loss */
export function accuracyOf(loss) {
  return Math.max(0, Math.min(100, 103.1668 * Math.exp(-0.04354 * 100 * loss) - 3.1669));
}

/** Black's win rate by the evaluation that a record has of a position. @param {RecordNode} node */
export function recordedRate({cp, mate}) {
  if (mate) return mate > 0 ? 1 : 0;
  return cp === null || cp === undefined ? null : 1 / (1 + Math.exp(-cp / CP_COEFFICIENT));
}

/** Whether a document is about the game of a key: a server that was started again gives its numbers to other jobs. @param {AnalysisDocument} document @param {string} key */
const isOf = ({record}, key) => key.endsWith(record.moves.map(each => each.move).join(" "));

export class GameReport {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** The id of the last job, which another job of the same game goes on from. @type {number | null} */
    this.known = null;
    /** @type {{id: number, done: number, total: number, text: string, key: string, game: Game, isOld?: boolean} | null} */
    this.job = null;
    this.nodes = setting("report-nodes", 1000);
    this.isHiding = setting("think-first", false);
    this.isRevealed = false;
    /** Whether the graph has centipawns instead of win rates. */
    this.isInCp = setting("graph-cp", false);
    /** The key of the game of the last job. */
    this.jobKey = "";
    /** The mistakes by node, for a document and a main line. @type {{document: AnalysisDocument, key: string, map: Map<number, JudgedMove>} | null} */
    this.cached = null;
    page.socket.on("job", message => this.progressed(message));
    page.socket.on("open", () => this.job && this.look());
  }

  /** Start and moves of the main line. */
  get mainKey() {
    return this.page.game.mainKey;
  }

  /** The document, if it is about the game on the board, which may go on after its end. */
  get current() {
    const {analysis} = this.page.game;
    return analysis && `${this.mainKey} `.startsWith(`${analysis.key} `) ? analysis.document : null;
  }

  /** Whether the verdicts are hidden from the reader. */
  get isHidden() {
    return this.isHiding && !this.isRevealed;
  }

  /** @param {boolean} isHiding */
  setHiding(isHiding) {
    this.isHiding = isHiding;
    this.isRevealed = false;
    remember("think-first", isHiding);
    this.page.update();
  }

  /** @param {boolean} isInCp */
  showCp(isInCp) {
    this.isInCp = isInCp;
    remember("graph-cp", isInCp);
    this.page.update();
  }

  positionChanged() {
    this.isRevealed = false;
  }

  /** Show what is hidden, until another position is on the board. */
  reveal() {
    this.isRevealed = true;
    this.page.update();
  }

  // ------------------------------------------------------------------------------------ the job

  async start() {
    const {page} = this;
    const {game} = page;
    const key = this.mainKey;
    remember("report-nodes", this.nodes);
    /** @type {JobQuestion} */
    const question = {kind: "analyse-game", record: game.record, limits: {nodes: this.nodes}, known: this.known};
    try {
      /** @type {{id: number}} */
      const {id} = await api.post("api/jobs", question);
      [this.known, this.jobKey] = [id, key];
      this.job = {id, done: 0, total: 0, text: "", key, game};
      page.notify("");
      this.look();
    } catch (error) {
      page.notify(page.t("game.failed", {text: page.because(error)}));
    }
  }

  /** What a page that is loaded again goes on with: the last job, which runs or has the document. */
  get kept() {
    return this.known === null ? null : {id: this.known, key: this.jobKey};
  }

  /** Go on with the last job of the page as it was before; the server may have forgotten it. @param {{id: number, key: string} | null} kept */
  goOn(kept) {
    if (!kept) return;
    [this.known, this.jobKey] = [kept.id, kept.key];
    this.job = {...kept, done: 0, total: 0, text: "", game: this.page.game, isOld: true};
    this.look();
  }

  /** @param {JobMessage} message */
  progressed(message) {
    if (!this.job || message.id !== this.job.id) return;
    Object.assign(this.job, {done: message.done, total: message.total, text: message.text});
    this.page.update();
    if (!ACTIVE.includes(message.state)) this.look();
  }

  /** Ask how the job stands. */
  async look() {
    const {job, page} = this;
    if (!job) return;
    try {
      /** @type {JobDocument} */
      const {state, done, total, result, text} = await api.get(`api/jobs/${job.id}`);
      if (this.job !== job) return;
      if (result && !isOf(result, job.key)) throw new Error(page.t("game.gone"));
      Object.assign(job, {done, total});
      if (result) {
        job.game.isEdited = true; // no file has the analysis
        this.show(result, job.key, job.game);
      }
      if (!ACTIVE.includes(state)) {
        this.job = null;
        if (state === "failed" && !job.isOld) page.notify(page.t("game.failed", {text: page.because(text)}));
      }
    } catch (error) {
      if (this.job !== job) return;
      this.job = null; // the server was started again and does not know it
      if (job.isOld) this.known = null;
      else page.notify(page.t("game.failed", {text: page.because(error)}));
    }
    page.update();
  }

  /** Stop; what was finished is shown. */
  async stop() {
    const {job} = this;
    if (!job) return;
    try {
      await api.remove(`api/jobs/${job.id}`);
    } catch {
      // it has ended meanwhile
    }
    await this.look();
  }

  /** A document about the game of a key. @param {AnalysisDocument} document @param {string} key @param {Game} [game]  Its record. */
  show(document, key, game = this.page.game) {
    game.analysis = {document, key};
    if (game.isEdited) this.page.keeper.changed(game);
    this.page.update();
  }

  // ------------------------------------------------------------------------------------ what it says

  /** @returns {JudgedMove[]} */
  get moves() {
    return this.current?.moves ?? [];
  }

  /** The mistakes, in the order of the game. @returns {JudgedMove[]} */
  get mistakes() {
    return this.moves.filter(move => move.mistake);
  }

  /** The judged move that leads to a node of the main line. @param {number} id */
  moveAt(id) {
    const {game} = this.page;
    const line = game.mainLine();
    const ply = line.indexOf(id);
    return ply > 0 ? this.moves.find(move => move.ply === ply) : undefined;
  }

  /** @param {number} id */
  mistakeAt(id) {
    return this.isHidden || !this.page.game.analysis ? "" : (this.byId().get(id)?.mistake ?? "");
  }

  /** The mistakes by node; made once for each state of the record. @returns {Map<number, JudgedMove>} */
  byId() {
    const {
      current,
      page: {game},
    } = this;
    const key = `${game.id} ${this.mainKey}`;
    if (!current) return new Map();
    if (this.cached?.document === current && this.cached.key === key) return this.cached.map;
    const line = game.mainLine();
    const map = new Map(this.mistakes.map(move => [line[move.ply], move]));
    this.cached = {document: current, key, map};
    return map;
  }

  /** The searched position at a ply. @param {number} ply */
  positionAt(ply) {
    return this.current?.positions.find(position => position.ply === ply);
  }

  /** The ply of the position on the board; -1 in a variation. */
  get ply() {
    const {game} = this.page;
    return game.mainLine().indexOf(game.place);
  }

  /** Black's win rate in the position on the board, as the search or the record has it; null if neither does, or while it is hidden. */
  get winRate() {
    if (this.isHidden) return null;
    const {current} = this.page.game;
    const found = this.ply < 0 ? undefined : this.positionAt(this.ply);
    return found?.win_rate ?? recordedRate(current);
  }

  /** The positions before the mistakes, before and after that on the board. */
  get around() {
    return mistakesAround(
      this.mistakes.map(move => move.ply),
      this.page.game.plyOf(),
    );
  }

  /** @param {1 | -1} direction */
  goToMistake(direction) {
    const {game} = this.page;
    const {previous, next} = this.around;
    const ply = direction > 0 ? next : previous;
    if (ply !== undefined) game.go(game.mainLine()[ply]);
  }

  /** The mean accuracy of a side's moves; null without any. @param {"black" | "white"} color */
  accuracy(color) {
    const own = this.moves.filter(move => move.color === color);
    return own.length ? own.reduce((sum, move) => sum + accuracyOf(move.loss), 0) / own.length : null;
  }
}
