import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A thread of the process that calls handlers of signals.
///
/// No work of the program can fill the thread: it is neither a worker, nor one of Dispatch, nor one
/// of Swift's own pool. It exists from the first handler on. A handler should be short.
package enum SignalThread {
    /// A handler of some signals, which ends with ``end()``.
    package final class Registration: Sendable {
        fileprivate let signals: [Int32]
        /// Returns whether the signal is dealt with.
        fileprivate let handle: @Sendable (Int32) -> Bool

        fileprivate init(
            _ signals: [Int32], _ handle: @escaping @Sendable (Int32) -> Bool
        ) {
            (self.signals, self.handle) = (signals, handle)
        }

        /// Ends the calls of the handler. The signals that no other handler has get the effect back
        /// that they had before. A call that has begun runs to its end.
        package func end() { SignalThread.remove(self) }
    }

    private struct State: @unchecked Sendable {
        var handlers: [ObjectIdentifier: Registration] = [:]
        /// What the signals with handlers did before.
        var before: [Int32: (@convention(c) (Int32) -> Void)?] = [:]
        var isRunning = false
    }

    private static let state = Locked(State())

    /// Calls a handler on each of these signals, in place of its effect, from the return of this
    /// method on.
    ///
    /// If no handler deals with a signal, the process gets it again, with the effect that the
    /// signal has by default.
    ///
    /// - Returns: nil if the system refuses what is needed; the signals then have their effect.
    package static func handle(
        _ signals: [Int32], _ handler: @escaping @Sendable (Int32) -> Bool
    ) -> Registration? {
        let signals = Set(signals).sorted()
        let registration = Registration(signals, handler)
        let isReady = state.withLock { state in
            if !state.isRunning {
                guard signalPipe.open(), startThread(named: "Operation-signs", { run() }) else {
                    return false
                }
                state.isRunning = true
            }
            state.handlers[ObjectIdentifier(registration)] = registration
            for number in signals where state.before[number] == nil {
                state.before[number] = .some(signal(number, writeSignal))
            }
            return true
        }
        return isReady ? registration : nil
    }

    private static func remove(_ registration: Registration) {
        // The handler is released without the lock.
        let removed = state.withLock { state in
            let removed = state.handlers.removeValue(forKey: ObjectIdentifier(registration))
            guard removed != nil else { return removed }
            let rest = Set(state.handlers.values.flatMap(\.signals))
            for number in registration.signals where !rest.contains(number) {
                if let before = state.before.removeValue(forKey: number) {
                    _ = signal(number, before)
                }
            }
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    private static func run() -> Never {
        while true {
            guard let number = signalPipe.next() else { continue }
            let handlers = state.withLock { state in
                state.handlers.values.filter { $0.signals.contains(number) }
            }
            var isHandled = false
            for handler in handlers where handler.handle(number) { isHandled = true }
            if !isHandled { raiseAgain(number) }
        }
    }

    /// Gives the process a signal with its default effect.
    private static func raiseAgain(_ number: Int32) {
        state.withLock { state in
            _ = signal(number, SIG_DFL)
            state.before[number] = nil
        }
        kill(getpid(), number)
    }
}

/// The pipe through which the handler of all signals tells the thread. Opened before the handler is
/// installed, and never closed.
private nonisolated(unsafe) var signalPipe = SignalPipe()

private struct SignalPipe {
    private var ends: (reading: Int32, writing: Int32) = (-1, -1)

    mutating func open() -> Bool {
        if ends.reading >= 0 { return true }
        var pair: [Int32] = [-1, -1]
        guard pipe(&pair) == 0 else { return false }
        for end in pair { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A full pipe means that signals are not missed, and the handler must not wait.
        _ = fcntl(pair[1], F_SETFL, O_NONBLOCK)
        ends = (pair[0], pair[1])
        return true
    }

    /// Called by the handler of signals: only what is allowed there.
    func add(_ number: Int32) {
        var byte = UInt8(truncatingIfNeeded: number)
        let error = errno
        _ = write(ends.writing, &byte, 1)
        errno = error
    }

    /// Waits for a signal. Returns nil if the wait was interrupted.
    func next() -> Int32? {
        var byte: UInt8 = 0
        return read(ends.reading, &byte, 1) == 1 ? Int32(byte) : nil
    }
}

private let writeSignal: @convention(c) (Int32) -> Void = { signalPipe.add($0) }
