// Where rows are: plain arithmetic, no elements.
//
// Browsers cannot lay out elements of any height: Chromium ends at 2^25 device pixels, Firefox at
// 17.9 million CSS pixels, and what they do beyond is to lose rows silently. So up to `tallest` the
// list is as tall as its rows. Beyond, the document is `tallest` and its middle half stands for all
// the rows that do not fit:
//
//    document  |── 1:1 ──|~~~~~~ stretched ~~~~~~|── 1:1 ──|
//    rows      |── 1:1 ──|~~~~~~~~~~~~~~~~~~~~ … ~~~~~~~~~~~~~~~~~~~~|── 1:1 ──|
//
// A jump (scroll bar, Home, End) in the middle lands by proportion; wheel, touch and keys still move
// the rows pixel by pixel, because the offset between document and rows is held during such
// movement, and put right, without a visible change, when the list has settled.

export const rowHeight = 96;

/// The nearest height that is a whole number of rows. Offsets are, so that rows stay in step with the
/// pattern painted behind them.
export const wholeRows = (height) => Math.round(height / rowHeight) * rowHeight;

/// The tallest list that is laid out as it is, in CSS pixels.
export function tallest(devicePixelRatio) {
  return wholeRows(Math.min(10_000_000, 30_000_000 / devicePixelRatio));
}

export class Geometry {
  /// - total: number of rows.
  /// - limit: the tallest element allowed.
  /// - view: height of the window; the document's scroll range is shorter by that.
  constructor(total, limit, view) {
    this.total = total;
    const wanted = total * rowHeight;
    this.height = Math.min(wanted, limit);
    this.surplus = wanted - this.height;
    this.range = Math.max(1, this.height - view);
    this.edge = this.range / 4;
  }

  /// How much further down the rows are than the document, at a scroll position of the document.
  offset(position) {
    if (this.surplus === 0) return 0;
    const share = (position - this.edge) / (this.range - 2 * this.edge);
    return wholeRows(this.surplus * Math.min(1, Math.max(0, share)));
  }

  /// The document's scroll position that shows the rows at `place`: place less the offset there.
  position(place) {
    if (this.surplus === 0 || place <= this.edge) return place;
    if (place >= this.range - this.edge + this.surplus) return place - this.surplus;
    const stretch = 1 + this.surplus / (this.range - 2 * this.edge);
    const exact = this.edge + (place - this.edge) / stretch;
    return place - wholeRows(place - exact);
  }

  /// Rows between two heights, both ends included, or nothing when there are none.
  rows(top, bottom) {
    if (this.total === 0 || bottom <= top) return null;
    const clamp = (row) => Math.min(this.total - 1, Math.max(0, row));
    return { first: clamp(Math.floor(top / rowHeight)), last: clamp(Math.ceil(bottom / rowHeight) - 1) };
  }
}
