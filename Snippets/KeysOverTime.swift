// snippet.hide
// Keys over time
import Operations
import OperationsTestKit

let scheduler = TestScheduler(seed: 1)
let queue = scheduler.makeQueue()
let clock = scheduler.clock
let log = TestRecorder<String>()
@Sendable func note(_ text: String) {
    log.record("\(text) at \(clock.now.offset / Duration.milliseconds(1) / 1_000) s")
}

// snippet.show
for letter in ["s", "se", "sea"] {
    // Runs when nothing has been typed for 0.3 s, at the latest after 2 s.
    queue.add(.debounced(by: "search", .milliseconds(300), atMost: .seconds(2))) {
        note("search '\(letter)'")
    }
    // Runs at once, and then once a second, with the latest value.
    queue.add(.throttled(by: "progress", .seconds(1))) { note("show '\(letter)'") }
    try scheduler.advance(by: .milliseconds(200))
}
// snippet.hide
try scheduler.run()
for line in log.events { print(line) }

// Prints:
// show 's' at 0.0 s
// search 'sea' at 0.7 s
// show 'sea' at 1.0 s
