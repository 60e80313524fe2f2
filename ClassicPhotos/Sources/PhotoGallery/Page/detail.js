// The detail view: one photo on a dark stage, its filters, its details and its files.
//
// The view opens with the picture of the cell, so nothing is empty while the larger picture comes.
// The larger picture replaces it in the same rectangle. One picture is requested at a time: setting
// another address stops the former transfer, and the server then cancels its work.

import { pushAddress, writeAddress } from "./address.js";
import { check, getJSON } from "./api.js";
import { showProgress } from "./cell.js";
import { button, loadStyle, make, signButton, takesText } from "./dom.js";
import { LookEditor, loadFilters, lookText, parseLook } from "./looks.js";
import { Stage } from "./stage.js";
import { bytes, language, number, text } from "./strings.js";

const sides = [640, 1280, 2560, 5120];
// The sizes in which a result can be saved, besides its full one.
const savedSides = [2560, 1280, 640];
const sliderPause = 90;
const stillness = matchMedia("(prefers-reduced-motion: reduce)");
// On these screens, the panel begins folded.
const small = matchMedia("(max-width: 860px), (max-height: 500px)");

export class Detail {
  #host;
  #row = null;
  #look = null;
  #ofList = [];
  // The look that the address asks for, until the filters are known.
  #wantedLook = null;
  #token = 0;
  #timer = null;
  #pictureTimer = null;
  #dialog;
  #parts = {};
  #stage = new Stage({
    step: (by) => this.step(by), scaled: (scale) => this.#scaled(scale),
    close: () => this.#leave(), tapped: () => this.#dialog.classList.toggle("bare"),
    neighbor: (by) => this.#neighbor(by), fitted: () => this.#fitted(),
  });
  #isFolded = null;
  // The identifier of the photo that is shown; undefined until it has arrived.
  #id;
  // Why the server's picture is not shown, although the photo has not failed.
  #problem = null;
  // Keeps the neighbors' pictures in the browser's memory.
  #prefetched = [];
  // The request for the details.
  #facts = null;
  #editor = new LookEditor((look) => this.#lookChanged(look));

  /// - host: the page's own functions; see app.js.
  static async load(host) {
    await loadStyle("/detail.css");
    return new Detail(host);
  }

  constructor(host) {
    this.#host = host;
    this.#build();
  }

  get isOpen() { return this.#row !== null; }

  get row() { return this.#row; }

  /// Opens the view. The address is changed by the caller if the page begins with an open view.
  async open(row, { isNew = true, look = null } = {}) {
    const cell = this.#host.cell(row);
    if (isNew) pushAddress(this.#host.address(row), { opened: true });
    const shown = () => {
      this.#row = row;
      this.#wantedLook = look;
      document.documentElement.classList.add("covered");
      this.#dialog.classList.remove("bare");
      if (!this.#dialog.open) this.#dialog.showModal();
      this.#dialog.focus();
      this.#show();
    };
    await this.#morph(cell, shown);
    if (this.#row === row) this.#load();
  }

  /// Closes the view and returns the focus to the photo's cell.
  async close() {
    if (this.#row === null) return;
    const row = this.#row;
    this.#row = null;
    // The next photo that is opened has the list's own look again.
    this.#look = null;
    this.#wantedLook = null;
    this.#stop();
    if (document.fullscreenElement) await document.exitFullscreen().catch(() => {});
    this.#host.reveal(row);
    const cell = this.#host.cell(row);
    await this.#morph(cell, () => {
      this.#dialog.close();
      document.documentElement.classList.remove("covered");
    }, true);
    this.#host.focus(row);
  }

  /// Shows the next or the former photo.
  step(by) {
    const row = this.#host.neighbor(this.#row, by);
    if (row === null) return;
    this.#row = row;
    this.#writeAddress();
    this.#show();
    this.#load();
  }

  /// Shows the photo with the look of the address; null for the list's own.
  showLook(look) {
    if (this.#look === null || look === this.#lookOfAddress) return;
    this.#look = this.#editor.look = look === null ? structuredClone(this.#ofList) : parseLook(look);
    this.#showPicture();
  }

  /// Shows the current state of the photo again.
  refresh(row) {
    if (row !== this.#row) return;
    const hadPicture = this.#dialog.dataset.state;
    this.#showState();
    // The picture was not there before: now it can be loaded.
    if (hadPicture !== this.#dialog.dataset.state) this.#load();
  }

  /// More of the photo's bytes have arrived.
  progressed(row) {
    if (row === this.#row) showProgress(this.#parts.spinner, this.#host.photo(row).progress);
  }

  /// A person has paused or resumed the queues. A photo that waited for that is loaded now.
  pauseChanged() {
    if (!this.isOpen) return;
    this.#showState();
    this.#load();
  }

  /// Photos were added to the list or deleted.
  listChanged() {
    if (this.isOpen) this.#showNeighbors();
  }

  /// The identifiers of photos have arrived, maybe again after a change of the list.
  identifiersArrived() {
    if (!this.isOpen) return;
    const id = this.#host.id(this.#row);
    if (id === undefined || id === this.#id) return;
    const isFirst = !this.#id;
    this.#id = id;
    if (id === "") {
      this.#host.say(text("gone"));
      return this.#leave();
    }
    if (isFirst) return this.#showFiles();
    // The file has changed.
    this.#show();
    this.#load();
  }

  /// The connection to the server is back.
  connected() {
    if (this.isOpen && this.#problem) this.#load();
  }

  // MARK: Elements

  #build() {
    const sign = (className, mark, key, click) => signButton(className, mark, text(key), click);
    const parts = this.#parts;
    parts.name = make("h2", { id: "detail-name", dir: "auto", "aria-live": "polite" });
    parts.title = make("p", { className: "title", dir: "auto", hidden: true });
    parts.folders = make("p", { className: "folders", dir: "auto" });
    parts.state = make("p", { className: "state" });
    parts.damage = make("p", { className: "damage", role: "status", hidden: true });
    parts.compare = make("button", {
      type: "button", className: "quiet", "aria-pressed": false, click: () => this.#compare(),
    }, text("compare"));
    parts.previous = sign("turn back", "‹", "previous", () => this.step(-1));
    parts.next = sign("turn on", "›", "next", () => this.step(1));
    parts.full = sign("icon full", "", "fullScreen", () => this.#toggleFullScreen());
    parts.full.hidden = !document.fullscreenEnabled;
    parts.fold = sign("icon fold", "", "showPanel", () => this.#fold(!this.isFolded));
    parts.fold.setAttribute("aria-controls", "detail-body");
    parts.spinner = make("span", {
      className: "row-spinner", role: "img", label: text("inProgress"), hidden: true,
    });
    parts.reason = make("p", { dir: "auto" });
    parts.retry = button("pill", text("retry"), () => this.#retry());
    parts.why = button("pill", text("why"), () => this.#explain());
    parts.trouble = make("div", { className: "trouble", role: "status", hidden: true },
      parts.reason, parts.retry, parts.why);
    this.#stage.element.append(
      parts.previous, parts.next, parts.spinner, parts.trouble,
      make("div", { className: "zoom" },
        sign("icon for-keys", "?", "keys", () => this.#host.showKeys()),
        sign("icon", "−", "zoomOut", () => this.#stage.zoom(1 / 1.5)),
        sign("icon", "+", "zoomIn", () => this.#stage.zoom(1.5)),
        sign("icon ratio", "1:1", "keyPixels", () => this.#stage.showPixels()),
        parts.full));
    parts.facts = make("dl", {});
    parts.size = make("select", {
      className: "field", label: text("savedSize"), change: () => this.#showFiles(),
    }, make("option", { value: "full" }, text("fullSizeUnknown")));
    parts.result = make("a", { className: "pill", download: "" }, text("saveResult"));
    parts.original = make("a", { className: "pill", download: "" }, text("saveOriginal"));
    parts.copy = button("pill", text("copyAddress"), () => this.#copy());
    parts.said = make("p", { className: "note", role: "status" });
    const section = (key, className, ...children) =>
      make("section", { className }, make("h3", {}, text(key)), ...children);
    parts.body = make("div", { id: "detail-body" },
      section("look", "of-picture", this.#editor.element, parts.compare),
      section("details", "of-picture", parts.facts),
      section("files", "",
        make("div", { className: "line of-picture" }, parts.size, parts.result),
        make("div", { className: "line wrap" }, parts.original, parts.copy),
        parts.said));
    this.#dialog = make("dialog", { id: "detail", tabIndex: -1, "aria-labelledby": "detail-name" },
      this.#stage.element,
      make("div", { className: "panel" },
        make("header", { className: "line" },
          make("div", { className: "naming" }, parts.name, parts.title, parts.folders, parts.state, parts.damage),
          parts.fold, sign("icon", "×", "close", () => this.#leave())),
        parts.body));
    this.#dialog.addEventListener("cancel", (event) => { event.preventDefault(); this.#leave(); });
    // After a movement by hand, the keys belong to the photo again.
    this.#dialog.addEventListener("pointerup", ({ target }) => {
      if (target.matches("input[type=range]")) this.#dialog.focus();
    });
    this.#dialog.addEventListener("keydown", (event) => this.#keyPressed(event));
    // The stream of events may survive an absence of the network that a request did not.
    window.addEventListener("online", () => this.connected());
    small.addEventListener("change", () => this.#showFold());
    this.#showFold();
    document.body.append(this.#dialog);
  }

  // The panel is folded on small screens, until a person decides.
  get isFolded() { return this.#isFolded ?? small.matches; }

  #fold(isFolded) {
    this.#isFolded = isFolded;
    this.#showFold();
  }

  #showFold() {
    const { fold } = this.#parts;
    this.#dialog.classList.toggle("folded", this.isFolded);
    fold.setAttribute("aria-expanded", !this.isFolded);
    fold.title = text(this.isFolded ? "showPanel" : "hidePanel");
    fold.setAttribute("aria-label", fold.title);
  }

  // The stage alone: a browser lets no modal dialog fill the screen.
  #toggleFullScreen() {
    if (document.fullscreenElement) return document.exitFullscreen();
    // Some browsers refuse, for example in a frame.
    this.#stage.element.requestFullscreen?.().catch(() => {});
  }

  // Closing goes through the history, so that Back and Escape do the same.
  #leave() { this.#host.leave(); }

  #keyPressed(event) {
    const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
    if (hasModifier || takesText(event.target)) return;
    // These belong to a slider that the keyboard is on.
    const isSlider = event.target.matches("input[type=range]");
    if (isSlider && event.key.startsWith("Arrow")) return;
    const actions = {
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      "+": () => this.#stage.zoom(1.5), "=": () => this.#stage.zoom(1.5), "-": () => this.#stage.zoom(1 / 1.5),
      0: () => this.#stage.reset(), 1: () => this.#stage.showPixels(),
      b: () => this.#compare(), i: () => this.#fold(!this.isFolded),
      f: () => this.#toggleFullScreen(),
    };
    this.#dialog.classList.remove("bare");
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // MARK: Contents

  #show() {
    const row = this.#row;
    const { name, record, picture } = this.#host.photo(row);
    const { before, after } = this.#stage;
    this.#stop();
    this.#id = this.#host.id(row);
    const file = (name ?? "").lastIndexOf("/") + 1;
    this.#parts.name.textContent = this.#parts.name.title = (name ?? "").slice(file);
    this.#parts.folders.textContent = (name ?? "").slice(0, Math.max(0, file - 1));
    this.#showNeighbors();
    this.#parts.facts.replaceChildren();
    this.#parts.said.textContent = "";
    this.#parts.body.scrollTop = 0;
    this.#problem = null;
    before.removeAttribute("src");
    after.alt = name ?? "";
    after.isSharp = false;
    if (picture) after.src = picture; else after.removeAttribute("src");
    after.onload = () => {
      if (!record.width) this.#stage.ratio = after.naturalWidth / after.naturalHeight;
    };
    this.#stage.ratio = record.width / record.height;
    this.#stage.pixels = null;
    this.#stage.present();
    this.#showState();
    this.#prefetch();
  }

  #showNeighbors() {
    this.#parts.previous.hidden = this.#host.neighbor(this.#row, -1) === null;
    this.#parts.next.hidden = this.#host.neighbor(this.#row, 1) === null;
  }

  #showState() {
    const { record, title } = this.#host.photo(this.#row);
    const { state, active, reason, retryable, hasOriginal, damage } = record;
    const parts = this.#parts;
    parts.title.textContent = title ?? "";
    parts.title.hidden = !title;
    this.#dialog.dataset.state = state;
    this.progressed(this.#row);
    // The view may be ahead of the list, whose own work on the photo continues.
    const isShown = this.#stage.after.isSharp && state !== "failed";
    const isFailed = state === "failed" && !active;
    const isMissing = state === "new" && !isShown;
    const problem = isFailed ? null : this.#problem;
    const isActive = active && !this.#host.isPaused() && !problem;
    parts.damage.textContent = isFailed ? "" : damage ?? "";
    parts.damage.hidden = parts.damage.textContent === "";
    parts.state.textContent = isShown ? text(this.#look?.length ? "filtered" : "downloaded")
      : text(isActive ? "inProgress" : state);
    parts.trouble.hidden = !(isFailed || isMissing || problem);
    this.#stage.element.classList.toggle("vacant", isFailed || isMissing);
    parts.reason.textContent = isFailed ? reason
      : problem?.message ?? text(this.#isHeld ? "pausedPhoto" : "notThere");
    parts.retry.hidden = isFailed ? !retryable : problem === null || problem.canRetry === false;
    parts.why.hidden = isFailed || problem !== null || this.#isHeld;
    parts.original.hidden = isFailed && !hasOriginal;
  }

  // While a person has paused the queues, a photo that nobody has loaded is not loaded here either.
  get #isHeld() {
    return this.#host.isPaused() && this.#host.photo(this.#row).record.state === "new";
  }

  async #load() {
    const row = this.#row;
    const token = ++this.#token;
    this.#problem = null;
    this.#showState();
    if (this.#isHeld) return this.#spin(false);
    this.#loadFacts(row, token);
    try {
      const filters = await loadFilters();
      if (token !== this.#token) return;
      if (this.#look === null) {
        this.#ofList = parseLook(this.#host.filter());
        this.#editor.offer(filters, this.#ofList);
        const look = this.#wantedLook;
        this.#look = this.#editor.look =
          look === null ? structuredClone(this.#ofList) : parseLook(look);
      }
    } catch (error) {
      return this.#fail(error);
    }
    this.#showPicture();
  }

  async #loadFacts(row, token) {
    this.#facts?.abort();
    this.#facts = new AbortController();
    try {
      // The page receives the progress of the download that this request waits for.
      const facts = await getJSON(
        `/api/photos/${row}/details?page=${this.#host.page()}`, this.#facts.signal);
      if (token !== this.#token) return;
      this.#stage.pixels = Math.max(facts.width, facts.height);
      this.#stage.ratio = facts.width / facts.height;
      this.#offerSizes(facts);
      this.#parts.facts.replaceChildren(...factRows(facts));
    } catch {
      // The picture's own failure says why.
    }
  }

  #address(side, look) {
    const id = this.#host.id(this.#row) ?? "";
    const query = new URLSearchParams({ fit: side, filters: lookText(look), id });
    return `/api/photos/${this.#row}/picture?${query}`;
  }

  // The smallest size that fills the stage at the current zoom, or has all pixels of the photo.
  get #side() {
    const { canvas, scale, pixels } = this.#stage;
    const length = Math.max(canvas.offsetWidth, canvas.offsetHeight);
    const wanted = Math.min(pixels ?? Infinity, 0.9 * length * scale * window.devicePixelRatio);
    return sides.find((side) => side >= wanted) ?? (pixels ? "full" : sides.at(-1));
  }

  // The window has another size, or the shape of the photo is known now. A picture that has been
  // requested may have too few pixels for the stage.
  #fitted() {
    const { address } = this.#stage.after.dataset;
    if (!address) return;
    const requested = new URL(address, location).searchParams.get("fit");
    const order = [...sides, "full"].map(String);
    if (order.indexOf(String(this.#side)) > order.indexOf(requested)) this.#showPicture();
  }

  #showPicture() {
    const { record } = this.#host.photo(this.#row);
    this.#showFiles();
    if (record.state === "failed") return;
    this.#put(this.#stage.after, this.#address(this.#side, this.#look));
    if (this.#stage.isDivided) this.#put(this.#stage.before, this.#address(this.#side, []));
  }

  // The server names the files.
  #showFiles() {
    const { size, result, original } = this.#parts;
    const query = new URLSearchParams({
      size: size.value, filters: lookText(this.#look ?? []), id: this.#host.id(this.#row) ?? "",
    });
    result.href = `/api/photos/${this.#row}/result?${query}`;
    original.href = `/api/photos/${this.#row}/original`;
  }

  // Sizes that the photo does not have are not offered.
  #offerSizes({ width, height }) {
    const { size } = this.#parts;
    const former = size.value;
    const smaller = savedSides.filter((side) => side < Math.max(width, height));
    size.replaceChildren(
      make("option", { value: "full" }, text("fullSize", { width, height })),
      ...smaller.map((side) => make("option", { value: side }, text("sideOf", { side }))));
    // A choice stays for the next photo.
    size.value = former;
    if (size.selectedIndex < 0) size.selectedIndex = 0;
    this.#showFiles();
  }

  // Shows a picture once it is decoded; the former picture stays until then.
  #put(image, address) {
    if (image.dataset.address === address) return;
    this.#cancel(image);
    image.dataset.address = address;
    const coming = new Image();
    image.coming = coming;
    this.#spin(true);
    coming.src = address;
    coming.decode().then(
      () => {
        if (image.coming !== coming) return;
        image.src = address;
        image.isSharp = true;
        this.#spin(false);
        this.#showState();
      },
      async () => {
        if (image.coming !== coming) return;
        this.#spin(false);
        delete image.dataset.address;
        // An image element does not say why it failed.
        const problem = await check(address).catch((error) => error);
        if (image.coming === coming) this.#fail(problem ?? new Error(text("notShown")));
      });
  }

  #fail(error) {
    this.#problem = error;
    this.#spin(false);
    if (this.#row !== null) this.#showState();
  }

  #retry() {
    if (this.#problem) this.#load(); else this.#host.retry(this.#row);
  }

  #spin(isWorking) {
    clearTimeout(this.#timer);
    if (!isWorking) this.#parts.spinner.hidden = true;
    else this.#timer = setTimeout(() => { this.#parts.spinner.hidden = false; }, 250);
  }

  #cancel(image) {
    image.coming?.removeAttribute("src");
    image.coming = null;
    delete image.dataset.address;
  }

  #stop() {
    this.#token += 1;
    this.#facts?.abort();
    this.#spin(false);
    for (const image of [this.#stage.before, this.#stage.after]) this.#cancel(image);
  }

  #neighbor(by) {
    const row = this.#host.neighbor(this.#row, by);
    if (row === null) return null;
    const { record, picture } = this.#host.photo(row);
    return { picture, ratio: record.width / record.height, color: record.color };
  }

  // The thumbnails of the neighbors, for an immediate next photo.
  #prefetch() {
    this.#prefetched = [1, -1].map((by) => {
      const picture = this.#neighbor(by)?.picture;
      return picture ? Object.assign(new Image(), { src: picture }) : null;
    });
  }

  #lookChanged(look) {
    this.#look = look;
    this.#showPictureSoon();
  }

  #scaled(scale) {
    if (scale > 1 && this.#look) this.#showPictureSoon();
  }

  #showPictureSoon() {
    clearTimeout(this.#pictureTimer);
    this.#pictureTimer = setTimeout(() => {
      if (!this.isOpen) return;
      // The address of the former look would come back with a reload.
      this.#writeAddress();
      this.#showPicture();
    }, sliderPause);
  }

  // The look as the address has it: null for the list's own.
  get #lookOfAddress() {
    if (this.#look === null) return this.#wantedLook;
    const look = lookText(this.#look);
    return look === lookText(this.#ofList) ? null : look;
  }

  #writeAddress() { writeAddress(this.#host.address(this.#row, this.#lookOfAddress)); }

  #compare() {
    this.#stage.isDivided = !this.#stage.isDivided;
    this.#stage.reset();
    this.#parts.compare.setAttribute("aria-pressed", this.#stage.isDivided);
    if (this.#look) this.#showPicture();
    if (this.#stage.isDivided) this.#stage.divider.focus();
  }

  #explain() {
    const { running, waiting } = this.#host.downloads();
    const key = this.#host.photo(this.#row).record.active ? "whyTurn" : "whyNotBefore";
    this.#parts.reason.textContent = text(key, { running, waiting });
    this.#parts.why.hidden = true;
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(location.href);
      this.#parts.said.textContent = text("copied");
    } catch {
      this.#parts.said.textContent = location.href;
    }
  }

  // MARK: Motion

  // The picture moves between the cell and the stage.
  async #morph(cell, change, isClosing = false) {
    const frame = cell?.frame;
    const canMove = document.startViewTransition && !stillness.matches;
    if (!canMove || !frame || frame.offsetWidth === 0) return change();
    const stage = this.#stage.canvas;
    const [from, to] = isClosing ? [stage, frame] : [frame, stage];
    from.style.viewTransitionName = "photo";
    const transition = document.startViewTransition(() => {
      from.style.viewTransitionName = "";
      to.style.viewTransitionName = "photo";
      change();
    });
    // The browser may skip the motion, for example in a hidden window.
    transition.ready.catch(() => {});
    await transition.updateCallbackDone;
    transition.finished.finally(() => { to.style.viewTransitionName = ""; });
  }
}

function factRows(facts) {
  const rows = [];
  const add = (key, value) => {
    if (!value) return;
    rows.push(make("div", {}, make("dt", {}, text(key)), make("dd", { dir: "auto" }, value)));
  };
  const { taken, latitude, longitude } = facts;
  // The camera's own time: the zone of the reader does not matter.
  const date = taken && new Date(`${taken.slice(0, 19)}Z`);
  const style = { dateStyle: "long", timeStyle: "short", timeZone: "UTC" };
  const isDate = date && !Number.isNaN(date.getTime());
  add("taken", isDate ? date.toLocaleString(language, style) : taken);
  add("camera", facts.camera);
  add("lens", facts.lens);
  add("exposure", [
    facts.exposure && `${facts.exposure} s`, facts.aperture && `f/${number(facts.aperture)}`,
    facts.iso && `ISO ${facts.iso}`, facts.focalLength && `${number(facts.focalLength)} mm`,
  ].filter(Boolean).join(" · "));
  add("size", `${number(facts.width)} × ${number(facts.height)} · ${bytes(facts.bytes)}`);
  add("format", facts.format?.toUpperCase());
  if (latitude !== undefined && longitude !== undefined) {
    add("place", `${degrees(latitude, "N", "S")}, ${degrees(longitude, "E", "W")}`);
  }
  add("source", facts.source);
  return rows;
}

const degrees = (value, plus, minus) =>
  `${number(Math.abs(value), { maximumFractionDigits: 5 })}° ${value < 0 ? minus : plus}`;
