// The live analysis: asks the engine about the position on the board and keeps what it said, by position.
import {hasKings, isMove} from "../position.js";
import {remember, setting} from "../settings.js";

/** @import {Analyse, EndMessage, ReportMessage} from "documents" */
/** @import {Page} from "../page.js" */

/** The client waits so long while a key repeats (ms). */
const PAUSE_MS = 120;
/** Lines asked for; fewer are shown. They cost the search nothing. */
const ASKED_LINES = 10;
/** Positions whose results are kept. */
const KEPT = 1000;
/** Arrows: at most so many, of moves that lose at most so much against the best. */
const MOST_ARROWS = 3;
const ARROW_LOSS_CP = 100;
/** Limits of a search: nodes above 0, milliseconds below, 0 for none. */
export const LIMITS = [1000, 10000, 100000, 1000000, -2000, -10000, -60000, 0];

/**
 * @typedef {"off" | "waiting" | "running" | "limit" | "stopped" | "taken" | "error" | "offline"} LiveState
 */

export class LiveAnalysis {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.isOn = setting("engine", true);
    this.isHidden = false;
    this.hasArrows = setting("arrows", true);
    this.shown = setting("lines", 3);
    this.limit = setting("limit", LIMITS[2]);
    /** @type {LiveState} */
    this.state = "off";
    this.errorText = "";
    this.keyIsRepeating = false;
    this.isActive = false;
    /** Id of the newest request; reports of others are dropped. */
    this.id = -1;
    this.askedKey = "";
    /** @type {Map<string, ReportMessage>} */
    this.results = new Map();
    this.timer = 0;
    const {socket} = page;
    socket.on("report", message => this.reported(message));
    socket.on("end", message => this.ended(message));
    socket.on("open", () => this.request());
    socket.on("close", () => this.setState("offline"));
  }

  // ------------------------------------------------------------------------------------ what is shown

  /** What identifies the results of the position on the board. */
  get key() {
    return this.page.game.keyOf();
  }

  /** Another network searches from now on. */
  forget() {
    this.results.clear();
    this.positionChanged();
  }

  /** What is known of the position on the board. */
  get report() {
    return this.results.get(this.key);
  }

  /** Whether the numbers are older than the connection. */
  get isStale() {
    return this.state === "offline";
  }

  /** The moves worth an arrow, the best first. */
  arrows() {
    const {report, page} = this;
    if (!report || this.isHidden || !this.hasArrows || page.setup.isOpen) return [];
    const sign = page.game.position.turn === "b" ? 1 : -1;
    const best = report.lines[0];
    if (!best) return [];
    return report.lines
      .slice(0, Math.min(MOST_ARROWS, this.shown))
      .filter(
        line =>
          isMove(line.move) && (line === best || (line.cp !== null && best.cp !== null && sign * (best.cp - line.cp) <= ARROW_LOSS_CP)),
      )
      .map((line, rank) => ({
        usi: line.move,
        label: line.win_rate === null ? "" : String(Math.round(100 * line.win_rate)),
        isMate: line.mate !== null && sign * line.mate > 0,
        css: rank === 0 ? "best" : "other",
        width: rank === 0 ? 1.4 : 1 - 0.25 * (rank - 1),
      }));
  }

  // ------------------------------------------------------------------------------------ asking

  /** Whether the engine is asked: the tab shows it, it is on, no position is being set up, and both kings are there. */
  get isWanted() {
    return this.isActive && this.isOn && !this.page.setup?.isOpen && hasKings(this.page.game.position);
  }

  /** The tab with the lines is shown or hidden. @param {boolean} isActive */
  setActive(isActive) {
    this.isActive = isActive;
    this.positionChanged();
  }

  positionChanged() {
    clearTimeout(this.timer);
    if (!this.isWanted) {
      this.cancel();
      return;
    }
    if (this.keyIsRepeating) {
      this.setState("waiting");
      this.timer = setTimeout(() => this.request(), PAUSE_MS);
    } else {
      this.request();
    }
    this.keyIsRepeating = false;
  }

  /** Ask about the position on the board, unless enough is known. @param {number} [limit] One of LIMITS, or more. */
  request(limit = this.limit) {
    const {page, report} = this;
    const {game, socket} = page;
    if (!this.isWanted) return;
    if (!socket.connected) {
      this.setState("offline");
      return;
    }
    if (report && (report.decided || reaches(report, limit))) {
      this.cancel();
      this.setState("limit");
      return;
    }
    this.id = socket.newId();
    this.askedKey = this.key;
    /** @type {Analyse & {type: "analyse"}} */
    const message = {
      type: "analyse",
      id: this.id,
      sfen: game.start,
      moves: game.moves(),
      multipv: ASKED_LINES,
      limit: limit > 0 ? {nodes: limit} : limit < 0 ? {time_ms: -limit} : {},
    };
    this.setState(socket.send(message) ? "running" : "offline");
  }

  /** Nobody waits for the last request any more. */
  cancel() {
    if (this.state === "running") this.page.socket.send({type: "stop", id: this.id});
    this.id = -1;
    if (this.state !== "offline") this.setState("off");
  }

  /** @param {LiveState} state */
  setState(state) {
    this.state = state;
    this.page.update();
  }

  // ------------------------------------------------------------------------------------ answers

  /** @param {ReportMessage} message */
  reported(message) {
    if (message.id !== this.id) return;
    const known = this.results.get(this.askedKey);
    // A search that begins anew says less than what is known: the larger one stays.
    if (known && known.visits > message.visits) return;
    if (!known && this.results.size >= KEPT) this.results.delete(this.results.keys().next().value ?? "");
    this.results.set(this.askedKey, message);
    this.page.update();
  }

  /** @param {EndMessage} message */
  ended(message) {
    if (message.id !== this.id) return;
    this.id = -1;
    this.errorText = message.text;
    const known = this.results.get(this.askedKey);
    this.setState(message.reason);
    if (message.reason === "limit" && known?.lines[0])
      this.page.say(this.page.t("live.spoken", {score: this.page.scoreText(known.lines[0]), move: this.page.moveName(known.lines[0], 0)}));
  }

  // ------------------------------------------------------------------------------------ the reader

  toggle() {
    this.isOn = !this.isOn;
    remember("engine", this.isOn);
    this.positionChanged();
    this.page.update();
  }

  /** Stop and keep what is known. */
  stop() {
    if (this.state === "running") this.page.socket.send({type: "stop", id: this.id});
  }

  /** Go on: after a stop or another page's turn to the limit, after the limit beyond it. */
  resume() {
    this.isOn = true;
    const {limit, report} = this;
    if (!report || !reaches(report, limit)) this.request(limit);
    else this.request(limit > 0 ? Math.max(limit, 2 ** Math.ceil(Math.log2(4 * report.visits))) : -2 * report.time_ms);
  }

  toggleArrows() {
    this.hasArrows = !this.hasArrows;
    remember("arrows", this.hasArrows);
    this.page.update();
  }

  toggleHidden() {
    this.isHidden = !this.isHidden;
    this.page.update();
  }

  /** Play the best move that is known. */
  playBest() {
    const move = this.isHidden ? undefined : this.report?.lines[0]?.move;
    if (isMove(move)) this.page.move(/** @type {string} */ (move));
  }

  /** @param {number} count */
  showLines(count) {
    this.shown = count;
    remember("lines", count);
    this.page.update();
  }

  /** @param {number} limit One of LIMITS. */
  setLimit(limit) {
    this.limit = limit;
    remember("limit", limit);
    if (this.isWanted) this.request();
  }
}

/** Whether a search has come as far as a limit. @param {{visits: number, time_ms: number}} report @param {number} limit */
function reaches(report, limit) {
  return limit > 0 ? report.visits >= limit : limit < 0 && report.time_ms >= -limit;
}
