package import Dispatch

/// The main thread, defined as the thread that serves the main dispatch queue.
///
/// Only the main dispatch queue reaches the main thread in every kind of program. A program that
/// calls `dispatchMain()`, as a program with an `async` main function does, gives up its first
/// thread on Linux, and other threads serve the main queue from then on.
package enum MainThread {
    private static let mark: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    package static func perform(_ work: @escaping @Sendable () -> Void) {
        DispatchQueue.main.async(execute: work)
    }

    /// Whether `queue` is the main queue. Except on Apple's systems, each use of
    /// `DispatchQueue.main` makes another object, so the objects' identity cannot tell.
    package static func isServed(by queue: DispatchQueue) -> Bool {
        queue.getSpecific(key: mark) == true
    }

    /// Whether the calling thread occupies the main queue.
    package static var isCurrent: Bool {
        isFirstThread || DispatchQueue.getSpecific(key: mark) == true
    }
}
