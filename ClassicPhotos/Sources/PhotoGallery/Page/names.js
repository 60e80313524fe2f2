// The photos' names and identifiers, fetched in pages as rows approach the screen, and kept from
// then on.
//
// Only currently needed pages are requested: flinging through 100,000 rows leaves no queue of
// requests for names that are off the screen again.

import { getJSON } from "./api.js";

const pageSize = 500;
const requestsAtOnce = 2;

export class Names {
  #handlers;
  #pages = new Map();      // page → photos
  #current = new Map();    // page that need not be requested (again) → the list's revision in it
  #revision = 0;           // of the list, as the server has told it
  #underway = new Set();
  #wanted = new Set([0]);
  #failures = 0;
  #pause = null;
  #round = 0;

  constructor(handlers) { this.#handlers = handlers; }

  /// The name, or undefined until it has arrived.
  name(row) { return this.#photo(row)?.name; }

  /// The identifier, or undefined until it has arrived, and after the list has changed until it has
  /// arrived again; empty if the row has no photo any more.
  id(row) { return this.#current.has(Math.floor(row / pageSize)) ? this.#photo(row)?.id : undefined; }

  /// What the photo's file says, as far as the server knew it: color, title, width and height.
  facts(row) { return this.#photo(row) ?? {}; }

  #photo(row) { return this.#pages.get(Math.floor(row / pageSize))?.[row % pageSize]; }

  want(rows) {
    this.#wanted = new Set(rows.map((row) => Math.floor(row / pageSize)));
    this.#request();
  }

  /// The server has told the list's revision: fetches older names again on demand, also those that
  /// are on their way.
  expect(revision) {
    this.#revision = revision;
    for (const [page, known] of this.#current) if (known < revision) this.#current.delete(page);
    this.#request();
  }

  /// Fetches names again on demand; shows the old names until then.
  reload() {
    this.#current.clear();
    this.#underway.clear();
    this.#round += 1;
    this.#request();
  }

  #request() {
    if (this.#pause !== null) return;
    for (const page of this.#wanted) {
      if (this.#underway.size >= requestsAtOnce) return;
      if (!this.#current.has(page) && !this.#underway.has(page)) this.#fetch(page, this.#round);
    }
  }

  async #fetch(page, round) {
    this.#underway.add(page);
    let answer = null;
    let error = null;
    try {
      answer = await getJSON(`/api/photos?offset=${page * pageSize}&limit=${pageSize}`);
    } catch (caught) {
      error = caught;
    }
    if (round !== this.#round) return;
    this.#underway.delete(page);
    if (answer) this.#arrived(page, answer); else this.#failed(error);
    this.#request();
  }

  #arrived(page, answer) {
    this.#failures = 0;
    if (answer.revision >= this.#revision) this.#current.set(page, answer.revision);
    this.#pages.set(page, answer.photos);
    this.#handlers.headArrived(answer);
    this.#handlers.rowsArrived();
  }

  #failed(error) {
    if (this.#failures === 0) this.#handlers.failed(error);
    const wait = Math.min(15_000, 1000 * 2 ** this.#failures);
    this.#failures += 1;
    this.#pause ??= setTimeout(() => { this.#pause = null; this.#request(); }, wait);
  }
}
