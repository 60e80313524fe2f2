import NIOCore

/// The deadlines of a connection; the connection is closed if one of them passes.
///
/// The value has no clock: each event comes with its time.
struct ConnectionDeadlines {
    /// For the head of the next request, or for the end of the request being read.
    private var request: NIODeadline?
    /// For the client to read the next part of a response.
    private var write: NIODeadline?
    /// For the client to close its side of the connection.
    private var closing: NIODeadline?

    private var isReading = false
    private var answersDue = 0
    private var writesPending = 0
    private var isOpen = false
    private let limits: GalleryLimits

    init(limits: GalleryLimits) { self.limits = limits }

    /// The earliest deadline; nil while the server is not waiting for the client.
    var next: NIODeadline? { [request, write, closing].compactMap { $0 }.min() }

    mutating func opened(at now: NIODeadline) {
        guard !isOpen else { return }
        isOpen = true
        request = now + TimeAmount(limits.firstRequestTime)
    }

    mutating func headRead(at now: NIODeadline) {
        isReading = true
        answersDue += 1
        request = now + TimeAmount(limits.bodyTime)
    }

    mutating func requestRead(at now: NIODeadline) {
        isReading = false
        waitForRequest(at: now)
    }

    mutating func writeBegan(at now: NIODeadline) {
        writesPending += 1
        if writesPending == 1 { write = now + TimeAmount(limits.writeTime) }
    }

    mutating func writeEnded(at now: NIODeadline, isEndOfAnswer: Bool) {
        writesPending -= 1
        write = writesPending == 0 ? nil : now + TimeAmount(limits.writeTime)
        guard isEndOfAnswer else { return }
        answersDue -= 1
        // The body of a rejected request still has to be read to its end.
        if !isReading { waitForRequest(at: now) }
    }

    mutating func outputClosed(at now: NIODeadline) {
        closing = now + TimeAmount(limits.closeTime)
    }

    private mutating func waitForRequest(at now: NIODeadline) {
        request = answersDue == 0 ? now + TimeAmount(limits.idleTime) : nil
    }
}
