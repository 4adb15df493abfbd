// The tabs, in their order. docs/architecture.md says what a tab exports.
import {nothing} from "../vendor/lit-html.js";
import * as analyse from "./analyse.js";
import * as game from "./game.js";
import * as play from "./play.js";
import * as worth from "./worth.js";

/**
 * @typedef {object} Tab
 * @property {string} id  Of the address: `#game`.
 * @property {string} title  Key of its title.
 * @property {boolean} [board]  false: it has the whole width, without the board and the record.
 * @property {(page: import("../page.js").Page) => unknown} render
 * @property {(page: import("../page.js").Page) => void} [enter]  It is shown.
 * @property {(page: import("../page.js").Page) => void} [leave]  Another one is shown.
 * @property {(usi: string, page: import("../page.js").Page) => boolean} [onMove]  Whether it takes a move that the reader made on the board.
 * @property {(page: import("../page.js").Page) => object} [overlay]  Arrows, tints and `movable` of the board, see board/drawing.js.
 * @property {(event: KeyboardEvent, page: import("../page.js").Page) => boolean} [onKey]  Whether it takes a key.
 * @property {(page: import("../page.js").Page) => void} [positionChanged]  Another position is on the board; also while it is hidden.
 */

/**
 * A tab of the whole width, whose modules come when it is first shown: the page is drawn without waiting for them.
 * @param {string} id @param {() => Promise<Pick<Tab, "render" | "enter" | "leave">>} load
 * @returns {Tab}
 */
function later(id, load) {
  /** @type {Pick<Tab, "render" | "enter" | "leave"> | null} */
  let module = null;
  /** @type {Tab} */
  const tab = {
    id,
    title: `tab.${id}`,
    board: false,
    render: page => module ? module.render(page) : nothing,
    enter(page) {
      if (module) return module.enter?.(page);
      load().then(loaded => {
        if (module) return; // shown, left and shown again while it was coming
        module = loaded;
        if (page.tab === tab) module.enter?.(page);
        page.update();
      }, error => page.notify(String(error.message ?? error)));
    },
    leave: page => module?.leave?.(page),
  };
  return tab;
}

/** @type {Tab[]} */
export const TABS = [
  analyse, game, play, worth,
  later("training", () => import("./training.js")),
  later("matches", () => import("./matches.js")),
];
