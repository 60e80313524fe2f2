// snippet.hide
// Finding out why nothing happens
import Operations
import OperationsInsight

let queue = OperationQueue()
queue.name = "Office"
queue.isSuspended = true

// snippet.show
let scan = queue.add("scan") { "page" }
let text = queue.add("text", after: scan) { page in page.count }

print(text.explain())

let watch = queue.reportStalls(after: .seconds(30)) { stall in print(stall) }
// snippet.hide
watch.end()
queue.isSuspended = false
await queue.finished()

// Prints:
// 'text' waits for 'scan' (ready; must succeed).
// 'text' → 'scan': 'scan' is ready, but queue 'Office' is suspended.
