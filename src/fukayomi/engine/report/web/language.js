"use strict";
// The language: the browser's, until the switch changes it for the session.
(() => {
  const KEY = "fukayomi-language";

  function remembered() {
    try {  // a browser may refuse to store anything for a file
      return sessionStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function speak(language) {
    document.documentElement.lang = language;
    document.getElementById("language-" + language).checked = true;
  }

  for (const input of document.querySelectorAll('input[name="language"]')) {
    input.addEventListener("change", () => {
      speak(input.value);
      try {
        sessionStorage.setItem(KEY, input.value);
      } catch {
        // the next page asks the browser again
      }
    });
  }
  const preferred = remembered() ?? navigator.language;
  speak(preferred.toLowerCase().startsWith("ja") ? "ja" : "en");
  document.documentElement.classList.add("script");
})();
