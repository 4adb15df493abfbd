// The switch of a written page: it begins with the reader's language.
import {chooseLanguage, preferredLanguage} from "./shared/language.js";

/** @import {Language} from "./shared/language.js" */

/** @param {Language} language */
function speak(language) {
  document.documentElement.lang = language;
  const input = /** @type {HTMLInputElement} */ (document.getElementById(`language-${language}`));
  input.checked = true;
}

for (const language of /** @type {const} */ (["ja", "en"])) {
  document.getElementById(`language-${language}`)?.addEventListener("change", () => {
    speak(language);
    chooseLanguage(language);
  });
}
speak(preferredLanguage());
document.documentElement.classList.add("script");
