// A learning run and a folder of self-play: ratings over time, accuracies, lengths, endings, results in the league.
import {html, nothing} from "../vendor/lit-html.js";
import {followTheme} from "./chart.js";
import {duration, figure, moment, number, percent} from "./numbers.js";
/** @import {GenerationRow, LeagueRow, LearningDocument, PlayerRating, SelfplayDocument, SelfplayPoint} from "documents" */
/** @import {Page} from "../page.js" */
/** @import {ChartSet, Line, View} from "./chart.js" */

/** A generation with a rating. @typedef {GenerationRow & {rating: number}} RatedRow */

/** @param {Page} page @param {LearningDocument} document @param {ChartSet} charts */
export function learningView(page, document, charts) {
  const {t} = page;
  requestAnimationFrame(followTheme);
  return html`${learningState(page, document)}
    <div class="charts">${learningCharts(page, document, charts)}</div>
    ${generations(page, document)}
    ${ratings(page, document)}
    <details class="card"><summary>${t("runs.settings")}</summary><table><tbody>${Object.entries(document.settings).map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}</tbody></table></details>`;
}

/** @param {Page} page @param {LearningDocument} document */
function learningState(page, document) {
  const {t} = page;
  const {now} = document;
  return html`<section class="card" data-view="learning"><p class="facts-line">
      ${document.is_running ? html`<span class="live">● ${t("runs.running")}</span>` : html`<span class="muted">${t("runs.notRunning")}</span>`}
      <span>${t("learn.generation")} <b data-generation=${document.generation}>${number(document.generation)}</b> / ${number(document.generations)}</span>
      <span>${t("learn.games")} <b>${number(document.games)}</b></span><span>${t("learn.positions")} <b>${number(document.positions)}</b></span>
      ${document.games_an_hour ? html`<span>${t("learn.gamesAnHour")} <b>${number(document.games_an_hour)}</b></span>` : nothing}
      ${document.samples_a_second ? html`<span>${t("learn.samplesASecond")} <b>${number(document.samples_a_second)}</b></span>` : nothing}
      ${document.quarantined ? html`<span class="warning">${t("learn.quarantined")} <b>${number(document.quarantined)}</b></span>` : nothing}
      ${document.network ? html`<span>${t("learn.network")} <b>${document.network}</b></span>` : nothing}</p>
    ${
      now && document.is_running
        ? html`<p class="row"><span>${t("learn.generation")} ${now.generation}: ${page.word("learn.step", now.step)}${now.stage ? ` (${now.stage})` : ""}</span>
      ${now.total ? html`<progress max=${now.total} value=${now.done ?? 0} aria-label=${now.step}></progress><span>${number(now.done)} / ${number(now.total)}</span>` : nothing}</p>`
        : nothing
    }</section>`;
}

/** @param {Page} page @param {LearningDocument} document @param {ChartSet} charts */
function learningCharts(page, document, charts) {
  const {t} = page;
  const {series, history, league} = document;
  const plain = {logX: false, logY: false, xText: String, xLabel: t("learn.generation"), isWhole: true};
  const moved = history.flatMap(({generation, moved}) => (moved === null ? [] : [[generation, moved]]));
  const rated = history.flatMap(row => (row.rating === null ? [] : [{...row, rating: row.rating}]));
  const kept = new Set(document.kept);
  /** @param {Record<string, number[][]>} named @param {string} group */
  const byGeneration = (named, group) => Object.entries(named).map(([name, points], color) => line(page.word(group, name), color, points));
  /** @type {[string, string, Line[], Partial<View>][]} */
  const wanted = [
    ["rating", t("learn.rating"), ratingLines(t, rated, kept, document.anchors), {}],
    ["fresh", t("learn.fresh"), byGeneration(series.fresh, "runs.measure"), {}],
    ["test", t("learn.test"), byGeneration(series.test, "runs.measure"), {}],
    ["plies", t("learn.plies"), series.plies.length ? [line(t("learn.plies"), 0, series.plies)] : [], {}],
    ["endings", t("learn.endings"), byGeneration(series.endings, "learn.ending"), {}],
    ["league", t("learn.league"), leagueLines(league), {range: [-0.03, 1.03]}],
    ["window", t("learn.window"), byGeneration(series.window, "learn.positionsOf"), {}],
    ["moved", t("learn.moved"), moved.length ? [line(t("learn.moved"), 0, moved)] : [], {}],
    ["wrong", t("learn.wrong"), series.wrong.length ? [line(t("learn.wrong"), 0, series.wrong)] : [], {}],
  ];
  const there = wanted.filter(([, , lines]) => lines.length);
  charts.keep(new Set(there.map(([name]) => name)));
  return there.map(([name, title, lines, view]) => charts.show(name, title, lines, {...plain, ...view}));
}

/** @param {string} label @param {number} color @param {number[][]} points  Places and values. @returns {Line} */
const line = (label, color, points) => ({label, color, x: points.map(([x]) => x), y: points.map(([, y]) => y), style: "steps"});

/** The networks that were kept as a line, others as points, the anchors as level lines; with intervals. @param {Page["t"]} t @param {RatedRow[]} rated @param {Set<number>} kept @param {PlayerRating[]} anchors */
function ratingLines(t, rated, kept, anchors) {
  /** @param {RatedRow[]} rows @param {number} sign */
  const ends = (rows, sign) => rows.map(row => (row.error === null ? null : row.rating + sign * row.error));
  /** @param {string} label @param {RatedRow[]} rows @param {number} color @param {Line["style"]} style @returns {Line} */
  const of = (label, rows, color, style) => ({
    label,
    color,
    style,
    x: rows.map(row => row.generation),
    y: rows.map(row => row.rating),
    low: ends(rows, -1),
    high: ends(rows, 1),
  });
  /** @type {Line[]} */
  const lines = [];
  const good = rated.filter(row => kept.has(row.generation));
  const failed = rated.filter(row => !kept.has(row.generation));
  if (good.length) lines.push(of(t("learn.kept"), good, 0, "steps"));
  if (failed.length) lines.push(of(t("learn.notKept"), failed, 9, "points"));
  const generations = rated.map(row => row.generation);
  if (generations.length) {
    const x = [...new Set([Math.min(...generations), Math.max(...generations)])];
    for (const [index, {name, rating}] of anchors.entries())
      lines.push({label: name, color: 1 + (index % 8), style: "points", x, y: x.map(() => rating)});
  }
  return lines;
}

/** Win rates with intervals; of many opponents those that played last. @param {LeagueRow[]} league @returns {Line[]} */
function leagueLines(league) {
  const newest = new Map(league.map(row => [row.opponent, row.generation]));
  const names = [...newest]
    .sort((one, other) => other[1] - one[1])
    .slice(0, 10)
    .map(([name]) => name)
    .sort();
  return names
    .map((name, color) => {
      const rows = league.filter(row => row.opponent === name && row.win_rate !== null);
      return {
        label: name,
        color,
        style: /** @type {Line["style"]} */ ("steps"),
        x: rows.map(row => row.generation),
        y: rows.map(row => row.win_rate),
        low: rows.map(row => row.low),
        high: rows.map(row => row.high),
      };
    })
    .filter(each => each.x.length);
}

/** @param {Page} page @param {LearningDocument} document */
function generations(page, document) {
  const {t} = page;
  /** @type {[string, (row: GenerationRow) => string][]} */
  const columns = [
    ["learn.games", row => number(row.games)],
    ["learn.positions", row => number(row.positions)],
    ["learn.plies", row => number(row.plies_a_game, 1)],
    ["learn.draws", row => percent(row.draws)],
    ["runs.axis.step", row => number(row.steps)],
    ["runs.measure.policy_loss", row => figure(row.policy_loss)],
    ["runs.measure.policy_accuracy", row => percent(row.policy_accuracy)],
    ["runs.measure.value_accuracy", row => percent(row.value_accuracy)],
    [
      "learn.elo",
      row => (row.rating === null ? "–" : `${row.bound}${number(row.rating)}${row.error === null ? "" : ` ±${number(row.error)}`}`),
    ],
    ["learn.time", row => (row.seconds ? duration(row.seconds) : "–")],
  ];
  return html`<section class="card scroll" tabindex="0"><h2>${t("learn.generations")}</h2><table data-table="generations">
    <thead><tr><th scope="col" class="number">${t("learn.generation")}</th>${columns.map(([key]) => html`<th scope="col" class="number">${t(key)}</th>`)}<th scope="col">${t("learn.gate")}</th></tr></thead>
    <tbody>${document.history.map(row => html`<tr><th scope="row" class="number">${row.generation}</th>${columns.map(([, text]) => html`<td class="number">${text(row)}</td>`)}<td>${row.gate ? page.word("learn.gate", row.gate) : "–"}</td></tr>`)}</tbody>
  </table><p class="muted small">${t("learn.freshNote")}</p></section>`;
}

/** @param {Page} page @param {LearningDocument} document */
function ratings(page, document) {
  const {t} = page;
  if (!document.ratings.length) return nothing;
  return html`<section class="card scroll" tabindex="0"><h2>${t("learn.ratings")}</h2><table data-table="ratings">
    <thead><tr><th scope="col">${t("match.player")}</th><th scope="col" class="number">Elo</th><th scope="col" class="number">± 95 %</th><th scope="col" class="number">${t("match.points")}</th><th scope="col" class="number">${t("match.games")}</th></tr></thead>
    <tbody>${document.ratings.map(
      player => html`<tr><th scope="row">${player.name}</th><td class="number">${player.bound}${number(player.rating)}</td><td class="number">${number(player.error)}</td>
      <td class="number">${number(player.points, 1)}</td><td class="number">${number(player.played)}</td></tr>`,
    )}</tbody></table></section>`;
}

/** @param {Page} page @param {SelfplayDocument} document @param {ChartSet} charts */
export function selfplayView(page, document, charts) {
  const {t} = page;
  const {points} = document;
  requestAnimationFrame(followTheme);
  /** @param {SelfplayPoint} point @param {number} count */
  const share = (point, count) => (point.games ? count / point.games : null);
  const at = points.map(point => point.games_before + point.games);
  /** @param {string} label @param {number} color @param {(point: SelfplayPoint) => number | null} value @returns {Line} */
  const of = (label, color, value) => ({label, color, x: at, y: points.map(value), style: "steps"});
  const endings = Object.keys(document.endings).filter(name => document.endings[name]);
  /** @type {[string, string, Line[]][]} */
  const wanted = [
    ["plies", t("learn.plies"), [of(t("learn.plies"), 0, point => point.plies_a_game)]],
    [
      "results",
      t("selfplay.results"),
      [
        of(t("match.blackWins"), 0, point => share(point, point.black_wins)),
        of(t("match.whiteWins"), 1, point => share(point, point.white_wins)),
        of(t("match.draws"), 2, point => share(point, point.draws)),
      ],
    ],
    [
      "endings",
      t("learn.endings"),
      endings.map((name, color) => of(page.word("learn.ending", name), color, point => share(point, point.endings[name] ?? 0))),
    ],
  ];
  const there = points.length ? wanted.filter(([, , lines]) => lines.length) : [];
  charts.keep(new Set(there.map(([name]) => name)));
  const {
    wrong_resignations: [checked, wrong],
  } = document;
  const last = points.at(-1);
  return html`<section class="card" data-view="selfplay"><p class="facts-line"><span>${t("selfplay.chunks")} <b>${number(document.chunks)}</b></span><span>${t("learn.games")} <b data-games=${document.games}>${number(document.games)}</b></span>
      <span>${t("learn.positions")} <b>${number(document.positions)}</b></span><span>${t("learn.plies")} <b>${number(document.plies_a_game, 1)}</b></span>
      <span>${t("match.draws")} <b>${percent(document.games ? document.draws / document.games : null)}</b></span>
      ${checked ? html`<span>${t("learn.wrong")} <b>${percent(wrong / checked)}</b> (${number(wrong)} / ${number(checked)})</span>` : nothing}
      ${last ? html`<span>${t("selfplay.last")} <b>${moment(last.time)}</b></span>` : nothing}
      ${document.damaged ? html`<span class="warning">${t("selfplay.damaged")} <b>${number(document.damaged)}</b></span>` : nothing}</p></section>
    <div class="charts">${there.map(([name, title, lines]) => charts.show(name, title, lines, {logX: false, logY: false, xText: value => number(value), xLabel: t("learn.games"), isWhole: true}))}</div>
    ${
      document.opponents.length
        ? html`<section class="card scroll" tabindex="0"><h2>${t("selfplay.opponents")}</h2><table data-table="opponents"><thead><tr><th scope="col">${t("match.player")}</th><th scope="col">${t("match.wdl")}</th><th scope="col" class="number">${t("selfplay.winRate")}</th></tr></thead>
      <tbody>${document.opponents.map(row => html`<tr><th scope="row">${row.name}</th><td>${row.wins}-${row.draws}-${row.losses}</td><td class="number">${percent(row.win_rate)} (${percent(row.low)}–${percent(row.high)})</td></tr>`)}</tbody></table></section>`
        : nothing
    }
    ${counts(t("selfplay.workers"), document.workers)}${counts(t("selfplay.networks"), document.networks)}`;
}

/** @param {string} title @param {Record<string, number>} found */
const counts = (title, found) =>
  Object.keys(found).length > 1
    ? html`<section class="card"><h2>${title}</h2><table><tbody>${Object.entries(found).map(([name, games]) => html`<tr><th scope="row">${name}</th><td class="number">${number(games)}</td></tr>`)}</tbody></table></section>`
    : nothing;
