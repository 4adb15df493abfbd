// Records from files, drop and paste, and to files.

import {api, messageOf} from "../api.js";
import {html, nothing} from "../vendor/lit-html.js";
import {keyOf} from "./game.js";

/** @import {Page} from "../page.js" */
/** @import {GameRecord, OpenedGames, ServedFile} from "documents" */

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

export class Files {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** The games of the last file. @type {GameRecord[]} */
    this.games = [];
  }

  /** Drop anywhere; paste outside of fields. Menus close by Escape, and by a press elsewhere. */
  listen() {
    const opened = () => /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.menu[open]"));
    addEventListener("pointerdown", event =>
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
      const [file] = event.dataTransfer?.files ?? [];
      if (file) this.openFile(file);
      else this.openText(event.dataTransfer?.getData("text/plain") ?? "");
    });
    addEventListener("paste", event => {
      if (/** @type {Element} */ (event.target).closest?.("input, textarea")) return;
      const [file] = event.clipboardData?.files ?? [];
      if (file) this.openFile(file);
      else this.openText(event.clipboardData?.getData("text/plain") ?? "");
    });
  }

  /**
   * The first record of the command line; the tab of its runs or matches if it names no record. A tab that the address
   * names stays.
   * @param {boolean} hasRecord  Whether a record is on the board, which stays.
   */
  async openFirst(hasRecord) {
    const files = this.page.state.files;
    const first = files.find(isGame);
    if (first) await this.openServed(first.id, {hasRecord, staysOnTab: location.hash !== ""});
    else if (files.length && !location.hash) this.page.openTab(files[0].kind === "matches" ? "matches" : "training");
  }

  /** A record of the command line. @param {number} id @param {{hasRecord?: boolean, staysOnTab?: boolean}} [how] */
  async openServed(id, how) {
    await this.take(() => api.get(`api/files/${encodeURIComponent(id)}`), how);
  }

  /** @param {File} file */
  async openFile(file) {
    await this.take(() => api.upload(`api/records?name=${encodeURIComponent(file.name)}`, file));
  }

  /** The file of a field, which is emptied for the next one. @param {HTMLInputElement} field */
  openChosen(field) {
    const [file] = field.files ?? [];
    if (file) this.openFile(file);
    field.value = "";
  }

  /** @param {string} text */
  async openText(text) {
    if (text.trim()) await this.take(() => api.upload("api/records?name=", text));
  }

  /**
   * @param {() => Promise<OpenedGames>} answer
   * @param {{hasRecord?: boolean, staysOnTab?: boolean}} [how]
   */
  async take(answer, {hasRecord = false, staysOnTab = false} = {}) {
    const {page} = this;
    try {
      const {games, problems, left_out: leftOut, analysis} = await answer();
      this.games = games;
      page.notify([...problems, leftOut ? page.t("files.leftOut", {count: leftOut}) : ""].filter(Boolean).join(" "));
      if (!hasRecord) page.openRecord(games[0], staysOnTab);
      if (analysis && !(hasRecord && page.report.kept)) page.report.show(analysis, keyOf(games[0]));
      if (analysis && !staysOnTab) page.openTab("game");
    } catch (error) {
      page.notify(page.t("files.refused", {text: messageOf(error)}));
    }
  }

  /** @param {string} format */
  async save(format) {
    const {page} = this;
    try {
      const {name, content} = await api.postForFile("api/save", {record: page.game.record, format});
      saveAs(name, content);
    } catch (error) {
      page.notify(page.t("files.notSaved", {text: messageOf(error)}));
    }
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
      <label class="button"><input type="file" class="unseen" id="open-file" @change=${event => this.openChosen(event.target)}>${t("files.open")}</label>
      <details class="menu"><summary>${t("files.paste")}</summary><div>
        <label for="pasted">${t("files.pasteHere")}</label>
        <textarea id="pasted" rows="6" @input=${event => event.inputType === "insertFromPaste" && this.openPasted()}></textarea>
        <button type="button" class="primary" @click=${() => this.openPasted()}>${t("files.open")}</button>
      </div></details>
      <details class="menu"><summary>${t("files.save")}</summary><div class="column">
        ${FORMATS.map(format => html`<button type="button" data-format=${format} @click=${() => this.save(format)}>${format.toUpperCase()}</button>`)}
      </div></details>
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
        ${served.map(file => html`<option value=${file.id}>${file.name}</option>`)}</select>`
          : nothing
      }
      ${
        this.games.length > 1
          ? html`<select aria-label=${t("files.games")} @change=${event => this.page.openRecord(this.games[Number(event.target.value)])}>
        ${this.games.map((game, index) => html`<option value=${index}>${this.nameOf(game, index)}</option>`)}</select>`
          : nothing
      }
    </div>`;
  }

  /** A record that was pasted is opened at once; typing goes on until the button is pressed. */
  openPasted() {
    const field = /** @type {HTMLTextAreaElement} */ (document.getElementById("pasted"));
    this.openText(field.value);
    field.value = "";
    field.closest("details")?.removeAttribute("open");
  }
}
