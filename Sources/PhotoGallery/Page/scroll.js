// Scroll phases: the three a touch list has, read from what a browser tells.
//
//                 scroll                    finger lifted while moving
//    settled ───────────────▶ dragging ───────────────────────────────▶ decelerating
//       ▲                        │ scrollend, no finger down                 │
//       └────────────────────────┴───────────────────────────────────────────┘
//
// Wheel, keys, scroll bar and touch all reach the page as `scroll` within a frame of the first
// movement, and only if something moves; so that one event begins a drag, and no list of input
// devices has to be complete. `scrollend` waits for the finger, and for the mouse on the scroll bar.
// Where it does not exist, 150 ms without movement count as the end; where it does, a longer silence
// is the net under it, because a list that never settles would never load anything.
//
// A wheel and the keys move in steps. Without smooth scrolling (a setting of the system) each step
// has a `scrollend` of its own, and a list believing them would settle at every notch: so the end of
// a step counts once 150 ms have passed without another.

const betweenSteps = 150;
const silence = "onscrollend" in window ? 1000 : betweenSteps;
const stillMoving = 60;

export class ScrollPhases {
  #handlers;
  #hasFinger = false;
  #lastMoved = 0;
  #lastStep = -Infinity;
  #ignored = null;
  #timer = null;

  phase = "settled";

  constructor(handlers) {
    this.#handlers = handlers;
    const passive = { passive: true };
    window.addEventListener("scroll", () => this.#moved(), passive);
    document.addEventListener("scrollend", () => this.#ended(), passive);
    for (const name of ["wheel", "keydown"]) {
      window.addEventListener(name, () => { this.#lastStep = performance.now(); }, passive);
    }
    window.addEventListener("touchstart", () => { this.#hasFinger = true; }, passive);
    for (const name of ["touchend", "touchcancel"]) {
      window.addEventListener(name, (event) => this.#lifted(event.touches.length), passive);
    }
  }

  /// Announces a scroll position that the page itself is about to reach: no drag.
  ignore(position) { this.#ignored = position; }

  #moved() {
    this.#handlers.scrolled();
    const isOwn = this.#ignored !== null && Math.abs(window.scrollY - this.#ignored) < 1;
    this.#ignored = null;
    if (isOwn) return;
    this.#lastMoved = performance.now();
    if (this.phase === "settled" || this.#hasFinger) this.#enter("dragging");
    this.#arm(silence);
  }

  #lifted(remaining) {
    this.#hasFinger = remaining > 0;
    if (this.#hasFinger || this.phase === "settled") return;
    if (performance.now() - this.#lastMoved < stillMoving) this.#enter("decelerating");
    this.#arm(silence);
  }

  #ended() {
    if (this.#hasFinger || this.phase === "settled") return;
    const rest = this.#lastStep + betweenSteps - performance.now();
    if (rest > 0) return this.#arm(rest);
    clearTimeout(this.#timer);
    this.#enter("settled");
  }

  #arm(delay) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ended(), delay);
  }

  #enter(phase) {
    if (phase === this.phase) return;
    this.phase = phase;
    this.#handlers.phaseChanged(phase);
  }
}
