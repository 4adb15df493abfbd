// The reader's language, and texts with values in them.
import {remember, setting} from "./settings.js";

/** @typedef {"ja" | "en"} Language */

/** The language chosen by hand, else the browser's. @returns {Language} */
export function preferredLanguage() {
  return (setting("language", "") || navigator.language).toLowerCase().startsWith("ja") ? "ja" : "en";
}

/** Choose a language by hand; it is remembered. @param {Language} language */
export function chooseLanguage(language) {
  remember("language", language);
}

/**
 * The text of a key; `{name}` in it is replaced by the value of that name.
 * @param {Record<string, string>} texts  Of a language. @param {string} key @param {Record<string, string | number>} [values]
 */
export function translate(texts, key, values = {}) {
  const text = texts[key];
  if (text === undefined) throw new Error(`no text for ${key}`);
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
