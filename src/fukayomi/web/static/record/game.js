// A record: a tree of moves, how the game ended, and the place in it that the board shows.
import {parse, played, START, sfenOf} from "../position.js";

/** @import {AnalysisDocument, GameRecord, PlayQuestion, RecordNode} from "documents" */
/** @import {Position} from "../position.js" */

/** What has changed: the place on the board, the moves, or what is noted on them. @typedef {"place" | "moves" | "notes"} Change */
/**
 * A record as browsers keep it.
 * @typedef {object} KeptGame
 * @property {string} id
 * @property {number} changed  Date of the last change (ms).
 * @property {GameRecord} record
 * @property {number} place  The node on the board.
 * @property {boolean} isEdited
 * @property {string} played  Id of the game against the engine, which the server may still have.
 * @property {PlayQuestion | null} question  How that game was begun.
 * @property {{document: AnalysisDocument, key: string} | null} analysis
 */

/** An id that no other record has, in any browser. */
function newId() {
  return [...crypto.getRandomValues(new Uint32Array(3))].map(each => each.toString(36)).join("");
}

/** @param {number} id @param {number | null} parent @param {string | null} usi @returns {RecordNode} */
function makeNode(id, parent, usi) {
  return {id, parent, usi, japanese: "", english: "", comment: "", time_ms: null};
}

/** A record without moves. @param {string} [start] @param {[string, string]} [names] @returns {GameRecord} */
export function emptyRecord(start = START, names = ["", ""]) {
  return {name: "", names, header: {}, start, nodes: [makeNode(0, null, null)], comment: "", ...endOf({}), main: [0]};
}

/** @typedef {Pick<GameRecord, "end" | "winner" | "end_word" | "end_comment" | "end_time_ms" | "illegal">} Ending */

/** How a game ended. @param {Partial<GameRecord>} record @returns {Ending} */
function endOf({end = null, winner = null, end_word = "", end_comment = "", end_time_ms = null, illegal = null}) {
  return {end, winner, end_word, end_comment, end_time_ms, illegal};
}

/** What identifies the main line of a record, as `mainKey` of the game that has it on the board. @param {GameRecord} record */
export function keyOf(record) {
  return new Game(() => {}, record).mainKey;
}

export class Game {
  /** What the record says besides its moves. */
  facts = {name: "", names: /** @type {[string, string]} */ (["", ""]), header: /** @type {Record<string, string>} */ ({}), ...endOf({})};
  start = START;
  /** The node on the board. */
  place = 0;
  /** The id of the next new node. */
  next = 1;
  /** @type {Map<number, RecordNode>} */
  nodes = new Map();
  /** @type {Map<number, number[]>} */
  children = new Map();
  /** The node after which the game as it was played ended; null if the record does not say that it ended. @type {number | null} */
  last = null;
  /** The child last visited, by node. @type {Map<number, number>} */
  visited = new Map();
  /** @type {Map<number, Position>} */
  positions = new Map();
  /** Its id among the kept records. */
  id = newId();
  /** Whether there is something in it that no file has. */
  isEdited = false;
  /** The id of the game against the engine that it is the record of. */
  played = "";
  /** How that game was begun. @type {PlayQuestion | null} */
  question = null;
  /** The analysis of the game, and the main line that it is about. @type {{document: AnalysisDocument, key: string} | null} */
  analysis = null;

  /** @param {(game: Game, what: Change) => void} changed  Called after every change. @param {GameRecord} [record] */
  constructor(changed, record = emptyRecord()) {
    /** Another number after every change. */
    this.version = 0;
    /** @type {{version: number, key: string} | null} */
    this.keyOfMain = null;
    /** @param {Change} what */
    this.changed = what => {
      this.version++;
      if (what !== "place") this.isEdited = true;
      changed(this, what);
    };
    this.reset(record);
  }

  /** A record that was kept. @param {(game: Game, what: Change) => void} changed @param {KeptGame} kept */
  static from(changed, {id, record, place, isEdited, played: game, question, analysis}) {
    const made = new Game(changed, record);
    Object.assign(made, {id, isEdited, played: game, question, analysis});
    if (made.nodes.has(place)) made.visit(place);
    return made;
  }

  /** What is kept of it. @returns {KeptGame} */
  get kept() {
    const {id, place, isEdited, question, analysis} = this;
    const main = this.last === null ? this.mainLine() : this.path(this.last).map(node => node.id);
    const record = {...this.record, ...endOf(this.facts), main};
    return {id, changed: Date.now(), record, place, isEdited, played: this.played, question, analysis};
  }

  /** Be kept beside what was kept under its id. */
  renew() {
    this.id = newId();
  }

  /** Whether it says nothing at all. */
  get isEmpty() {
    return this.nodes.size === 1 && this.start === START && !this.node(0).comment && !this.facts.names.some(Boolean);
  }

  /** @param {GameRecord} record */
  reset(record) {
    this.facts = {name: record.name, names: record.names, header: record.header, ...endOf(record)};
    this.start = record.start;
    this.nodes = new Map(record.nodes.map(node => [node.id, {...node}]));
    this.node(0).comment ||= record.comment ?? "";
    this.children = new Map();
    for (const node of record.nodes) if (node.parent !== null) this.link(node);
    const hasEnd = record.end || record.winner || record.illegal;
    this.last = hasEnd ? (record.main?.at(-1) ?? 0) : null;
    this.next = Math.max(...this.nodes.keys()) + 1;
    this.place = 0;
    this.visited = new Map();
    this.positions = new Map([[0, parse(this.start)]]);
  }

  /** @param {RecordNode} node */
  link(node) {
    const parent = /** @type {number} */ (node.parent);
    this.children.set(parent, [...(this.children.get(parent) ?? []), node.id]);
  }

  /** The record as the server takes it; an ending belongs to the line that it ended. @returns {GameRecord} */
  get record() {
    const {name, names, header} = this.facts;
    return {
      name,
      names,
      header,
      start: this.start,
      comment: this.node(0).comment,
      ...endOf(this.endsOnMain ? this.facts : {}),
      nodes: this.inOrder().map(id => this.node(id)),
      main: this.mainLine(),
    };
  }

  /** The nodes, each before its children, and these in their order. */
  inOrder() {
    const found = [];
    const waiting = [0];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      found.push(id);
      waiting.push(...this.childrenOf(id).toReversed());
    }
    return found;
  }

  /** How the game as it was played ended. @returns {Ending} */
  get ending() {
    return endOf(this.last === null ? {} : this.facts);
  }

  /** Whether the game as it was played is the main line, and ended. */
  get endsOnMain() {
    return this.last !== null && this.mainLine().at(-1) === this.last;
  }

  /** The game ended after a node. @param {number} id @param {GameRecord} record  Which says how. */
  conclude(id, record) {
    this.last = id;
    Object.assign(this.facts, endOf(record), {header: {...this.facts.header, ...record.header}});
    this.node(0).comment ||= record.comment;
    this.changed("notes");
  }

  /** The game goes on: its end was taken back. */
  reopen() {
    if (this.last === null) return;
    this.last = null;
    Object.assign(this.facts, endOf({}));
    this.changed("notes");
  }

  /** What undoing brings back. */
  snapshot() {
    const {children, place, last, facts, next} = this;
    const nodes = new Map([...this.nodes].map(([id, node]) => [id, {...node}]));
    return {nodes, children: new Map(children), place, last, facts: {...facts}, next};
  }

  /** Bring back what a snapshot has. What was played and noted since stays, unless it follows a move that goes. @param {ReturnType<Game["snapshot"]>} before */
  restore(before) {
    const {facts, last} = this;
    const now = this.inOrder().map(id => this.node(id));
    const {name, names, header} = facts;
    const {nodes, children, place} = before;
    Object.assign(this, {nodes, children, last: before.last, facts: {...before.facts, name, names, header}});
    /** The moves since that came back, too, by their ids. @type {Map<number, number>} */
    const twins = new Map();
    for (const node of now) {
      const old = nodes.get(node.id);
      if (old) nodes.set(node.id, {...node, parent: old.parent});
      else if (node.id >= before.next) this.bring(node, twins);
    }
    const end = last === null ? null : (twins.get(last) ?? last);
    if (before.last === null && end !== null && nodes.has(end)) {
      this.last = end;
      Object.assign(this.facts, endOf(facts));
    }
    this.visited.clear();
    this.positions = new Map([[0, parse(this.start)]]);
    this.visit(place);
    this.changed("moves");
  }

  /** Add a move that was made since a snapshot, or its comment to the same move. @param {RecordNode} node @param {Map<number, number>} twins */
  bring(node, twins) {
    const made = /** @type {number} */ (node.parent);
    const parent = twins.get(made) ?? made;
    if (!this.nodes.has(parent)) return;
    const twin = this.childrenOf(parent).find(id => this.node(id).usi === node.usi);
    if (twin === undefined) {
      this.nodes.set(node.id, {...node, parent});
      this.link({...node, parent});
    } else {
      twins.set(node.id, twin);
      const known = this.node(twin);
      if (node.comment !== known.comment) known.comment = [known.comment, node.comment].filter(Boolean).join("\n");
    }
  }

  /** The node on the board. */
  get current() {
    return this.node(this.place);
  }

  /** @param {number} id */
  node(id) {
    return /** @type {RecordNode} */ (this.nodes.get(id));
  }

  /** @param {number} [id] @returns {number[]} */
  childrenOf(id = this.place) {
    return this.children.get(id) ?? [];
  }

  /** The nodes from the start to a node. @param {number} [id] @returns {RecordNode[]} */
  path(id = this.place) {
    const path = [];
    for (let at = /** @type {number | null} */ (id); at !== null; at = this.node(at).parent) path.push(this.node(at));
    return path.reverse();
  }

  /** The moves to a node, in USI form. @param {number} [id] */
  moves(id = this.place) {
    return this.path(id)
      .slice(1)
      .map(node => node.usi ?? "");
  }

  /** Number of moves played before a node's position. @param {number} [id] */
  plyOf(id = this.place) {
    let ply = 0;
    for (let {parent} = this.node(id); parent !== null; {parent} = this.node(parent)) ply++;
    return ply;
  }

  /** @param {number} [id] @returns {Position} */
  positionAt(id = this.place) {
    const known = this.positions.get(id);
    if (known) return known;
    const {parent, usi} = this.node(id);
    const position = played(this.positionAt(parent ?? 0), usi ?? "");
    this.positions.set(id, position);
    return position;
  }

  get position() {
    return this.positionAt();
  }

  /** The position on the board as SFEN. */
  get sfen() {
    return sfenOf(this.position);
  }

  /** What identifies a position and how it was reached: start and moves. @param {number} [id] */
  keyOf(id = this.place) {
    return [this.start, ...this.moves(id)].join(" ");
  }

  /** The move of its line that follows a node: the first one, and none after the end of the game. @param {number} id @returns {number | undefined} */
  nextOf(id) {
    return id === this.last ? undefined : this.childrenOf(id)[0];
  }

  /** The main line from the start: the first move everywhere. */
  mainLine() {
    const line = [0];
    for (let next = this.nextOf(0); next !== undefined; next = this.nextOf(next)) line.push(next);
    return line;
  }

  /** Start and moves of the main line, which many ask for at each drawing. */
  get mainKey() {
    if (this.keyOfMain?.version !== this.version) {
      this.keyOfMain = {
        version: this.version,
        key: [
          this.start,
          ...this.mainLine()
            .slice(1)
            .map(id => this.node(id).usi),
        ].join(" "),
      };
    }
    return this.keyOfMain.key;
  }

  /** The line on the screen: to the current node, and on as it was last visited. */
  shownLine() {
    const line = this.path().map(node => node.id);
    for (let id = this.forward(this.place); id !== undefined; id = this.forward(id)) line.push(id);
    return line;
  }

  /** @param {number} id */
  forward(id) {
    const children = this.childrenOf(id);
    const visited = this.visited.get(id);
    return visited !== undefined && children.includes(visited) ? visited : this.nextOf(id);
  }

  /** @param {number} id */
  go(id) {
    if (!this.nodes.has(id)) return;
    this.visit(id);
    this.changed("place");
  }

  /** @param {number} id */
  visit(id) {
    for (const node of this.path(id)) if (node.parent !== null) this.visited.set(node.parent, node.id);
    this.place = id;
  }

  /** Go along the line on the screen. @param {number} count  Negative to go back. */
  step(count) {
    const line = this.shownLine();
    const at = this.plyOf();
    this.go(line[Math.max(0, Math.min(line.length - 1, at + count))]);
  }

  /** Go to a ply of the line on the screen. @param {number} ply */
  goToPly(ply) {
    const line = this.shownLine();
    this.go(line[Math.max(0, Math.min(line.length - 1, ply))]);
  }

  /** Go to the next variation of the current move. @param {number} direction */
  switchVariation(direction) {
    const {parent} = this.current;
    if (parent === null) return;
    const all = this.childrenOf(parent);
    this.go(all[(all.indexOf(this.place) + direction + all.length) % all.length]);
  }

  /** Make a legal move: an existing branch, or a new one. @param {string} usi @returns {RecordNode} */
  play(usi) {
    const {size} = this.nodes;
    this.visit(this.add(this.place, usi));
    this.changed(this.nodes.size > size ? "moves" : "place");
    return this.current;
  }

  /** The node of a move after a node: an existing branch, or a new one. The board stays where it is, and nobody is told. @param {number} parent @param {string} usi */
  add(parent, usi) {
    const existing = this.childrenOf(parent).find(id => this.node(id).usi === usi);
    if (existing !== undefined) return existing;
    const node = makeNode(this.next++, parent, usi);
    this.nodes.set(node.id, node);
    this.link(node);
    return node.id;
  }

  /** Make legal moves, one after the other. @param {string[]} moves */
  playAll(moves) {
    for (const usi of moves) this.play(usi);
  }

  /** Remove a node with all that follows; the board goes to what is before it. @param {number} id */
  remove(id) {
    const {parent} = this.node(id);
    if (parent === null) return;
    const isShown = this.path().some(node => node.id === id);
    const pending = [id];
    for (let each = pending.pop(); each !== undefined; each = pending.pop()) {
      pending.push(...this.childrenOf(each));
      for (const map of [this.nodes, this.children, this.positions, this.visited]) map.delete(each);
    }
    this.children.set(
      parent,
      this.childrenOf(parent).filter(each => each !== id),
    );
    if (this.last !== null && !this.nodes.has(this.last)) {
      this.last = null;
      Object.assign(this.facts, endOf({}));
    }
    if (isShown) this.visit(parent);
    this.changed("moves");
  }

  /** Make the line to a node the main line. @param {number} id */
  promote(id) {
    this.lead(this.path(id).map(node => node.id));
    this.changed("moves");
  }

  /** Put a line from the start before its variations; nobody is told. @param {number[]} line */
  lead(line) {
    line.slice(1).forEach((id, index) => {
      const others = this.childrenOf(line[index]).filter(each => each !== id);
      this.children.set(line[index], [id, ...others]);
    });
  }

  /** A comment on a move. @param {string} text @param {number} [id] */
  comment(text, id = this.place) {
    this.node(id).comment = text;
    this.changed("notes");
  }

  /** The player of a side, 0 for Black. @param {0 | 1} side @param {string} name */
  rename(side, name) {
    const [black, white] = this.facts.names;
    this.facts.names = side ? [black, name] : [name, white];
    this.changed("notes");
  }
}
