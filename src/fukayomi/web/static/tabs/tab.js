// What the page knows of a tab.
/** @import {Drawing} from "../board/drawing.js" */
/** @import {Page} from "../page.js" */

/** A tab of the page; those that need nothing of a method leave it out. */
export class Tab {
  /**
   * @param {Page} page
   * @param {string} id  Of the address (`#game`) and of the key of its title (`tab.game`).
   * @param {boolean} [hasBoard]  false: it has the whole width, without the board and the record.
   */
  constructor(page, id, hasBoard = true) {
    this.page = page;
    this.id = id;
    this.hasBoard = hasBoard;
  }

  /** It is shown. */
  enter() {}

  /** Another one is shown. */
  leave() {}

  /** What it shows. @returns {unknown} */
  render() {
    return undefined;
  }

  /** Whether it takes a move that the reader made on the board. @param {string} _usi */
  onMove(_usi) {
    return false;
  }

  /** What it draws on the board. @returns {Partial<Drawing>} */
  overlay() {
    return {};
  }

  /** Black's win rate in the position on the board, for the bar beside it; null if it is not known, or not to be seen. @returns {number | null} */
  winRate() {
    return null;
  }

  /** Whether it takes an action of a key or button. @param {string} _action */
  onAction(_action) {
    return false;
  }

  /** Another position is on the board; also while it is hidden. */
  positionChanged() {}
}
