// What the reader has on the board outlives a reload of the page: the record, the place in it, the side that
// looks at it, the analysis of the game.
/** @import {Page} from "../page.js" */
/** @import {GameRecord} from "documents" */

const KEPT = "fukayomi.record";

/** Keep it when the page is left. @param {Page} page */
export function keepOnLeaving(page) {
  addEventListener("pagehide", () => {
    const {game, report, flip} = page;
    try {
      sessionStorage.setItem(KEPT, JSON.stringify({record: game.record, place: game.place, flip, job: report.kept}));
    } catch {
      sessionStorage.removeItem(KEPT); // too large, or nothing may be stored
    }
  });
}

/** What was kept, if the page was loaded again; null if it was opened. @returns {{record: GameRecord, place: number, flip: boolean, job: {id: number, key: string} | null} | null} */
export function keptRecord() {
  const [navigation] = performance.getEntriesByType("navigation");
  if (/** @type {PerformanceNavigationTiming | undefined} */ (navigation)?.type === "navigate") return null;
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  } catch {
    return null;
  }
}
