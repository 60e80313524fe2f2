// The panels around the list: title, photos by state, activity of the queues.
//
// Numbers may change hundreds of times a second; the screen follows once per frame.

import { filterWords, number, text } from "./strings.js";

const states = ["filtered", "downloaded", "new", "failed"];
// More slots than this are hard to distinguish.
const mostSlots = 16;
// A screen reader announces the counts once they have not changed for this time.
const announcementPause = 2000;

// Wraps a function so that it runs once per frame, with the latest argument.
function perFrame(draw) {
  let newest = null;
  return (value) => {
    const isScheduled = newest !== null;
    newest = value;
    if (isScheduled) return;
    requestAnimationFrame(() => {
      const latest = newest;
      newest = null;
      draw(latest);
    });
  };
}

export class Headline {
  #title; #total; #chip;
  #count = 0;
  #matches = null;

  constructor(title, total, filter) {
    this.#title = title;
    this.#total = total;
    this.#chip = filter;
  }

  /// The text of the list's filters.
  filter = "";

  /// The number of photos in the list.
  get total() { return this.#count; }

  show({ title, filter, total }) {
    this.filter = filter ?? "";
    this.#title.textContent = this.#title.title = document.title = title;
    this.#chip.textContent = filterWords(this.filter);
    this.#chip.dataset.filter = filter;
    this.#chip.title = text("currentFilter");
    this.#chip.hidden = !filter;
    this.showTotal(total);
  }

  showTotal(total) {
    this.#count = total;
    this.#showCount();
  }

  /// The number of photos that a search or a state left over; null for all.
  showMatches(count) {
    this.#matches = count;
    this.#showCount();
  }

  #showCount() {
    const isPart = this.#matches !== null && this.#matches < this.#count;
    const all = text("photos", { count: this.#count });
    this.#total.textContent =
      isPart ? text("partOfAll", { part: number(this.#matches), all }) : all;
  }
}

export class Counts {
  #list; #progress; #announcement;
  #latest = null;
  #timer = null;

  constructor(list, progress, announcement) {
    this.#list = list;
    this.#progress = progress;
    this.#announcement = announcement;
  }

  show = perFrame((counts) => {
    this.#list.classList.add("known");
    for (const state of states) {
      const count = counts[state] ?? 0;
      const chip = this.#list.querySelector(`[data-count="${state}"]`);
      chip.textContent = countText(state, count);
      chip.classList.toggle("none", count === 0);
      this.#progress.querySelector(`[data-part="${state}"]`).style.flexGrow = count;
    }
    this.#latest = counts;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#announce(), announcementPause);
  });

  #announce() {
    this.#announcement.textContent =
      states.map((state) => countText(state, this.#latest[state] ?? 0)).join(", ");
  }
}

const countKeys = {
  filtered: "countFiltered", downloaded: "countDownloaded", new: "countNew", failed: "countFailed",
};
const countText = (state, count) => text(countKeys[state], { count });

/// The name of a queue in the words of the page.
export function queueName(name) {
  if (/download/i.test(name)) return text("queueDownload");
  return /filtration/i.test(name) ? text("queueFilter") : name;
}

export class Queues {
  #list;
  #template;
  #pauseChanged;
  #shown = [];

  /// - pauseChanged: called when a person has paused or resumed the queues.
  constructor(list, template, pauseChanged) {
    this.#list = list;
    this.#template = template;
    this.#pauseChanged = pauseChanged;
  }

  /// Whether a person paused a queue. While the list moves, its queues wait in any case.
  isPaused = false;

  show = perFrame((queues) => {
    this.#shown = queues;
    while (this.#list.children.length > queues.length) this.#list.lastElementChild.remove();
    queues.forEach((queue, index) => this.#fill(this.#list.children[index] ?? this.#add(), queue));
    const isPaused = queues.some(({ suspended }) => suspended);
    if (isPaused === this.isPaused || document.documentElement.dataset.phase !== "settled") return;
    this.isPaused = isPaused;
    document.documentElement.toggleAttribute("data-paused", isPaused);
    this.#pauseChanged();
  });

  /// The numbers of downloads that run and that wait.
  get downloads() {
    return this.#shown.find(({ name }) => /download/i.test(name)) ?? { running: 0, waiting: 0 };
  }

  /// Shows the same numbers again, for example when the list begins to move.
  refresh() { if (this.#shown.length > 0) this.show(this.#shown); }

  #add() {
    const element = this.#template.content.firstElementChild.cloneNode(true);
    this.#list.append(element);
    return element;
  }

  #fill(element, queue) {
    element.dataset.name = queue.name;
    for (const key of ["suspended", "running", "waiting", "finished", "cancelled"]) {
      element.dataset[key] = queue[key] ?? 0;
    }
    element.querySelector(".queue-name").textContent = queueName(queue.name);
    element.querySelector(".queue-status").textContent = status(queue);
    fillSlots(element.querySelector(".queue-slots"), queue);
  }
}

function status({ suspended, running, waiting }) {
  const isScrolling = document.documentElement.dataset.phase !== "settled";
  const values = { running: number(running), waiting: number(waiting) };
  if (suspended) return text(isScrolling ? "queueScrolling" : "queuePaused", values);
  if (running + waiting === 0) return text("queueIdle");
  return text("queueWords", values);
}

// One mark for each operation that the queue may run at once, lit while an operation runs.
function fillSlots(slots, { width, running }) {
  const wanted = width > 0 ? Math.min(width, mostSlots) : 0;
  while (slots.children.length > wanted) slots.lastElementChild.remove();
  while (slots.children.length < wanted) slots.append(document.createElement("i"));
  [...slots.children].forEach((slot, index) => slot.classList.toggle("busy", index < running));
}
