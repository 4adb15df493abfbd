// Records from files, drop and paste, and to files.

import {api} from "../api.js";
import {html, nothing} from "../vendor/lit-html.js";
import {Game} from "./game.js";

/** @import {Page} from "../page.js" */
/** @import {AnalysisDocument, GameRecord, OpenedGames, ServedFile} from "documents" */
/** @import {Returned} from "./keeping.js" */

/**
 * A game of the list, which keeps what the reader changes in it.
 * @typedef {{record: GameRecord, analysis?: AnalysisDocument, game?: Game, kept?: string}} Listed  `kept`: as which record
 *   it is kept, after the page was loaded again.
 */
/**
 * What a reload goes on with of the list: its file of the command line or else its games, as which records they are kept,
 * and the number of the game on the board.
 * @typedef {{served: number, games: Listed[], kept: string[], at: number}} KeptList
 */

const FORMATS = ["kif", "csa", "jkf", "usi"];
/** @param {ServedFile} file */
const isGame = file => file.kind === "record" || file.kind === "analysis";

/** Let the browser save a file. @param {string} name @param {Blob} content */
export function saveAs(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Copy a text where there is no clipboard for scripts. @param {string} text */
function copyOldWay(text) {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (!isDone) throw new Error("copy");
}

export class Files {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** The games of the last file or files with several games. @type {Listed[]} */
    this.games = [];
    /** The file of the command line that is on the board or in the list; 0 for none. */
    this.served = 0;
  }

  /** Drop anywhere; paste outside of fields. Menus close by Escape, and by a press elsewhere. */
  listen() {
    const opened = () => /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.menu[open]"));
    addEventListener("pointerup", event =>
      opened().forEach(menu => {
        if (!menu.contains(/** @type {Node} */ (event.target))) menu.open = false;
      }),
    );
    addEventListener(
      "keydown",
      event => {
        if (event.key !== "Escape" || !opened().length) return;
        event.stopImmediatePropagation();
        opened().forEach(menu => {
          menu.open = false;
          menu.querySelector("summary")?.focus();
        });
      },
      true,
    );
    addEventListener("dragover", event => {
      if (!event.dataTransfer?.types.includes("Files") && !event.dataTransfer?.types.includes("text/plain")) return;
      event.preventDefault();
      document.documentElement.classList.add("dropping");
    });
    addEventListener("dragleave", event => event.relatedTarget === null && document.documentElement.classList.remove("dropping"));
    addEventListener("drop", event => {
      event.preventDefault();
      document.documentElement.classList.remove("dropping");
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length) this.openFiles(files);
      else this.openText(event.dataTransfer?.getData("text/plain") ?? "");
    });
    addEventListener("paste", event => {
      if (/** @type {Element} */ (event.target).closest?.("input, textarea")) return;
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length) this.openFiles(files);
      else this.openText(event.clipboardData?.getData("text/plain") ?? "");
    });
  }

  /**
   * The first record of the command line; the tab of its runs or matches if it names no record. A tab that the address
   * names stays.
   * @param {Returned | null} returned  What was on the board before the page was loaded again, which stays.
   */
  async openFirst(returned) {
    const files = this.page.state.files;
    const list = returned?.list;
    const first = files.find(file => isGame(file) && file.id === list?.served) ?? files.find(isGame);
    const staysOnTab = location.hash !== "";
    if (list?.games?.length) this.games = list.games;
    else if (first) await this.openServed(first.id, {staysOnTab, stays: returned !== null});
    else if (files.length && !staysOnTab) this.page.openTab(files[0].kind === "matches" ? "matches" : "training");
    if (list && this.served === list.served && this.games.length === list.kept?.length) {
      this.games.forEach((each, index) => {
        each.kept = list.kept[index];
      });
      if (this.games[list.at]) this.games[list.at].game = this.page.game;
    }
    this.page.update();
  }

  /** What a reload goes on with of the list; null if there is none. @returns {KeptList | null} */
  get place() {
    const {games, served, page} = this;
    if (!served && games.length < 2) return null;
    return {
      served,
      games: served ? [] : games.map(({record, analysis}) => ({record, analysis})),
      kept: games.map(({game, kept = ""}) => (game?.isEdited ? game.id : kept)),
      at: games.findIndex(({game}) => game === page.game),
    };
  }

  /** A record of the command line. @param {number} id @param {{staysOnTab?: boolean, stays?: boolean}} [how] */
  async openServed(id, how) {
    if (await this.take([{name: "", ask: () => api.get(`api/files/${encodeURIComponent(id)}`)}], how)) this.served = id;
    this.page.update();
  }

  /** Files that were chosen or dropped, as one list. @param {File[]} files */
  async openFiles(files) {
    await this.take(
      files.map(file => ({name: file.name, ask: () => api.upload(`api/records?name=${encodeURIComponent(file.name)}`, file)})),
    );
  }

  /** The files of a field, which is emptied for the next ones. @param {HTMLInputElement} field */
  async openChosen(field) {
    const files = [...(field.files ?? [])];
    field.value = "";
    if (files.length) await this.openFiles(files);
  }

  /** @param {string} text @returns {Promise<boolean>}  Whether there is a game in it. */
  async openText(text) {
    return text.trim() !== "" && (await this.take([{name: "", ask: () => api.upload("api/records?name=", text)}]));
  }

  /**
   * Open what the server reads: the first game comes on the board; several make a list, one leaves the list as it is.
   * @param {{name: string, ask: () => Promise<OpenedGames>}[]} files
   * @param {{staysOnTab?: boolean, stays?: boolean}} [how]  Whether the tab stays, and the record on the board.
   * @returns {Promise<boolean>}  Whether there is a game.
   */
  async take(files, {staysOnTab = false, stays = false} = {}) {
    const {page} = this;
    /** @type {Listed[]} */
    const found = [];
    /** @type {string[]} */
    const problems = [];
    for (const {name, ask} of files) {
      try {
        const answer = await ask();
        found.push(...answer.games.map((record, index) => ({record, analysis: index ? undefined : answer.analysis})));
        problems.push(
          ...answer.problems.map(each => page.because(each)),
          answer.left_out ? page.t("files.leftOut", {count: answer.left_out}) : "",
        );
      } catch (error) {
        const text = page.because(error);
        problems.push(page.t("files.refused", {text: files.length > 1 && !text.includes(name) ? `${name}: ${text}` : text}));
      }
    }
    page.notify(problems.filter(Boolean).join(" "));
    if (!found.length) return false;
    if (found.length > 1 || this.games.length <= 1) {
      this.games = found;
      this.served = 0;
    }
    const [first] = found;
    if (!stays) await this.openListed(first, staysOnTab);
    else if (first.analysis && !page.game.analysis && !page.report.kept)
      page.report.show(first.analysis, new Game(() => {}, first.record).mainKey);
    if (first.analysis && !staysOnTab) page.openTab("game");
    return true;
  }

  /** Put a game of the list on the board, with what the reader has changed in it. @param {Listed} listed @param {boolean} [staysOnTab] */
  async openListed(listed, staysOnTab = false) {
    const {page} = this;
    if (!listed.game && listed.kept) listed.game = await page.keeper.find(({id}) => id === listed.kept);
    listed.game ??= new Game(page.changed, listed.record);
    if (listed.analysis) listed.game.analysis ??= {document: listed.analysis, key: listed.game.mainKey};
    page.show(listed.game);
    if (!page.tab.hasBoard && !staysOnTab) page.openTab("analyse");
  }

  /** Copy a text. @param {string | Promise<string>} text */
  async copy(text) {
    const {page} = this;
    try {
      if (navigator.clipboard) {
        const content = Promise.resolve(text).then(each => new Blob([each], {type: "text/plain"}));
        await navigator.clipboard.write([new ClipboardItem({"text/plain": content})]);
      } else copyOldWay(await text); // not in a secure context
      page.notify(page.t("files.copied"));
    } catch (error) {
      page.notify(page.t("files.notCopied", {text: page.because(error)}));
    }
  }

  /** @param {string} format @param {AnalysisDocument | null} [analysis] */
  async save(format, analysis) {
    const {page} = this;
    try {
      const {name, content} = await this.fileOf(format, analysis);
      saveAs(name, content);
    } catch (error) {
      page.notify(page.t("files.notSaved", {text: page.because(error)}));
    }
  }

  /** The record on the board as a file. @param {string} format @param {AnalysisDocument | null} [analysis]  Which is written into its comments. */
  fileOf(format, analysis = null) {
    const {game, t} = this.page;
    const record = game.record;
    const {end, winner, end_word: word} = game.ending;
    // The main line did not end like this: the result stays as a fact about the game.
    if (game.last !== null && !game.endsOnMain)
      record.header = {...record.header, [t("record.result")]: this.page.endText(end, winner, word)};
    return api.postForFile("api/save", {record, format, analysis});
  }

  /** @param {GameRecord} game @param {number} index */
  nameOf({names, start}, index) {
    const {page} = this;
    return `${index + 1}. ☗ ${names[0] || page.side("b", start)} – ☖ ${names[1] || page.side("w", start)}`;
  }

  /** New, open, paste, save: the same in all views. */
  bar() {
    const {page} = this;
    const {t} = page;
    return html`<div class="files" role="group" aria-label=${t("files.title")}>
      <button type="button" data-action="new" @click=${() => page.newRecord()}>${t("files.new")}</button>
      <label class="button"><input type="file" class="unseen" id="open-file" multiple @change=${event => this.openChosen(event.target)}>${t("files.open")}</label>
      <details class="menu"><summary>${t("files.paste")}</summary><div>
        <label for="pasted">${t("files.pasteHere")}</label>
        <textarea id="pasted" rows="6" @input=${event => event.inputType === "insertFromPaste" && this.openPasted()}></textarea>
        <button type="button" class="primary" @click=${() => this.openPasted()}>${t("files.open")}</button>
      </div></details>
      <details class="menu"><summary>${t("files.save")}</summary><div class="column">
        ${FORMATS.map(format => html`<button type="button" data-format=${format} @click=${() => this.save(format)}>${format.toUpperCase()}</button>`)}
        <button type="button" data-copy="kif" @click=${() => this.copy(this.fileOf("kif").then(({content}) => content.text()))}>${t("files.copyRecord")}</button>
        <button type="button" data-copy="sfen" @click=${() => this.copy(this.page.game.sfen)}>${t("files.copyPosition")}</button>
      </div></details>
      ${this.page.keeper.menu()}
    </div>`;
  }

  /** Other records of the command line and of the last file, and the way to a position. */
  lists() {
    const {t, setup, state} = this.page;
    const served = state.files.filter(isGame);
    return html`<div class="row lists">
      <button type="button" data-action="setup" @click=${() => setup.open()}>${t("setup.title")}</button>
      ${
        served.length > 1
          ? html`<select aria-label=${t("files.served")} @change=${event => this.openServed(Number(event.target.value))}>
        ${this.served ? nothing : html`<option value="" selected>–</option>`}
        ${served.map(file => html`<option value=${file.id} ?selected=${file.id === this.served}>${file.name}</option>`)}</select>`
          : nothing
      }
      ${
        this.games.length > 1
          ? html`<select aria-label=${t("files.games")} @change=${event => this.openListed(this.games[Number(event.target.value)])}>
        ${this.games.some(({game}) => game === this.page.game) ? nothing : html`<option value="" selected>–</option>`}
        ${this.games.map(({record, game}, index) => html`<option value=${index} ?selected=${game === this.page.game}>${this.nameOf(record, index)}</option>`)}</select>`
          : nothing
      }
    </div>`;
  }

  /** A record that was pasted is opened at once; typing goes on until the button is pressed. What cannot be read stays in the field. */
  async openPasted() {
    const field = /** @type {HTMLTextAreaElement} */ (document.getElementById("pasted"));
    if (!(await this.openText(field.value))) return;
    field.value = "";
    field.closest("details")?.removeAttribute("open");
  }
}
