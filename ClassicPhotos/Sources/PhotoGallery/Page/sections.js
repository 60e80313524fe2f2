// The sections of a person's own photos, by month or by folder: their titles, their elements, and
// the list from which a person jumps to one. That list also names the section at the top of the
// screen.

import { make } from "./dom.js";
import { language, text } from "./strings.js";

let months = null;

/// The title of a section.
///
/// - name: a month as `2015-04`, or the path of a folder; empty for photos without a time, and for
///   those that lie in no subfolder.
/// - root: the title of the whole list.
export function sectionTitle(name, sort, root) {
  if (sort !== "date") return name || root;
  if (!name) return text("noDate");
  months ??= new Intl.DateTimeFormat(language, { year: "numeric", month: "long", timeZone: "UTC" });
  const [year, month] = name.split("-").map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, 1);
  return months.format(date);
}

/// The sections that have cells: each is an element with a heading and a list of its own.
export class Sections {
  #root;
  #title;
  #byKey = new Map();
  #made = 0;

  /// - title: returns the title of a section by its name.
  constructor(root, title) {
    this.#root = root;
    this.#title = title;
  }

  /// The element that contains the cells of a section.
  ///
  /// - heading: see rows.js; the surface is `offset` above it.
  list(heading, offset) {
    const section = this.#byKey.get(heading.key) ?? this.#add(heading, offset);
    section.first = heading.first;
    return section.list;
  }

  #add(heading, offset) {
    const { key, name, first } = heading;
    this.#made += 1;
    const id = `section-${this.#made}`;
    const title = make("h2", { className: "heading", id, dir: "auto" }, this.#title(name));
    const list = make("div", { role: "list", "aria-labelledby": id });
    const element = make("div", { className: "section" }, title, list);
    const section = { element, title, list, name, first };
    // The elements stand in the order of the sections.
    let next = null;
    for (const other of this.#byKey.values()) {
      if (other.first > first && (next === null || other.first < next.first)) next = other;
    }
    this.#root.insertBefore(element, next?.element ?? null);
    this.#byKey.set(key, section);
    this.put([heading], offset);
    return section;
  }

  /// Moves the headings of the given sections to their places.
  put(headings, offset) {
    if (this.#byKey.size === 0) return;
    for (const { key, top, height } of headings) {
      const style = this.#byKey.get(key)?.title.style;
      if (!style) continue;
      style.top = `${top - offset}px`;
      style.height = `${height}px`;
    }
  }

  removeEmpty() {
    for (const [key, { element, list }] of this.#byKey) {
      if (list.childElementCount > 0) continue;
      element.remove();
      this.#byKey.delete(key);
    }
  }

  /// Shows the titles again.
  refreshTitles() {
    for (const { title, name } of this.#byKey.values()) title.textContent = this.#title(name);
  }
}

export class Jump {
  #select;
  #shown = "";
  #position = null;       // of the scroll, as long as the list is where a choice has led

  /// - jumped: called with the number of the section that a person has chosen.
  constructor(select, jumped) {
    this.#select = select;
    select.addEventListener("change", () => {
      const { selectedIndex } = select;
      jumped(selectedIndex);
      // The last sections do not reach the top of the screen: the choice holds until a scroll.
      select.selectedIndex = selectedIndex;
      this.#position = window.scrollY;
    });
  }

  /// - titles: of the sections in their order.
  show(titles, label) {
    const key = JSON.stringify(titles);
    this.#select.hidden = titles.length < 2;
    this.#select.setAttribute("aria-label", label);
    this.#select.title = label;
    if (key === this.#shown) return;
    this.#shown = key;
    this.#position = null;
    this.#select.replaceChildren(...titles.map((title) => new Option(title)));
  }

  /// Shows which section is at the top of the screen.
  follow(index) {
    if (this.#position !== null && Math.abs(window.scrollY - this.#position) < 1) return;
    this.#position = null;
    if (this.#select.selectedIndex !== index) this.#select.selectedIndex = index;
  }
}
