// The stream of events from the server.
//
// EventSource reconnects by itself after a broken connection, but gives up for good when the server
// answers with anything but a stream. The first is reported as `lost`, the second as `refused`.

export class EventStream {
  #handlers;
  #source = null;

  /// Between a `hello` and the next break.
  isOpen = false;

  constructor(handlers) { this.#handlers = handlers; }

  open(page) {
    this.close();
    const source = new EventSource(`/api/events?page=${page}`);
    this.#source = source;
    for (const name of ["hello", "row", "queues", "counts"]) {
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
