// The record on the board: a tree of moves and the place in it.
import {parse, played, START, sfenOf} from "../position.js";

/** @import {GameRecord, RecordNode} from "documents" */
/** @import {Position} from "../position.js" */

/** @param {number} id @param {number | null} parent @param {string | null} usi @returns {RecordNode} */
function makeNode(id, parent, usi) {
  return {id, parent, usi, japanese: "", english: "", comment: "", time_ms: null};
}

/** A record without moves. @param {string} [start] @param {[string, string]} [names] @returns {GameRecord} */
export function emptyRecord(start = START, names = ["", ""]) {
  return {name: "", names, header: {}, start, nodes: [makeNode(0, null, null)], comment: "", ...endOf({}), main: [0]};
}

/** How a game ended. @param {Partial<GameRecord>} record @returns {Pick<GameRecord, "end" | "winner" | "end_word" | "end_comment" | "end_time_ms" | "illegal">} */
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
  /** The nodes of the game as it was played. @type {Set<number>} */
  main = new Set();
  /** The child last visited, by node. @type {Map<number, number>} */
  visited = new Map();
  /** @type {Map<number, Position>} */
  positions = new Map();

  /** @param {() => void} changed  Called after every change. @param {GameRecord} [record] */
  constructor(changed, record = emptyRecord()) {
    /** Another number after every change. */
    this.version = 0;
    /** @type {{version: number, key: string} | null} */
    this.keyOfMain = null;
    this.changed = () => {
      this.version++;
      changed();
    };
    this.reset(record);
  }

  /** @param {GameRecord} record */
  reset(record) {
    this.facts = {name: record.name, names: record.names, header: record.header, ...endOf(record)};
    this.start = record.start;
    this.nodes = new Map(record.nodes.map(node => [node.id, {...node}]));
    this.node(0).comment ||= record.comment ?? "";
    this.children = new Map();
    for (const node of record.nodes) if (node.parent !== null) this.link(node);
    this.main = new Set(record.main?.length ? record.main : [0]);
    // The main line first: everything that follows "the first child" is the game as it was played.
    for (const list of this.children.values()) list.sort((a, b) => Number(this.main.has(b)) - Number(this.main.has(a)));
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

  /** Put another record on the board, at its start. @param {GameRecord} record */
  load(record) {
    this.reset(record);
    this.changed();
  }

  /** Begin a record from a position. @param {string} [start] @param {[string, string]} [names] */
  newGame(start, names) {
    this.load(emptyRecord(start, names));
  }

  /** The record as the server takes it. @returns {GameRecord} */
  get record() {
    const {name, names, header} = this.facts;
    return {
      name,
      names,
      header,
      start: this.start,
      comment: this.node(0).comment,
      ...endOf(this.ending),
      nodes: [...this.nodes.values()],
      main: this.mainLine(),
    };
  }

  /** How the game ended, as long as its moves are those of the record. */
  get ending() {
    const line = this.mainLine();
    const isSame = line.length === this.main.size && line.every(id => this.main.has(id));
    return endOf(isSame ? this.facts : {});
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

  /** The main line from the start: the first move everywhere. */
  mainLine() {
    const line = [0];
    for (let next = this.childrenOf(0)[0]; next !== undefined; next = this.childrenOf(next)[0]) line.push(next);
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
    return visited !== undefined && children.includes(visited) ? visited : children[0];
  }

  /** @param {number} id */
  go(id) {
    if (!this.nodes.has(id)) return;
    for (const node of this.path(id)) if (node.parent !== null) this.visited.set(node.parent, node.id);
    this.place = id;
    this.changed();
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
    const existing = this.childrenOf().find(id => this.node(id).usi === usi);
    if (existing !== undefined) {
      this.go(existing);
      return this.current;
    }
    const node = makeNode(this.next++, this.place, usi);
    this.nodes.set(node.id, node);
    this.link(node);
    this.go(node.id);
    return node;
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
    if (isShown) this.go(parent);
    else this.changed();
  }

  /** Make the line to a node the main line. @param {number} id */
  promote(id) {
    for (const node of this.path(id)) {
      if (node.parent === null) continue;
      this.children.set(node.parent, [node.id, ...this.childrenOf(node.parent).filter(each => each !== node.id)]);
    }
    this.changed();
  }

  /** @param {string} text */
  comment(text) {
    this.current.comment = text;
    this.changed();
  }
}
