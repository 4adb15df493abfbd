// A match or a league: tables of players, pairs, results and strategies, and the sequential test.
import {html, nothing, svg} from "../vendor/lit-html.js";
import {dot, number, percent, scaleOf, signed} from "./numbers.js";

/** @import {EloRange, MatchDocument, MatchPlayer, MatchScore, PlayerRating, Times} from "documents" */
/** @import {Page} from "../page.js" */

/** Wins, draws and losses as text in three colours. @param {{wins: number, draws: number, losses: number}} score */
const wdl = ({wins, draws, losses}) =>
  html`<span class="wdl"><span class="win">${number(wins)}</span><span class="draw">${number(draws)}</span><span class="loss">${number(losses)}</span></span>`;

/** How far it has come, and under which conditions. @param {Page} page @param {MatchDocument} document */
export function matchState(page, document) {
  const {t} = page;
  const {first_mover: first} = document;
  return html`<section class="card" data-view="match"><h2>${document.name}</h2><p class="facts-line">
      ${document.playing ? html`<span class="live">● ${t("match.playing")}</span>` : html`<span class="muted">${t(document.games < document.scheduled ? "match.stopped" : "match.over")}</span>`}
      <span>${t("match.games")} <b data-games=${document.games}>${number(document.games)}</b> / ${number(document.scheduled)}</span>
      ${document.matches ? html`<span>${t("match.matches")} <b>${number(document.matches)}</b></span>` : nothing}
      ${document.damaged ? html`<span class="warning">${t("match.damaged")} <b>${number(document.damaged)}</b></span>` : nothing}
      ${Object.entries(document.settings ?? {}).map(([name, value]) => html`<span>${page.word("match.setting", name)} <b>${value}</b></span>`)}</p>
    ${document.playing ? html`<progress max=${document.scheduled} value=${document.games} aria-label=${t("match.games")}></progress>` : nothing}
    ${
      first?.games
        ? html`<p class="facts-line" data-part="colors"><span>${t("match.byColor")}:</span>
      <span>${t("match.blackWins")} <b>${number(first.wins)}</b> (${percent(first.wins / first.games)})</span><span>${t("match.draws")} <b>${number(first.draws)}</b> (${percent(first.draws / first.games)})</span>
      <span>${t("match.whiteWins")} <b>${number(first.losses)}</b> (${percent(first.losses / first.games)})</span></p>`
        : nothing
    }</section>`;
}

/** The league table: ratings as dots on their intervals. @param {Page} page @param {MatchDocument} document */
export function leagueTable(page, document) {
  const {t} = page;
  const {players, ratings} = document;
  if (!players.length) return nothing;
  const rated = new Map((ratings?.players ?? []).map(player => [player.name, player]));
  /** @param {string} name */
  const place = name => (ratings ? ratings.players.findIndex(player => player.name === name) : 0);
  const rows = [...players].sort((one, other) => (place(one.name) + 1 || Infinity) - (place(other.name) + 1 || Infinity));
  const scale = scaleOf([...rated.values()].map(({low, high, rating}) => ({low, high, value: rating})));
  return html`<section class="card scroll" tabindex="0"><h2>${t("match.league")}</h2><table data-table="league">
    <thead><tr><th scope="col" class="number">#</th><th scope="col">${t("match.player")}</th><th scope="col" class="number">Elo</th><th scope="col">${t("match.interval")}</th><th scope="col" class="number" title=${t("match.cfsLong")}>CFS</th>
      <th scope="col">${t("match.wdl")}</th><th scope="col" class="number">${t("match.score")}</th><th scope="col">${t("match.asBlack")}</th><th scope="col">${t("match.asWhite")}</th><th scope="col" class="number">${t("match.failed")}</th></tr></thead>
    <tbody>${rows.map((player, index) => {
      const rating = rated.get(player.name);
      const text = rating ? ratingText(rating) : "–";
      return html`<tr data-player=${player.name}><td class="number">${index + 1}</td><th scope="row">${player.name}</th><td class="number" data-rating=${rating?.rating ?? ""}>${text}</td>
        <td>${rating ? dot({low: rating.low, high: rating.high, value: rating.rating}, scale, `${player.name}: ${text}`, 0) : nothing}</td>
        <td class="number">${typeof rating?.cfs !== "number" ? "–" : `${number(rating.cfs, 1)} %`}</td>
        <td>${wdl(player)}</td><td class="number">${percent(player.score)}</td>
        <td>${wdl(player.as_black)} ${percent(player.as_black.score, 0)}</td><td>${wdl(player.as_white)} ${percent(player.as_white.score, 0)}</td><td class="number">${player.failures || ""}</td></tr>`;
    })}</tbody></table>
    ${ratings ? html`<p class="muted small">${t("match.ratingNote", {advantage: signed(ratings.first_mover_advantage, 0), draws: number(ratings.draw_rate, 1)})}</p>` : nothing}
    ${(ratings?.notes ?? []).map(note => html`<p class="muted small" lang="en">${note}</p>`)}</section>`;
}

/** @param {PlayerRating} rating */
const ratingText = rating => `${rating.bound}${signed(rating.rating)}${rating.error === null ? "" : ` ±${number(rating.error)}`}`;

/** Who scored what against whom, with the counts. @param {Page} page @param {MatchDocument} document */
export function crossTable(page, document) {
  const {t} = page;
  const {players, pairs, ratings} = document;
  if (players.length < 2 || !pairs.length) return nothing;
  const order = (ratings?.players ?? players).map(player => player.name);
  const names = [...order, ...players.map(player => player.name).filter(name => !order.includes(name))];
  /** @type {Map<string, MatchScore>} */
  const met = new Map();
  for (const pair of pairs) {
    met.set(`${pair.first}\n${pair.second}`, pair);
    met.set(`${pair.second}\n${pair.first}`, {
      wins: pair.losses,
      losses: pair.wins,
      draws: pair.draws,
      games: pair.games,
      score: pair.score === null ? null : 1 - pair.score,
    });
  }
  return html`<section class="card scroll" tabindex="0"><h2>${t("match.cross")}</h2><table class="cross" data-table="cross">
    <thead><tr><th scope="col">${t("match.player")}</th>${names.map(name => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${names.map(
      row =>
        html`<tr><th scope="row">${row}</th>${names.map(column => {
          const score = met.get(`${row}\n${column}`);
          return row === column
            ? html`<td class="self">·</td>`
            : html`<td>${score ? html`${wdl(score)}<br><small>${percent(score.score)}</small>` : "–"}</td>`;
        })}</tr>`,
    )}</tbody></table><p class="muted small">${t("match.crossNote")}</p></section>`;
}

/** Both Elos of each two players, from pairs of games. @param {Page} page @param {MatchDocument} document */
export function pairTable(page, document) {
  const {t} = page;
  const pairs = document.pairs.slice(0, 60);
  if (!pairs.length) return nothing;
  const scale = scaleOf(pairs.map(({elo, elo_low, elo_high}) => ({low: elo_low, high: elo_high, value: elo})));
  return html`<section class="card scroll" tabindex="0"><h2>${t("match.pairs")}</h2><table data-table="pairs">
    <thead><tr><th scope="col">${t("match.pair")}</th><th scope="col">${t("match.wdl")}</th><th scope="col" class="number">${t("match.logistic")}</th><th scope="col">${t("match.interval")}</th>
      <th scope="col" class="number">${t("match.normalized")}</th><th scope="col" class="number">LOS</th><th scope="col">${t("match.pentanomial")}</th></tr></thead>
    <tbody>${pairs.map(
      pair => html`<tr><th scope="row">${pair.first} – ${pair.second}</th><td>${wdl(pair)}</td><td class="number">${eloText(t, pair)}</td>
      <td>${dot({low: pair.elo_low, high: pair.elo_high, value: pair.elo}, scale, `${pair.first} – ${pair.second}: ${eloText(t, pair)}`, 0)}</td>
      <td class="number">${signed(pair.nelo)}${pair.nelo_error === null ? "" : ` ±${number(pair.nelo_error)}`}</td><td class="number">${percent(pair.los)}</td><td>${pair.pentanomial.join(" · ")}</td></tr>`,
    )}</tbody></table>
    <p class="muted small">${t("match.pairsNote")}</p></section>`;
}

/** @param {Page["t"]} t @param {EloRange} range */
function eloText(t, {elo, elo_error: error, elo_low: low, elo_high: high}) {
  if (elo !== null) return `${signed(elo)} ±${number(error)}`;
  if (low !== null) return t("match.above", {elo: signed(low)});
  return high === null ? "–" : t("match.below", {elo: signed(high)});
}

const WIDTH = 560;
const LEFT = 40;
const RIGHT = 520;
const Y = 40;

/** The sequential test: where its log-likelihood ratio is between the bounds. @param {Page} page @param {MatchDocument} document */
export function sprtView(page, document) {
  const {t} = page;
  const {sprt} = document;
  if (!sprt) return nothing;
  /** @param {number} llr */
  const x = llr => LEFT + ((RIGHT - LEFT) * (Math.min(sprt.upper, Math.max(sprt.lower, llr)) - sprt.lower)) / (sprt.upper - sprt.lower);
  /** @param {number} value */
  const two = value => number(value, 2);
  const model = t(`match.model.${sprt.model}`);
  const text = t("match.llr", {llr: two(sprt.llr), lower: two(sprt.lower), upper: two(sprt.upper)});
  return html`<section class="card sprt" data-decision=${sprt.decision}><h2>${t("match.sprt")}</h2>
    <p>${t("match.hypotheses", {first: sprt.first, second: sprt.second, elo0: number(sprt.elo0, 1), elo1: number(sprt.elo1, 1), model, alpha: percent(sprt.alpha, 0), beta: percent(sprt.beta, 0)})}</p>
    <svg viewBox=${`0 0 ${WIDTH} 66`} role="img" aria-label=${text}>
      <line class="axis" x1=${LEFT} x2=${RIGHT} y1=${Y} y2=${Y}></line>
      ${[
        {bound: sprt.lower, name: "H0"},
        {bound: sprt.upper, name: "H1"},
      ].map(
        ({bound, name}) =>
          svg`<line class="bound" x1=${x(bound)} x2=${x(bound)} y1=${Y - 12} y2=${Y + 12}></line><text x=${x(bound)} y="16">${name}</text><text x=${x(bound)} y="64">${two(bound)}</text>`,
      )}
      <line class="zero" x1=${x(0)} x2=${x(0)} y1=${Y - 7} y2=${Y + 7}></line>
      <circle class="llr" cx=${x(sprt.llr)} cy=${Y} r="7"></circle></svg>
    <p><b data-llr=${sprt.llr}>${text}</b>. ${t(`match.decision.${sprt.decision}`)}</p>
    ${sprt.elo ? html`<p>${t("match.sequentialElo", {elo: signed(sprt.elo.elo, 1), low: signed(sprt.elo.low, 1), high: signed(sprt.elo.high, 1), los: percent(sprt.elo.los)})}</p>` : nothing}
    <p class="muted small">${t("match.pentanomial")}: ${sprt.pairs.join(" · ")}</p></section>`;
}

/** How the games ended, and what went wrong. @param {Page} page @param {MatchDocument} document */
export function endings(page, document) {
  const {t} = page;
  const found = Object.entries(document.terminations ?? {});
  const {failures, warnings} = document;
  if (!found.length && !warnings?.length) return nothing;
  return html`<section class="card"><h2>${t("match.endings")}</h2><p class="facts-line" data-part="endings">${found.map(([name, count]) => html`<span>${page.word("end", name)} <b>${number(count)}</b></span>`)}</p>
    ${failures?.length ? html`<p class="warning">${t("match.failures")}: ${failures.slice(-10).map(({game, engine, kind}) => html`<span>${engine} (${page.word("end", kind)}, ${t("match.game")} ${game}) </span>`)}</p>` : nothing}
    ${warnings?.length ? html`<p class="warning" data-part="warnings">${t("match.warnings")}: ${warnings.map(text => html`<span>${text} </span>`)}</p>` : nothing}</section>`;
}

const FORFEITS = ["time_up", "illegal_move", "crash", "stall", "protocol"];

/** Who lost on time, by illegal moves and by failures, and Elo without these games. @param {Page} page @param {MatchDocument} document */
export function forfeitTable(page, document) {
  const {t} = page;
  /** @param {MatchPlayer} player */
  const total = player => FORFEITS.reduce((sum, kind) => sum + player.forfeits[kind], 0);
  const players = document.players.filter(player => total(player));
  if (!players.length) return nothing;
  const notable = players.filter(player => player.rests_on_forfeits).map(player => player.name);
  return html`<section class="card scroll" tabindex="0"><h2>${t("match.forfeits")}</h2><table data-table="forfeits">
    <thead><tr><th scope="col">${t("match.player")}</th><th scope="col" class="number">${t("match.ofLosses")}</th>${FORFEITS.map(kind => html`<th scope="col" class="number">${page.word("end", kind)}</th>`)}
      <th scope="col" class="number">Elo</th><th scope="col" class="number">${t("match.withoutForfeits")}</th></tr></thead>
    <tbody>${players.map(
      player => html`<tr data-player=${player.name}><th scope="row">${player.name}</th><td class="number">${number(total(player))} / ${number(player.losses)}</td>
      ${FORFEITS.map(kind => html`<td class="number">${player.forfeits[kind] || ""}</td>`)}<td class="number">${eloText(t, player)}</td><td class="number">${eloText(t, player.without_forfeits)}</td></tr>`,
    )}</tbody></table>
    ${notable.length ? html`<p class="warning" data-part="forfeit-warning">${t("match.forfeitWarning", {names: notable.join(", ")})}</p>` : nothing}</section>`;
}

/** How long the engines took, and what they did not know of. @param {Page} page @param {MatchDocument} document */
export function timesTable(page, document) {
  const {t} = page;
  const players = document.players.filter(player => player.time);
  if (!players.length) return nothing;
  /** @param {Times | null} times */
  const three = times => [times?.mean_ms, times?.median_ms, times?.greatest_ms].map(ms => html`<td class="number">${number(ms)}</td>`);
  return html`<section class="card scroll" tabindex="0"><h2>${t("match.times")}</h2><table data-table="times">
    <thead><tr><th scope="col">${t("match.player")}</th><th scope="col" class="number">${t("match.moves")}</th><th scope="col" class="number">${t("match.meanTime")}</th><th scope="col" class="number">${t("match.median")}</th><th scope="col" class="number">${t("match.greatest")}</th>
      <th scope="col" class="number">${t("match.overhead")}</th><th scope="col" class="number">${t("match.median")}</th><th scope="col" class="number">${t("match.greatest")}</th></tr></thead>
    <tbody>${players.map(player => html`<tr data-player=${player.name}><th scope="row">${player.name}</th><td class="number">${number(player.time?.count)}</td>${three(player.time)}${three(player.overhead)}</tr>`)}</tbody></table>
    <p class="muted small">${t("match.timesNote")}</p></section>`;
}

/** @param {Page} page @param {MatchDocument} document */
export function strategies(page, document) {
  const {t} = page;
  const found = document.strategies;
  if (!found?.rows.length) return nothing;
  const scale = {low: -0.04, high: 1.04};
  return html`<details class="card scroll" tabindex="0" open><summary><b>${t("match.strategies")}</b></summary><table data-table="strategies">
    <thead><tr><th scope="col">${t("match.strategy")}</th><th scope="col" class="number">${t("match.games")}</th><th scope="col" class="number">${t("match.share")}</th><th scope="col" class="number">☗ ${t("match.winRate")}</th><th scope="col">${t("match.interval")}</th>
      <th scope="col" class="number">☖ ${t("match.winRate")}</th><th scope="col" class="number">${t("match.draws")}</th></tr></thead>
    <tbody>${found.rows.map(
      row => html`<tr><th scope="row">${page.language === "ja" ? row.name : row.english}</th><td class="number">${number(row.games)}</td><td class="number">${percent(row.share)}</td><td class="number">${percent(row.black_rate)}</td>
      <td>${dot({low: row.black_low, high: row.black_high, value: row.black_rate}, scale, `${percent(row.black_rate)} (${percent(row.black_low)}–${percent(row.black_high)})`, 0.5)}</td>
      <td class="number">${percent(row.white_rate)}</td><td class="number">${percent(row.draw_rate)}</td></tr>`,
    )}</tbody></table>
    <p class="muted small">${t("match.strategyNote", {games: number(found.games), combinations: number(found.combinations)})}</p></details>`;
}
