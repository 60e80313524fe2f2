// The photos as a grid or a list: binds a few dozen cells to the places around the screen, and
// rebinds them on scroll.
//
// The current place is the photo that the keyboard is on. Its link is the only one that the Tab key
// reaches; without it on the screen, the first visible link takes its part. A cell that has the
// focus stays in the document when it scrolls away, because removing it would lose the focus.

import { Cell } from "./cell.js";
import { Geometry, Layout } from "./geometry.js";

// Extra pixels bound above and below the screen, so that slow scrolling never shows an empty line.
const margin = 480;
// The number of spare cells kept outside the document.
const spares = 48;

export class VirtualList {
  #root;
  #options;
  #cells = new Map();     // place → cell, only places that are in the document
  #free = [];
  #total = 0;             // rows of the server's list
  #order = null;          // place → row, or null if both are the same
  #places = null;         // row → place
  #view;
  #layout;
  #geometry;
  #offset = 0;            // position of the lines minus position of the document
  #position = 0;          // scroll position at the last frame
  #frame = 0;
  #patternTop = null;
  #isStale = false;
  #kept = null;
  #visible = null;
  #tabStop = null;

  /// The place that the keyboard is on.
  current = 0;

  constructor(root, options) {
    this.#root = root;
    this.#options = options;
    this.#view = options.view;
    this.#layout = new Layout(this.#view, 0);
    this.#geometry = new Geometry(0, this.#layout, 0, 1);
    const measure = () => { this.#measure(); this.#schedule(); };
    window.addEventListener("resize", measure);
    const observer = new ResizeObserver(measure);
    for (const element of [root, ...options.bars]) observer.observe(element);
    root.addEventListener("click", (event) => this.#clicked(event));
    root.addEventListener("focusin", (event) => this.#focused(event));
    // A cell that stayed in the document only because it had the focus can now be removed.
    root.addEventListener("focusout", () => this.#schedule());
    document.addEventListener("keydown", (event) => this.#keyPressed(event));
  }

  /// The number of places.
  get count() { return this.#order?.length ?? this.#total; }

  get columns() { return this.#layout.columns; }

  row(place) { return this.#order ? this.#order[place] : place; }

  /// The place of a row, or undefined if the order does not contain the row.
  place(row) {
    if (this.#places) return this.#places.get(row);
    return row < this.#total ? row : undefined;
  }

  setTotal(total) {
    if (total === this.#total) return;
    this.#total = total;
    if (this.#order === null) this.#reset();
  }

  /// Shows the list after photos were added or deleted: the others stay where they are on the
  /// screen, and keep their cells.
  ///
  /// - rows: the rows in their order; null for the whole list.
  update(total, rows) {
    const kept = this.#keptPhotos();
    const currentRow = this.row(this.current);
    const cells = [...this.#cells.values()].sort((a, b) => a.place - b.place);
    this.#total = total;
    this.#order = rows;
    this.#places = rows && new Map(rows.map((row, place) => [row, place]));
    this.#cells.clear();
    // Cells stand in the document in the order of their places, and are not moved in it.
    let last = -1;
    for (const cell of cells) {
      const place = this.place(cell.row);
      if (place === undefined || place <= last) {
        this.#discard(cell);
        continue;
      }
      last = place;
      cell.move(place, this.count);
      this.#cells.set(place, cell);
    }
    for (const cell of this.#free) cell.element.remove();
    this.current = this.place(currentRow) ?? Math.min(this.current, Math.max(0, this.count - 1));
    this.#visible = null;
    this.#measure();
    this.#putCells();
    const row = kept?.rows.find((row) => this.place(row) !== undefined);
    if (row === undefined) return this.#render();
    this.showPlace(this.place(row), "top", kept.shift);
    this.#kept = { ...kept, position: window.scrollY };
  }

  // The rows from the first line on that is wholly visible, of which the first one stays where it
  // is; null at the top, where new photos come into view. After several updates without a scroll,
  // the photo is still that of the first one, so that the screen does not wander with the lines.
  #keptPhotos() {
    if (window.scrollY === 0 || this.count === 0) return null;
    if (this.#kept && Math.abs(this.#kept.position - window.scrollY) < 1) return this.#kept;
    let { place } = this.anchor();
    const { top } = this.#window();
    const next = place + this.columns;
    if (this.#lineTop(place) < top && next < this.count) place = next;
    const shift = Math.round(this.#lineTop(place) - top);
    return { shift, rows: Array.from({ length: this.count - place }, (_, i) => this.row(place + i)) };
  }

  /// Shows the given rows in the given order; null shows the whole list. Returns whether that is
  /// a change.
  setOrder(rows) {
    const former = this.#order;
    if (rows === former) return false;
    const hasSameLength = rows?.length === former?.length;
    if (hasSameLength && rows.every((row, place) => row === former[place])) return false;
    this.#order = rows;
    this.#places = rows && new Map(rows.map((row, place) => [row, place]));
    this.current = 0;
    this.#reset();
    return true;
  }

  get view() { return this.#view; }

  setView(view) {
    this.#view = view;
    this.#measure();
  }

  scrolled() { this.#schedule(); }

  /// Shows the state of a row now; in the next frame, its picture would be requested later.
  refresh(row) { this.cell(row)?.show(this.#options.content(row)); }

  /// Shows the states of all rows in the next frame.
  refreshAll() {
    this.#isStale = true;
    this.#schedule();
  }

  /// The cell of a row, or undefined if the row is far from the screen.
  cell(row) { return this.#cells.get(this.place(row)); }

  /// The places with at least one visible pixel, measured now, or null.
  visible() {
    const { top, bottom } = this.#window();
    const start = this.#root.getBoundingClientRect().top - this.#currentOffset();
    return this.#geometry.places(top - start, bottom - start);
  }

  /// The visible rows, as the server expects them, or null.
  visibleRows() { return this.#rows(this.visible()); }

  #rows(visible) {
    if (visible === null || this.#order === null) return visible;
    return { rows: this.#order.slice(visible.first, visible.last + 1) };
  }

  /// The first visible place, and how far its line is below the upper edge of the window.
  anchor() {
    const place = this.visible()?.first ?? 0;
    return { place, shift: Math.round(this.#lineTop(place) - this.#window().top) };
  }

  #lineTop(place) {
    const start = this.#root.getBoundingClientRect().top - this.#currentOffset();
    return this.#layout.lineOf(place) * this.#layout.line + start;
  }

  /// Scrolls until a place is visible: at the top, in the middle, or by the shortest way.
  ///
  /// - shift: how far below the upper edge of the window the place is, if it is at the top.
  showPlace(place, where = "nearest", shift = this.#layout.gap) {
    const { top, bottom } = this.#window();
    const lineTop = this.#lineTop(place);
    const shown = [lineTop, lineTop + this.#layout.height];
    let move = 0;
    const isFirst = this.#layout.lineOf(place) === 0;
    if (isFirst && where !== "middle") move = -window.scrollY - this.#offset;
    else if (where === "top") move = shown[0] - top - shift;
    else if (where === "middle") move = (shown[0] + shown[1] - top - bottom) / 2;
    else if (shown[0] < top) move = shown[0] - top - this.#layout.gap;
    else if (shown[1] > bottom) move = shown[1] - bottom + this.#layout.gap;
    if (Math.abs(move) >= 1) this.#moveTo(window.scrollY + move + this.#offset);
    this.#render();
  }

  /// Moves the focus to a place, and scrolls to it if necessary.
  focus(place) {
    this.current = place;
    this.showPlace(place);
    this.#cells.get(place)?.link.focus({ preventScroll: true });
  }

  /// Moves the document to the proportional position of the lines; needed only by lists that are
  /// taller than an element can be. Returns the new scroll position, or null if the document did
  /// not move.
  realign() {
    if (this.#geometry.surplus === 0) return null;
    this.#render();
    const top = window.scrollY + this.#offset;
    if (Math.abs(this.#geometry.position(top) - window.scrollY) < 1) return null;
    this.#moveTo(top);
    return this.#position;
  }

  // The part of the window between the bars. On narrow screens the header scrolls away.
  #window() {
    const [header, strip] = this.#options.bars;
    return {
      top: Math.max(0, header.getBoundingClientRect().bottom),
      bottom: strip.getBoundingClientRect().top,
    };
  }

  #moveTo(top) {
    const position = Math.max(0, this.#geometry.position(top));
    window.scrollTo({ top: position, behavior: "instant" });
    this.#position = window.scrollY;
    const offset = this.#geometry.wholeLines(top - position);
    this.#offset = Math.min(this.#geometry.surplus, Math.max(0, offset));
    this.#putCells();
  }

  #reset() {
    this.#measure();
    for (const cell of [...this.#cells.values()]) this.#release(cell);
    for (const cell of this.#free) cell.element.remove();
    this.#visible = null;
    this.#render();
  }

  #measure() {
    const [header, strip] = this.#options.bars;
    const { style, dataset } = this.#root;
    const page = document.documentElement.style;
    page.setProperty("--strip-height", `${strip.offsetHeight}px`);
    // The part of the header that scrolls away on narrow screens.
    page.setProperty("--fold", `${header.offsetHeight - this.#options.tools.offsetHeight - 22}px`);
    dataset.view = this.#view;
    const layout = new Layout(this.#view, this.#root.clientWidth);
    const isSame = layout.equals(this.#layout);
    const anchor = this.isVisible(this.current) ? this.current : this.#visible?.first;
    this.#layout = layout;
    this.#geometry = new Geometry(this.count, layout, window.innerHeight, window.devicePixelRatio);
    style.height = `${this.#geometry.height}px`;
    // For the pattern of empty cells, which the browser shows until cells are bound.
    style.setProperty("--cell", `${layout.cell}px`);
    style.setProperty("--height", `${layout.height}px`);
    style.setProperty("--gap", `${layout.gap}px`);
    this.#root.classList.toggle("small", layout.cell < 170);
    // The window, and as much above and below it.
    this.#options.pattern.style.height = `${3 * window.innerHeight + layout.line}px`;
    this.#patternTop = null;
    const missing = (layout.columns - (this.count % layout.columns)) % layout.columns;
    style.setProperty("--missing", `${missing * (layout.cell + layout.gap)}px`);
    if (this.#geometry.surplus === 0) this.#offset = 0;
    if (isSame) return this.#putCells();
    for (const cell of this.#cells.values()) cell.element.style.height = `${layout.height}px`;
    this.#putCells();
    // The same photos stay on the screen when lines get another length.
    if (anchor) this.showPlace(anchor, "top");
  }

  #schedule() {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#render(); });
  }

  // During small movements the lines move with the document; jumps land at the proportional
  // position.
  #currentOffset() {
    const isJump = Math.abs(window.scrollY - this.#position) > 2 * window.innerHeight;
    return isJump ? this.#geometry.offset(window.scrollY) : this.#offset;
  }

  #render() {
    const position = window.scrollY;
    const offset = this.#currentOffset();
    const isHurried = Math.abs(position - this.#position) > window.innerHeight;
    if (offset !== this.#offset) {
      this.#offset = offset;
      this.#putCells();
    }
    this.#position = position;
    this.#movePattern();

    const visible = this.visible();
    // At this speed, photos are invisible: the pattern of empty cells is enough.
    if (isHurried) this.#schedule();
    else if (visible) this.#bind(visible);
    this.#refreshStale();

    const isSame = visible?.first === this.#visible?.first && visible?.last === this.#visible?.last;
    this.#visible = visible;
    this.#placeTabStop();
    if (!isSame) this.#options.visibleRowsChanged(this.#rows(visible));
  }

  // Moves in steps of half a window, by whole lines, so that the pattern stays aligned with them.
  #movePattern() {
    const { line } = this.#layout;
    const view = window.innerHeight;
    const top = Math.max(0, -this.#root.getBoundingClientRect().top - view);
    if (this.#patternTop !== null && Math.abs(top - this.#patternTop) < view / 2) return;
    this.#patternTop = Math.floor(top / line) * line;
    this.#options.pattern.style.transform = `translateY(${this.#patternTop}px)`;
  }

  #bind(visible) {
    const lines = Math.ceil(margin / this.#layout.line) * this.#layout.columns;
    const first = Math.max(0, visible.first - lines);
    const last = Math.min(this.count - 1, visible.last + lines);
    for (const cell of [...this.#cells.values()]) {
      if ((cell.place < first || cell.place > last) && !cell.hasFocus) this.#release(cell);
    }
    // Cells stand in the document in the order of their places, for the Tab key and for screen
    // readers. Elements that stay are never moved, because a moved element loses the focus.
    let next = null;
    for (let place = last; place >= first; place -= 1) {
      const cell = this.#cells.get(place) ?? this.#insert(place, next ?? this.#after(place));
      next = cell.element;
    }
    for (const cell of this.#free) cell.element.remove();
    this.#free.length = Math.min(this.#free.length, spares);
    const rows = [];
    for (let place = first; place <= last; place += 1) rows.push(this.row(place));
    this.#options.rowsBound(rows);
  }

  // The element of the next cell: only a cell with the focus can be further down.
  #after(place) {
    let next = null;
    for (const cell of this.#cells.values()) {
      if (cell.place > place && (next === null || cell.place < next.place)) next = cell;
    }
    return next?.element ?? null;
  }

  #insert(place, next) {
    const cell = this.#free.pop() ?? new Cell(this.#options.template);
    const row = this.row(place);
    cell.bind(place, row, this.count);
    cell.show(this.#options.content(row));
    cell.element.style.height = `${this.#layout.height}px`;
    cell.put(this.#layout, this.#offset);
    this.#root.insertBefore(cell.element, next);
    this.#cells.set(place, cell);
    return cell;
  }

  #release(cell) {
    this.#cells.delete(cell.place);
    this.#discard(cell);
  }

  #discard(cell) {
    if (this.#tabStop === cell) this.#tabStop = null;
    cell.unbind();
    this.#free.push(cell);
  }

  #refreshStale() {
    if (!this.#isStale) return;
    this.#isStale = false;
    for (const cell of this.#cells.values()) cell.show(this.#options.content(cell.row));
  }

  #putCells() {
    for (const cell of this.#cells.values()) cell.put(this.#layout, this.#offset);
  }

  // MARK: Focus and keys

  /// Whether a place was on the screen in the last frame.
  isVisible(place) {
    return this.#visible !== null && place >= this.#visible.first && place <= this.#visible.last;
  }

  #placeTabStop() {
    const place = this.isVisible(this.current) ? this.current : this.#visible?.first;
    const cell = this.#cells.get(place);
    if (cell === this.#tabStop) return;
    if (this.#tabStop) this.#tabStop.link.tabIndex = -1;
    if (cell) cell.link.tabIndex = 0;
    this.#tabStop = cell ?? null;
  }

  #focused(event) {
    const element = event.target.closest(".row");
    for (const cell of this.#cells.values()) {
      if (cell.element === element) this.current = cell.place;
    }
    this.#placeTabStop();
  }

  #keyPressed(event) {
    const { target, key } = event;
    const isInside = this.#root.contains(target);
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (!isInside && target !== document.body) return;
    const last = this.count - 1;
    if (last < 0) return;
    const step = this.#step(key);
    if (step === null) return;
    // Without the focus in the list, the other keys scroll as everywhere.
    if (!isInside && !key.startsWith("Arrow")) return;
    event.preventDefault();
    if (!isInside) {
      this.focus(this.isVisible(this.current) ? this.current : this.#visible?.first ?? 0);
      return;
    }
    const wanted = this.current + step;
    // Up from the first line and down from the last line stay where they are.
    const isOutside = wanted < 0 || wanted > last;
    if (isOutside && Math.abs(step) === 1) return;
    if (!isOutside) return this.focus(wanted);
    const column = this.current % this.columns;
    const edge = wanted < 0 ? column : this.#layout.lineOf(last) * this.columns + column;
    this.focus(Math.min(last, Math.max(0, edge)));
  }

  #step(key) {
    const { top, bottom } = this.#window();
    const page = Math.max(1, Math.floor((bottom - top) / this.#layout.line) - 1) * this.columns;
    const backwards = getComputedStyle(this.#root).direction === "rtl" ? 1 : -1;
    switch (key) {
      case "ArrowLeft": return this.columns > 1 ? backwards : null;
      case "ArrowRight": return this.columns > 1 ? -backwards : null;
      case "ArrowUp": return -this.columns;
      case "ArrowDown": return this.columns;
      case "PageUp": return -page;
      case "PageDown": return page;
      case "Home": return -this.current;
      case "End": return this.count - 1 - this.current;
      default: return null;
    }
  }

  #clicked(event) {
    const element = event.target.closest(".row");
    if (!element) return;
    const row = Number(element.dataset.row);
    const button = event.target.closest(".row-retry");
    if (button) {
      if (button.getAttribute("aria-disabled") === "true") return;
      button.setAttribute("aria-disabled", "true");
      return this.#options.retry(row);
    }
    // With a modifier key, the browser opens the address in a new tab.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!event.target.closest(".row-link")) return;
    event.preventDefault();
    this.current = this.place(row);
    this.#options.opened(row);
  }
}
