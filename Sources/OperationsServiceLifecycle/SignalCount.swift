#if ServiceLifecycle
@preconcurrency import Dispatch
import OperationsRuntime

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Counts the signals that the process has received since its services began to listen, for all
/// services of the process.
///
/// Dispatch delivers a signal to each of its sources, also to those of a service group.
final class SignalCount: Sendable {
    static let shared = SignalCount()

    private struct State: @unchecked Sendable {
        var sources: [Int32: any DispatchSourceSignal] = [:]
        var counts: [Int32: Int] = [:]
        var listeners: [Int: (signals: [Int32], call: @Sendable () -> Void)] = [:]
        var lastListener = 0
        /// When the first listener came after whom no signal has been counted yet.
        var firstListening: ContinuousClock.Instant?
        /// The number of services that run.
        var services = 0

        func count(of signals: [Int32]) -> Int {
            signals.reduce(0) { $0 + counts[$1, default: 0] }
        }
    }

    private let state = Locked(State())
    private let queue = DispatchQueue(label: "Operations.signals", qos: .userInteractive)

    /// Begins to count the signals, which have no other effect from now on.
    func begin(_ signals: [Int32]) {
        state.withLock { state in
            for number in signals where state.sources[number] == nil {
                #if canImport(Darwin)
                // Dispatch sees a signal there besides its effect.
                signal(number, SIG_IGN)
                #endif
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                // The source is in the state until it is cancelled, which ends this circle.
                source.setEventHandler { self.received(number, times: max(1, Int(source.data))) }
                source.activate()
                state.sources[number] = source
            }
        }
    }

    private static func hasDefaultEffect(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return true }
        #if canImport(Android)
        // The handler is not the first member there. The signal counts from the shutdown on.
        return true
        #else
        // `SIG_DFL` is a null pointer, and the handler is the first member.
        return withUnsafeBytes(of: &action) { $0.loadUnaligned(as: UInt.self) == 0 }
        #endif
    }

    /// How much later than the group this object may learn of the signal that shut the group down.
    private static let latestTrigger: Duration = .milliseconds(500)

    private func received(_ number: Int32, times: Int) {
        let calls = state.withLock { state in
            // Without a signal by then, the group has shut down for another reason, and this one is
            // a further one.
            let isFurther =
                state.firstListening.map { $0.duration(to: .now) > Self.latestTrigger } ?? false
            state.counts[number, default: 0] += times + (isFurther ? 1 : 0)
            state.firstListening = nil
            return state.listeners.values.filter {
                $0.signals.contains(number) && state.count(of: $0.signals) > 1
            }
            .map(\.call)
        }
        for call in calls { call() }
    }

    /// Has a function called when the process gets a further signal after the one that shut the
    /// group down; at once if it has come already. If no signal comes within half a second, the
    /// group shuts down for another reason, and the first one is the further one.
    func listen(to signals: [Int32], _ call: @escaping @Sendable () -> Void) -> Int {
        let (listener, isLate) = state.withLock { state in
            if state.count(of: signals) == 0, state.firstListening == nil {
                state.firstListening = .now
            }
            state.lastListener += 1
            state.listeners[state.lastListener] = (signals, call)
            return (state.lastListener, state.count(of: signals) > 1)
        }
        if isLate { call() }
        return listener
    }

    func remove(_ listener: Int) {
        let removed = state.withLock { $0.listeners.removeValue(forKey: listener) }
        withExtendedLifetime(removed?.call) {}
    }

    // MARK: Services

    /// A service begins to run. Counts from now on those signals that have no default effect any
    /// more: a service group, or the program, handles them. To count another one would take its
    /// effect away.
    func serviceBegins(_ signals: [Int32]) {
        state.withLock { $0.services += 1 }
        begin(signals.filter { !Self.hasDefaultEffect($0) })
    }

    /// A service has ended. After the last one nothing is counted.
    func serviceEnds() {
        let sources = state.withLock { state in
            state.services -= 1
            guard state.services == 0 else { return [any DispatchSourceSignal]() }
            defer { (state.sources, state.counts, state.firstListening) = ([:], [:], nil) }
            return Array(state.sources.values)
        }
        for source in sources { source.cancel() }
    }

    /// Forgets what was counted, because another shutdown begins.
    func forget() { state.withLock { ($0.counts, $0.firstListening) = ([:], nil) } }
}
#endif
