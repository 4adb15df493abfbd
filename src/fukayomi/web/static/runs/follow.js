// Follows documents of the server: asks again now and then, only while the reader can see them, and gets nothing twice.
import {api} from "../api.js";

/** @import {Page} from "../page.js" */

const INTERVAL_MS = 2000;

/** Follows one document at a time. @template {{version: string}} D */
export class Follower {
  /**
   * @param {Page} page
   * @param {(document: D) => void} arrived  Called with each new document.
   */
  constructor(page, arrived) {
    this.page = page;
    this.arrived = arrived;
    this.path = "";
    this.version = "";
    this.error = "";
    this.timer = 0;
    this.round = 0;
    this.isActive = false;
    this.seen = () => {
      if (!document.hidden) this.again();
    };
  }

  /** Follow another document, or none. @param {string} path */
  follow(path) {
    if (path === this.path) return;
    this.path = path;
    this.version = "";
    this.error = "";
    if (this.isActive) this.again();
  }

  start() {
    if (this.isActive) return;
    this.isActive = true;
    document.addEventListener("visibilitychange", this.seen);
    this.again();
  }

  stop() {
    this.isActive = false;
    this.round++;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
  }

  /** Ask now, and again from then on. */
  again() {
    clearTimeout(this.timer);
    if (this.isActive) this.ask(++this.round);
  }

  /** @param {number} round  An answer to an earlier round than the newest comes too late. */
  async ask(round) {
    const {path} = this;
    if (path && !document.hidden && (this.page.socket.connected || !this.version)) {
      try {
        const known = this.version ? `${path.includes("?") ? "&" : "?"}known=${this.version}` : "";
        /** @type {D & {same?: boolean}} */
        const found = await api.get(path + known);
        if (round !== this.round) return;
        this.error = "";
        if (!found.same) {
          this.version = found.version;
          this.arrived(found);
        }
      } catch (error) {
        if (round !== this.round) return;
        const text = this.page.because(error);
        if (this.error !== text) {
          this.error = text;
          this.page.update();
        }
      }
    }
    if (round === this.round) this.timer = setTimeout(() => this.ask(round), INTERVAL_MS);
  }
}
