// A cell: the element of one photo in the grid or the list, and its contents.

import { Picture } from "./picture.js";
import { pictureAddress } from "./records.js";
import { number, text, translate } from "./strings.js";

export class Cell {
  #parts;
  #picture;
  // The record whose state is shown: most rows of a long list share the record of new photos.
  #shown = null;

  place = -1;
  row = -1;

  constructor(template) {
    this.element = template.content.firstElementChild.cloneNode(true);
    translate(this.element);
    const part = (name) => this.element.querySelector(`.row-${name}`);
    this.#parts = {
      link: part("link"), name: part("name"), state: part("state"), reason: part("reason"),
      number: part("number"), spinner: part("spinner"), retry: part("retry"),
      picture: part("picture"), badge: part("badge"),
    };
    this.#picture = new Picture(part("photo"), (kind) => { this.element.dataset.picture = kind; });
  }

  get hasFocus() { return this.element.contains(document.activeElement); }

  /// The element that takes the focus and opens the photo.
  get link() { return this.#parts.link; }

  /// The address of the picture that the cell shows, which needs no request, or undefined.
  get shownPicture() { return this.frame.querySelector("img:last-of-type")?.src; }

  /// The element that holds the photo.
  get frame() { return this.#parts.picture; }

  bind(place, row, total) {
    this.row = row;
    this.element.dataset.row = row;
    this.#parts.link.href = `#photo=${row}`;
    this.move(place, total);
  }

  /// Gives the photo of the cell another place.
  move(place, total) {
    this.place = place;
    this.element.setAttribute("aria-posinset", place + 1);
    this.element.setAttribute("aria-setsize", total);
    this.#parts.number.textContent = number(place + 1);
  }

  /// Moves the cell to its place on the surface; the surface is `offset` above the lines.
  put(layout, offset) {
    const [left, width] = layout.horizontal(this.place);
    const { style } = this.element;
    style.left = `${left}px`;
    style.width = `${width}px`;
    style.top = `${layout.lineOf(this.place) * layout.line - offset}px`;
  }

  /// After this call, pending work for the row can no longer change the element.
  unbind() {
    this.place = -1;
    this.row = -1;
    this.link.tabIndex = -1;
    this.#picture.clear();
    this.#parts.name.textContent = "";
  }

  /// - record: state, version, reason and activity of the bound row.
  /// - sharper: finds the address of a larger picture; see picture.js.
  /// - color: of the photo's small picture, for a record without a color of its own.
  /// - progress: the part of the bytes that has arrived, or undefined.
  show({ page, name, record, sharper, progress, color: early }) {
    const { state, version, active, color = early, damage } = record;
    const parts = this.#parts;
    const isOtherName = parts.name.title !== (name ?? "");
    const isRenamed = parts.name.textContent !== "" && isOtherName;
    if (isOtherName || parts.name.textContent === "") showName(parts.name, name ?? "");
    parts.retry.removeAttribute("aria-disabled");
    if (this.#shown !== record || isOtherName) {
      this.#shown = record;
      this.element.dataset.state = state;
      this.element.dataset.version = version;
      this.element.dataset.active = active;
      parts.state.textContent = text(state);
      parts.picture.style.backgroundColor = color ?? "";
      parts.picture.classList.toggle("colored", Boolean(color));
      parts.badge.hidden = !damage || state === "failed";
      parts.badge.title = damage ?? "";
      this.#showFailure(state === "failed" && !active, record, name);
      parts.spinner.hidden = !active;
    }

    showProgress(parts.spinner, progress);
    const hasPicture = state === "downloaded" || state === "filtered";
    // A row with a different name is a different photo (the list was reloaded): remove its picture
    // now.
    if (!hasPicture || isRenamed) this.#picture.clear();
    if (hasPicture) {
      this.#picture.show(state, pictureAddress(this.row, record),
        state === "filtered" ? sharper : null);
    }
  }

  #showFailure(hasFailed, { state, reason, retryable, damage }, name) {
    const parts = this.#parts;
    parts.reason.textContent = state === "failed" ? reason : damage ?? "";
    parts.reason.title = parts.reason.textContent;
    parts.reason.hidden = parts.reason.textContent === "";
    const canRetry = hasFailed && retryable;
    // Hiding the focused button would move the focus to the top of the document; focus the photo
    // instead.
    const hasFocus = document.activeElement === parts.retry;
    if (!canRetry && hasFocus) parts.link.focus({ preventScroll: true });
    parts.retry.hidden = !canRetry;
    parts.retry.setAttribute("aria-label", text("retryName", { name: name ?? "" }));
  }
}

/// Turns a spinner into a ring that shows how much has arrived; undefined turns it back.
export function showProgress(spinner, progress) {
  spinner.classList.toggle("measured", progress !== undefined);
  if (progress !== undefined) spinner.style.setProperty("--share", `${progress}turn`);
}

/// Shows a name; a path that is too long loses its folders, and never the name of the file.
export function showName(element, name) {
  element.title = name;
  const slash = name.lastIndexOf("/");
  element.classList.toggle("path", slash > 0);
  if (slash < 1) {
    element.textContent = name;
    return;
  }
  const parts = { folder: name.slice(0, slash), slash: "/", file: name.slice(slash + 1) };
  element.replaceChildren(...Object.entries(parts).map(([kind, words]) => {
    const span = document.createElement("span");
    span.className = kind;
    span.textContent = words;
    return span;
  }));
}
