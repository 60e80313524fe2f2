// The positions of a person's own photos, whose proportions are known before they are decoded: plain
// arithmetic, no elements. The photos of a line have the same height, their own proportions, and the
// width of the surface together. There may be a heading above the first line of a section.
//
// Everything is computed once, when the width or the list changes; then each question takes O(log n)
// at most. The members are those of `Cells` (geometry.js).

import { columnsOfList, listLine, narrow } from "./geometry.js";

// The proportions of photos that are not known, and the limits of those that are kept. A photo
// beyond them is shown in part, as a strip would leave no space for others.
const usualShape = 1.5;
const [narrowest, widest] = [0.5, 3];

/// Lines of photos with their own proportions, which fill the width; the last line of a section
/// keeps the usual height instead. As a list, lines of equal cells; both may have headings.
export class Rows {
  #lefts; #widths; #lines;
  #firsts = []; #tops = []; #heights = []; #sections = [];

  /// - total: the number of places.
  /// - arrangement: the `shapes` of the photos by place, in thousandths of width divided by height,
  ///   0 if unknown; and `sections` with a `name` and the `count` of photos, or none.
  constructor(view, width, total, arrangement) {
    Object.assign(this, { view, width, total, arrangement, headings: [] });
    const isNarrow = width < narrow;
    this.gap = view === "list" ? 0 : isNarrow ? 3 : 6;
    this.usualHeight = isNarrow ? 130 : width < 1100 ? 190 : width < 2000 ? 205 : 260;
    // The first heading is close to the top of the surface.
    this.headingHeights = isNarrow ? [36, 44] : [34, 56];
    if (view === "list") this.columns = columnsOfList(width);
    this.#lefts = new Int32Array(total);
    this.#widths = new Int32Array(total);
    this.#lines = new Int32Array(total);
    this.height = Math.max(0, this.#fill() - this.gap);
  }

  /// The height of a line, about.
  get line() { return this.view === "list" ? listLine : this.usualHeight + this.gap; }

  get unit() { return 1; }

  #shape(place) {
    const shape = this.arrangement.shapes[place] / 1000 || usualShape;
    return Math.min(widest, Math.max(narrowest, shape));
  }

  // Returns the bottom of all lines, with a gap.
  #fill() {
    const { sections } = this.arrangement;
    const names = new Set();
    let [top, first] = [0, 0];
    for (const section of sections.length > 0 ? sections : [{ count: this.total }]) {
      const end = Math.min(this.total, first + section.count);
      if (end === first) continue;
      if (sections.length > 0) {
        const height = this.headingHeights[top === 0 ? 0 : 1];
        const { name } = section;
        // Two names may look the same, without characters that are not shown.
        const key = names.has(name) ? `${name}\n${first}` : name;
        names.add(name);
        this.headings.push({ key, name, first, count: end - first, top, height });
        top += height;
      }
      top = this.view === "list"
        ? this.#fillList(first, end, top) : this.#fillGrid(first, end, top);
      first = end;
    }
    return top;
  }

  #fillList(first, end, top) {
    const width = this.width / this.columns;
    for (let place = first; place < end; place += this.columns) {
      const last = Math.min(end, place + this.columns);
      this.#addLine(place, last, top, listLine, () => width);
      top += listLine;
    }
    return top;
  }

  #fillGrid(first, end, top) {
    const height = (count, sum) => (this.width - this.gap * (count - 1)) / sum;
    // How far a height is from the usual one.
    const distance = (height) => Math.abs(Math.log(height / this.usualHeight));
    const add = (from, to, exact) => {
      this.#addLine(from, to, top, Math.round(exact), (place) => this.#shape(place) * exact);
      top += Math.round(exact) + this.gap;
    };
    let [start, sum] = [first, 0];
    for (let place = first; place < end; place += 1) {
      const shape = this.#shape(place);
      const without = height(place - start, sum);
      const with_ = height(place - start + 1, sum + shape);
      const isBetterWithout = place > start && distance(without) < distance(with_);
      if (with_ <= this.usualHeight && isBetterWithout) {
        add(start, place, without);
        [start, sum] = [place, 0];
      }
      sum += shape;
      const exact = height(place - start + 1, sum);
      if (exact > this.usualHeight) continue;
      add(start, place + 1, exact);
      [start, sum] = [place + 1, 0];
    }
    if (start < end) add(start, end, this.usualHeight);
    return top;
  }

  #addLine(first, end, top, height, width) {
    const line = this.#firsts.length;
    this.#firsts.push(first);
    this.#tops.push(top);
    this.#heights.push(height);
    this.#sections.push(this.headings.length - 1);
    let left = 0;
    for (let place = first; place < end; place += 1) {
      const right = left + width(place);
      this.#lefts[place] = Math.round(left);
      this.#widths[place] = Math.round(right) - Math.round(left);
      this.#lines[place] = line;
      left = right + this.gap;
    }
  }

  box(place) {
    const line = this.#lines[place];
    return {
      left: this.#lefts[place], top: this.#tops[line],
      width: this.#widths[place], height: this.#heights[line],
    };
  }

  lineOf(place) { return this.#lines[place]; }

  nextLine(place) { return this.#firsts[this.#lines[place] + 1] ?? this.total; }

  lead(place) {
    const heading = this.heading(place);
    return heading && this.#lines[place] === this.#lines[heading.first] ? heading.height : 0;
  }

  heading(place) { return this.headings[this.#sections[this.#lines[place]]] ?? null; }

  /// - x: the horizontal position from which the step begins; it ends at the photo that is nearest.
  step(place, lines, x) {
    const line = Math.min(this.#firsts.length - 1, Math.max(0, this.#lines[place] + lines));
    const end = this.#firsts[line + 1] ?? this.total;
    let [nearest, least] = [this.#firsts[line], Infinity];
    for (let other = nearest; other < end; other += 1) {
      const left = this.#lefts[other];
      const distance = Math.max(left - x, x - left - this.#widths[other]);
      if (distance < least) [nearest, least] = [other, distance];
    }
    return nearest;
  }

  page(place, height, direction) {
    const line = this.#lines[place];
    const reached = this.#lineAt(this.#tops[line] + direction * height);
    return direction * Math.max(1, Math.abs(reached - line) - 1);
  }

  places(top, bottom) {
    const first = this.#lineAt(top);
    // A heading alone is no photo.
    let last = this.#lineAt(bottom);
    if (last > first && this.#tops[last] >= bottom) last -= 1;
    return { first: this.#firsts[first], last: (this.#firsts[last + 1] ?? this.total) - 1 };
  }

  // The first line whose lower edge is below a height, otherwise the last line.
  #lineAt(height) {
    let [low, high] = [0, this.#tops.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#tops[middle] + this.#heights[middle] > height) high = middle; else low = middle + 1;
    }
    return low;
  }

  equals(other) {
    return other instanceof Rows && this.view === other.view && this.width === other.width
      && this.total === other.total && this.arrangement === other.arrangement;
  }
}
