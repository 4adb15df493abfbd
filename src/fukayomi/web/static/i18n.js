// The page's texts in the reader's language: one file a language, with equal keys.
import {english} from "./lang/en.js";
import {japanese} from "./lang/ja.js";
import {setting, remember} from "./settings.js";

const TEXTS = {ja: japanese, en: english};

/** @typedef {"ja" | "en"} Language */

/** The language chosen by hand, else the browser's. @returns {Language} */
export function preferredLanguage() {
  const chosen = setting("language", "");
  return (chosen || navigator.language).toLowerCase().startsWith("ja") ? "ja" : "en";
}

/** Choose a language by hand; it is remembered. @param {Language} language */
export function chooseLanguage(language) {
  remember("language", language);
}

/**
 * The text of a key; `{name}` in it is replaced by the value of that name.
 * @param {Language} language @param {string} key @param {Record<string, string | number>} [values]
 */
export function translate(language, key, values = {}) {
  const text = TEXTS[language][key];
  if (text === undefined) throw new Error(`no text for ${key}`);
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** Whether there is a text. @param {string} key */
export const knows = key => key in TEXTS.en;
