// The catalog: every text of the page. It is English; chinese.js has the same keys in Chinese, and
// only browsers that ask for Chinese load it.
//
// A text may contain values in braces. A text with a `count` may have a second form, after "|", for
// counts other than 1. Names come from the server and are shown as they are. The reason of a
// failure comes as an English sentence, and as a code with values for other languages.

const english = {
  photos: "{count} photo|{count} photos",
  currentFilter: "Filter of the list",
  byState: "Photos by state",
  new: "New", downloaded: "Downloaded", filtered: "Filtered", failed: "Failed to load",
  countNew: "{count} new", countDownloaded: "{count} downloaded",
  countFiltered: "{count} filtered", countFailed: "{count} failed",
  damaged: "Damaged",
  damage: "This file is damaged: {detail}. What is left of the photo is shown.",
  inProgress: "In progress", retry: "Retry", retryName: "Retry {name}",
  retryAll: "Retry all failed",
  dismiss: "Dismiss", lost: "Connection lost. Reconnecting…",
  unreachable: "The server does not answer.", notShown: "The browser cannot show this picture.",
  listFailed: "The list of photos could not be loaded. {reason}",
  empty: "There are no photos here yet. New ones appear by themselves.",
  noMatch: "No photo matches.", showAll: "Show all photos",
  matches: "{count} match|{count} matches", partOfAll: "{part} of {all}",
  find: "Name, title or keyword", tools: "Find, order and view",
  sort: "Order", sortList: "List order", sortName: "Name", sortDate: "Date taken",
  sortSize: "File size", sortState: "State",
  view: "View", viewGrid: "Grid", viewList: "List",
  asGrid: "Show as a grid (#)", asList: "Show as a list (#)",
  moved: "The list has changed. The photo of this address is no longer at its place.",
  gone: "This photo is no longer there.",
  noSuchPhoto: "The address asks for photo {number}, but the list has {total}.",
  engine: "Engine room",
  queueDownload: "Downloading", queueFilter: "Decoding and filtering",
  queueWords: "{running} running, {waiting} waiting", queueIdle: "idle",
  queuePaused: "paused, {waiting} waiting", queueScrolling: "waits while you scroll",
  "queue-waiting": "waiting", "queue-running": "running", "queue-finished": "finished",
  "queue-failed": "failed", "queue-cancelled": "no longer needed",
  "figure-throughput": "photos a second", "figure-time": "seconds until the screen is complete",
  "figure-hits": "of the pictures from memory", "figure-bytes": "downloaded",
  timelineLabel: "The last 30 seconds: {count} operation, {running} running|"
    + "The last 30 seconds: {count} operations, {running} running",
  now: "now", pause: "Pause", resume: "Resume", cancelAll: "Cancel all", atOnce: "At once",
  narrower: "{name}: fewer at once", wider: "{name}: more at once",
  naive: "Naive mode",
  naiveHelp: "Every photo of the list, one after the other, and nothing is cancelled. Scroll "
    + "far down, switch it on, and scroll far down again to feel the difference.",
  ratio: "After a scroll, the screen was complete in {normal} s; in naive mode in {naive} s, "
    + "{ratio} times as long.",
  ratioSoFar: "After a scroll, the screen was complete in {normal} s; in naive mode, it takes "
    + "more than {ratio} times as long.",
  saveTimeline: "Save the timeline for Perfetto",
  close: "Close", previous: "Previous photo", next: "Next photo",
  zoomIn: "Enlarge", zoomOut: "Reduce", fullScreen: "Full screen",
  showPanel: "Show details", hidePanel: "Hide details",
  keys: "Keys (?)", keysOfList: "Among the photos", keysOfPhoto: "In a photo",
  keyMove: "Move from photo to photo", keyOpen: "Open the photo",
  keyType: "Go to the photo with this name", keyView: "Grid or list",
  keyTurn: "Former and next photo; in a comparison, move the border",
  keyZoom: "Enlarge and reduce", keyWhole: "Whole photo", keyPixels: "Each pixel of the photo",
  keyPanel: "Show or hide the details",
  look: "Look", details: "Details", files: "Files",
  addFilter: "Add a filter", removeFilter: "Remove {name}", listLook: "As in the list",
  compare: "Compare with the original", divider: "Border between before and after",
  notThere: "This photo has not been downloaded yet.", why: "Why is it not there yet?",
  whyTurn: "It waits for its turn, or is being downloaded: {running} running, {waiting} waiting.",
  whyNotBefore: "The list downloads only the photos on the screen. The download of this photo began "
    + "when you opened it.",
  saveResult: "Save result", saveOriginal: "Save original", copyAddress: "Copy address",
  savedSize: "Size of the saved result", fullSize: "Full: {width} × {height}",
  fullSizeUnknown: "Full size", sideOf: "Within {side} × {side}",
  copied: "The address is in the clipboard.",
  pausedPhoto: "Downloading is paused. Resume it in the engine room.",
  before: "Original", after: "With filters",
  taken: "Taken", camera: "Camera", lens: "Lens", exposure: "Exposure", size: "Size",
  format: "Format", place: "Coordinates", source: "Source",
  // The server's own sentence names an option of the command line.
  "failure-damaged": "The picture is damaged and cannot be decoded: {detail}. Download or copy "
    + "the file again.",
};

export const language = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
const texts = language === "zh" ? (await import("./chinese.js")).texts : english;

/// A number with the separators of the language. For counts, both languages have a comma before each
/// group of three digits; the browser's formatter takes long to load.
export function number(value, options) {
  if (options || !Number.isInteger(value)) {
    return new Intl.NumberFormat(language, options).format(value);
  }
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/// Whether the catalog has a text for a key in this language.
export const has = (key) => key in texts;

/// The text of a key, with its values filled in.
export function text(key, values = {}) {
  const forms = texts[key].split("|");
  const form = forms.length > 1 && values.count !== 1 ? forms[1] : forms[0];
  return form.replace(/\{(\w+)\}/g, (_, name) =>
    typeof values[name] === "number" ? number(values[name]) : values[name] ?? "");
}

const capitalized = (words) => words.charAt(0).toUpperCase() + words.slice(1);
const translated = (word) => has(`word-${word}`) ? text(`word-${word}`) : word.replaceAll("-", " ");

/// The name of a filter or of one of its parameters.
export const filterName = (word) => capitalized(translated(word));

/// What a filter does; in Chinese without the server's English sentence.
export const filterTip = (word, sentence) =>
  has(`tip-${word}`) ? text(`tip-${word}`) : language === "en" ? sentence ?? "" : "";

/// Filters in words: "sepia=0.8" is "Sepia 0.8".
export const filterWords = (filters) =>
  capitalized(filters.replace(/[a-z][a-z-]*/g, translated).replaceAll("=", " "));

/// The reason of a failure in the page's language, or the server's sentence if the catalog has
/// none.
export function failureText(sentence, failure) {
  const key = `failure-${failure?.code}`;
  return has(key) ? text(key, failure.values) : sentence;
}

/// Fills in the texts of the elements that name their key: `data-text` for the content, and
/// `data-label` for the accessible name, which a pointer shows as well.
export function translate(root) {
  for (const element of root.querySelectorAll("[data-text]")) {
    element.textContent = text(element.dataset.text);
  }
  for (const element of root.querySelectorAll("[data-label]")) {
    const label = text(element.dataset.label);
    element.setAttribute("aria-label", label);
    if (element.matches("button")) element.title = label;
    if (element.matches("input")) element.placeholder = label;
  }
}

/// A number of bytes in the unit that suits it.
export function bytes(count) {
  const [value, unit] =
    count < 1e6 ? [count / 1e3, "kB"] : count < 1e9 ? [count / 1e6, "MB"] : [count / 1e9, "GB"];
  return `${number(value, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${unit}`;
}
