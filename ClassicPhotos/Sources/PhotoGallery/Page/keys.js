// The list of keys, which "?" shows on the page and above a photo.

import { loadStyle, make, signButton } from "./dom.js";
import { text } from "./strings.js";

const sections = [
  ["keysOfList", [
    ["← → ↑ ↓", "keyMove"], ["Enter", "keyOpen"], ["/", "find"], ["A … Z", "keyType"],
    ["#", "keyView"],
  ]],
  ["keysOfPhoto", [
    ["← →", "keyTurn"], ["+ −", "keyZoom"], ["0", "keyWhole"], ["1", "keyPixels"],
    ["B", "compare"], ["I", "keyPanel"], ["F", "fullScreen"], ["Esc", "close"],
  ]],
];

export class Keys {
  #dialog;

  static async load() {
    await loadStyle("/keys.css");
    return new Keys();
  }

  constructor() {
    const close = () => this.#dialog.close();
    this.#dialog = make("dialog", { id: "keys", "aria-labelledby": "keys-title" },
      make("header", {},
        make("h2", { id: "keys-title" }, text("keys")),
        signButton("pill", "×", text("close"), close)),
      ...sections.flatMap(([title, keys]) =>
        [make("h3", {}, text(title)), make("dl", {}, ...keys.map(row))]));
    // No key of the photo below works meanwhile.
    this.#dialog.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "?") close();
    });
    // A click beside the list.
    this.#dialog.addEventListener("click", ({ target }) => { if (target === this.#dialog) close(); });
    document.body.append(this.#dialog);
  }

  toggle() {
    if (this.#dialog.open) this.#dialog.close(); else this.#dialog.showModal();
  }
}

const row = ([keys, words]) => make("div", {},
  make("dt", {}, ...keys.split(" ").map((key) => (key === "…" ? "… " : make("kbd", {}, key)))),
  make("dd", {}, text(words)));
