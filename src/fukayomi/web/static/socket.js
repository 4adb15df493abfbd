// The WebSocket to the server. It connects again by itself; what was sent while it was closed is lost, and its users
// begin anew when they hear "open".

/** @import {EndMessage, JobMessage, PlayMessage, ReportMessage, StateMessage} from "documents" */

/**
 * What may be heard, by its type: messages of the server, and that the connection is there or lost.
 * @typedef {{end: EndMessage, job: JobMessage, play: PlayMessage, report: ReportMessage, state: StateMessage, open: object, close: object}} Messages
 */

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4000;

export class Socket {
  /** @param {string} url */
  constructor(url) {
    this.url = url;
    this.connected = false;
    /** @type {{[K in keyof Messages]: Set<(message: Messages[K]) => void>}} */
    this.handlers = {
      end: new Set(),
      job: new Set(),
      play: new Set(),
      report: new Set(),
      state: new Set(),
      open: new Set(),
      close: new Set(),
    };
    this.wait = FIRST_WAIT_MS;
    this.last = 0;
    /** @type {WebSocket | null} */
    this.channel = null;
  }

  connect() {
    const channel = new WebSocket(this.url);
    this.channel = channel;
    channel.addEventListener("open", () => {
      this.connected = true;
      this.wait = FIRST_WAIT_MS;
      this.tell("open", {});
    });
    channel.addEventListener("message", event => {
      const message = JSON.parse(event.data);
      this.tell(message.type, message);
    });
    channel.addEventListener("close", () => {
      if (this.connected) {
        this.connected = false;
        this.tell("close", {});
      }
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(LONGEST_WAIT_MS, 2 * this.wait);
    });
  }

  /** Hear messages of a type. @template {keyof Messages} K @param {K} type @param {(message: Messages[K]) => void} handler */
  on(type, handler) {
    this.handlers[type].add(handler);
  }

  /** @template {keyof Messages} K @param {K} type @param {Messages[K]} message */
  tell(type, message) {
    for (const handler of this.handlers[type] ?? []) handler(message);
  }

  /** Whether it was sent. @param {object} message */
  send(message) {
    if (!this.connected) return false;
    this.channel?.send(JSON.stringify(message));
    return true;
  }

  /** A new id for a request. */
  newId() {
    return ++this.last;
  }
}
