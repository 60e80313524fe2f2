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

    /// Performs work on the main thread, and returns when that is done.
    package static func performAndWait(_ work: @Sendable () -> Void) {
        if isCurrent { return work() }
        DispatchQueue.main.sync(execute: work)
    }

    /// Waits until the main thread has performed all that was given to it before, or until the time
    /// limit passes. On the main thread itself there is nothing to wait for.
    ///
    /// - Returns: false if the time limit has passed.
    package static func settle(atMost limit: DispatchTimeInterval = .seconds(1)) -> Bool {
        if isCurrent { return true }
        let isSettled = DispatchSemaphore(value: 0)
        perform { isSettled.signal() }
        return isSettled.wait(timeout: .now() + limit) == .success
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
