// Reports the visible rows to the server: one request at a time, and the latest report wins.

import { Refused, postJSON } from "./api.js";

const secondTry = 2000;

export class ViewportReporter {
  #handlers;
  #isSending = false;
  #next = null;
  #sequence = 0;
  #timer = null;
  #last = "";

  constructor(handlers) { this.#handlers = handlers; }

  /// - rows: `{ first, last }` in list order, or `{ rows }` in the order shown.
  report(page, rows, phase) {
    const key = `${page} ${JSON.stringify(rows)} ${phase}`;
    if (key === this.#last) return;
    this.#last = key;
    this.#sequence += 1;
    this.#next = { page, ...rows, phase, sequence: this.#sequence };
    clearTimeout(this.#timer);
    this.#send();
  }

  /// After a reconnection the same report has to be sent again.
  forget() { this.#last = ""; }

  async #send() {
    if (this.#isSending || this.#next === null) return;
    const report = this.#next;
    this.#next = null;
    this.#isSending = true;
    try {
      await postJSON("/api/viewport", report);
      this.#handlers.accepted();
    } catch (error) {
      this.#failed(report, error);
    }
    this.#isSending = false;
    this.#send();
  }

  // A lost report would leave the screen without work until the next scroll. So it is sent again,
  // unless there is a newer report or the page starts over.
  #failed(report, error) {
    this.#handlers.failed(error, report.page);
    if (this.#next !== null || (error instanceof Refused && error.pageIsGone)) return;
    this.#timer = setTimeout(() => { this.#next ??= report; this.#send(); }, secondTry);
  }
}
