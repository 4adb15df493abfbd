// What the reader chose, kept by the browser. A browser may refuse to store anything; then it lasts until the page closes.
const PREFIX = "fukayomi.";
/** @type {Map<string, unknown>} */
const values = new Map();

/** A setting, or its default; of another type than the default it is ignored. @template T @param {string} name @param {T} initial @returns {T} */
export function setting(name, initial) {
  if (!values.has(name)) values.set(name, stored(name) ?? initial);
  const value = values.get(name);
  return typeof value === typeof initial ? /** @type {T} */ (value) : initial;
}

/** @param {string} name @param {unknown} value */
export function remember(name, value) {
  values.set(name, value);
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // it is remembered for this page only
  }
}

/** @param {string} name */
function stored(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name) ?? "null");
  } catch {
    return null;
  }
}
