// The picture of a cell: placeholder, then the photo, then the filtered photo.
//
// Each photo gets its own `img`, which enters the document only once it is decoded. The `img` being
// loaded also serves as the generation check: a result for an `img` other than `#coming` belongs to
// a row or version that is gone, and is dropped. So a recycled cell cannot show its former photo,
// not even for one frame.

const fade = { duration: 280, easing: "ease-out" };
const retryDelays = [500, 2000, 8000];
const stillnessBefore = 600;
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

export class Picture {
  #frame;
  #changed;
  #address = "";
  #kind = "none";
  #sharper = null;
  #coming = null;
  #timer = null;

  /// - frame: the element that holds the photo and paints the placeholder under it.
  /// - changed: called with the visible picture: "none", "downloaded" or "filtered".
  constructor(frame, changed) {
    this.#frame = frame;
    this.#changed = changed;
    changed("none");
  }

  /// - sharper: returns the address of a larger picture for an image and the pixels of its frame, null
  ///   if the image has enough of them, or undefined while that is unknown. null if there is none.
  show(kind, address, sharper) {
    if (address === this.#address) return this.#showKind(kind, sharper);
    this.#stop();
    this.#address = address;
    this.#sharper = sharper;
    this.#kind = kind;
    this.#load(address, 0);
  }

  // The photo without filters is the same picture as the photo before them.
  #showKind(kind, sharper) {
    const isChange = kind !== this.#kind;
    this.#kind = kind;
    if (!isChange) return;
    this.#sharper = sharper;
    const image = this.#frame.lastElementChild;
    if (this.#coming || !image) return;
    this.#changed(kind);
    this.#sharpen(image);
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
    // Removing the address makes the browser stop the transfer.
    this.#coming?.removeAttribute("src");
    this.#coming = null;
  }

  #load(address, attempt) {
    const image = new Image();
    // The name and the state are text in the same link.
    image.alt = "";
    image.draggable = false;
    this.#coming = image;
    image.src = address;
    image.decode().then(
      () => { if (image === this.#coming) this.#reveal(image); },
      () => {
        if (image !== this.#coming || attempt >= retryDelays.length) return;
        const again = () => this.#load(address, attempt + 1);
        this.#timer = setTimeout(again, retryDelays[attempt]);
      },
    );
  }

  #reveal(image) {
    this.#coming = null;
    const below = [...this.#frame.children];
    this.#frame.append(image);
    this.#changed(this.#kind);
    this.#sharpen(image);
    const removeBelow = () => { for (const former of below) former.remove(); };
    if (stillness.matches) return removeBelow();
    image.animate([{ opacity: 0 }, { opacity: 1 }], fade).finished.then(removeBelow, () => {});
  }

  // The larger picture costs another download from the server, so it waits until the list has been
  // still for a moment. The frame is measured then, too: now, the browser would have to lay it out.
  #sharpen(image) {
    clearTimeout(this.#timer);
    if (!this.#sharper) return;
    this.#timer = setTimeout(() => {
      if (document.documentElement.dataset.phase !== "settled") return this.#sharpen(image);
      const { clientWidth, clientHeight } = this.#frame;
      const ratio = window.devicePixelRatio;
      const address = this.#sharper(image, clientWidth * ratio, clientHeight * ratio);
      if (address === undefined) return this.#sharpen(image);
      this.#sharper = null;
      if (address !== null) this.#load(address, retryDelays.length);
    }, stillnessBefore);
  }
}
