// The page as a whole: the context that its parts share, and the shell around the tabs.

import {keyList, keyPressed} from "./actions.js";
import {api, messageOf} from "./api.js";
import {evaluationBar} from "./board/evaluation.js";
import {FactBook} from "./board/facts.js";
import {keepBoardInSight} from "./board/sight.js";
import {BoardView} from "./board/view.js";
import {english} from "./lang/en.js";
import {japanese} from "./lang/ja.js";
import {reasonIn} from "./lang/reasons.js";
import {chooseLanguage, preferredLanguage, translate} from "./language.js";
import {LiveAnalysis} from "./live/analysis.js";
import {PlayedGame} from "./play/game.js";
import {isHandicap, pieceName, westernLine} from "./position.js";
import {Files} from "./record/files.js";
import {emptyRecord, Game} from "./record/game.js";
import {Keeper} from "./record/keeping.js";
import {Setup} from "./record/setup.js";
import {icon, moveBar, recordView, scrollToCurrent, showComment} from "./record/view.js";
import {GameReport} from "./report/report.js";
import {RunList} from "./runs/list.js";
import {remember, setting} from "./settings.js";
import {Sounds} from "./sounds.js";
import {GameTab} from "./tabs/game.js";
import {makeTabs} from "./tabs/index.js";
import {html, nothing} from "./vendor/lit-html.js";

/** @import {AnalysedLine, Facts, GameRecord, JudgedMove, LiveLine, RecordNode, ServerState, TriedQuestion} from "documents" */
/** @import {Host} from "./board/view.js" */
/** @import {Change} from "./record/game.js" */
/** @import {Socket} from "./socket.js" */
/** @import {Tab} from "./tabs/tab.js" */

/** @typedef {LiveLine | (AnalysedLine & {english: string[]})} NamedLine  Its moves have names in both languages. */

/** One file a language, with equal keys. */
const TEXTS = {ja: japanese, en: english};

export class Page {
  /**
   * @param {ServerState} state  What /api/state answers.
   * @param {Socket} socket
   * @param {(template: unknown) => void} draw
   */
  constructor(state, socket, draw) {
    this.state = state;
    this.socket = socket;
    this.draw = draw;
    this.language = preferredLanguage();
    /** The record on the board. */
    this.game = new Game(this.changed);
    /** The last step that took something away, which one can undo. @type {{text: string, run: () => void} | null} */
    this.undoing = null;
    this.keeper = new Keeper(this);
    this.facts = new FactBook(
      (game, id, facts) => this.factsArrived(game, id, facts),
      error => this.notify(this.because(error)),
    );
    this.flip = false;
    this.message = "";
    this.spoken = "";
    this.sounds = new Sounds();
    /** The node that was on the board before. @type {number | null} */
    this.placeBefore = null;
    /** Why the last move that was tried is not legal. */
    this.fault = "";
    this.isAsked = false;
    this.wasConnected = false;
    /** The node that was scrolled into sight. @type {RecordNode | null} */
    this.scrolledTo = null;
    /** The move whose comment is being written while a game goes on. @type {{game: Game, id: number} | null} */
    this.noted = null;
    /** The tab whose name was scrolled into sight, where not all names fit. @type {Tab | null} */
    this.tabInSight = null;
    /** How far the page was scrolled when a tab was left. @type {Map<Tab, number>} */
    this.scrolled = new Map();
    this.view = new BoardView(this.boardHost());
    this.files = new Files(this);
    this.setup = new Setup(this);
    this.live = new LiveAnalysis(this);
    this.report = new GameReport(this);
    /** The game against the engine. */
    this.play = new PlayedGame(this);
    /** What there is of runs and matches. */
    this.runs = new RunList(this);
    this.gameTab = new GameTab(this);
    this.tabs = makeTabs(this, this.gameTab);
    /** The tab that is shown. */
    this.tab = this.tabNamed(location.hash.slice(1)) ?? this.tabs[0];
  }

  /** Show the page and what was named on the command line. */
  async begin() {
    this.theme(setting("theme", ""));
    this.speak();
    addEventListener("keydown", event => keyPressed(event, this));
    addEventListener("resize", () => this.update());
    keepBoardInSight();
    addEventListener("hashchange", () => this.openTab(location.hash.slice(1)));
    this.files.listen();
    this.socket.on("state", message => {
      const before = this.state.network.identity;
      Object.assign(this.state, message.state); // also after a reconnection, when the server may be another one
      if (before && before !== this.state.network.identity) this.live.forget();
      this.update();
    });
    for (const event of /** @type {const} */ (["open", "close"])) this.socket.on(event, () => this.update());
    const returned = this.keeper.returned();
    if (returned) {
      this.game = this.keeper.goOn(returned.game);
      this.flip = returned.flip;
      this.report.goOn(returned.job);
      if (returned.setup) this.setup.goOn(returned.setup);
    }
    this.keeper.listen();
    this.tab.enter();
    this.positionChanged();
    this.render();
    this.socket.connect();
    await this.files.openFirst(returned);
    if (!returned) await this.keeper.offer();
    await this.keeper.recalled;
    if (returned?.quiz) this.gameTab.goOn(returned.quiz);
    this.render(); // what is typed next is for this record, not for the one that was drawn before it came
  }

  // ------------------------------------------------------------------------------------ context

  /** A text in the reader's language. @param {string} key @param {Record<string, string | number>} [values] */
  t = (key, values) => translate(TEXTS[this.language], key, values);

  /** A move or another thing with a Japanese and an English name. @param {{japanese?: string, english?: string, usi?: string | null} | null | undefined} named */
  nameOf(named) {
    if (!named) return "";
    return (this.language === "ja" ? named.japanese : named.english || named.japanese) || named.usi || "";
  }

  /** A move of a line. @param {NamedLine} line @param {number} step */
  moveName(line, step) {
    return this.nameOf({japanese: line.japanese[step], english: line.english[step], usi: line.pv[step]});
  }

  /** A line's moves; it breaks between them. @param {NamedLine} line */
  lineText(line) {
    return line.pv.map((_, step) => html`<span class="nowrap">${this.moveName(line, step)}</span> `);
  }

  /** The best line of a report at a ply of the main line; documents name moves in Japanese only. @param {number} ply @returns {NamedLine | undefined} */
  reportLine(ply) {
    const line = this.report.positionAt(ply)?.lines[0];
    return line && {...line, english: westernLine(this.game.positionAt(this.game.mainLine()[ply]), line.pv)};
  }

  /** A move of a report. @param {JudgedMove} move */
  judgedName(move) {
    const node = this.game.node(this.game.mainLine()[move.ply]);
    return this.nameOf({japanese: move.japanese, english: node?.english, usi: move.move});
  }

  /** @param {string} kind */
  pieceName(kind) {
    return pieceName(kind, this.language);
  }

  /**
   * A score from Black's side; a mate is proven. Its length counts from the next move of the side that mates, so it is odd.
   * @param {{cp: number | null, mate: number | null, win_rate?: number | null}} score
   */
  scoreText({cp, mate, win_rate}) {
    if (cp === null) return "–";
    const side = cp > 0 ? "☗" : "☖";
    if (mate !== null && mate !== undefined)
      return mate ? this.t("score.mate", {side, plies: (Math.abs(mate) - 1) | 1}) : this.t("score.wins", {side});
    if (win_rate === 0 || win_rate === 1) return this.t("score.mates", {side});
    return cp > 0 ? `+${cp}` : String(cp).replace("-", "−");
  }

  /** The text of a key that ends with a word of the server; the word itself where the page does not know it. @param {string} group @param {string} word */
  word(group, word) {
    return `${group}.${word}` in english ? this.t(`${group}.${word}`) : word.replaceAll("_", " ");
  }

  /** Render again, once for all changes until the next frame. */
  update = () => {
    if (this.isAsked) return;
    this.isAsked = true;
    const again = () => {
      this.isAsked = false;
      this.render();
    };
    if (document.hidden) setTimeout(again);
    else requestAnimationFrame(again);
  };

  /** A message to the reader. @param {string} text */
  notify(text) {
    this.message = text;
    this.update();
  }

  /** Tell screen readers. @param {string} text */
  say = text => {
    this.spoken = text;
    this.update();
  };

  /** @param {string} id */
  tabNamed(id) {
    return this.tabs.find(tab => tab.id === id);
  }

  /** @param {string} id */
  openTab(id) {
    const tab = this.tabNamed(id);
    if (!tab || tab === this.tab) return;
    this.scrolled.set(this.tab, scrollY);
    this.tab.leave();
    this.tab = tab;
    this.view.clear();
    history.replaceState(null, "", `#${id}`);
    tab.enter();
    this.update();
  }

  /** Put a record on the board, and show the board. @param {GameRecord} record @param {boolean} [staysOnTab]  Do not show it. */
  openRecord(record, staysOnTab = false) {
    this.show(new Game(this.changed, record));
    if (!this.tab.hasBoard && !staysOnTab) this.openTab("analyse");
  }

  /** Put another record on the board. That before it is not lost: undoing brings it back. @param {Game} game */
  show(game) {
    const before = this.game;
    if (game === before) return;
    this.setup.close();
    this.game = game;
    if (!before.isEmpty)
      this.undoable(before.isEdited ? this.t(this.keeper.isKeeping ? "undo.opened" : "undo.unkept") : "", () => this.show(before));
    this.positionChanged();
  }

  // ------------------------------------------------------------------------------------ undoing

  /** A step took something away. @param {string} text  Which tells the reader; empty if it need not be told. @param {() => void} run  Brings it back. */
  undoable(text, run) {
    this.undoing = {text, run};
    this.update();
  }

  /** Change the record on the board, which one can undo. @param {string} text @param {() => void} change */
  changeRecord(text, change) {
    const {game} = this;
    const before = game.snapshot();
    change();
    this.undoable(text, () => {
      this.changeRecord("", () => game.restore(before));
    });
  }

  /** Undo the last step that took something away; doing it again is the next step. */
  undo() {
    const step = this.undoing;
    if (!step) return;
    this.undoing = null;
    step.run();
    const next = /** @type {{text: string, run: () => void} | null} */ (this.undoing);
    if (next) next.text = "";
    this.play.followAgain();
    this.update();
  }

  /** The node whose comment the field shows: that on the board, or that where the reader is still writing. */
  get notedNode() {
    const {game, noted} = this;
    return noted?.game === game && game.nodes.has(noted.id) ? noted.id : game.place;
  }

  /** The board is about to go on from a move: who is writing its comment stays with it. @param {Game} game */
  keepNoting(game) {
    if (game === this.game && document.activeElement?.id === "comment") this.noted ??= {game, id: game.place};
  }

  /** The comment is written. */
  endNoting() {
    this.noted = null;
    this.update();
  }

  /** Delete a move of the record with all that follows. @param {number} id */
  deleteFrom(id) {
    const {game, play} = this;
    if (play.owns(game, id)) return this.notify(this.t("play.notDeleted"));
    this.changeRecord(this.t("undo.deleted", {move: this.nameOf(game.node(id))}), () => game.remove(id));
  }

  /** Begin a record from the even game's first position. */
  newRecord() {
    this.openRecord(emptyRecord());
  }

  /** @param {boolean} flip */
  setFlip(flip) {
    this.flip = flip;
    this.view.clear();
    this.update();
  }

  speak() {
    document.documentElement.lang = this.language;
    document.title = this.t("page.title");
  }

  /** @param {"ja" | "en"} language */
  setLanguage(language) {
    this.language = language;
    chooseLanguage(language);
    this.speak();
    this.update();
  }

  /** Light, dark, or as the browser has it. @param {string} theme */
  theme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    remember("theme", theme);
    this.update();
  }

  // ------------------------------------------------------------------------------------ the board

  /** A record has changed. @param {Game} game @param {Change} what */
  changed = (game, what) => {
    if (what !== "place") this.keeper.changed(game);
    if (game !== this.game) return;
    if (what === "notes") this.update();
    else this.positionChanged();
  };

  positionChanged() {
    this.fault = "";
    if (this.game.current.parent === this.placeBefore && this.game.current.parent !== null) this.sounds.piece();
    this.placeBefore = this.game.place;
    this.view.clear();
    this.live?.positionChanged();
    for (const tab of this.tabs) tab.positionChanged();
    this.facts.load(this.game);
    this.update();
  }

  /** @param {Game} game @param {number} id @param {Facts} facts */
  factsArrived(game, id, facts) {
    const node = game.node(id);
    if (node && id !== 0 && !(node.japanese && node.english)) {
      node.japanese ||= facts.japanese ?? "";
      node.english ||= facts.english ?? "";
      this.keeper.changed(game);
    }
    if (game === this.game && id === game.place) this.say([this.nameOf(node), this.situation()].filter(Boolean).join(" "));
    this.update();
  }

  /** Check, repetition, the end, in words. */
  situation() {
    const facts = this.facts.get(this.game);
    if (!facts) return "";
    if (facts.end) return this.endText(facts.end, facts.winner);
    return [facts.check ? this.t("situation.check") : "", facts.declaration ? this.t("situation.declaration") : ""]
      .filter(Boolean)
      .join(" ");
  }

  /** What a side is called: 下手 and 上手 in a handicap game. @param {"b" | "w"} side @param {string} [start] */
  side = (side, start = this.game.start) => this.t(isHandicap(start) ? `side.handicap.${side}` : `side.${side}`);

  /** How a game ended. @param {string | null} end @param {string | null} [winner] @param {string} [ownWord]  Of the record. @param {boolean} [isWithHandicap] */
  endText(end, winner, ownWord, isWithHandicap = isHandicap(this.game.start)) {
    const group = isWithHandicap && winner !== "draw" ? "winner.handicap" : "winner";
    const words = [ownWord || (end ? this.word("end", end) : ""), winner ? this.t(`${group}.${winner}`) : ""];
    return words.filter(Boolean).join(this.language === "ja" ? "、" : ", ");
  }

  /** Say why a move is not legal. @param {string | null} from  A square or hand; null where the piece is the other side's. @param {string} to */
  explain(from, to) {
    if (from === null) this.setFault(this.t("illegal.turn", {side: this.side(this.game.position.turn)}));
    else if (!to.includes(":")) this.explainMove(from.includes(":") ? `${from[2]}*${to}` : from + to);
  }

  /** @param {string} tried  In USI form. */
  async explainMove(tried) {
    const {game} = this;
    const key = game.keyOf();
    /** @type {TriedQuestion} */
    const question = {sfen: game.start, moves: game.moves(), tried};
    try {
      /** @type {{reason: string | null}} */
      const {reason} = await api.post("api/illegal", question);
      if (this.game.keyOf() !== key) return;
      // Without a reason the legal moves were not known yet.
      if (reason === null) this.move(tried);
      else this.setFault(reasonIn(reason, this.language));
    } catch (error) {
      this.notify(this.because(error));
    }
  }

  /** @param {string} text */
  setFault(text) {
    this.fault = text[0].toUpperCase() + text.slice(1);
    this.say(this.fault);
  }

  /** Why something failed, in the reader's language. @param {unknown} error */
  because(error) {
    return reasonIn(messageOf(error), this.language);
  }

  /** The reader makes a move on the board. @param {string} usi */
  move(usi) {
    if (this.tab.onMove(usi)) return;
    this.game.play(usi);
  }

  /** @returns {Host} */
  boardHost() {
    const page = this;
    return {
      drawing: () => this.drawing(),
      legal: () => this.facts.get(this.game)?.legal ?? [],
      move: usi => this.move(usi),
      get place() {
        return page.setup.isOpen ? page.setup.place.bind(page.setup) : null;
      },
      holdsPiece: () => this.setup.isOpen && this.setup.piece !== null,
      illegal: (from, to) => this.explain(from, to),
      say: this.say,
      update: this.update,
      t: this.t,
      side: side => this.side(side),
      language: () => this.language,
    };
  }

  drawing() {
    const {flip} = this;
    if (this.setup.isOpen) return {position: this.setup.position, flip};
    return {position: this.game.position, last: this.game.current.usi, flip, ...this.tab.overlay()};
  }

  // ------------------------------------------------------------------------------------ mistakes

  /** The class of a node's mistake, from the analysis of the game; empty for other moves, and while it is hidden. @param {number} id */
  mistakeAt(id) {
    return this.report.mistakeAt(id);
  }

  /** @param {1 | -1} direction */
  goToMistake(direction) {
    this.report.goToMistake(direction);
  }

  /** Stop what searches for the position on the board, and what the reader is about to do. The analysis of a game goes on. */
  stopAll() {
    if (this.view.choice.length) {
      this.view.clear();
      this.update();
      return;
    }
    this.live.stop();
    this.setup.close();
    this.view.clear();
    this.update();
  }

  // ------------------------------------------------------------------------------------ drawing

  render() {
    this.draw(this.template());
    showComment(this);
    if (this.scrolledTo !== this.game.current) scrollToCurrent();
    this.scrolledTo = this.game.current;
    if (this.tabInSight !== this.tab) document.getElementById(`tab-${this.tab.id}`)?.scrollIntoView({block: "nearest", inline: "nearest"});
    // A list keeps its place: who has opened one of its games comes back to it.
    if (this.tabInSight !== this.tab && !this.tab.hasBoard) scrollTo(0, this.scrolled.get(this.tab) ?? 0);
    this.tabInSight = this.tab;
  }

  template() {
    const {t, tab, tabs} = this;
    const {hasBoard} = tab;
    return html`
      <header class="top">
        <h1>fukayomi <small>${t("page.subtitle")}</small></h1>
        <nav role="tablist" aria-label=${t("page.tabs")} @keydown=${event => this.tabKey(event)}>${tabs.map(
          each => html`<button type="button" role="tab" id=${`tab-${each.id}`}
          aria-selected=${each === tab ? "true" : "false"} aria-controls="panel" tabindex=${each === tab ? 0 : -1}
          @click=${event => this.clickTab(event, each.id)}>${t(`tab.${each.id}`)}</button>`,
        )}</nav>
        ${this.files.bar()}
        ${this.menu()}
      </header>
      <main class=${hasBoard ? "with-board" : "wide"}>
        ${
          hasBoard
            ? html`<div class="game">
          <section class="left" aria-label=${t("page.boardAndRecord")}><div class="stage">
            ${this.view.render(this.game.facts.names, evaluationBar(this))}
            ${moveBar(this)}
            <p class=${`situation ${this.fault ? "error" : ""}`} role="status">${this.setup.isOpen ? "" : this.fault || this.situation()}</p>
          </div></section>
          <section class="record" aria-label=${t("record.title")}>${recordView(this)}</section></div>`
            : nothing
        }
        <section class="panel" id="panel" role="tabpanel" aria-labelledby=${`tab-${tab.id}`}>${hasBoard && this.setup.isOpen ? this.setup.render() : tab.render()}</section>
      </main>
      ${this.banner()}
      <div class="unseen" aria-live="polite" id="spoken">${this.spoken}</div>
      ${keyList(this)}`;
  }

  /** What the reader chooses of the page. */
  menu() {
    const {t} = this;
    const dark = document.documentElement.dataset.theme ?? "";
    return html`<details class="menu settings"><summary aria-label=${t("page.settings")} title=${t("page.settings")}>${icon("settings")}</summary><div class="column">
      <label for="language">${t("page.language")}</label>
      <select id="language" @change=${event => this.setLanguage(event.target.value === "ja" ? "ja" : "en")}>
        <option value="ja" lang="ja" ?selected=${this.language === "ja"}>日本語</option>
        <option value="en" lang="en" ?selected=${this.language === "en"}>English</option>
      </select>
      <label for="theme">${t("page.theme")}</label>
      <select id="theme" @change=${event => this.theme(event.target.value)}>
        ${["", "light", "dark"].map(each => html`<option value=${each} ?selected=${dark === each}>${t(`page.theme.${each || "auto"}`)}</option>`)}
      </select>
      ${["sounds", "countdown"].map(
        each =>
          html`<label class="row"><input type="checkbox" id=${each} .checked=${setting(each, false)} @change=${event => remember(each, event.target.checked)}> ${t(`page.${each}`)}</label>`,
      )}
      <button type="button" data-action="keys" @click=${() => this.toggleKeys()}>${t("keys.title")} <kbd>?</kbd></button>
    </div></details>`;
  }

  /** A tab that the mouse or a finger chose keeps no focus: the arrow keys are the game's. @param {MouseEvent} event @param {string} id */
  clickTab(event, id) {
    this.openTab(id);
    if (event.detail > 0 && document.activeElement instanceof HTMLElement) document.activeElement.blur();
  }

  /** Arrow keys among the tabs. @param {KeyboardEvent} event */
  tabKey(event) {
    const direction = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (!direction) return;
    event.preventDefault();
    event.stopPropagation();
    const next = this.tabs[(this.tabs.indexOf(this.tab) + direction + this.tabs.length) % this.tabs.length];
    this.openTab(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  }

  toggleKeys() {
    const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById("keys"));
    if (dialog?.open) dialog.close();
    else dialog?.showModal();
  }

  /** The connection, the network, and the last message. */
  banner() {
    const {t} = this;
    const {network} = this.state;
    const lost = this.wasConnected && !this.socket.connected;
    this.wasConnected ||= this.socket.connected;
    return html`<div class="banners">
      ${lost ? html`<p class="banner warning" role="status">${t("page.offline")}</p>` : nothing}
      ${network?.state === "loading" ? html`<p class="banner" role="status">${t("page.loading")}</p>` : nothing}
      ${network?.state === "failed" ? html`<p class="banner warning" role="status">${t("page.failed")} ${reasonIn(network.text, this.language)}</p>` : nothing}
      ${
        this.message
          ? html`<p class="banner" role="status"><span>${this.message}</span>
        <button type="button" class="icon" aria-label=${t("page.close")} @click=${() => this.notify("")}>×</button></p>`
          : nothing
      }
      ${
        this.undoing?.text
          ? html`<p class="banner" role="status" data-banner="undo"><span>${this.undoing.text}</span>
        <span class="row"><button type="button" data-action="undo-banner" @click=${() => this.undo()}>${t("undo.undo")}</button>
        <button type="button" class="icon" aria-label=${t("page.close")} @click=${() => this.closeUndo()}>×</button></span></p>`
          : nothing
      }
      ${this.keeper.banner()}
    </div>`;
  }

  /** Tell no more of the last step; it can still be undone. */
  closeUndo() {
    if (this.undoing) this.undoing.text = "";
    this.update();
  }
}
