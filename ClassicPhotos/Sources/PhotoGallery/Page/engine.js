// The engine room: what the queues are doing, live, and the switches to try them out.
//
// The server sends `engine` events while the room is open. The timeline moves on between them: its
// right edge is the server's clock, continued with the browser's clock.

import { postJSON } from "./api.js";
import { button, loadStyle, make, signButton } from "./dom.js";
import { queueName } from "./panels.js";
import { bytes, number, text } from "./strings.js";

const shown = 30_000;
const laneHeight = 14;
const mostLanes = 14;
const numbers = ["waiting", "running", "finished", "failed", "cancelled"];
const widest = 16;
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

export class Engine {
  #host;
  #parts = {};
  #cards = new Map();
  #slices = new Map();
  #lanes = [];
  #clock = null;
  #frame = 0;
  #measure = null;
  // The seconds from the end of a scroll until the screen was complete, by mode.
  #times = {};
  #told = 0;
  #isNaive = false;

  static async load(host) {
    await loadStyle("/engine.css");
    return new Engine(host);
  }

  constructor(host) {
    this.#host = host;
    this.#build();
  }

  isOpen = false;

  open() {
    this.isOpen = true;
    this.element.hidden = false;
    this.connected();
    this.#draw();
  }

  close() {
    this.isOpen = false;
    this.element.hidden = true;
    cancelAnimationFrame(this.#frame);
    this.#post("/api/engine/watch", { on: false });
  }

  /// The page has a new connection: the server does not know yet that it watches.
  connected() {
    if (this.#isNaive) this.#post("/api/engine/mode", { naive: true });
    if (!this.isOpen) return;
    this.#slices.clear();
    this.#post("/api/engine/watch", { on: true });
  }

  /// An `engine` event.
  show(event) {
    this.#clock = { server: event.now, browser: performance.now() };
    for (const slice of (event.slices ?? []).sort((a, b) => a.start - b.start)) {
      slice.lane = this.#slices.get(slice.id)?.lane ?? this.#freeLane(slice);
      this.#slices.set(slice.id, slice);
    }
    this.element.dataset.naive = event.naive;
    // The server may no longer know when a slice ended.
    const running = new Set(event.running);
    for (const [id, slice] of this.#slices) {
      const isOver = slice.end === undefined ? !running.has(id) : slice.end < event.now - shown;
      if (isOver) this.#slices.delete(id);
    }
    this.#sortLanes();
    for (const queue of event.queues) this.#showQueue(queue);
    const { throughput = 0, hits = 0, misses = 0, bytesDownloaded = 0 } = event;
    const parts = this.#parts;
    parts.throughput.textContent = number(throughput, { maximumFractionDigits: 1 });
    parts.hits.textContent = hits + misses === 0
      ? "–" : number(hits / (hits + misses), { style: "percent", maximumFractionDigits: 0 });
    parts.bytes.textContent = bytes(bytesDownloaded);
    this.#showTimes();
    if (stillness.matches) this.#paint();
  }

  // MARK: The time until a screen is complete

  /// The list has settled: the time until all visible photos are done begins. Screens that are
  /// mostly done already would say nothing about the speed.
  settled() {
    const visible = this.#host.visibleRecords();
    const open = visible.filter((record) => !isDone(record)).length;
    const isMeasured = open * 2 > visible.length && !this.#host.isPaused();
    this.#measure = isMeasured ? performance.now() : null;
  }

  /// The list moves on. In naive mode, hardly anybody waits until the screen is complete.
  moved() {
    const elapsed = this.#elapsed;
    if (this.#isNaive && elapsed > (this.#times.naive?.seconds ?? 0)) {
      this.#times.naive = { seconds: elapsed, isLeast: true };
    }
    this.#measure = null;
  }

  /// A visible photo may have changed.
  changed() {
    if (this.#measure === null || !this.#host.visibleRecords().every(isDone)) return;
    this.#times[this.#isNaive ? "naive" : "normal"] = { seconds: this.#elapsed, isLeast: false };
    this.#measure = null;
    this.#told = 0;
    this.#showTimes();
  }

  get #elapsed() {
    return this.#measure === null ? 0 : (performance.now() - this.#measure) / 1000;
  }

  #showTimes() {
    const { normal, naive } = this.#times;
    const known = this.#isNaive ? naive : normal;
    const running = this.#elapsed;
    const former = known ? (known.isLeast ? "> " : "") + seconds(known.seconds) : "–";
    this.#parts.time.textContent = running > 0 ? `${seconds(running)}…` : former;
    if (!normal) return;
    let shown = naive;
    if (this.#isNaive && running > (naive?.seconds ?? 0)) {
      shown = { seconds: running, isLeast: true };
    }
    if (!shown || (shown.isLeast && shown.seconds < 2 * normal.seconds)) return;
    const ratio = shown.seconds / normal.seconds;
    // People who listen to the page hear a growing ratio only at each doubling.
    const step = shown.isLeast ? 2 ** Math.floor(Math.log2(ratio)) : ratio;
    if (this.#told === step) return;
    this.#told = step;
    this.#parts.ratio.textContent = text(shown.isLeast ? "ratioSoFar" : "ratio", {
      normal: seconds(normal.seconds), naive: seconds(shown.seconds),
      ratio: number(step, { maximumSignificantDigits: 2 }),
    });
  }

  // MARK: Elements

  #build() {
    const parts = this.#parts;
    const figure = (key) => {
      parts[key] = make("b", {}, "–");
      return make("li", {}, parts[key], " ", text(`figure-${key}`));
    };
    parts.canvas = make("canvas", { role: "img" });
    parts.swatches = make("div", { hidden: true });
    parts.cards = make("ul", { className: "cards" });
    parts.naive = make("input", {
      type: "checkbox", role: "switch", id: "naive", change: () => this.#switchMode(),
    });
    parts.ratio = make("p", { className: "help", role: "status" }, text("naiveHelp"));
    const download = button("pill", text("saveTimeline"), () => this.#saveTimeline());
    this.element = make("section", { id: "engine", label: text("engine"), hidden: true },
      make("ul", { className: "figures" }, ...["throughput", "time", "hits", "bytes"].map(figure)),
      make("div", { className: "timeline" }, parts.canvas, parts.swatches),
      parts.cards,
      make("div", { className: "mode" },
        make("label", { htmlFor: "naive" }, parts.naive, text("naive")), parts.ratio, download));
    parts.canvas.addEventListener("pointermove", (event) => this.#point(event));
    new ResizeObserver(() => this.#paint()).observe(parts.canvas);
  }

  #showQueue(queue) {
    let card = this.#cards.get(queue.name);
    if (!card) {
      card = this.#makeCard(queue.name);
      this.#cards.set(queue.name, card);
      this.#parts.cards.append(card.element);
    }
    for (const key of numbers) {
      card[key].textContent = number(queue[key] ?? 0);
      card[key].parentElement.classList.toggle("none", !queue[key]);
    }
    card.suspended = queue.suspended;
    card.pause.textContent = text(queue.suspended ? "resume" : "pause");
    // Until the last click has arrived, the server's number is an old one.
    if (card.unanswered === 0) card.queueWidth = queue.width;
    card.width.textContent = number(card.queueWidth);
    card.less.disabled = card.queueWidth <= 1;
    card.more.disabled = card.queueWidth >= widest;
  }

  #makeCard(name) {
    const card = { unanswered: 0 };
    let last = Promise.resolve();
    // One request after the other: two at a time could arrive in the other order.
    const send = (action, more) => {
      // A screen that was paused says nothing about the speed.
      this.#measure = null;
      card.unanswered += 1;
      last = last.then(() => this.#post("/api/engine", { queue: name, action, ...more }))
        .then(() => { card.unanswered -= 1; });
    };
    const items = numbers.map((key) => {
      card[key] = make("dd", {}, "0");
      return make("div", { className: key }, make("dt", {}, text(`queue-${key}`)), card[key]);
    });
    const shownName = queueName(name);
    card.pause = button("pill", "", () => send(card.suspended ? "resume" : "pause"));
    card.width = make("b", {});
    const widen = (by) => {
      // The next click may come before the server's answer.
      card.queueWidth = Math.min(widest, Math.max(1, card.queueWidth + by));
      card.width.textContent = number(card.queueWidth);
      send("width", { width: card.queueWidth });
    };
    card.less = signButton("step", "−", text("narrower", { name: shownName }), () => widen(-1));
    card.more = signButton("step", "+", text("wider", { name: shownName }), () => widen(1));
    const cancel = button("pill", text("cancelAll"), () => send("cancelAll"));
    const swatch = make("i", { className: `swatch ${kind(name)}`, "aria-hidden": true });
    card.element = make("li", {},
      make("h2", {}, swatch, shownName),
      make("dl", {}, ...items),
      make("div", { className: "switches" },
        make("span", {}, text("atOnce"), " ", card.less, card.width, card.more),
        card.pause, cancel));
    return card;
  }

  // MARK: Requests

  async #post(address, body) {
    try {
      await postJSON(address, { ...body, page: this.#host.page() });
    } catch (error) {
      this.#host.failed(error);
    }
  }

  #switchMode() {
    this.moved();
    this.#isNaive = this.#parts.naive.checked;
    if (this.#isNaive) delete this.#times.naive;
    this.#showTimes();
    this.#post("/api/engine/mode", { naive: this.#isNaive });
  }

  #saveTimeline() {
    make("a", { href: `/api/engine/timeline?page=${this.#host.page()}`, download: "" }).click();
  }

  // MARK: The timeline

  // The first lane of the queue that nothing else occupies at the start: as many lanes as
  // operations that ran at once.
  #freeLane({ queue, start }) {
    const taken = new Set();
    for (const slice of this.#slices.values()) {
      if (slice.end === undefined || slice.end > start) taken.add(slice.lane);
    }
    let number = 1;
    while (taken.has(`${queue} ${number}`)) number += 1;
    return `${queue} ${number}`;
  }

  #sortLanes() {
    const lanes = new Set();
    for (const { lane } of this.#slices.values()) lanes.add(lane);
    this.#lanes = [...lanes].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const running = [...this.#slices.values()].filter((slice) => slice.end === undefined).length;
    const label = text("timelineLabel", { count: this.#slices.size, running: number(running) });
    const shownLanes = Math.max(4, Math.min(this.#lanes.length, mostLanes));
    this.#parts.canvas.setAttribute("aria-label", label);
    this.#parts.canvas.style.height = `${shownLanes * laneHeight + 16}px`;
  }

  #draw() {
    if (!this.isOpen) return;
    if (!stillness.matches) this.#paint();
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  get #now() {
    return this.#clock ? this.#clock.server + performance.now() - this.#clock.browser : 0;
  }

  #paint() {
    const { canvas } = this.#parts;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (width === 0) return;
    const ratio = window.devicePixelRatio;
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `11px ${getComputedStyle(canvas).fontFamily}`;
    this.#paintScale(context, width, height);
    const now = this.#now;
    for (const slice of this.#slices.values()) {
      const { x, y, length } = this.#box(slice, now, width);
      context.fillStyle = this.#color(kind(slice.queue));
      context.globalAlpha = slice.end === undefined ? 0.6 : 1;
      context.fillRect(x, y, length, laneHeight - 3);
    }
    context.globalAlpha = 1;
  }

  // A canvas does not know the style sheet's colors, so it takes those of hidden elements.
  #color(name) {
    const swatches = this.#parts.swatches;
    swatches[name] ??= swatches.appendChild(make("i", { className: `swatch ${name}` }));
    return getComputedStyle(swatches[name]).backgroundColor;
  }

  #paintScale(context, width, height) {
    for (let seconds = 0; seconds <= 30; seconds += width < 500 ? 10 : 5) {
      const x = Math.min(width - 1, Math.round(width - (seconds * 1000 * width) / shown));
      context.fillStyle = this.#color("line-color");
      context.fillRect(x, 0, 1, height - 14);
      context.fillStyle = this.#color("label-color");
      context.textAlign = seconds === 0 ? "right" : seconds === 30 ? "left" : "center";
      context.fillText(seconds === 0 ? text("now") : `−${number(seconds)} s`, x, height - 3);
    }
  }

  #box({ lane, start, end }, now, width) {
    const x = width - ((now - start) * width) / shown;
    const length = Math.max(1, (((end ?? now) - start) * width) / shown - 0.5);
    return { x, y: this.#lanes.indexOf(lane) * laneHeight, length };
  }

  // The operation under the pointer, as a tool tip.
  #point({ offsetX, offsetY }) {
    const { canvas } = this.#parts;
    const now = this.#now;
    let found = "";
    for (const slice of this.#slices.values()) {
      const { x, y, length } = this.#box(slice, now, canvas.clientWidth);
      const isInside = offsetX >= x - 2 && offsetX <= x + length + 2;
      if (!isInside || offsetY < y || offsetY > y + laneHeight) continue;
      found = `${slice.name}: ${number(Math.round((slice.end ?? now) - slice.start))} ms`;
    }
    canvas.title = found;
  }
}

const isDone = ({ state }) => state === "filtered" || state === "failed";
const seconds = (value) => {
  const digits = value < 10 ? 1 : 0;
  return number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
};
const kind = (queue) => (/download/i.test(queue) ? "download" : "filter");
