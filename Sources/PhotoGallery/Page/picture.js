// The picture of a row element: placeholder, then the photo, then the filtered photo in its place.
//
// Each photo gets an `img` of its own that enters the document only when it is decoded. The element
// under way is at the same time the generation check: whatever arrives for an `img` that is not
// `#coming` any more belongs to a row or a version that has gone, and is dropped. So a recycled row
// cannot show its former photo, not even for one frame.

const fade = { duration: 280, easing: "ease-out" };
const retryDelays = [500, 2000, 8000];
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

export class Picture {
  #frame;
  #changed;
  #address = "";
  #image = null;
  #coming = null;
  #timer = null;

  /// - frame: the element that holds the photo and paints the placeholder under it.
  /// - changed: told what is to be seen now: "none", "downloaded" or "filtered".
  constructor(frame, changed) {
    this.#frame = frame;
    this.#changed = changed;
    changed("none");
  }

  show(kind, address, name) {
    const words = kind === "filtered" ? `${name}, filtered` : name;
    if (address === this.#address) {
      // The name may have come after the picture.
      this.#image.alt = words;
      return;
    }
    this.#stop();
    this.#address = address;
    this.#load(kind, address, words, 0);
  }

  clear() {
    this.#stop();
    if (this.#address === "") return;
    this.#address = "";
    this.#frame.replaceChildren();
    this.#changed("none");
  }

  #stop() {
    clearTimeout(this.#timer);
    // Without an address the browser gives up the transfer.
    this.#coming?.removeAttribute("src");
    this.#coming = null;
  }

  #load(kind, address, words, attempt) {
    const image = new Image();
    image.alt = words;
    image.draggable = false;
    this.#image = image;
    this.#coming = image;
    image.src = address;
    image.decode().then(
      () => { if (image === this.#coming) this.#reveal(image, kind); },
      () => {
        if (image !== this.#coming || attempt >= retryDelays.length) return;
        this.#timer = setTimeout(() => this.#load(kind, address, image.alt, attempt + 1), retryDelays[attempt]);
      },
    );
  }

  #reveal(image, kind) {
    this.#coming = null;
    const below = [...this.#frame.children];
    for (const former of below) former.alt = "";
    this.#frame.append(image);
    this.#changed(kind);
    const removeBelow = () => { for (const former of below) former.remove(); };
    if (stillness.matches) return removeBelow();
    image.animate([{ opacity: 0 }, { opacity: 1 }], fade).finished.then(removeBelow, () => {});
  }
}
