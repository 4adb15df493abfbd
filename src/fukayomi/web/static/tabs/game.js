// The report of a game: graph, mistakes with the better lines, the players' figures, "think first", the quiz.
import {html, nothing} from "../vendor/lit-html.js";
import {verdictArrows} from "../board/drawing.js";
import {gameGraph} from "../report/graph.js";
import {saveAs} from "../record/files.js";
import {Quiz} from "../report/quiz.js";

export const id = "game";
export const title = "tab.game";

/** @type {Quiz | null} */
let quiz = null;

/** @param {import("../page.js").Page} page */
export function leave(page) {
  quiz = null;
  page.update();
}

/** @param {string} usi */
export function onMove(usi) {
  return quiz?.move(usi) ?? false;
}

/** @param {import("../page.js").Page} page */
export function positionChanged(page) {
  page.report?.positionChanged();
}

/** The best move of the position, and the mistake that was played. @param {import("../page.js").Page} page */
export function overlay(page) {
  const {report, game} = page;
  if (quiz) return {arrows: quiz.arrows()};
  if (report.isHidden || !page.live.hasArrows) return {};
  const main = game.mainLine(), ply = main.indexOf(game.place), at = ply < 0 ? undefined : report.positionAt(ply);
  const best = at?.lines[0]?.pv[0], next = report.moves.find(move => move.ply === ply + 1);
  return {arrows: verdictArrows(best, next?.mistake && next.move)};
}

/** @param {import("../page.js").Page} page */
export function render(page) {
  const {t, report, game} = page, {current, job} = report, hasMoves = game.childrenOf(0).length > 0;
  if (quiz) {
    return quiz.render(() => {
      quiz = null;
      page.update();
    });
  }
  return html`
    ${job ? progress(page) : controls(page, hasMoves)}
    ${current ? (report.isHidden ? hidden(page) : findings(page)) : html`<p class="muted">${t(hasMoves ? "game.intro" : "game.noMoves")}</p>`}
    ${documents(page)}`;
}

function controls(page, hasMoves) {
  const {t, report} = page;
  return html`<div class="row">
    <button type="button" class="primary" data-action="analyse-game" ?disabled=${!hasMoves} @click=${() => report.start()}>${t(report.current ? "game.again" : "game.start")}</button>
    <label>${t("game.nodes")} <select id="report-nodes" @change=${event => (report.nodes = Number(event.target.value))}>
      ${[100, 300, 1000, 3000, 10000, 30000].map(nodes => html`<option value=${nodes} ?selected=${report.nodes === nodes}>${nodes.toLocaleString("en")}</option>`)}</select></label>
    <label><input type="checkbox" id="think-first" .checked=${report.isHiding} @change=${event => report.setHiding(event.target.checked)}> ${t("game.thinkFirst")}</label>
    ${report.current ? html`<button type="button" data-action="quiz" ?disabled=${report.mistakes.length === 0} @click=${() => {
      quiz = new Quiz(page);
    }}>${t("game.quiz")}</button>` : nothing}
  </div>`;
}

function progress(page) {
  const {t, report} = page, {done, total} = report.job;
  return html`<div class="row"><progress aria-label=${t("game.start")} max=${total || 1} .value=${done}></progress>
    <span data-progress>${t("game.progress", {done, total})}</span>
    <button type="button" data-action="stop-job" title="Esc" @click=${() => report.stop()}>${t("game.stop")}</button></div>`;
}

function hidden(page) {
  const {t, report} = page;
  return html`<div class="card"><p>${t("game.hiddenHint")}</p>
    <button type="button" data-action="reveal" @click=${() => {
      report.isRevealed = true;
      page.update();
    }}>${t("game.reveal")}</button></div>`;
}

function findings(page) {
  const width = Math.max(300, Math.min(1100, (document.getElementById("panel")?.clientWidth ?? 640) - 2));
  return html`${gameGraph(page, width)}${verdict(page)}${players(page)}${mistakes(page)}<p class="muted small">${page.t("game.thresholds")}</p>
    <p class="muted small">${page.report.current.engine} · ${page.report.current.limits}</p>`;
}

const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);

/** What the report says of the move on the board. */
function verdict(page) {
  const {t, report, game} = page, move = report.moveAt(game.place);
  if (!move) return nothing;
  const marks = [move.missed_mate ? t("game.missedMate") : "", move.allowed_mate ? t("game.allowedMate") : ""].filter(Boolean).join(" ");
  return html`<p class="verdict card"><strong>${move.ply}. ${page.judgedName(move)}</strong> ${page.scoreText(move)} · ☗ ${percent(move.win_rate)}
    ${move.mistake ? html`<span class=${`kind ${move.mistake}`}>${t(`mistake.${move.mistake}`)}${move.certain ? "" : "?"} −${percent(move.loss)}</span>` : nothing}
    ${marks}</p>`;
}

function players(page) {
  const {t, report, game} = page, [black, white] = game.facts.names;
  const sides = [["black", "☗", black || page.side("b")], ["white", "☖", white || page.side("w")]];
  return html`<table class="players"><caption class="unseen">${t("game.players")}</caption>
    <thead><tr><th scope="col">${t("game.side")}</th><th scope="col" class="number">${t("game.agreement")}</th><th scope="col" class="number">${t("game.averageLoss")}</th>
      <th scope="col" class="number">${t("game.accuracy")}</th></tr></thead>
    ${sides.map(([color, mark, name]) => {
      const side = report.side(color), counts = Object.entries(side.mistakes ?? {}).filter(([, count]) => count > 0);
      return html`<tbody data-color=${color}><tr><th scope="row">${mark} ${name}</th><td class="number">${percent(side.agreement, 0)}</td><td class="number">${percent(side.average_loss, 2)}</td>
        <td class="number">${side.accuracy === null ? "–" : side.accuracy.toFixed(1)}</td></tr>
        <tr><td colspan="4" class="counts"><span class="muted">${t("game.counts")}</span> ${counts.length ? nothing : "0"} ${counts.map(([kind, count]) => html`<span class=${`kind ${kind}`}>${t(`mistake.${kind}`)} ${count}</span> `)}</td></tr></tbody>`;
    })}</table>`;
}

function mistakes(page) {
  const {t, report, game} = page, {mistakes} = report;
  if (mistakes.length === 0) return html`<p>${t("game.none")}</p>`;
  return html`<h2>${t("game.mistakes")}</h2><ol class="mistakes">${mistakes.map(move => {
    const line = page.reportLine(move.ply - 1);
    return html`<li class=${`card ${move.mistake}`} data-ply=${move.ply}>
      <p><button type="button" class="link" @click=${() => game.go(game.mainLine()[move.ply])}><strong>${move.ply}. ${page.judgedName(move)}</strong></button>
        <span class=${`kind ${move.mistake}`}>${t(`mistake.${move.mistake}`)}${move.certain ? "" : "?"} −${percent(move.loss)}</span></p>
      ${line ? html`<p>${t("game.better")} <button type="button" class="link pv" @click=${() => addLine(page, move.ply - 1, line)}>${page.lineText(line)}</button></p>` : nothing}
    </li>`;
  })}</ol>`;
}

/** The better line as a variation of the record, at its first move. */
function addLine({game}, ply, line) {
  game.go(game.mainLine()[ply]);
  const [first] = line.pv.map(usi => game.play(usi).id);
  game.go(first);
}

function documents(page) {
  const {t, report} = page;
  return html`<div class="row">
    <label class="button"><input type="file" class="unseen" id="open-document" accept=".json,.html" @change=${event => {
      const [file] = event.target.files;
      if (file) page.files.openFile(file);
      event.target.value = "";
    }}>${t("game.document")}</label>
    ${report.current ? html`<button type="button" data-action="save-document" @click=${() => saveDocument(report.current)}>${t("game.saveDocument")}</button>` : nothing}
  </div>`;
}

function saveDocument(document_) {
  saveAs("analysis.json", new Blob([`${JSON.stringify(document_)}\n`], {type: "application/json"}));
}
