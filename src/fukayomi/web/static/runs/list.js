// The list of runs and matches, which two tabs show a part of.
import {Follower} from "./follow.js";
/** @import {ListedRun, RunList as Listing} from "documents" */
/** @import {Page} from "../page.js" */

export class RunList {
  /** @param {Page} page */
  constructor(page) {
    /** @type {ListedRun[] | null} */
    this.known = null;
    this.changed = () => {};
    /** @type {Follower<Listing>} */
    this.follower = new Follower(page, ({runs}) => {
      this.known = runs;
      this.changed();
    });
  }

  /** Follow the list while a tab is shown. @param {() => void} changed */
  follow(changed) {
    this.changed = changed;
    if (this.known) changed(); // the other tab has asked already, and it may stay the same
    this.follower.follow("api/runs");
    this.follower.start();
  }

  leave() {
    this.follower.stop();
  }

  /** What there is of some kinds; null until the server has answered. @param {string[]} kinds */
  shown(kinds) {
    return this.known?.filter(each => kinds.includes(each.kind)) ?? null;
  }
}
