// Scroll phases: the three phases of a touch list, derived from browser events.
//
//                 scroll                    finger lifted while moving
//    settled ───────────────▶ dragging ───────────────────────────────▶ decelerating
//       ▲                        │ scrollend, no finger down                 │
//       └────────────────────────┴───────────────────────────────────────────┘
//
// Wheel, keys, scroll bar and touch all cause a `scroll` event within a frame of the first
// movement, and only if the list moves. So this one event begins a drag, and no list of input
// devices has to be complete. `scrollend` waits until the finger, or the mouse button on the scroll
// bar, is released. In browsers without `scrollend`, 150 ms without movement count as the end. In
// browsers with it, a longer silence is the fallback, because a list that never settles would never
// load anything.
//
// The wheel and the keys move the list in steps. Without smooth scrolling (a system setting), each
// step has its own `scrollend`, and the list would settle at every notch. So the end of a step
// counts only after a pause that is clearly longer than the time between the latest steps, at most
// 150 ms. A touchpad has a step in every frame, so its list settles sooner than that of a wheel
// with notches.

const betweenSteps = 150;
const shortestPause = 40;
const intervalsKept = 8;
const silence = "onscrollend" in window ? 1000 : betweenSteps;
const stillMoving = 60;

/// How many milliseconds without a step end a movement.
///
/// - intervals: the milliseconds between its latest steps.
export function pauseAfter(intervals) {
  // The first steps do not show yet how fast they follow each other.
  if (intervals.length < 3) return betweenSteps;
  return Math.min(betweenSteps, Math.max(shortestPause, 2.5 * Math.max(...intervals)));
}

export class ScrollPhases {
  #handlers;
  #hasFinger = false;
  #lastMoved = 0;
  #lastStep = -Infinity;
  #intervals = [];
  #ignored = null;
  #timer = null;

  phase = "settled";

  constructor(handlers) {
    this.#handlers = handlers;
    const passive = { passive: true };
    window.addEventListener("scroll", () => this.#moved(), passive);
    document.addEventListener("scrollend", () => this.#ended(), passive);
    for (const name of ["wheel", "keydown"]) {
      window.addEventListener(name, () => this.#stepped(), passive);
    }
    window.addEventListener("touchstart", () => { this.#hasFinger = true; }, passive);
    for (const name of ["touchend", "touchcancel"]) {
      window.addEventListener(name, (event) => this.#lifted(event.touches.length), passive);
    }
  }

  /// Announces a scroll position that the page itself is about to set, which is not a drag.
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

  #stepped() {
    const now = performance.now();
    const interval = now - this.#lastStep;
    this.#lastStep = now;
    if (interval > betweenSteps) this.#intervals = [];
    else this.#intervals = [...this.#intervals.slice(1 - intervalsKept), interval];
  }

  #lifted(remaining) {
    this.#hasFinger = remaining > 0;
    if (this.#hasFinger || this.phase === "settled") return;
    if (performance.now() - this.#lastMoved < stillMoving) this.#enter("decelerating");
    this.#arm(silence);
  }

  #ended() {
    if (this.#hasFinger || this.phase === "settled") return;
    const rest = this.#lastStep + pauseAfter(this.#intervals) - performance.now();
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
