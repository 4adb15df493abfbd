// What the reader has done outlives the page: records that no file has are kept by the browser (IndexedDB, for they may be
// large), written after each change, listed, and offered again. A reload goes on where it was (sessionStorage, which can be
// written while the page is left).

import {isHandicap} from "../position.js";
import {remember, setting} from "../settings.js";
import {html, nothing} from "../vendor/lit-html.js";
import {Game} from "./game.js";

/** @import {Page} from "../page.js" */
/** @import {KeptQuiz} from "../report/quiz.js" */
/** @import {KeptList} from "./files.js" */
/** @import {KeptGame} from "./game.js" */

/** What a reload goes on with. @typedef {{game: KeptGame, flip: boolean, job: {id: number, key: string} | null, quiz: KeptQuiz | null, setup: {text: string, draft: KeptGame | null} | null, list: KeptList | null}} Returned */

const RETURNED = "fukayomi.record";
const STORE = "records";
/** Records that are kept: games against the engine, and others. */
const MOST_PLAYED = 200;
const MOST_OTHERS = 100;
/** A page that is loaded again waits so long for the one before it to let its record go (ms). */
const RELEASE_MS = 1000;

/** @param {string} id */
const lockOf = id => `fukayomi.record.${id}`;

/** Store what a reload goes on with; whether the browser took it. @param {Returned | null} returned */
function store(returned) {
  try {
    sessionStorage.setItem(RETURNED, JSON.stringify(returned));
    return true;
  } catch {
    return false;
  }
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const answerOf = request =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** @returns {Promise<IDBDatabase | null>} */
async function openDatabase() {
  try {
    const request = indexedDB.open("fukayomi", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, {keyPath: "id"});
    return await answerOf(request);
  } catch {
    return null; // the browser stores nothing
  }
}

/** Have a record to oneself until the page is closed; false if another page has it. @param {string} id @param {number} wait_ms */
function claim(id, wait_ms) {
  return new Promise(resolve => {
    const options = wait_ms ? {signal: AbortSignal.timeout(wait_ms)} : {ifAvailable: true};
    navigator.locks
      .request(lockOf(id), options, lock => {
        resolve(lock !== null);
        return lock ? new Promise(() => {}) : undefined;
      })
      .catch(() => resolve(false));
  });
}

export class Keeper {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** @type {IDBDatabase | null} */
    this.database = null;
    this.opened = openDatabase().then(database => (this.database = database));
    /** Records of this page that were kept or will be, and whether this page has them to itself. @type {Map<Game, Promise<unknown>>} */
    this.games = new Map();
    /** Changed, and not yet written. @type {Set<Game>} */
    this.waiting = new Set();
    /** The writing that goes on. @type {Promise<void> | null} */
    this.writing = null;
    /** Whether what was changed last is kept. */
    this.isKeeping = true;
    /** What the list shows, the newest first. @type {KeptGame[]} */
    this.list = [];
    /** The reader's last work, which is offered. @type {KeptGame | null} */
    this.offered = null;
    /** The reading of the analysis of a record that a reload goes on with. @type {Promise<void> | null} */
    this.recalled = null;
  }

  // ------------------------------------------------------------------------------------ writing

  /** A record has changed. @param {Game} game */
  changed(game) {
    if (!game.isEdited || (game.isEmpty && !this.games.has(game))) return;
    this.waiting.add(game);
    this.writing ??= this.write().finally(() => {
      this.writing = null;
    });
  }

  async write() {
    await this.opened;
    if (!this.database && this.isKeeping) this.fail(this.page.t("kept.unavailable"));
    while (this.database && this.waiting.size) {
      const games = [...this.waiting];
      await Promise.all(games.map(game => this.claim(game)));
      for (const game of games) this.waiting.delete(game);
      try {
        await this.put(games.map(game => game.kept));
        this.isKeeping = true;
      } catch (error) {
        for (const game of games) this.waiting.add(game); // with the next change
        return this.fail(this.page.t("kept.failed", {text: this.whyFull(error)}));
      }
    }
  }

  /** Tell the reader that nothing is kept. @param {string} text */
  fail(text) {
    if (this.isKeeping) this.page.notify(text);
    this.isKeeping = false;
  }

  /** Why the browser keeps nothing. @param {unknown} error */
  whyFull(error) {
    const {page} = this;
    return error instanceof DOMException && error.name === "QuotaExceededError" ? page.t("kept.full") : page.because(error);
  }

  /** Write records; what was asked for is written, even if the page is closed meanwhile. @param {KeptGame[]} kept */
  put(kept) {
    return this.change(store => {
      for (const each of kept) store.put(each);
    });
  }

  /** @param {(store: IDBObjectStore) => void} what @returns {Promise<void>} */
  change(what) {
    return new Promise((resolve, reject) => {
      if (!this.database) return resolve();
      const transaction = this.database.transaction(STORE, "readwrite");
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
      what(transaction.objectStore(STORE));
      transaction.commit();
    });
  }

  /** No other page writes this record; if one does, this page writes a copy. @param {Game} game @param {{isKept?: boolean, wait_ms?: number}} [how]  Whether it comes from what is kept. */
  claim(game, {isKept = false, wait_ms = 0} = {}) {
    const known = this.games.get(game);
    if (known) return known;
    const hasLocks = "locks" in navigator; // only in a secure context
    const claimed = (hasLocks ? claim(game.id, wait_ms) : Promise.resolve(!isKept || wait_ms > 0)).then(isOurs => isOurs || game.renew());
    this.games.set(game, claimed);
    return claimed;
  }

  /** Write when the page is left; what cannot be kept is asked about. */
  listen() {
    addEventListener("beforeunload", event => {
      if (!this.isKeeping) event.preventDefault();
    });
    addEventListener("pagehide", () => {
      const {page} = this;
      const {game, report, flip, setup, gameTab} = page;
      if (game.isEdited && this.games.has(game)) this.waiting.add(game);
      this.put([...this.waiting].map(each => each.kept)).catch(() => undefined); // the reader was told
      const bare = {...game.kept, analysis: null};
      /** @type {Returned} */
      const returned = {
        game: game.isEdited && this.isKeeping ? bare : game.kept, // the database has the analysis
        flip,
        job: report.kept,
        quiz: gameTab.kept,
        setup: setup.isOpen ? {text: setup.text, draft: setup.draft?.kept ?? null} : null,
        list: page.files.place,
      };
      // Less, if that is too large; nothing, if nothing may be stored.
      [returned, {...returned, game: bare}, {...returned, game: bare, list: null}, null].some(store);
    });
  }

  // ------------------------------------------------------------------------------------ reading

  /** What a reload goes on with; null if the page was opened. @returns {Returned | null} */
  returned() {
    const [navigation] = performance.getEntriesByType("navigation");
    if (/** @type {PerformanceNavigationTiming | undefined} */ (navigation)?.type === "navigate") return null;
    try {
      const found = JSON.parse(sessionStorage.getItem(RETURNED) ?? "null");
      return found?.game ? found : null; // another version of the page may have kept it otherwise
    } catch {
      return null;
    }
  }

  /** The record of a page that was loaded again. @param {KeptGame} kept */
  goOn(kept) {
    const game = Game.from(this.page.changed, kept);
    if (game.isEdited) this.claim(game, {isKept: true, wait_ms: RELEASE_MS});
    this.recalled = this.recall(game);
    return game;
  }

  /** Its analysis, if it was kept. @param {Game} game */
  async recall(game) {
    const kept = (await this.read()).find(each => each.id === game.id);
    if (!kept?.analysis || game.analysis) return;
    game.analysis = kept.analysis;
    this.page.update();
  }

  /** All that is kept, the newest first. @returns {Promise<KeptGame[]>} */
  async read() {
    await this.opened;
    await this.writing;
    if (!this.database) return [];
    /** @type {KeptGame[]} */
    const all = await answerOf(this.database.transaction(STORE).objectStore(STORE).getAll());
    return all.toSorted((one, other) => other.changed - one.changed);
  }

  /** Read the list again. */
  async load() {
    this.list = await this.read();
    this.page.update();
  }

  /** Offer the reader's last work, unless it is a finished game or another page has it; let the oldest records go. */
  async offer() {
    const all = await this.read();
    const old = [...all.filter(each => each.played).slice(MOST_PLAYED), ...all.filter(each => !each.played).slice(MOST_OTHERS)];
    if (old.length)
      this.change(store => {
        for (const {id} of old) store.delete(id);
      });
    const [newest] = all;
    if (!newest || newest.changed <= setting("offered", 0) || (newest.played && newest.record.end)) return;
    const held = "locks" in navigator ? (await navigator.locks.query()).held : [];
    if (held?.some(({name}) => name === lockOf(newest.id))) return;
    this.offered = newest;
  }

  /** The last work is not offered again. */
  settle() {
    if (this.offered) remember("offered", this.offered.changed);
    this.offered = null;
    this.page.update();
  }

  /** Put a kept record on the board. @param {KeptGame} kept */
  open(kept) {
    const {page} = this;
    this.settle();
    const known = [...this.games.keys()].find(each => each.id === kept.id);
    const game = known ?? Game.from(page.changed, kept);
    this.claim(game, {isKept: true});
    page.show(game);
    if (game.question) page.setFlip(game.question.color === "white"); // as it was played
    page.play.goOn(game);
  }

  /** The newest kept record of a kind. @param {(record: Game | KeptGame) => boolean} isIt */
  async find(isIt) {
    const known = [...this.games.keys()].find(isIt);
    if (known) return known;
    const kept = (await this.read()).find(isIt);
    if (!kept) return undefined;
    const game = Game.from(this.page.changed, kept);
    this.claim(game, {isKept: true});
    return game;
  }

  /** @param {KeptGame} kept */
  async remove(kept) {
    const {page} = this;
    await this.change(store => store.delete(kept.id));
    page.undoable(page.t("kept.removed"), async () => {
      await this.put([kept]);
      await this.load();
    });
    await this.load();
  }

  // ------------------------------------------------------------------------------------ drawing

  /** A record in words: players, moves, result. @param {KeptGame} kept */
  nameOf({record}) {
    const {page} = this;
    const {names, start, end, winner, end_word: word, main, name} = record;
    const [black, white] = [names[0] || page.side("b", start), names[1] || page.side("w", start)];
    const players = names.some(Boolean) || !name ? `☗ ${black} – ☖ ${white}` : name;
    const count = Math.max(main.length, record.nodes.length) - 1;
    const moves = page.t(count === 1 ? "kept.move" : "kept.moves", {count});
    const result = end || winner ? page.endText(end, winner, word, isHandicap(start)) : "";
    return [players, moves, result].filter(Boolean).join(" · ");
  }

  /** @param {KeptGame} kept */
  dateOf({changed}) {
    return new Date(changed).toLocaleString(this.page.language, {dateStyle: "short", timeStyle: "short"});
  }

  /** The last work, offered. */
  banner() {
    const {
      offered,
      page: {t},
    } = this;
    if (!offered) return nothing;
    return html`<p class="banner" role="status" data-banner="offered"><span>${t("kept.offered", {name: this.nameOf(offered), date: this.dateOf(offered)})}</span>
      <span class="row"><button type="button" class="primary" data-action="go-on" @click=${() => this.open(offered)}>${t("kept.goOn")}</button>
      <button type="button" class="icon" aria-label=${t("page.close")} @click=${() => this.settle()}>×</button></span></p>`;
  }

  /** The list, a menu. */
  menu() {
    const {
      list,
      page: {t, game},
    } = this;
    /** @param {Event} event @param {KeptGame} kept */
    const open = (event, kept) => {
      /** @type {Element} */ (event.target).closest("details")?.removeAttribute("open");
      this.open(kept);
    };
    return html`<details class="menu" @toggle=${() => this.load()}><summary>${t("kept.title")}</summary><div class="kept">
      <p class="muted small">${t(this.database ? "kept.help" : "kept.unavailable")}</p>
      ${list.length ? nothing : html`<p>${t("kept.none")}</p>`}
      <ol>${list.map(
        kept => html`<li><button type="button" class="link" data-kept=${kept.id} aria-current=${kept.id === game.id ? "true" : nothing}
          @click=${event => open(event, kept)}><small>${this.dateOf(kept)}</small> ${this.nameOf(kept)}</button>
          <button type="button" class="icon" data-forget=${kept.id} aria-label=${`${t("kept.remove")}: ${this.nameOf(kept)}`} @click=${() => this.remove(kept)}>×</button></li>`,
      )}</ol></div></details>`;
  }
}
