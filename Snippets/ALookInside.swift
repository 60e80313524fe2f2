// snippet.hide
// Looking inside
import Operations
import OperationsInsight

let queue = OperationQueue()
queue.name = "Photos"
queue.isSuspended = true

// snippet.show
let timeline = OperationTimeline()
timeline.record(queue)
queue.measuresOperations = true

let download = queue.add("download") { "bytes" }
let filter = queue.add("filter", after: download) { $0.count }

print(queue.graph.dot.contains("filter"))  // or .mermaid: states, and the critical path
// snippet.hide
queue.isSuspended = false
// snippet.show
await queue.finished()

print(queue.statistics.finishedCount, "finished")
let trace = timeline.chromeTrace()  // write(to: "run.json") and open it at ui.perfetto.dev
// snippet.hide
print(trace.contains("download"))

// Prints:
// true
// 2 finished
// true
