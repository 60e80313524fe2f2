// The list: binds a few dozen row elements to the rows around the screen, and rebinds them on
// scroll.

import { Cell } from "./cell.js";
import { Geometry, rowHeight, tallest, wholeRows } from "./geometry.js";

// Extra rows bound above and below the screen, so that slow scrolling never shows an empty row.
const margin = 5;
// The number of spare cells kept outside the document.
const spares = 24;

export class VirtualList {
  #root;
  #options;
  #cells = new Map();     // row → cell, only rows that are in the document
  #free = [];
  #geometry = new Geometry(0, 0, 0);
  #offset = 0;            // position of the rows minus position of the document
  #position = 0;          // scroll position at the last frame
  #frame = 0;
  #stale = new Set();
  #visible = null;
  #hurried = false;

  constructor(root, options) {
    this.#root = root;
    this.#options = options;
    const measure = () => { this.#measure(); this.#schedule(); };
    window.addEventListener("resize", measure);
    const observer = new ResizeObserver(measure);
    for (const bar of options.bars) observer.observe(bar);
    root.addEventListener("click", (event) => this.#clicked(event));
    // A row that stayed in the document only because it had the focus can now be removed.
    root.addEventListener("focusout", () => this.#schedule());
  }

  setTotal(total) {
    if (total === this.#geometry.total) return;
    this.#geometry = new Geometry(total, 0, 0);
    this.#measure();
    for (const cell of this.#cells.values()) this.#release(cell);
    this.#render();
  }

  scrolled() { this.#schedule(); }

  refresh(row) {
    if (!this.#cells.has(row)) return;
    this.#stale.add(row);
    this.#schedule();
  }

  refreshAll() {
    for (const row of this.#cells.keys()) this.#stale.add(row);
    this.#schedule();
  }

  /// The rows with at least one visible pixel, measured now.
  visibleRange() {
    const [header, strip] = this.#options.bars;
    const top = header.getBoundingClientRect().bottom;
    const bottom = strip.getBoundingClientRect().top;
    const start = this.#root.getBoundingClientRect().top - this.#currentOffset();
    return this.#geometry.rows(top - start, bottom - start);
  }

  /// Moves the document to the proportional position of the rows; needed only by lists beyond
  /// `tallest`. Returns the new scroll position, or null if the document did not move.
  realign() {
    if (this.#geometry.surplus === 0) return null;
    this.#render();
    const place = window.scrollY + this.#offset;
    const position = this.#geometry.position(place);
    if (Math.abs(position - window.scrollY) < 1) return null;
    window.scrollTo({ top: position, behavior: "instant" });
    this.#position = window.scrollY;
    this.#offset = wholeRows(place - position);
    this.#place();
    return this.#position;
  }

  #measure() {
    const [, strip] = this.#options.bars;
    document.documentElement.style.setProperty("--strip-height", `${strip.offsetHeight}px`);
    const limit = tallest(window.devicePixelRatio);
    this.#geometry = new Geometry(this.#geometry.total, limit, window.innerHeight);
    this.#root.style.height = `${this.#geometry.height}px`;
    if (this.#geometry.surplus === 0 && this.#offset !== 0) {
      this.#offset = 0;
      this.#place();
    }
  }

  #schedule() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#render(); });
  }

  // During small movements the rows move with the document; jumps land at the proportional
  // position.
  #currentOffset() {
    const isJump = Math.abs(window.scrollY - this.#position) > 2 * window.innerHeight;
    return isJump ? this.#geometry.offset(window.scrollY) : this.#offset;
  }

  #render() {
    const position = window.scrollY;
    const offset = this.#currentOffset();
    // Pictures are invisible at this speed; requesting them would only load the server.
    const isHurried = Math.abs(position - this.#position) > window.innerHeight;
    if (offset !== this.#offset) {
      this.#offset = offset;
      this.#place();
    }
    this.#position = position;

    const visible = this.visibleRange();
    if (visible) this.#bind(visible, !isHurried);
    this.#refreshStale(!isHurried);
    if (isHurried) this.#schedule();
    this.#hurried = isHurried;

    const isSame = visible?.first === this.#visible?.first && visible?.last === this.#visible?.last;
    this.#visible = visible;
    if (!isSame) this.#options.visibleRowsChanged();
  }

  #bind(visible, withPictures) {
    const first = Math.max(0, visible.first - margin);
    const last = Math.min(this.#geometry.total - 1, visible.last + margin);
    for (const cell of this.#cells.values()) {
      if ((cell.row < first || cell.row > last) && !cell.hasFocus) this.#release(cell);
    }
    for (let row = first; row <= last; row += 1) {
      if (!this.#cells.has(row)) this.#insert(row, withPictures);
    }
    for (const cell of this.#free) cell.element.remove();
    this.#free.length = Math.min(this.#free.length, spares);
    this.#options.rangeBound(first, last);
  }

  #refreshStale(withPictures) {
    if (this.#hurried && withPictures) this.refreshAll();
    for (const row of this.#stale) this.#cells.get(row)?.show(this.#options.content(row), withPictures);
    this.#stale.clear();
  }

  #insert(row, withPictures) {
    const cell = this.#free.pop() ?? new Cell(this.#options.template);
    cell.bind(row, this.#geometry.total);
    cell.show(this.#options.content(row), withPictures);
    cell.element.style.top = `${row * rowHeight - this.#offset}px`;
    // Rows stand in the document in list order, for the Tab key and for screen readers. Elements
    // that stay are never moved, because a moved element loses the focus.
    this.#root.insertBefore(cell.element, this.#elementAfter(row));
    this.#cells.set(row, cell);
  }

  #elementAfter(row) {
    let next = null;
    for (const cell of this.#cells.values()) {
      if (cell.row > row && (next === null || cell.row < next.row)) next = cell;
    }
    return next?.element ?? null;
  }

  #release(cell) {
    this.#cells.delete(cell.row);
    this.#stale.delete(cell.row);
    cell.unbind();
    this.#free.push(cell);
  }

  #place() {
    for (const [row, cell] of this.#cells) cell.element.style.top = `${row * rowHeight - this.#offset}px`;
  }

  #clicked(event) {
    // A row has space for two lines of a reason; without a hovering pointer, a tap shows the whole
    // text.
    const reason = event.target.closest(".row-reason");
    if (reason) return this.#options.reasonSelected(reason.textContent);
    const button = event.target.closest(".row-retry");
    if (!button || button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    this.#options.retry(Number(button.closest(".row").dataset.row));
  }
}
