// The gallery's page and its data flow.
//
//    /api/events ──▶ events.js ──▶ records.js (state by row) ─┐
//    /api/photos ──▶ names.js  (name by row, in pages) ───────┼─▶ list.js ─▶ cell.js ─▶ picture.js
//    window's scroll ──▶ scroll.js (dragging … settled) ──────┘     │
//                                                                   ▼ rows visible on the screen
//    /api/viewport ◀── viewport.js ◀────────────────────────────────┘
//
// - The server decides; the page only displays. The states of rows arrive as `row` events; the
//   visible rows go to the server in one small POST for each change of the scroll phase. The page
//   contains no photo logic.
// - Data is stored by row number and never in elements. A few dozen row elements are bound to the
//   rows on the screen (list.js) and rebuilt from the data when they are bound again. So a row that
//   has scrolled away costs nothing, and a late event for it changes only a map entry.
// - Events may arrive in bursts: they change the maps immediately and the screen once per frame.
// - The page has a random identifier. When the server no longer knows the page (410, 404, or a
//   refused stream), the page takes a new identifier and starts over. No other state needs repair,
//   because `hello` is always followed by the states of all rows that are not new.
// - Names and reasons are untrusted text: they only ever reach `textContent` and attributes.

import { Refused, postJSON } from "./api.js";
import { EventStream } from "./events.js";
import { VirtualList } from "./list.js";
import { Names } from "./names.js";
import { Notice } from "./notice.js";
import { Counts, Headline, Queues } from "./panels.js";
import { Records } from "./records.js";
import { ScrollPhases } from "./scroll.js";
import { ViewportReporter } from "./viewport.js";

const byID = (id) => document.getElementById(id);

// How long rows keep their contents after a reconnection until the server confirms them. Clearing
// the rows immediately would flash every picture on the screen back to its placeholder.
const confirmationTime = 1000;
const longestWait = 10_000;

let page = newPage();
let refusals = 0;
let restart = null;
let sweep = null;
let connectedBefore = false;

const notice = new Notice(byID("notice"), byID("notice-text"), byID("notice-close"));
const headline = new Headline(byID("title"), byID("total"), byID("filter"));
const counts = new Counts(byID("counts"), byID("progress"), byID("announcement"));
const queues = new Queues(byID("queues"), byID("queue-template"));
const records = new Records();

const names = new Names({
  headArrived(head) {
    headline.show(head);
    setTotal(head.total);
  },
  rowsArrived: () => list.refreshAll(),
  failed: (error) => notice.show(`The list of photos could not be loaded. ${error.message}`),
});

const list = new VirtualList(byID("list"), {
  template: byID("row-template"),
  bars: [byID("header"), byID("strip")],
  content: (row) => ({ page, name: names.name(row), record: records.get(row) }),
  rangeBound: (first, last) => names.want(first, last),
  visibleRowsChanged: () => { if (phases.phase === "settled") report(); },
  reasonSelected: (reason) => notice.show(reason),
  retry,
});

const phases = new ScrollPhases({
  scrolled: () => list.scrolled(),
  phaseChanged(phase) {
    document.documentElement.dataset.phase = phase;
    report();
    if (phase === "settled") {
      const moved = list.realign();
      if (moved !== null) phases.ignore(moved);
    }
  },
});

const reporter = new ViewportReporter({
  accepted() { refusals = 0; },
  failed: refused,
});

const stream = new EventStream({
  hello({ total }) {
    showConnection("open");
    reporter.forget();
    records.markUnconfirmed();
    clearTimeout(sweep);
    sweep = setTimeout(() => { records.dropUnconfirmed(); list.refreshAll(); }, confirmationTime);
    // The server may have restarted with another list.
    if (connectedBefore) names.reload();
    connectedBefore = true;
    setTotal(total);
    report();
  },
  row(event) {
    records.apply(event);
    list.refresh(event.row);
  },
  queues: (event) => queues.show(event.queues),
  counts: (event) => counts.show(event),
  lost: () => showConnection("lost"),
  refused: startOver,
});

function setTotal(total) {
  byID("empty").hidden = total > 0;
  headline.showTotal(total);
  list.setTotal(total);
}

function report() {
  const range = list.visibleRange();
  // The server does not know this page before `hello`, which triggers the report.
  if (range && stream.isOpen) reporter.report(page, range, phases.phase);
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

// Return by the Back button: the browser kept the page but closed its stream.
window.addEventListener("pageshow", (event) => { if (event.persisted) startOver(); });

document.documentElement.dataset.phase = phases.phase;
names.want(0, 0);
stream.open(page);
