// The list of runs and matches, which both tabs show a part of.
import {Follower} from "./follow.js";

/**
 * @typedef {{id: string, kind: "training" | "learning" | "selfplay" | "match" | "league", name: string, parent: string | null}} Shown
 */

/** @type {Shown[] | null} */
let known = null;
/** @type {Follower | null} */
let follower = null;

/** Follow the list while a tab is shown. @param {import("../page.js").Page} page @param {() => void} changed */
export function followList(page, changed) {
  follower ??= new Follower(page, document => {
    known = document.runs;
    onChange();
  });
  onChange = changed;
  if (known) changed(); // the other tab has asked already, and it may stay the same
  follower.follow("api/runs");
  follower.start();
}
let onChange = () => {};

export function leaveList() {
  follower?.stop();
}

/** What there is of some kinds; null until the server has answered. @param {string[]} kinds @returns {Shown[] | null} */
export const shown = kinds => known && known.filter(each => kinds.includes(each.kind));
