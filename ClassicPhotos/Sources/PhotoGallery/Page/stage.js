// The stage of the detail view: one photo, fitted into the space, with zoom and pan, a swipe to the
// next photo, and a divider between the photo before and after the filters.
//
//    fitted, one finger sideways  ──▶ swipe
//    fitted, divider shown        ──▶ the divider follows the pointer
//    enlarged, one finger         ──▶ pan
//    two fingers, wheel, + and -  ──▶ zoom around that point

import { make } from "./dom.js";
import { text } from "./strings.js";

const largest = 8;
const swipeLength = 70;
// The width of the divider's knob.
const knob = 16;

export class Stage {
  #ratio = 1.5;
  #scale = 1;
  #x = 0;
  #y = 0;
  #pointers = new Map();
  #swipe = null;
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

  /// - handlers: step(1 or -1) after a swipe, scaled(scale) after a zoom.
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

  /// Shows the whole photo.
  reset() {
    this.#scale = 1;
    this.#x = 0;
    this.#y = 0;
    this.#move();
  }

  zoom(factor) {
    const box = this.element.getBoundingClientRect();
    this.#zoomAt(this.#scale * factor, box.x + box.width / 2, box.y + box.height / 2);
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
    const { clientWidth, clientHeight } = this.element;
    const width = Math.min(clientWidth, clientHeight * this.#ratio);
    const { style } = this.canvas;
    style.width = `${width}px`;
    style.height = `${width / this.#ratio}px`;
    // Half a knob stands out at each end.
    this.divider.style.width = `${width + knob}px`;
    this.#move();
  }

  #zoomAt(wanted, clientX, clientY) {
    const scale = Math.min(largest, Math.max(1, wanted));
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
    this.canvas.style.transform = `translate(${this.#x}px, ${this.#y}px) scale(${this.#scale})`;
    this.element.classList.toggle("enlarged", this.#scale > 1);
    this.#moveLine();
  }

  #pressed(event) {
    if (event.target.closest("button, input, a") || event.button > 0) return;
    this.#pointers.set(event.pointerId, event);
    this.element.setPointerCapture(event.pointerId);
    this.#swipe = this.#pointers.size === 1 ? { x: event.clientX, by: 0 } : null;
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
    } else if (this.#isDividing) {
      this.#divideAt(event.clientX);
    } else if (this.#scale > 1) {
      this.#x += event.clientX - former.clientX;
      this.#y += event.clientY - former.clientY;
      this.#move();
    } else if (this.#swipe) {
      this.#swipe.by = event.clientX - this.#swipe.x;
      this.canvas.style.transform = `translateX(${this.#swipe.by}px)`;
    }
  }

  #lifted(event) {
    if (!this.#pointers.delete(event.pointerId)) return;
    const by = this.#swipe?.by ?? 0;
    this.#swipe = null;
    this.#move();
    if (this.#scale > 1 || this.isDivided || event.type === "pointercancel") return;
    if (Math.abs(by) > swipeLength) this.#handlers.step(by < 0 ? 1 : -1);
  }
}
