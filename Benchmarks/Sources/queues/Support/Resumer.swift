import Dispatch
import Foundation
import Synchronization

/// A thread that resumes tasks, as a thread that waits for the network does.
///
/// It takes all tasks that wait, resumes them one after the other, and looks again.
final class Resumer: Sendable {
    typealias Continuation = UnsafeContinuation<Void, Never>

    private let waiting = Mutex<[Continuation]>([])
    private let isSomething = DispatchSemaphore(value: 0)

    /// Starts the thread. It ends when it has resumed `count` tasks.
    init(count: Int) {
        Thread { [self] in
            var rest = count
            while rest > 0 {
                isSomething.wait()
                let continuations = waiting.withLock { list in
                    defer { list = [] }
                    return list
                }
                for continuation in continuations { continuation.resume() }
                rest -= continuations.count
            }
        }.start()
    }

    /// Suspends the task until the thread resumes it.
    func pause() async {
        await withUnsafeContinuation { continuation in
            let isFirst = waiting.withLock { list in
                list.append(continuation)
                return list.count == 1
            }
            if isFirst { isSomething.signal() }
        }
    }
}
