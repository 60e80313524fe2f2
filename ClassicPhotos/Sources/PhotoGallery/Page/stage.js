// The stage of the detail view: one photo, fitted into the space, with zoom and pan, a swipe to the
// next photo, and a divider between the photo before and after the filters.
//
//    fitted, one finger sideways  ──▶ swipe, with the neighbor beside the photo
//    fitted, one finger down      ──▶ close
//    one finger, no movement      ──▶ a tap
//    fitted, divider shown        ──▶ the divider follows the pointer
//    enlarged, one finger         ──▶ pan
//    two fingers, wheel, + and -  ──▶ zoom around that point

import { make } from "./dom.js";
import { text } from "./strings.js";

// The greatest enlargement of the fitted photo, and of its own pixels.
const largest = 8;
const largestPixel = 2;
const swipeLength = 70;
const closingLength = 110;
// A finger that moves less than this taps.
const tapLength = 8;
// Between a photo and its neighbor during a swipe.
const gap = 24;
// The width of the divider's knob.
const knob = 16;

export class Stage {
  #ratio = 1.5;
  // The size of the fitted photo, which the browser's own integers would round.
  #size = { width: 1, height: 1 };
  #scale = 1;
  #x = 0;
  #y = 0;
  #pointers = new Map();
  #gesture = null;
  #beside = null;
  #isLeaving = false;
  #share = 50;
  #handlers;

  before = make("img", { alt: "", draggable: false });
  after = make("img", { alt: "", draggable: false });
  canvas = make("div", { className: "canvas" }, this.before, this.after);
  divider = make("input", {
    type: "range", min: 0, max: 100, value: 50,
    className: "divider", label: text("divider"), hidden: true,
    input: () => this.#divide(Number(this.divider.value)),
  });
  #sides = make("div", { className: "sides", hidden: true },
    make("span", {}, text("before")), make("span", {}, text("after")));
  element = make("div", { className: "stage" }, this.canvas, this.#sides, this.divider);

  /// - handlers: step(1 or -1) after a swipe, close() after a swipe down, tapped() after a tap,
  ///   scaled(scale) after a zoom, fitted() when the fitted photo has another size;
  ///   neighbor(1 or -1) returns the { picture, ratio, color } of a neighbor, or null.
  constructor(handlers) {
    this.#handlers = handlers;
    const { element } = this;
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#zoomAt(this.#scale * Math.exp(-event.deltaY / 300), event.clientX, event.clientY);
    }, { passive: false });
    element.addEventListener("dblclick", (event) => {
      if (event.target.closest("button, input")) return;
      this.#zoomAt(this.#scale > 1 ? 1 : 2.5, event.clientX, event.clientY);
    });
    element.addEventListener("pointerdown", (event) => this.#pressed(event));
    element.addEventListener("pointermove", (event) => this.#moved(event));
    for (const name of ["pointerup", "pointercancel"]) {
      element.addEventListener(name, (event) => this.#lifted(event));
    }
    new ResizeObserver(() => this.#fit()).observe(element);
  }

  get scale() { return this.#scale; }

  /// The pixels of the photo's longer side, or null if they are unknown.
  pixels = null;

  // The scale at which each pixel of the photo has a pixel of the screen.
  get #pixelScale() {
    const { width, height } = this.#size;
    return (this.pixels ?? 0) / (Math.max(width, height, 1) * window.devicePixelRatio);
  }

  /// The proportions of the photo: width divided by height.
  set ratio(ratio) {
    if (!(ratio > 0)) return;
    this.#ratio = ratio;
    this.#fit();
  }

  get isDivided() { return !this.divider.hidden; }

  set isDivided(isDivided) {
    this.divider.hidden = !isDivided;
    this.#sides.hidden = !isDivided;
    this.canvas.classList.toggle("divided", isDivided);
    this.#divide(50);
  }

  /// Shows another photo as a whole, without a movement from the former one.
  present() {
    this.element.classList.add("still");
    this.reset();
    // The browser compares styles when it lays out the page.
    this.canvas.getBoundingClientRect();
    this.element.classList.remove("still");
    const former = this.#beside;
    this.#beside = null;
    // The neighbor is the new photo: it stays until the stage can show its picture.
    this.after.decode().catch(() => {}).then(() => former?.remove());
  }

  /// Shows the whole photo.
  reset() {
    this.#scale = 1;
    this.#x = 0;
    this.#y = 0;
    this.#move();
  }

  zoom(factor) { this.#zoomTo(this.#scale * factor); }

  /// Shows each pixel of the photo as a pixel of the screen.
  showPixels() { this.#zoomTo(this.#pixelScale); }

  #zoomTo(scale) {
    const box = this.element.getBoundingClientRect();
    this.#zoomAt(scale, box.x + box.width / 2, box.y + box.height / 2);
  }

  #divide(share) {
    this.#share = share;
    this.divider.value = share;
    this.#moveLine();
  }

  // The line stays at its place on the screen, above the knob, while the photo moves under it.
  #moveLine() {
    const width = this.canvas.offsetWidth || 1;
    const fromMiddle = (this.#share / 100 - 0.5) * width - this.#x;
    const share = 50 + (100 * fromMiddle) / (width * this.#scale);
    this.canvas.style.setProperty("--share", `${Math.min(100, Math.max(0, share))}%`);
    this.canvas.style.setProperty("--thickness", `${2 / this.#scale}px`);
  }

  #fit() {
    const width = this.#fitInto(this.canvas, this.#ratio);
    const height = width / this.#ratio;
    const isOther = width !== this.#size.width || height !== this.#size.height;
    this.#size = { width, height };
    // Half a knob stands out at each end.
    this.divider.style.width = `${width + knob}px`;
    this.#move();
    if (isOther) this.#handlers.fitted();
  }

  #fitInto(element, ratio) {
    const { clientWidth, clientHeight } = this.element;
    const width = Math.min(clientWidth, clientHeight * ratio);
    element.style.width = `${width}px`;
    element.style.height = `${width / ratio}px`;
    return width;
  }

  #zoomAt(wanted, clientX, clientY) {
    const most = Math.max(largest, largestPixel * this.#pixelScale);
    const scale = Math.min(most, Math.max(1, wanted));
    const box = this.element.getBoundingClientRect();
    const [dx, dy] = [clientX - box.x - box.width / 2, clientY - box.y - box.height / 2];
    // The point under the pointer stays where it is.
    this.#x = dx - (dx - this.#x) * (scale / this.#scale);
    this.#y = dy - (dy - this.#y) * (scale / this.#scale);
    this.#scale = scale;
    this.#move();
    this.#handlers.scaled(scale);
  }

  #move() {
    const { clientWidth, clientHeight } = this.element;
    const spareX = Math.max(0, (this.canvas.offsetWidth * this.#scale - clientWidth) / 2);
    const spareY = Math.max(0, (this.canvas.offsetHeight * this.#scale - clientHeight) / 2);
    this.#x = Math.min(spareX, Math.max(-spareX, this.#x));
    this.#y = Math.min(spareY, Math.max(-spareY, this.#y));
    const [x, y] = this.#aligned;
    this.canvas.style.transform = `translate(${x}px, ${y}px) scale(${this.#scale})`;
    this.element.classList.toggle("enlarged", this.#scale > 1);
    this.#moveLine();
  }

  // The position in which pixels of the photo that are as large as those of the screen also coincide
  // with them: otherwise, each would be a mixture of its neighbors.
  get #aligned() {
    if (Math.abs(this.#scale / this.#pixelScale - 1) > 1e-6) return [this.#x, this.#y];
    const box = this.element.getBoundingClientRect();
    const shift = (edge) => Math.round(edge * window.devicePixelRatio) / window.devicePixelRatio - edge;
    const { width, height } = this.#size;
    return [
      this.#x + shift(box.x + (box.width - width * this.#scale) / 2 + this.#x),
      this.#y + shift(box.y + (box.height - height * this.#scale) / 2 + this.#y),
    ];
  }

  #pressed(event) {
    if (event.target.closest("button, input, a") || event.button > 0 || this.#isLeaving) return;
    this.#pointers.set(event.pointerId, event);
    this.element.setPointerCapture(event.pointerId);
    this.#gesture = this.#pointers.size > 1 ? null
      : { x: event.clientX, y: event.clientY, isTouch: event.pointerType !== "mouse", by: 0 };
    if (this.#isDividing) this.#divideAt(event.clientX);
  }

  get #isDividing() { return this.isDivided && this.#scale === 1 && this.#pointers.size === 1; }

  #divideAt(clientX) {
    const box = this.canvas.getBoundingClientRect();
    this.#divide(Math.min(100, Math.max(0, (100 * (clientX - box.x)) / box.width)));
  }

  #moved(event) {
    const former = this.#pointers.get(event.pointerId);
    if (!former) return;
    const others = [...this.#pointers.values()].filter((each) => each !== former);
    this.#pointers.set(event.pointerId, event);
    if (others.length > 0) {
      const distance = (a, b) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      const factor = distance(event, others[0]) / Math.max(1, distance(former, others[0]));
      this.#zoomAt(this.#scale * factor,
        (event.clientX + others[0].clientX) / 2, (event.clientY + others[0].clientY) / 2);
      return;
    }
    const gesture = this.#gesture;
    if (gesture) this.#recognize(gesture, event);
    if (this.#isDividing) {
      this.#divideAt(event.clientX);
    } else if (this.#scale > 1) {
      this.#x += event.clientX - former.clientX;
      this.#y += event.clientY - former.clientY;
      this.#move();
    } else if (gesture?.direction === "sideways") {
      gesture.by = event.clientX - gesture.x;
      this.#swipe(gesture.by);
    } else if (gesture?.direction === "down") {
      gesture.by = Math.max(0, event.clientY - gesture.y);
      this.canvas.style.transform =
        `translateY(${gesture.by}px) scale(${1 - gesture.by / 2400})`;
    }
  }

  // The first movement decides what a finger does until it is lifted.
  #recognize(gesture, { clientX, clientY }) {
    if (gesture.direction) return;
    const [dx, dy] = [clientX - gesture.x, clientY - gesture.y];
    if (Math.hypot(dx, dy) < tapLength) return;
    gesture.direction = Math.abs(dx) >= Math.abs(dy) ? "sideways"
      : dy > 0 && gesture.isTouch ? "down" : "other";
    if (this.#scale === 1 && !this.isDivided) this.element.classList.add("still");
  }

  #swipe(by) {
    const side = by < 0 ? 1 : -1;
    if (this.#beside?.side !== side) this.#showBeside(side);
    // Beyond the first and the last photo, the photo follows reluctantly.
    const shift = this.#beside.isPhoto ? by : by / 3;
    this.canvas.style.transform = `translateX(${shift}px)`;
    this.#beside.style.transform = `translateX(${shift + side * this.#distance}px)`;
  }

  get #distance() { return this.element.clientWidth + gap; }

  #showBeside(side) {
    this.#beside?.remove();
    const neighbor = this.#handlers.neighbor(side);
    this.#beside = make("div", { className: "beside", hidden: neighbor === null });
    Object.assign(this.#beside, { side, isPhoto: neighbor !== null });
    this.canvas.after(this.#beside);
    if (neighbor === null) return;
    const { picture, ratio, color } = neighbor;
    this.#fitInto(this.#beside, ratio > 0 ? ratio : 1.5);
    this.#beside.style.backgroundColor = color ?? "";
    if (picture) this.#beside.append(make("img", { alt: "", src: picture, draggable: false }));
  }

  #lifted(event) {
    if (!this.#pointers.delete(event.pointerId)) return;
    const gesture = this.#gesture;
    this.#gesture = null;
    this.element.classList.remove("still");
    const isOver = event.type === "pointerup" && gesture;
    if (!isOver || this.isDivided) return this.#move();
    if (!gesture.direction) {
      if (gesture.isTouch) this.#handlers.tapped();
    } else if (this.#scale === 1 && gesture.direction === "sideways") {
      return this.#swiped(gesture.by);
    } else if (this.#scale === 1 && gesture.by > closingLength) {
      return this.#handlers.close();
    }
    this.#move();
  }

  async #swiped(by) {
    const side = by < 0 ? 1 : -1;
    const isFar = Math.abs(by) > swipeLength && this.#beside?.isPhoto;
    if (!isFar) {
      this.#move();
      if (this.#beside) this.#beside.style.transform = `translateX(${side * this.#distance}px)`;
      return;
    }
    this.#isLeaving = true;
    this.canvas.style.transform = `translateX(${-side * this.#distance}px)`;
    this.#beside.style.transform = "none";
    await Promise.allSettled(this.canvas.getAnimations().map(({ finished }) => finished));
    this.#isLeaving = false;
    this.#handlers.step(side);
  }
}
