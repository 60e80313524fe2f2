import NIOCore

/// By when something has to happen on a connection, or it is closed.
///
/// A value without a clock: each event comes with its time.
struct ConnectionDeadlines {
    /// For the head of the next request, or for the end of the one that is being read.
    private var request: NIODeadline?
    /// For the next part of an answer to have been read by the client.
    private var write: NIODeadline?
    /// For the client to close its side too.
    private var closing: NIODeadline?

    private var isReading = false
    private var answersDue = 0
    private var writesPending = 0
    private var isOpen = false
    private let limits: GalleryLimits

    init(limits: GalleryLimits) { self.limits = limits }

    /// The first of the deadlines; nil while the client has nothing to do.
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
        // A body that nobody wanted still has to come to its end.
        if !isReading { waitForRequest(at: now) }
    }

    mutating func outputClosed(at now: NIODeadline) {
        closing = now + TimeAmount(limits.closeTime)
    }

    private mutating func waitForRequest(at now: NIODeadline) {
        request = answersDue == 0 ? now + TimeAmount(limits.idleTime) : nil
    }
}
