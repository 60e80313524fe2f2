// Finding and ordering photos: the search field, the order, the chips of states, and typing a name
// while the focus is among the photos.
//
// The server answers with the matching rows in order. The answer stays as it is while photos change
// their states: a list that reorders itself moves photos away from under the pointer.

import { getJSON } from "./api.js";
import { text } from "./strings.js";

const typingPause = 200;
// Keys pressed within this time of each other spell one name.
const spellingPause = 900;

export class Find {
  #parts;
  #handlers;
  #request = null;
  #timer = null;

  wanted = { find: "", sort: "list", state: "" };

  /// Whether the list is shown in the order of its rows. It is not after photos were added and
  /// deleted; then the server tells the order.
  isInRowOrder = true;

  /// - parts: the elements form, query, sort, counts, retryAll.
  /// - handlers: page() returns the page's identifier; ordered(rows or null, isUpdate); failed(error);
  ///   and found(row) after a name was typed among the photos.
  constructor(parts, handlers) {
    this.#parts = parts;
    this.#handlers = handlers;
    const { form, query, sort, counts } = parts;
    form.addEventListener("submit", (event) => { event.preventDefault(); this.#change(0); });
    query.addEventListener("input", () => this.#change(typingPause));
    query.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && query.value === "") handlers.left();
      if (event.key === "Enter" || event.key === "ArrowDown") {
        event.preventDefault();
        handlers.left();
      }
    });
    sort.addEventListener("change", () => this.#change(0));
    counts.addEventListener("click", (event) => {
      const chip = event.target.closest("button[data-count]");
      if (chip) this.#choose(chip.dataset.count);
    });
    this.#listenForNames();
  }

  get isPlain() {
    const { find, sort, state } = this.wanted;
    return find === "" && sort === "list" && state === "";
  }

  /// Shows and requests an order, for example from the page's address.
  set(wanted) {
    const { find, sort, state } = wanted;
    this.wanted = { find, sort, state };
    const { query, sort: select } = this.#parts;
    query.value = find;
    select.value = sort;
    if (select.selectedIndex < 0) this.wanted.sort = select.value = "list";
    this.#showChips();
    return this.refresh();
  }

  clear() { return this.set({ find: "", sort: "list", state: "" }); }

  /// Requests the order again. Resolves once it is shown.
  ///
  /// - isUpdate: whether a person sees the same photos as before, as far as they exist.
  async refresh(isUpdate = false) {
    this.#request?.abort();
    clearTimeout(this.#timer);
    if (this.isPlain && this.isInRowOrder) return this.#handlers.ordered(null, isUpdate);
    const request = new AbortController();
    this.#request = request;
    const { find, sort, state } = this.wanted;
    try {
      const query = { query: find, sort, state };
      const { rows, partial } = await this.#order(query, request.signal);
      if (request !== this.#request) return;
      this.#handlers.ordered(rows, isUpdate);
      if (!partial) return;
      // The server still reads titles and keywords, which may match, too.
      const all = await this.#order({ ...query, complete: 1 }, request.signal);
      if (request === this.#request) this.#handlers.ordered(all.rows, true);
    } catch (error) {
      if (!request.signal.aborted) this.#handlers.failed(error);
    }
  }

  #order(parts, signal) {
    const query = new URLSearchParams({ page: this.#handlers.page() });
    for (const [name, value] of Object.entries(parts)) if (value) query.set(name, value);
    return getJSON(`/api/order?${query}`, signal);
  }

  #change(pause) {
    clearTimeout(this.#timer);
    const { query, sort } = this.#parts;
    this.wanted = { ...this.wanted, find: query.value.trim(), sort: sort.value };
    this.#timer = setTimeout(() => this.refresh(), pause);
  }

  #choose(state) {
    this.wanted = { ...this.wanted, state: this.wanted.state === state ? "" : state };
    this.#showChips();
    this.refresh();
  }

  #showChips() {
    for (const chip of this.#parts.counts.querySelectorAll("button[data-count]")) {
      chip.setAttribute("aria-pressed", chip.dataset.count === this.wanted.state);
    }
    this.#parts.retryAll.hidden = this.wanted.state !== "failed";
  }

  // MARK: Typing a name

  #listenForNames() {
    let typed = "";
    let last = 0;
    let request = null;
    document.addEventListener("keydown", async (event) => {
      const isText = event.target.closest("input, select, textarea, dialog");
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
      if (isText || hasModifier || event.defaultPrevented) return;
      if (event.key === "/") {
        event.preventDefault();
        return this.#parts.query.select();
      }
      const isInList = event.target === document.body || event.target.closest("#list");
      if (event.key.length !== 1 || "#?".includes(event.key) || !isInList) return;
      const continues = event.timeStamp - last < spellingPause;
      // A space at the start scrolls, as everywhere.
      if (event.key === " " && !continues) return;
      event.preventDefault();
      typed = continues ? typed + event.key : event.key;
      last = event.timeStamp;
      request?.abort();
      request = new AbortController();
      const { signal } = request;
      try {
        const { rows } = await this.#order({ ...this.wanted, query: typed }, signal);
        this.#handlers.found(rows, typed);
      } catch (error) {
        if (!signal.aborted) this.#handlers.failed(error);
      }
    });
  }
}

/// The words for the number of matches.
export const matches = (count) => (count === 0 ? text("noMatch") : text("matches", { count }));
