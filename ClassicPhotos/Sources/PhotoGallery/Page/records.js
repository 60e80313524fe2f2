// The state of each row's photo, by row number.

import { failureText, plain } from "./strings.js";

const unknown = Object.freeze({
  state: "new", version: 0, reason: "", active: false, retryable: true,
});

export class Records {
  #byRow = new Map();
  #generation = 0;

  get(row) { return this.#byRow.get(row) ?? unknown; }

  apply(event) {
    const { row, state, version, active = false, retryable = true } = event;
    const reason = plain(failureText(event.reason ?? "", event.failure));
    const former = this.#byRow.get(row);
    this.#byRow.set(row, {
      state, version, reason, active, retryable, hasOriginal: event.hasOriginal ?? false,
      generation: this.#generation,
      colour: event.colour ?? former?.colour,
      width: event.width ?? former?.width, height: event.height ?? former?.height,
    });
  }

  /// After a reconnection, stored records are valid only once the server repeats them.
  markUnconfirmed() { this.#generation += 1; }

  dropUnconfirmed() {
    for (const [row, record] of this.#byRow) {
      if (record.generation !== this.#generation) this.#byRow.delete(row);
    }
  }
}
