// A row element and its contents.

import { Picture } from "./picture.js";

const words = { new: "New", downloaded: "Downloaded", filtered: "Filtered", failed: "Failed to load" };
const digits = new Intl.NumberFormat("en");

export class Cell {
  #parts;
  #picture;

  row = -1;

  constructor(template) {
    this.element = template.content.firstElementChild.cloneNode(true);
    const part = (name) => this.element.querySelector(`.row-${name}`);
    this.#parts = {
      name: part("name"), state: part("state"), reason: part("reason"),
      number: part("number"), spinner: part("spinner"), retry: part("retry"),
    };
    this.#picture = new Picture(part("picture"), (kind) => { this.element.dataset.picture = kind; });
  }

  get hasFocus() { return this.element.contains(document.activeElement); }

  bind(row, total) {
    this.row = row;
    this.element.dataset.row = row;
    this.element.setAttribute("aria-posinset", row + 1);
    this.element.setAttribute("aria-setsize", total);
    this.element.classList.toggle("first", row === 0);
    this.element.classList.toggle("last", row === total - 1);
    this.#parts.number.textContent = digits.format(row + 1);
  }

  /// After this call, pending work for the row can no longer change the element.
  unbind() {
    this.row = -1;
    this.#picture.clear();
    this.#parts.name.textContent = "";
  }

  /// - record: state, version, reason and activity of the bound row.
  /// - withPictures: false while rows scroll by too fast to be seen.
  show({ page, name, record }, withPictures) {
    const { state, version, reason, active } = record;
    const isRenamed = this.#parts.name.textContent !== "" && this.#parts.name.textContent !== name;
    this.#parts.name.textContent = name ?? "";
    this.#parts.name.title = name ?? "";
    this.element.dataset.state = state;
    this.element.dataset.version = version;
    this.element.dataset.active = active;
    this.#parts.state.textContent = words[state] ?? state;
    this.#showFailure(state === "failed" && !active, state === "failed" ? reason : "", name);
    this.#parts.spinner.hidden = !(active || state === "new");

    const hasPicture = state === "downloaded" || state === "filtered";
    // A row with a different name is a different photo (the list was reloaded): remove its picture
    // now.
    if (!hasPicture || isRenamed) this.#picture.clear();
    if (hasPicture && withPictures) {
      this.#picture.show(state, `/api/pictures/${page}/${this.row}/${state}?v=${version}`, name ?? "");
    }
  }

  #showFailure(canRetry, reason, name) {
    const { retry } = this.#parts;
    this.#parts.reason.textContent = reason;
    this.#parts.reason.title = reason;
    this.#parts.reason.hidden = reason === "";
    // Hiding the focused button would move the focus to the top of the document; focus the row
    // instead.
    if (!canRetry && document.activeElement === retry) this.element.focus({ preventScroll: true });
    retry.hidden = !canRetry;
    retry.removeAttribute("aria-disabled");
    retry.setAttribute("aria-label", `Retry ${name ?? ""}`);
  }
}
