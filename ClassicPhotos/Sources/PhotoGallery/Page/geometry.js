// The positions of photos: plain arithmetic, no elements.
//
// A photo has a row (its number in the server's list) and a place (its number in the order that is
// shown). Places fill lines of equal height from left to right; the list has one column, and more on
// very wide screens.
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

const listLine = 96;
// The list has another column for each of these widths.
const listColumn = 900;

/// The cells of one line: `columns` cells that are aligned with both edges of the surface.
///
/// The proportions of a photo are unknown before its download. Equal cells, which the photos fill,
/// never move when the photos arrive.
export class Layout {
  constructor(view, width) {
    this.view = view;
    this.width = width;
    if (view === "list") {
      const columns = Math.max(1, Math.floor(width / listColumn));
      Object.assign(this, { columns, gap: 0, height: listLine, line: listLine });
      return;
    }
    const isNarrow = width < 600;
    const wanted = isNarrow ? 128 : width < 1100 ? 200 : width < 2000 ? 240 : 288;
    this.gap = isNarrow ? 3 : 6;
    this.columns = Math.max(isNarrow ? 3 : 2, Math.round((width + this.gap) / (wanted + this.gap)));
    this.height = Math.round(this.cell * (isNarrow ? 1 : 0.75));
    this.line = this.height + this.gap;
  }

  /// The width of a cell, not rounded.
  get cell() { return (this.width - this.gap * (this.columns - 1)) / this.columns; }

  /// The left edge and the width of a place, in whole pixels.
  horizontal(place) {
    const column = place % this.columns;
    const left = Math.round(column * (this.cell + this.gap));
    const right = Math.round(column * (this.cell + this.gap) + this.cell);
    return [left, right - left];
  }

  lineOf(place) { return Math.floor(place / this.columns); }

  equals(other) { return this.view === other.view && this.width === other.width; }
}

export class Geometry {
  /// - total: the number of places.
  /// - view: the height of the window; the document's scroll range is shorter by this height.
  /// - ratio: device pixels in a CSS pixel.
  constructor(total, layout, view, ratio) {
    this.total = total;
    this.layout = layout;
    // Offsets are whole lines, so that lines stay aligned with the pattern painted behind them.
    const tallest = this.wholeLines(Math.min(10_000_000, 30_000_000 / ratio));
    const wanted = Math.max(0, Math.ceil(total / layout.columns) * layout.line - layout.gap);
    this.height = Math.min(wanted, tallest);
    this.surplus = wanted - this.height;
    this.range = Math.max(1, this.height - view);
    this.edge = this.range / 4;
  }

  /// The nearest height that is a whole number of lines.
  wholeLines(height) { return Math.round(height / this.layout.line) * this.layout.line; }

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
    if (this.total === 0 || bottom <= top) return null;
    const { columns, line, height } = this.layout;
    const clamp = (place) => Math.min(this.total - 1, Math.max(0, place));
    return {
      first: clamp((Math.floor((top - height) / line) + 1) * columns),
      last: clamp(Math.ceil(bottom / line) * columns - 1),
    };
  }
}
