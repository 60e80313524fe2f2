#if DurableJobs
import Dispatch
import Operations

/// Calls code of the program for the threads by which a worker lives: those of its heartbeats, of
/// the watch over its lease, and of timers. Such code may block for any time, and must not cost the
/// lease.
///
/// The calls are not operations: bodies that block may hold all workers of the process until their
/// cancellation reaches them.
///
/// Events are delivered one after another. Cancellations also call handlers of the program; they
/// wait neither for events nor for each other.
final class HandlerCalls: Sendable {
    private let events = DispatchQueue(label: "Jobs-events")
    private let cancellations = DispatchQueue(
        label: "Jobs-cancellations", attributes: .concurrent)

    /// Calls a function after the earlier ones.
    func report(_ body: @escaping @Sendable () -> Void) { events.async(execute: body) }

    func cancel(_ operations: [Operations.Operation], because reason: CancellationReason) {
        for operation in operations {
            cancellations.async { operation.cancel(because: reason) }
        }
    }

    /// Waits until the events so far were delivered.
    func finished() async {
        await withCheckedContinuation { continuation in
            events.async { continuation.resume() }
        }
    }
}
#endif
