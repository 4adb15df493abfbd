// The WebSocket to the server. It connects again by itself; what was sent while it was closed is lost, and its users
// begin anew when they hear "open".

const FIRST_WAIT_MS = 250, LONGEST_WAIT_MS = 4000;

export class Socket {
  /** @param {string} url */
  constructor(url) {
    this.url = url;
    this.connected = false;
    /** @type {Map<string, Set<(message: any) => void>>} */
    this.handlers = new Map();
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

  /** Hear messages of a type; also `open` and `close`. @param {string} type @param {(message: any) => void} handler */
  on(type, handler) {
    const handlers = this.handlers.get(type) ?? new Set();
    this.handlers.set(type, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  /** @param {string} type @param {any} message */
  tell(type, message) {
    for (const handler of this.handlers.get(type) ?? []) handler(message);
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
