// The state of each row's photo, by row number.

import { failureText, text } from "./strings.js";

const unknown = Object.freeze({
  state: "new", version: 0, reason: "", active: false, retryable: true,
});

export class Records {
  #byRow = new Map();
  #generation = 0;
  #progress = new Map();

  get(row) { return this.#byRow.get(row) ?? unknown; }

  /// The part of a photo's bytes that has arrived, or undefined if that is unknown.
  progress(row) { return this.#progress.get(row); }

  /// Remembers a `progress` event. It is valid until the next `row` event of the row.
  applyProgress({ row, received, total }) {
    if (total > 0) this.#progress.set(row, Math.min(1, received / total));
  }

  apply(event) {
    this.#progress.delete(event.row);
    const { row, state, version, active = false, retryable = true } = event;
    const reason = failureText(event.reason ?? "", event.failure);
    const former = this.#byRow.get(row);
    this.#byRow.set(row, {
      state, version, reason, active, retryable, hasOriginal: event.hasOriginal ?? false,
      generation: this.#generation,
      color: event.color ?? former?.color, title: event.title,
      damage: event.damage ? text("damage", { detail: event.damage }) : "",
      // The picture's name, which depends on its content.
      picture: event.picture,
      width: event.width ?? former?.width, height: event.height ?? former?.height,
    });
  }

  /// After a reconnection, stored records are valid only once the server repeats them.
  markUnconfirmed() {
    this.#generation += 1;
    this.#progress.clear();
  }

  dropUnconfirmed() {
    for (const [row, record] of this.#byRow) {
      if (record.generation !== this.#generation) this.#byRow.delete(row);
    }
  }
}

/// The address of the picture of a row: it names its content, so that a browser that has the picture
/// needs no request.
export const pictureAddress = (row, { picture }) => `/api/thumbnails/${row}/${picture}`;
