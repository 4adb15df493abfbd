// The evaluation beside the board: Black's share of the bar, at Black's side of the board.
import {html, svg} from "../vendor/lit-html.js";

/** @import {Page} from "../page.js" */

/** @param {Page} page */
export function evaluationBar({tab, flip, t}) {
  const rate = tab.winRate();
  const isKnown = rate !== null;
  const share = `${(100 * (rate ?? 0.5)).toFixed(1)}%`;
  const rest = `${(100 * (1 - (rate ?? 0.5))).toFixed(1)}%`;
  const label = isKnown ? t("evaluation.is", {rate: Math.round(100 * rate)}) : t("evaluation.none");
  return html`<svg class=${`evaluation ${isKnown ? "" : "unknown"}`} role="img" aria-label=${label} data-rate=${isKnown ? rate.toFixed(3) : ""}>
    <rect class="whole" width="100%" height="100%" />${isKnown ? svg`<rect class="black" width="100%" y=${flip ? "0" : rest} height=${share} />` : ""}
    <line class="middle" x2="100%" y1="50%" y2="50%" /></svg>`;
}
