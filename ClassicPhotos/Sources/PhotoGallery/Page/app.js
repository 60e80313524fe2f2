// The gallery's page and its data flow.
//
//    /api/events ──▶ events.js ──▶ records.js (state by row) ─┐
//    /api/photos ──▶ names.js  (name by row, in pages) ───────┼─▶ list.js ─▶ cell.js ─▶ picture.js
//    /api/order  ──▶ find.js   (rows in the order shown) ─────┤
//    window's scroll ──▶ scroll.js (dragging … settled) ──────┘     │
//                                                                   ▼ rows visible on the screen
//    /api/viewport ◀── viewport.js ◀────────────────────────────────┘
//
// - The server decides; the page only displays. The states of rows arrive as `row` events; the
//   visible rows go to the server in one small POST for each change of the scroll phase. The page
//   contains no photo logic.
// - Data is stored by row number and never in elements. A few dozen cells are bound to the rows on
//   the screen (list.js) and rebuilt from the data when they are bound again. So a row that has
//   scrolled away costs nothing, and a late event for it changes only a map entry.
// - The server sends the changes of at most one frame together; the page shows them as they arrive.
// - The page has a random identifier. When the server no longer knows the page (410, 404, or a
//   refused stream), the page takes a new identifier and starts over. No other state needs repair,
//   because `hello` is followed by the states of all rows that are not new. When
//   the browser reconnects by itself, only rows that changed meanwhile follow.
// - The address holds what is shown (address.js), so a reload and Back return to the same photos.
// - Names and reasons are untrusted text: they only ever reach `textContent` and attributes.

import { readAddress, writeAddress } from "./address.js";
import { Refused, postJSON } from "./api.js";
import { takesText } from "./dom.js";
import { EventStream } from "./events.js";
import { Find, matches } from "./find.js";
import { VirtualList } from "./list.js";
import { Names } from "./names.js";
import { Notice } from "./notice.js";
import { Counts, Headline, Queues } from "./panels.js";
import { Records, pictureAddress } from "./records.js";
import { ScrollPhases } from "./scroll.js";
import { language, text, translate } from "./strings.js";
import { ViewportReporter } from "./viewport.js";

const byID = (id) => document.getElementById(id);

// How long rows keep their contents after a reconnection until the server confirms them. Clearing
// the rows immediately would flash every picture on the screen back to its placeholder.
const confirmationTime = 1000;
const longestWait = 10_000;
// The lengths of the longer sides of pictures that replace soft ones.
const coverSides = [640, 1280, 2560, 5120];
// Narrower windows show the list, unless a person chose the grid.
const narrow = 700;

document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
translate(document);

let page = newPage();
let refusals = 0;
let restart = null;
let sweep = null;
let connectedBefore = false;
// What the server has told of the list: the number of photos, of changes, and its order.
let listState = null;
// Whether the list has changed while it was scrolled.
let isOutdated = false;
// The place that the address asked for, until the list can show it.
let wantedPlace = readAddress();
// The detail view and the engine room, once they have been loaded.
let detail = null;
let engine = null;

const notice = new Notice(byID("notice"), byID("notice-text"), byID("notice-close"));
const headline = new Headline(byID("title"), byID("total"), byID("filter"));
const counts = new Counts(byID("counts"), byID("progress"), byID("announcement"));
const queues = new Queues(
  byID("queues"), byID("queue-template"), () => detail?.pauseChanged());
const records = new Records();

const names = new Names({
  headArrived(head) {
    headline.show(head);
    if (listState !== null) return;
    find.isInRowOrder = head.inRowOrder;
    setTotal(head.total);
  },
  rowsArrived() {
    list.refreshAll();
    detail?.identifiersArrived();
  },
  failed: (error) => notice.show(text("listFailed", { reason: error.message })),
});

const list = new VirtualList(byID("list"), {
  view: storedView() ?? (window.innerWidth < narrow ? "list" : "grid"),
  template: byID("row-template"),
  bars: [byID("header"), byID("strip")],
  tools: byID("tools"),
  pattern: byID("pattern"),
  content: (row) => ({
    page, name: names.name(row), record: records.get(row), color: names.facts(row).color,
    sharper: (image, width, height) => sharperPicture(row, image, width, height),
    progress: records.progress(row),
  }),
  rowsBound: (rows) => names.want(rows),
  visibleRowsChanged: (rows) => { if (phases.phase === "settled") report(rows); },
  opened: (row) => openDetail(row),
  retry,
});

const phases = new ScrollPhases({
  scrolled: () => list.scrolled(),
  phaseChanged(phase) {
    document.documentElement.dataset.phase = phase;
    report();
    queues.refresh();
    if (phase !== "settled") return engine?.moved();
    engine?.settled();
    const moved = list.realign();
    if (moved !== null) phases.ignore(moved);
    rememberPlace();
    if (isOutdated) updateList();
  },
});

const find = new Find(
  {
    form: byID("find"), query: byID("query"), sort: byID("sort"), counts: byID("counts"),
    retryAll: byID("retry-all"),
  },
  {
    page: () => page,
    ordered: showOrder,
    found: showFound,
    left: () => { if (list.count > 0) list.focus(list.visible()?.first ?? 0); },
    failed: (error) => refused(error, page),
  });

const reporter = new ViewportReporter({
  accepted() { refusals = 0; },
  failed: refused,
});

const stream = new EventStream({
  hello({ resumed, ...state }) {
    showConnection("open");
    reporter.forget();
    const wasKnown = listState !== null && resumed;
    const hasChanged = wasKnown && listState.revision !== state.revision;
    listState = state;
    find.isInRowOrder = state.inRowOrder;
    // The server sends all states again, unless it knows what this page has received.
    if (!resumed) startAnew();
    names.expect(state.revision);
    connectedBefore = true;
    if (hasChanged) listChanged();
    else setTotal(state.total);
    report();
    engine?.connected();
    detail?.connected();
  },
  list(state) {
    listState = state;
    find.isInRowOrder = state.inRowOrder;
    names.expect(state.revision);
    listChanged();
  },
  row(event) {
    records.apply(event);
    list.refresh(event.row);
    detail?.refresh(event.row);
    engine?.changed();
  },
  progress(event) {
    records.applyProgress(event);
    list.refresh(event.row);
    detail?.progressed(event.row);
  },
  queues: (event) => queues.show(event.queues),
  engine: (event) => engine?.show(event),
  counts: (event) => counts.show(event),
  lost: () => showConnection("lost"),
  refused: startOver,
});

function startAnew() {
  records.markUnconfirmed();
  clearTimeout(sweep);
  sweep = setTimeout(() => { records.dropUnconfirmed(); list.refreshAll(); }, confirmationTime);
  // The server may have restarted with another list.
  if (!connectedBefore) return;
  names.reload();
  find.refresh();
}

// Photos were added, changed or deleted.
function listChanged() {
  headline.showTotal(listState.total);
  // The photos under a finger or a pointer stay until the list is still.
  if (phases.phase === "settled") updateList(); else isOutdated = true;
}

async function updateList() {
  isOutdated = false;
  await find.refresh(true);
}

// MARK: What is shown

async function setTotal(total) {
  byID("empty").hidden = total > 0;
  headline.showTotal(total);
  // Without the order that the server tells, a place has no row.
  list.setTotal(find.isInRowOrder ? total : 0);
  if (!find.isInRowOrder && wantedPlace === null) return find.refresh(true);
  if (wantedPlace === null || total === 0) return;
  const wanted = wantedPlace;
  wantedPlace = null;
  await find.set(wanted);
  const { shift, selected, hasFocus } = history.state ?? {};
  const place = list.place(wanted.at ?? wanted.photo?.row ?? 0);
  if (place === undefined) return wanted.photo && showAddress();
  list.showPlace(place, wanted.at === null ? "middle" : "top", shift);
  list.current = list.place(selected) ?? place;
  if (wanted.photo) await showAddress();
  else if (hasFocus && list.isVisible(list.current)) list.focus(list.current);
}

function showOrder(rows, isUpdate = false) {
  const total = listState?.total ?? list.count;
  const isPart = rows !== null && !find.isPlain;
  byID("empty").hidden = total > 0;
  byID("no-match").hidden = !(isPart && rows.length === 0 && total > 0);
  headline.showMatches(isPart ? rows.length : null);
  if (isUpdate) {
    list.update(total, rows);
    detail?.listChanged();
    return report();
  }
  const isChange = list.setOrder(rows);
  if (isPart) byID("announcement").textContent = matches(rows.length);
  if (!isChange) return;
  window.scrollTo({ top: 0, behavior: "instant" });
  rememberPlace();
  report();
}

function showFound(rows) {
  const places = rows.map((row) => list.place(row)).filter((place) => place !== undefined);
  // The next match from here on, or the first match of the list.
  const next = places.find((place) => place >= list.current) ?? places[0];
  if (next === undefined) notice.show(text("noMatch"));
  else list.focus(next);
}

function rememberPlace() {
  if (detail?.isOpen) return;
  const { place, shift } = list.anchor();
  const at = window.scrollY > 0 && list.count > 0 ? list.row(place) : null;
  const hasFocus = byID("list").contains(document.activeElement);
  writeAddress({ ...find.wanted, at }, { shift, selected: list.row(list.current), hasFocus });
}

// MARK: The detail view

const detailHost = {
  page: () => page,
  cell: (row) => list.cell(row),
  id: (row) => names.id(row),
  filter: () => headline.filter,
  isPaused: () => queues.isPaused,
  downloads: () => queues.downloads,
  showKeys,
  photo(row) {
    const record = records.get(row);
    const hasPicture = record.state === "downloaded" || record.state === "filtered";
    const picture = hasPicture
      ? list.cell(row)?.shownPicture ?? pictureAddress(row, record) : null;
    const title = record.title ?? names.facts(row).title;
    return { name: names.name(row), title, record, picture, progress: records.progress(row) };
  },
  has: (row) => list.place(row) !== undefined,
  say: (words) => notice.show(words),
  neighbor(row, by) {
    const place = (list.place(row) ?? list.current) + by;
    return place >= 0 && place < list.count ? list.row(place) : null;
  },
  address(row, look) {
    const { place } = list.anchor();
    return { ...find.wanted, at: list.row(place), photo: { row, id: names.id(row) }, look };
  },
  // The order may have changed meanwhile, so that the photo has no place.
  reveal: (row) => list.showPlace(list.place(row) ?? list.current),
  focus: (row) => list.focus(list.place(row) ?? list.current),
  retry: (row) => retry(row),
  leave() {
    if (history.state?.opened) return history.back();
    // The page began with this photo.
    detail.close();
    rememberPlace();
  },
};

let loading = null;

async function openDetail(row, options) {
  loading ??= import("./detail.js").then(({ Detail }) => Detail.load(detailHost));
  detail = await loading;
  detail.open(row, options);
}

// Shows what the address says, after Back, Forward or a change by hand.
async function showAddress() {
  const { photo, look } = readAddress();
  if (photo === null) return detail?.close();
  if (detail?.row === photo.row) return detail.showLook(look);
  if (photo.row >= headline.total && find.isInRowOrder) {
    return notice.show(text("noSuchPhoto", { number: photo.row + 1, total: headline.total }));
  }
  const place = list.place(photo.row);
  const id = names.id(photo.row);
  if (place === undefined || (photo.id && id && photo.id !== id)) return notice.show(text("moved"));
  list.showPlace(place);
  openDetail(photo.row, { isNew: false, look });
}

// MARK: The engine room

let loadingEngine = null;

async function toggleEngine() {
  loadingEngine ??= import("./engine.js").then(({ Engine }) => Engine.load({
    page: () => page,
    failed: (error) => refused(error, page),
    isPaused: () => queues.isPaused,
    visibleRecords() {
      const { first, last } = list.visible() ?? { first: 0, last: -1 };
      const places = Array.from({ length: last - first + 1 }, (_, index) => first + index);
      return places.map((place) => records.get(list.row(place)));
    },
  }));
  if (engine === null) {
    engine = await loadingEngine;
    byID("strip").prepend(engine.element);
  }
  if (engine.isOpen) engine.close(); else engine.open();
  byID("engine-button").setAttribute("aria-expanded", engine.isOpen);
}

function showView() {
  document.documentElement.dataset.listView = list.view;
  for (const button of byID("view").querySelectorAll("button")) {
    const { view } = button.dataset;
    button.setAttribute("aria-pressed", view === list.view);
    button.title = text(view === "grid" ? "asGrid" : "asList");
  }
}

function switchView(view) {
  if (view === list.view) return;
  document.documentElement.dataset.listView = view;
  list.setView(view);
  showView();
  // Without storage, the choice lasts as long as the page.
  try { localStorage.setItem("view", view); } catch { /* Storage is off. */ }
}

function storedView() {
  try {
    const view = localStorage.getItem("view");
    return view === "grid" || view === "list" ? view : null;
  } catch {
    return null;
  }
}

// MARK: The list of keys

let loadingKeys = null;

async function showKeys() {
  loadingKeys ??= import("./keys.js").then(({ Keys }) => Keys.load());
  (await loadingKeys).toggle();
}

// MARK: The server

function report(rows = list.visibleRows()) {
  // The server does not know this page before `hello`, which triggers the report.
  if (rows && stream.isOpen) reporter.report(page, rows, phases.phase);
}

// A larger picture of a cell with the list's own filters, once the identifier is known; null if the
// image has enough pixels for its frame. The image covers the frame, so that the short side of a
// panorama decides.
function sharperPicture(row, image, width, height) {
  const { naturalWidth, naturalHeight } = image;
  const stretch = Math.max(width / naturalWidth, height / naturalHeight);
  const length = Math.max(naturalWidth, naturalHeight);
  const photo = records.get(row);
  if (stretch < 1.2 || Math.max(photo.width, photo.height) <= length) return null;
  const id = names.id(row);
  if (id === undefined) return undefined;
  const side = coverSides.find((side) => side >= 0.9 * stretch * length) ?? coverSides.at(-1);
  const filters = headline.filter.replaceAll(", ", ",") || "none";
  const query = new URLSearchParams({ fit: side, filters, id });
  return `/api/photos/${row}/picture?${query}`;
}

async function retry(row) {
  const requestingPage = page;
  try {
    await postJSON("/api/retry", { page: requestingPage, row });
  } catch (error) {
    refused(error, requestingPage);
    list.refresh(row);
  }
}

async function retryAll() {
  const requestingPage = page;
  try {
    await postJSON("/api/retry", { page: requestingPage, all: true });
  } catch (error) {
    refused(error, requestingPage);
  }
}

function refused(error, requestingPage) {
  // A late response for an abandoned identifier must not abandon the new identifier.
  if (requestingPage !== page) return;
  if (error instanceof Refused && error.pageIsGone) return startOver();
  // Without a connection, the notice about the connection is enough.
  if (error instanceof Refused) notice.show(error.message);
}

function startOver() {
  stream.close();
  showConnection("lost");
  clearTimeout(restart);
  const wait = Math.min(longestWait, 250 * 2 ** refusals);
  refusals += 1;
  restart = setTimeout(() => {
    page = newPage();
    stream.open(page);
  }, wait);
}

function showConnection(connection) {
  document.documentElement.dataset.connection = connection;
  notice.connection(connection);
}

function newPage() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// MARK: Start

history.scrollRestoration = "manual";
byID("view").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) switchView(button.dataset.view);
});
byID("keys-button").addEventListener("click", showKeys);
byID("engine-button").addEventListener("click", toggleEngine);
byID("show-all").addEventListener("click", async () => { await find.clear(); list.focus(0); });
byID("retry-all").addEventListener("click", retryAll);
document.addEventListener("keydown", (event) => {
  const isElsewhere = event.target.closest("input, select, textarea, dialog");
  if (event.ctrlKey || event.metaKey || event.defaultPrevented) return;
  if (event.key === "#" && !isElsewhere) switchView(list.view === "grid" ? "list" : "grid");
  if (event.key === "?" && !takesText(event.target)) showKeys();
});
window.addEventListener("popstate", showAddress);
window.addEventListener("pagehide", () => {
  rememberPlace();
  // A browser that keeps the page for the Back button may keep its connection, too. It has six for a
  // server, and the next pages would wait for one of them.
  stream.close();
});
// Return by the Back button.
window.addEventListener("pageshow", (event) => { if (event.persisted) startOver(); });

document.documentElement.dataset.phase = phases.phase;
names.want([0]);
showView();
stream.open(page);
