// The graph of a game: Black's win rate by ply with the mistakes, and below it what each move lost.
import {html, nothing, svg} from "../vendor/lit-html.js";
import {recordedRate} from "./report.js";

/** @import {JudgedMove, RecordNode, Score} from "documents" */
/** @import {Page} from "../page.js" */
/** @import {TemplateEvent} from "../vendor/lit-html.js" */

const LEFT = 40;
const RIGHT = 8;
const TOP = 8;
const RATES = 130;
const GAP = 14;
const LOSSES = 46;
const BOTTOM = 18;
const HEIGHT = TOP + RATES + GAP + LOSSES + BOTTOM;
/** Centipawns at the edge of the graph. */
const CP_SHOWN = 2000;
const SIZES = {inaccuracy: 2.6, dubious: 3.6, mistake: 4.8, blunder: 6};

/** @typedef {Score & {ply: number}} Point */

/** The points of the curve: those of the report, else the evaluations that the record has. @param {Page} page @returns {Point[]} */
function pointsOf({report, game}) {
  if (report.isHidden) return [];
  if (report.current) return report.current.positions;
  return game
    .mainLine()
    .map((id, ply) => recordedPoint(game.node(id), ply))
    .filter(point => point !== null);
}

/** @param {RecordNode} node @param {number} ply @returns {Point | null} */
function recordedPoint(node, ply) {
  const rate = recordedRate(node);
  return rate === null ? null : {ply, win_rate: rate, cp: node.cp ?? (rate > 0.5 ? CP_SHOWN : -CP_SHOWN), mate: node.mate ?? null};
}

/** The graph of the game on the board; nothing if there is no evaluation of its positions. @param {Page} page */
export function gameGraph(page) {
  const {t, report, game} = page;
  const inCp = report.isInCp;
  const points = pointsOf(page);
  if (points.length < 2) return nothing;
  const {moves} = report;
  const total = Math.max(1, report.current?.total_moves ?? game.mainLine().length - 1);
  const width = Math.max(300, Math.min(1100, (document.getElementById("panel")?.clientWidth ?? 640) - 2));
  const bottom = TOP + RATES + GAP + LOSSES;
  /** @param {number} ply */
  const x = ply => LEFT + ((width - LEFT - RIGHT) * ply) / total;
  /** @param {number} part */
  const y = part => TOP + RATES * (1 - part);
  /** @param {Score} score */
  const share = score => (inCp ? 0.5 + Math.max(-CP_SHOWN, Math.min(CP_SHOWN, score.cp)) / (2 * CP_SHOWN) : score.win_rate);
  const curve = points.map((point, index) => `${index ? "L" : "M"}${x(point.ply).toFixed(1)},${y(share(point)).toFixed(1)}`).join("");
  /** @param {TemplateEvent} event */
  const seek = event => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = ((event.clientX - box.left) * width) / box.width;
    game.go(game.mainLine()[Math.max(0, Math.min(total, Math.round(((at - LEFT) / (width - LEFT - RIGHT)) * total)))]);
  };
  return html`<figure class="graph">
    <figcaption>${t(inCp ? "game.graphHelpCp" : "game.graphHelp")}
      <label><input type="checkbox" id="graph-cp" .checked=${inCp} @change=${event => report.showCp(event.target.checked)}> ${t("game.inCp")}</label></figcaption>
    <svg viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${t("game.graph")} @click=${seek}>
      ${area(
        points.map(point => [x(point.ply), y(share(point))]),
        y,
      )}
      ${[0, 0.25, 0.5, 0.75, 1].map(
        part => svg`<path class=${part === 0.5 ? "axis" : "rule"} d=${`M${LEFT},${y(part)}H${width - RIGHT}`} />
        <text class="y" x=${LEFT - 5} y=${y(part) + 4}>${inCp ? CP_SHOWN * (2 * part - 1) : 100 * part}</text>`,
      )}
      ${ticks(total, width).map(ply => svg`<text class="x" x=${x(ply)} y=${HEIGHT - 5}>${ply}</text>`)}
      <path class="curve" d=${curve} />
      <text class="y" x=${LEFT - 5} y=${bottom + 1}>0</text>
      <path class="axis" d=${`M${LEFT},${bottom}H${width - RIGHT}`} />
      ${moves.map(move => bar(move, x, bottom, (width - LEFT - RIGHT) / total))}
      ${moves.map(move => (move.mistake ? svg`<circle class=${`mark ${move.mistake}`} data-ply=${move.ply} cx=${x(move.ply)} cy=${y(share(move))} r=${SIZES[move.mistake]}><title>${markTitle(page, move)}</title></circle>` : nothing))}
      ${cursor(page, points, x, at => y(share(at)), bottom)}
    </svg></figure>`;
}

/** @param {Page} page @param {JudgedMove} move */
function markTitle(page, move) {
  return `${move.ply} ${page.judgedName(move)} ${page.t(`mistake.${move.mistake}`)} −${(100 * move.loss).toFixed(1)} %`;
}

/** Black's part below the curve, White's above. @param {[number, number][]} points @param {(share: number) => number} y */
function area(points, y) {
  if (points.length < 2) return nothing;
  const line = points.map(point => `L${point.map(each => each.toFixed(1)).join()}`).join("");
  const [from] = points[0];
  const [to] = points[points.length - 1];
  return svg`<path class="black-area" d=${`M${from},${y(0)}${line}L${to},${y(0)}Z`} /><path class="white-area" d=${`M${from},${y(1)}${line}L${to},${y(1)}Z`} />`;
}

/** What a move lost, from 0 to 50 %. @param {JudgedMove} move @param {(ply: number) => number} x @param {number} bottom @param {number} step */
function bar(move, x, bottom, step) {
  const height = LOSSES * Math.min(1, move.loss / 0.5);
  if (height < 0.5) return nothing;
  const width = Math.max(1.2, Math.min(8, 0.7 * step));
  return svg`<rect class=${`loss ${move.mistake ?? ""}`} x=${x(move.ply) - width / 2} y=${bottom - height} width=${width} height=${height} />`;
}

/** @param {Page} page @param {Point[]} points @param {(ply: number) => number} x @param {(at: Point) => number} y @param {number} bottom */
function cursor({report}, points, x, y, bottom) {
  const {ply} = report;
  if (ply < 0) return nothing;
  const at = points.find(point => point.ply === ply);
  return svg`<path class="cursor" data-ply=${ply} d=${`M${x(ply)},${TOP}V${bottom}`} />${at ? svg`<circle class="cursor" cx=${x(ply)} cy=${y(at)} r="4" />` : nothing}`;
}

/** @param {number} total @param {number} width */
function ticks(total, width) {
  const step = [5, 10, 20, 50, 100, 200].find(each => (each * (width - LEFT - RIGHT)) / total > 38) ?? 500;
  return Array.from({length: Math.floor(total / step) + 1}, (_, index) => index * step);
}
