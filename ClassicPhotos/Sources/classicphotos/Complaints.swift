import Synchronization

/// The lines about a queue that cannot be used: one for each time that it fails, and not one for
/// each attempt.
final class Complaints: Sendable {
    private let clock = ContinuousClock()
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    /// The line to print about a failed attempt; nil if the attempts before failed, too.
    func line(about reason: String) -> String? {
        let now = clock.now
        let isNew = last.withLock { last in
            defer { last = now }
            // A worker tries again several times in this time.
            return last.map { now - $0 > .seconds(10) } ?? true
        }
        guard isNew, let text = reason.split(whereSeparator: \.isNewline).first else { return nil }
        return "\(text)\(text.hasSuffix(".") ? "" : ".") Trying again."
    }

    /// The line to print when the queue can be used again; nil if nothing was printed before.
    func lineAboutEnd() -> String? {
        last.withLock { $0.take() } == nil ? nil : "The queue can be used again."
    }
}
