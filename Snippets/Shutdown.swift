// snippet.hide
// Ends a program gracefully: on Ctrl-C, or on the signal that a supervisor sends.
import Dispatch
import Operations

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

// snippet.show
/// The signals with these numbers, instead of their usual effect.
func signals(_ numbers: Int32...) -> AsyncStream<Int32> {
    AsyncStream { continuation in
        for number in numbers {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            nonisolated(unsafe) let kept = source
            continuation.onTermination = { [previous = continuation.onTermination] reason in
                kept.cancel()
                previous?(reason)
            }
        }
    }
}

let stopping = signals(SIGINT, SIGTERM)
let queue = OperationQueue(name: "requests", width: 4)
let report = queue.add("report") {
    for page in 1... {
        try Operation.checkCancellation()
        write(page)
    }
}
// snippet.hide
@Sendable func write(_ page: Int) { usleep(100) }
// The source is registered by another thread, so the first signals may come too early.
let sending = Task.detached {
    while !Task.isCancelled {
        kill(getpid(), SIGTERM)
        try? await Task.sleep(for: .milliseconds(5))
    }
}

// snippet.show
for await _ in stopping { break }
// snippet.hide
let shutDown = Task { await queue.shutDown(grace: .milliseconds(100)) }
while !queue.isShutDown { await Task.yield() }
let late = queue.add("late") {}
do { try await late.value } catch { print(error) }
await shutDown.value
// snippet.show
await queue.shutDown(grace: .seconds(20))
do { try await report.value } catch { print(error) }
// snippet.hide

// Prints:
// 'late' was cancelled: queue 'requests' was shut down
// 'report' was cancelled: queue 'requests' was shut down
