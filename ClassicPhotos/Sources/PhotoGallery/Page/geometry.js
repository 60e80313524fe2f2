// The positions of photos: plain arithmetic, no elements.
//
// A photo has a row (its number in the server's list) and a place (its number in the order that is
// shown). Places fill lines from left to right. A layout says where: `Cells`, which all have one size,
// for photos whose proportions are unknown before their download; and `Rows` (rows.js).
//
// Browsers limit the height of an element: Chromium to 2^25 device pixels, Firefox to 17.9 million
// CSS pixels. Beyond the limit, lines silently disappear. So up to `tallest` the surface is as tall
// as its lines. Beyond it, the document is `tallest`, and the middle half of the document stands
// for all remaining lines:
//
//    document  |── 1:1 ──|~~~~~~ stretched ~~~~~~|── 1:1 ──|
//    lines     |── 1:1 ──|~~~~~~~~~~~~~~~~~~~~ … ~~~~~~~~~~~~~~~~~~~~|── 1:1 ──|
//
// In the middle, a jump (scroll bar, Home, End) lands proportionally. Wheel, touch and keys still
// move the lines pixel by pixel: the offset between document and lines is constant during such
// movement, and is corrected invisibly when the list has settled.

/// The height of a line of the list.
export const listLine = 96;
// The list has another column for each of these widths.
const listColumn = 900;

/// Surfaces that are narrower than this have smaller photos.
export const narrow = 600;

/// The columns of the list.
export const columnsOfList = (width) => Math.max(1, Math.floor(width / listColumn));

/// Cells of one size: `columns` cells that are aligned with both edges of the surface. They never
/// move when their photos arrive, which fill them.
export class Cells {
  /// - total: the number of places.
  constructor(view, width, total) {
    Object.assign(this, { view, width, total, arrangement: null, headings: [] });
    if (view === "list") {
      Object.assign(this, { columns: columnsOfList(width), gap: 0, lineHeight: listLine });
    } else {
      const isNarrow = width < narrow;
      const wanted = isNarrow ? 128 : width < 1100 ? 200 : width < 2000 ? 240 : 288;
      this.gap = isNarrow ? 3 : 6;
      this.columns =
        Math.max(isNarrow ? 3 : 2, Math.round((width + this.gap) / (wanted + this.gap)));
      this.lineHeight = Math.round(this.cell * (isNarrow ? 1 : 0.75));
    }
    this.line = this.lineHeight + this.gap;
    this.height = Math.max(0, Math.ceil(total / this.columns) * this.line - this.gap);
  }

  /// Offsets are multiples of it, so that lines stay aligned with the pattern behind them.
  get unit() { return this.line; }

  /// The width of a cell, not rounded.
  get cell() { return (this.width - this.gap * (this.columns - 1)) / this.columns; }

  /// The position and the size of a place, in whole pixels.
  box(place) {
    const column = place % this.columns;
    const left = Math.round(column * (this.cell + this.gap));
    const right = Math.round(column * (this.cell + this.gap) + this.cell);
    const top = this.lineOf(place) * this.line;
    return { left, top, width: right - left, height: this.lineHeight };
  }

  lineOf(place) { return Math.floor(place / this.columns); }

  /// The first place of the next line; there may be none.
  nextLine(place) { return place + this.columns; }

  /// The height of what stands above the line of a place and belongs to it.
  lead() { return 0; }

  /// The heading of the section of a place, or null.
  heading() { return null; }

  /// The place some lines further down, or up; at the ends, that of the last line that exists.
  step(place, lines) {
    const line = this.lineOf(place) + lines;
    const wanted = Math.min(this.lineOf(this.total - 1), Math.max(0, line));
    return Math.min(this.total - 1, wanted * this.columns + (place % this.columns));
  }

  /// By how many lines a page of a height moves on from a place.
  page(place, height, direction) {
    return direction * Math.max(1, Math.floor(height / this.line) - 1);
  }

  /// The first and the last place between two heights; there are places.
  places(top, bottom) {
    const clamp = (place) => Math.min(this.total - 1, Math.max(0, place));
    return {
      first: clamp((Math.floor((top - this.lineHeight) / this.line) + 1) * this.columns),
      last: clamp(Math.ceil(bottom / this.line) * this.columns - 1),
    };
  }

  equals(other) {
    return other instanceof Cells && this.view === other.view && this.width === other.width;
  }
}

export class Geometry {
  /// - view: the height of the window; the document's scroll range is shorter by this height.
  /// - ratio: device pixels in a CSS pixel.
  constructor(layout, view, ratio) {
    this.layout = layout;
    const tallest = this.wholeLines(Math.min(10_000_000, 30_000_000 / ratio));
    this.height = Math.min(layout.height, tallest);
    this.surplus = layout.height - this.height;
    this.range = Math.max(1, this.height - view);
    this.edge = this.range / 4;
  }

  /// The nearest height that keeps lines aligned with the pattern behind them.
  wholeLines(height) { return Math.round(height / this.layout.unit) * this.layout.unit; }

  /// How much further down the lines are than the document, at the given scroll position.
  offset(position) {
    if (this.surplus === 0) return 0;
    const share = (position - this.edge) / (this.range - 2 * this.edge);
    if (share >= 1) return this.surplus;
    return this.wholeLines(this.surplus * Math.max(0, share));
  }

  /// The scroll position of the document that shows the lines at `top`: `top` minus the offset
  /// there.
  position(top) {
    if (this.surplus === 0 || top <= this.edge) return top;
    if (top >= this.range - this.edge + this.surplus) return top - this.surplus;
    const stretch = 1 + this.surplus / (this.range - 2 * this.edge);
    const exact = this.edge + (top - this.edge) / stretch;
    return top - this.wholeLines(top - exact);
  }

  /// The places between two heights, both ends included, or null if there are none.
  places(top, bottom) {
    if (this.layout.total === 0 || bottom <= top) return null;
    return this.layout.places(top, bottom);
  }
}
