// snippet.hide
// Ends a program gracefully: on Ctrl-C, or on the signal that a supervisor sends.
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

@Sendable func write(_ page: Int) { usleep(100) }
let grace: Duration = .milliseconds(100)

// snippet.show
let queue = OperationQueue(name: "requests", width: 4)
queue.shutDown(on: .sigint, .sigterm, grace: grace)
let report = queue.add("report") {
    for page in 1... {
        try Operation.checkCancellation()
        write(page)
    }
}
// snippet.hide
kill(getpid(), SIGTERM)
while !queue.isShutDown { await Task.yield() }
let late = queue.add("late") {}
do { try await late.value } catch { print(error) }

// snippet.show
await queue.finished()
do { try await report.value } catch { print(error) }
// snippet.hide

// Prints:
// 'late' was cancelled: queue 'requests' was shut down
// 'report' was cancelled: queue 'requests' was shut down
