"use strict";
// The board and its controls. Text of the record enters the page by textContent alone; nothing is loaded.
(() => {
  const plies = JSON.parse(document.getElementById("replay").textContent);
  const viewer = document.getElementById("viewer"), board = document.getElementById("board");
  const [cellW, cellH] = board.dataset.cell.split(" ").map(Number);
  const layers = Object.fromEntries(["under", "pieces", "over"].map(name => [name, board.querySelector("." + name)]));
  const status = document.getElementById("status"), lines = document.getElementById("lines"), graph = document.getElementById("graph");
  const mistakes = plies.flatMap((entry, ply) => (entry.verdict ? [ply] : []));
  const FACES = {
    P: "pawn", L: "lance", N: "knight", S: "silver", G: "gold", B: "bishop", R: "rook", K: "king",
    "+P": "pro-pawn", "+L": "pro-lance", "+N": "pro-knight", "+S": "pro-silver", "+B": "horse", "+R": "dragon",
  };
  const IN_HAND = ["R", "B", "G", "S", "N", "L", "P"];
  let current = 0, turned = false;
  let trial = null;  // the line that is being played through: {line, item, step}

  // Elements.

  function make(tag, css, ...children) {
    const element = document.createElement(tag);
    if (css) element.className = css;
    element.append(...children);
    return element;
  }

  function draw(tag, attributes) {
    const element = document.createElementNS(board.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  /** A text that is the same in both languages, or [Japanese, English]: the style shows one of them. */
  function words(text) {
    const fragment = document.createDocumentFragment();
    if (typeof text === "string") {
      fragment.append(text);
      return fragment;
    }
    for (const [index, language] of ["ja", "en"].entries()) {
      const span = make("span", language, text[index]);
      span.lang = language;
      fragment.append(span);
    }
    return fragment;
  }

  // The board.

  /** Squares by their USI names, the hands, and the side to move, of an SFEN. */
  function position(sfen) {
    const [rows, turn, held] = sfen.split(" "), squares = new Map(), hands = {b: {}, w: {}};
    for (const [y, row] of rows.split("/").entries()) {
      let file = 9;
      for (const [piece] of row.matchAll(/\d|\+?[a-z]/gi)) {
        if (/\d/.test(piece)) file -= +piece;
        else squares.set(file-- + "abcdefghi"[y], piece);
      }
    }
    for (const [, count, piece] of held.matchAll(/(\d*)([a-z])/gi)) {
      hands[piece === piece.toUpperCase() ? "b" : "w"][piece.toUpperCase()] = +(count || 1);
    }
    return {squares, hands, turn};
  }

  /** Make a move of a line, which the engine has found legal. */
  function play(place, usi) {
    const {squares, hands, turn} = place, to = usi.slice(2, 4), held = hands[turn];
    if (usi[1] === "*") {
      held[usi[0]] -= 1;
      squares.set(to, turn === "b" ? usi[0] : usi[0].toLowerCase());
    } else {
      const from = usi.slice(0, 2), taken = squares.get(to)?.replace("+", "").toUpperCase();
      if (taken) held[taken] = (held[taken] ?? 0) + 1;
      squares.set(to, (usi[4] ?? "") + squares.get(from));
      squares.delete(from);
    }
    place.turn = turn === "b" ? "w" : "b";
  }

  /** The upper left corner of a square. */
  function corner(square) {
    const column = 9 - square[0], row = "abcdefghi".indexOf(square[1]);
    return turned ? [(8 - column) * cellW, (8 - row) * cellH] : [column * cellW, row * cellH];
  }

  function center(square) {
    const [x, y] = corner(square);
    return [x + cellW / 2, y + cellH / 2];
  }

  function koma(piece, x, y, scale = 1) {
    const isBlack = piece === piece.toUpperCase(), kind = piece.toUpperCase();
    const face = kind === "K" && isBlack ? "king-dotted" : FACES[kind], turn = isBlack === turned ? " rotate(180)" : "";
    return draw("use", {
      href: "#koma-" + face, width: cellW, height: cellH,
      transform: `translate(${x},${y}) scale(${scale})${turn} translate(${-cellW / 2},${-cellH / 2})`,
    });
  }

  function square(name, css) {
    const [x, y] = corner(name);
    return draw("rect", {class: css, x, y, width: cellW, height: cellH});
  }

  /** A move over the board: an arrow, or for a drop the piece in a disc. */
  function arrow(usi, turn, css) {
    const [x, y] = center(usi.slice(2, 4));
    if (usi[1] === "*") {
      const piece = turn === "b" ? usi[0] : usi[0].toLowerCase();
      return [draw("circle", {class: "arrow " + css, cx: x, cy: y, r: 17}), koma(piece, x, y, 0.8)];
    }
    const [x0, y0] = center(usi.slice(0, 2)), length = Math.hypot(x - x0, y - y0);
    const head = length - 15, angle = (Math.atan2(y - y0, x - x0) * 180) / Math.PI;
    const d = `M3,-3H${head}V-8L${length - 2},0L${head},8V3H3Z`;
    return [draw("path", {class: "arrow " + css, d, transform: `translate(${x0},${y0}) rotate(${angle})`})];
  }

  const isOnBoard = usi => usi !== undefined && usi !== "win" && usi !== "resign";

  /** The arrows of a position: the best move, and in another colour the move of the game if it is a mistake. */
  function arrows(entry, next, turn) {
    const best = entry.lines?.[0]?.usi.split(" ")[0], drawn = [];
    if (next?.verdict && next.usi !== best) drawn.push(...arrow(next.usi, turn, "played"));
    if (isOnBoard(best)) drawn.push(...arrow(best, turn, "best"));
    return drawn;
  }

  function showBoard({squares, hands, turn}, last, over, label) {
    const under = [];
    if (last) {
      if (last[1] !== "*") under.push(square(last.slice(0, 2), "last from"));
      under.push(square(last.slice(2, 4), "last to"));
    }
    layers.under.replaceChildren(...under);
    layers.pieces.replaceChildren(...[...squares].map(([name, piece]) => koma(piece, ...center(name))));
    layers.over.replaceChildren(...over);
    for (const [color, side] of [["white", "w"], ["black", "b"]]) {
      const plate = document.getElementById("hand-" + color), held = IN_HAND.filter(piece => hands[side][piece]);
      plate.replaceChildren(...held.flatMap(piece => inHand(piece, hands[side][piece], (side === "w") !== turned)));
      plate.parentElement.classList.toggle("turn", turn === side);
    }
    viewer.classList.toggle("turned", turned);
    board.setAttribute("aria-label", label);
  }

  function inHand(piece, count, isTurned) {
    const svg = draw("svg", {viewBox: `0 0 ${cellW} ${cellH}`, "aria-hidden": "true", class: isTurned ? "white-piece" : ""});
    svg.append(draw("use", {href: "#koma-" + FACES[piece], width: cellW, height: cellH}));
    return count > 1 ? [svg, make("b", "", String(count))] : [svg];
  }

  // The numbers.

  function bar(winrate) {
    const svg = draw("svg", {class: "bar", "aria-hidden": "true"});
    svg.append(draw("rect", {width: winrate + "%", height: "100%"}));
    return svg;
  }

  function showStatus(entry, ply) {
    const title = make("p", "headline");
    if (ply === 0) title.append(make("b", "", words(["開始局面", "Start"])));
    else title.append(make("span", "count", words([`${ply}手目`, `${ply}.`])), make("b", "", entry.name));
    const advice = make("p", "advice");
    if (entry.verdict) {
      const {kind, loss, marks, best} = entry.verdict;
      title.append(make("span", "kind " + kind, words(entry.verdict.words), ` −${loss} %`));
      for (const mark of marks) title.append(make("span", "sub", words(mark)));
      const button = make("button", "", best);
      button.type = "button";
      button.addEventListener("click", () => go(ply - 1));
      advice.append(words(["最善は", "Best: "]), button);
    }
    status.replaceChildren(title, scores(entry), advice);
  }

  function scores({evaluation, winrate}) {
    if (!evaluation) return make("p", "sub", words(["この局面は解析していません", "This position was not analysed"]));
    const value = make("span", "", words(["評価値 ", "eval. "]), make("b", "", words(evaluation)));
    return make("p", "scores", value, bar(winrate), make("span", "", `☗ ${Math.round(winrate)} %`));
  }

  function candidate(line, isPlayed) {
    const moves = line.names.split(" "), name = make("button", "name", moves[0]), rest = make("span", "line");
    name.type = "button";
    if (isPlayed) name.append(make("span", "tag", words(["実戦", "played"])));
    const numbers = make("span", "numbers-of-line", make("b", "", words(line.evaluation)));
    numbers.append(make("span", "", `${line.winrate.toFixed(1)} %`), make("span", "", line.visits ? line.visits.toLocaleString("en") : ""));
    for (const move of moves.slice(1)) rest.append(make("span", "", move), " ");
    const item = make("li", "", name, numbers, rest);
    item.addEventListener("click", event => {
      const steps = [...item.querySelectorAll(".line span")];
      tryLine({line, item, step: steps.indexOf(event.target) + 2});
    });
    return item;
  }

  function showCandidates(entry, next) {
    const isPlayed = line => line.usi.split(" ")[0] === next?.usi;
    const items = (entry.lines ?? []).map(line => candidate(line, isPlayed(line)));
    if (entry.played) {
      const item = candidate(entry.played, true);
      item.className = "played " + (next.verdict?.kind ?? "");
      items.push(item);
    }
    lines.replaceChildren(...items);
  }

  function showPlace(ply) {
    document.querySelector("tr.now")?.classList.remove("now");
    document.getElementById("ply-" + ply)?.classList.add("now");
    if (!graph) return;
    const {first, last} = graph.dataset, share = (100 * (ply - first)) / (last - first) + "%", winrate = plies[ply].winrate;
    for (const plot of graph.querySelectorAll(".plot")) {
      plot.classList.toggle("at", winrate !== undefined);
      for (const name of ["x1", "x2"]) plot.querySelector("line.cursor").setAttribute(name, share);
    }
    const dot = graph.querySelector("circle.cursor");
    dot.setAttribute("cx", share);
    dot.setAttribute("cy", 100 - (winrate ?? 0) + "%");
  }

  // Going from ply to ply.

  function go(ply) {
    trial = null;
    current = Math.max(0, Math.min(plies.length - 1, ply));
    const entry = plies[current], next = plies[current + 1];
    const place = position(entry.sfen);
    showBoard(place, entry.usi, arrows(entry, next, place.turn), `${current} ${entry.name ?? ""} ${entry.sfen}`);
    showStatus(entry, current);
    showCandidates(entry, next);
    showPlace(current);
    for (const [name, target] of Object.entries(targets())) enable(name, target !== undefined && target !== current);
  }

  function enable(action, isEnabled) {
    document.querySelector(`[data-action="${action}"]`).disabled = !isEnabled;
  }

  /** Show a line of a candidate on the board, after its first moves. */
  function tryLine({line, item, step}) {
    const usis = line.usi.split(" ").filter(isOnBoard), names = line.names.split(" ");
    const count = Math.min(step, usis.length);
    if (count < 1) return go(current);
    trial = {line, item, step: count};
    const place = position(plies[current].sfen);
    for (const usi of usis.slice(0, count)) play(place, usi);
    showBoard(place, usis[count - 1], [], names[count - 1]);
    const title = make("p", "headline", make("span", "count", words(["読み筋", "Line"]), ` ${count}/${usis.length}`));
    title.append(make("b", "", names[count - 1]));
    const back = make("button", "", words(["本譜に戻る", "Back to the game"]));
    back.type = "button";
    back.addEventListener("click", () => go(current));
    status.replaceChildren(title, scores(line), make("p", "advice", back));
    for (const each of lines.querySelectorAll(".at")) each.classList.remove("at");
    [item.querySelector(".name"), ...item.querySelectorAll(".line span")][count - 1].classList.add("at");
    enable("back", true);
    enable("next", count < usis.length);
  }

  function targets() {
    return {
      first: 0, back: Math.max(0, current - 1), next: Math.min(plies.length - 1, current + 1), last: plies.length - 1,
      "previous-mistake": mistakes.findLast(ply => ply < current), "next-mistake": mistakes.find(ply => ply > current),
    };
  }

  function act(action) {
    if (action === "flip") turned = !turned;
    const steps = {back: -1, next: 1, flip: 0};
    if (trial && action in steps) return tryLine({...trial, step: trial.step + steps[action]});
    go(targets()[action] ?? current);
  }

  const KEYS = {ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", n: "next-mistake", p: "previous-mistake", f: "flip", Escape: "game"};
  document.addEventListener("keydown", event => {
    const action = KEYS[event.key];
    const isModified = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.isComposing;
    if (!action || isModified || event.target.closest("input")) return;
    event.preventDefault();
    act(action);
  });

  for (const button of document.querySelectorAll("[data-action]")) button.addEventListener("click", () => act(button.dataset.action));

  /** Go to a ply from below the board: show the board, too. */
  function jump(ply) {
    go(ply);
    viewer.scrollIntoView({behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"});
  }

  document.addEventListener("click", event => {
    const link = event.target.closest('a[href^="#ply-"]'), row = event.target.closest("tbody tr");
    if (event.ctrlKey || event.metaKey) return;  // another tab
    if (link?.closest("#graph")) event.preventDefault();
    else if (link ?? row) {
      event.preventDefault();
      jump(+(link?.dataset.ply ?? (link?.hash ?? "#" + row.id).slice(5)));
    }
  });

  if (graph) {
    const follow = event => {
      const box = graph.querySelector(".plot").getBoundingClientRect(), {first, last} = graph.dataset;
      const share = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
      go(Math.round(+first + share * (last - first)));
    };
    for (const plot of graph.querySelectorAll(".plot")) {
      plot.addEventListener("click", follow);  // not pointerdown: a finger that scrolls the page begins with it, too
      plot.addEventListener("pointermove", event => event.buttons & 1 && follow(event));
    }
  }

  // The ply in the address.

  const addressed = () => /^#ply-(\d{1,6})$/.exec(location.hash)?.[1];
  addEventListener("hashchange", () => { if (addressed()) jump(+addressed()); });
  go(+(addressed() ?? 0));
  // When the page is loaded the browser scrolls to the row that the address names; the board is elsewhere.
  if (addressed()) addEventListener("load", () => requestAnimationFrame(() => viewer.scrollIntoView()));
})();
