// What the server says of positions: the legal moves, names of the last move, check, repetition, the end of the game.
import {api} from "../api.js";

/** @import {Facts, PositionQuestion} from "documents" */
/** @import {Game} from "../record/game.js" */

/** Positions remembered. */
const KEPT = 2000;

export class FactBook {
  /** @param {(game: Game, id: number, facts: Facts) => void} arrived @param {(error: Error) => void} failed */
  constructor(arrived, failed) {
    this.arrived = arrived;
    this.failed = failed;
    /** @type {Map<string, Facts>} */
    this.known = new Map();
    /** @type {Map<string, Promise<Facts | null>>} */
    this.asked = new Map();
  }

  /** What is known of a node's position. @param {Game} game @param {number} [id] */
  get(game, id) {
    return this.known.get(game.keyOf(id));
  }

  /** Ask the server for what is not known. @param {Game} game @returns {Promise<Facts | null>} */
  load(game) {
    const key = game.keyOf();
    const id = game.place;
    const known = this.known.get(key);
    if (known) {
      this.arrived(game, id, known); // another branch may have reached the same position
      return Promise.resolve(known);
    }
    const running = this.asked.get(key);
    if (running) return running;
    /** @type {PositionQuestion} */
    const question = {sfen: game.start, moves: game.moves()};
    const answer = api.post("api/position", question).then(
      (/** @type {Facts} */ facts) => {
        if (this.known.size >= KEPT) this.known.delete(this.known.keys().next().value ?? "");
        this.known.set(key, facts);
        this.arrived(game, id, facts);
        return facts;
      },
      error => {
        this.failed(error);
        return null;
      },
    );
    this.asked.set(key, answer);
    answer.finally(() => this.asked.delete(key));
    return answer;
  }
}
