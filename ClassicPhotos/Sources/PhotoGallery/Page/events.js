// The stream of events from the server.
//
// EventSource reconnects by itself after a broken connection, but gives up permanently when the
// server responds with anything but a stream. This class reports the first case as `lost` and the
// second as `refused`.

export class EventStream {
  #handlers;
  #source = null;

  /// True from a `hello` until the next disconnection.
  isOpen = false;

  constructor(handlers) { this.#handlers = handlers; }

  open(page) {
    this.close();
    const source = new EventSource(`/api/events?page=${page}`);
    this.#source = source;
    for (const name of ["hello", "list", "row", "progress", "queues", "counts", "engine"]) {
      source.addEventListener(name, (event) => {
        if (source !== this.#source) return;
        if (name === "hello") this.isOpen = true;
        this.#handlers[name](JSON.parse(event.data));
      });
    }
    source.addEventListener("error", () => {
      if (source !== this.#source) return;
      this.isOpen = false;
      if (source.readyState === EventSource.CLOSED) this.#handlers.refused();
      else this.#handlers.lost();
    });
  }

  close() {
    this.#source?.close();
    this.#source = null;
    this.isOpen = false;
  }
}
