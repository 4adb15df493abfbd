// The page begins here: what the server has and the shapes of the pieces come while the modules are loaded.
import {api} from "./api.js";

async function begin() {
  const [state, shapes, {Page}, {Socket}, {defineShapes}, {render}] = await Promise.all([
    api.get("api/state"),
    api.text("static/pieces.svg"),
    import("./page.js"),
    import("./socket.js"),
    import("./board/drawing.js"),
    import("./vendor/lit-html.js"),
  ]);
  defineShapes(shapes);
  const root = /** @type {HTMLElement} */ (document.getElementById("page"));
  const address = new URL("ws", document.baseURI);
  address.protocol = address.protocol.replace("http", "ws");
  const page = new Page(state, new Socket(address.href), template => render(template, root));
  await page.begin();
  document.documentElement.dataset.ready = "true";
  performance.mark("ready");
}

begin().catch(error => {
  const root = document.getElementById("page");
  if (root) root.textContent = String(error.message ?? error);
  throw error;
});
