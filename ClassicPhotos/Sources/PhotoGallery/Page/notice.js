// A line above the queues that reports an error and disappears by itself.
//
// A lost connection takes precedence, and its notice stays until the connection is back.

import { text } from "./strings.js";

const longEnoughToRead = 8000;
// Most reconnections are faster than this and need no notice.
const noticeDelay = 600;

export class Notice {
  #box;
  #text;
  #isLost = false;
  #lostTimer = null;
  #hideTimer = null;

  constructor(box, text, close) {
    this.#box = box;
    this.#text = text;
    close.addEventListener("click", () => this.#hide());
  }

  show(message) {
    if (!this.#isLost) this.#put("error", message, longEnoughToRead);
  }

  connection(connection) {
    clearTimeout(this.#lostTimer);
    if (connection === "lost") {
      this.#lostTimer = setTimeout(() => {
        this.#isLost = true;
        this.#put("connection", text("lost"), null);
      }, this.#isLost ? 0 : noticeDelay);
    } else if (this.#isLost) {
      this.#isLost = false;
      this.#hide();
    }
  }

  #put(kind, message, duration) {
    clearTimeout(this.#hideTimer);
    if (this.#box.dataset.kind !== kind || this.#text.textContent !== message) {
      this.#box.dataset.kind = kind;
      this.#text.textContent = message;
    }
    this.#box.hidden = false;
    if (duration !== null) this.#hideTimer = setTimeout(() => this.#hide(), duration);
  }

  #hide() {
    clearTimeout(this.#hideTimer);
    this.#box.hidden = true;
  }
}
