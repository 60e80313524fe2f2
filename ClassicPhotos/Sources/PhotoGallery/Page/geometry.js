// The positions of rows: plain arithmetic, no elements.
//
// Browsers limit the height of an element: Chromium to 2^25 device pixels, Firefox to 17.9 million
// CSS pixels. Beyond the limit, rows silently disappear. So up to `tallest` the list is as tall as
// its rows. Beyond it, the document is `tallest`, and the middle half of the document stands for
// all remaining rows:
//
//    document  |── 1:1 ──|~~~~~~ stretched ~~~~~~|── 1:1 ──|
//    rows      |── 1:1 ──|~~~~~~~~~~~~~~~~~~~~ … ~~~~~~~~~~~~~~~~~~~~|── 1:1 ──|
//
// In the middle, a jump (scroll bar, Home, End) lands proportionally. Wheel, touch and keys still
// move the rows pixel by pixel: the offset between document and rows is constant during such
// movement, and is corrected invisibly when the list has settled.

export const rowHeight = 96;

/// The nearest height that is a whole number of rows. Offsets are whole rows too, so that rows stay
/// aligned with the pattern painted behind them.
export const wholeRows = (height) => Math.round(height / rowHeight) * rowHeight;

/// The tallest list that is laid out at its real height, in CSS pixels.
export function tallest(devicePixelRatio) {
  return wholeRows(Math.min(10_000_000, 30_000_000 / devicePixelRatio));
}

export class Geometry {
  /// - total: the number of rows.
  /// - limit: the maximum height of an element.
  /// - view: the height of the window; the document's scroll range is shorter by this height.
  constructor(total, limit, view) {
    this.total = total;
    const wanted = total * rowHeight;
    this.height = Math.min(wanted, limit);
    this.surplus = wanted - this.height;
    this.range = Math.max(1, this.height - view);
    this.edge = this.range / 4;
  }

  /// How much further down the rows are than the document, at the given scroll position.
  offset(position) {
    if (this.surplus === 0) return 0;
    const share = (position - this.edge) / (this.range - 2 * this.edge);
    return wholeRows(this.surplus * Math.min(1, Math.max(0, share)));
  }

  /// The scroll position of the document that shows the rows at `place`: `place` minus the offset
  /// there.
  position(place) {
    if (this.surplus === 0 || place <= this.edge) return place;
    if (place >= this.range - this.edge + this.surplus) return place - this.surplus;
    const stretch = 1 + this.surplus / (this.range - 2 * this.edge);
    const exact = this.edge + (place - this.edge) / stretch;
    return place - wholeRows(place - exact);
  }

  /// The rows between two heights, both ends included, or null if there are none.
  rows(top, bottom) {
    if (this.total === 0 || bottom <= top) return null;
    const clamp = (row) => Math.min(this.total - 1, Math.max(0, row));
    return { first: clamp(Math.floor(top / rowHeight)), last: clamp(Math.ceil(bottom / rowHeight) - 1) };
  }
}
