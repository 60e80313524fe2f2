import Dispatch
import OperationsRuntime

/// A thread that resumes suspended bodies, in a random order.
final class Resumer: Sendable {
    static let shared = Resumer()

    private let waiting = Locked([CheckedContinuation<Void, Never>]())
    private let arrived = DispatchSemaphore(value: 0)

    private init() {
        precondition(startThread(named: "resumer") { self.serve() }, "cannot start a thread")
    }

    func pause() async {
        await withCheckedContinuation { continuation in
            waiting.withLock { $0.append(continuation) }
            arrived.signal()
        }
    }

    private func serve() {
        var random = SplitMix64(seed: 1)
        while true {
            arrived.wait()
            let taken = waiting.withLock { waiting in
                waiting.remove(at: random.below(waiting.count))
            }
            taken.resume()
        }
    }
}
