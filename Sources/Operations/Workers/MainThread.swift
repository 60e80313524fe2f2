import Dispatch

/// The main thread, as far as it matters: whoever serves the main dispatch queue.
///
/// That queue is the only way there that works with every kind of program. A program that calls
/// `dispatchMain()`, as one with an `async` main function does, gives its first thread up on Linux, and
/// other threads serve the main queue from then on.
enum MainThread {
    private static let mark: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    static func perform(_ work: @escaping @Sendable () -> Void) {
        DispatchQueue.main.async(execute: work)
    }

    /// Whether the caller holds up the main queue.
    static var isCurrent: Bool {
        isFirstThread || DispatchQueue.getSpecific(key: mark) == true
    }
}
