// The tabs, in their order.
import {AnalyseTab} from "./analyse.js";
import {PlayTab} from "./play.js";
import {Tab} from "./tab.js";
import {WorthTab} from "./worth.js";

/** @import {Page} from "../page.js" */
/** @import {GameTab} from "./game.js" */

/** A tab of the whole width, whose modules come when it is first shown: the page is drawn without waiting for them. */
class LaterTab extends Tab {
  /** @param {Page} page @param {string} id @param {() => Promise<new (page: Page) => Tab>} load */
  constructor(page, id, load) {
    super(page, id, false);
    this.load = load;
    /** @type {Tab | null} */
    this.loaded = null;
  }

  render() {
    return this.loaded?.render();
  }

  async enter() {
    try {
      const Kind = this.loaded ? null : await this.load();
      if (Kind) this.loaded ??= new Kind(this.page); // it may have been left and shown again while it was coming
      if (this.page.tab === this) this.loaded?.enter();
    } catch (error) {
      this.page.notify(this.page.because(error));
    }
    this.page.update();
  }

  leave() {
    this.loaded?.leave();
  }
}

/** The tabs of a page. @param {Page} page @param {GameTab} gameTab @returns {Tab[]} */
export const makeTabs = (page, gameTab) => [
  new AnalyseTab(page),
  gameTab,
  new PlayTab(page),
  new WorthTab(page),
  new LaterTab(page, "training", async () => (await import("./training.js")).TrainingTab),
  new LaterTab(page, "matches", async () => (await import("./matches.js")).MatchesTab),
];
