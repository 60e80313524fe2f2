// snippet.hide
// Observing states, key paths and progress.
import Operations

// snippet.show
let queue = OperationQueue()
queue.isSuspended = true
queue.progress.totalUnitCount = 3  // from now on the progress counts
for number in 1...2 { queue.add { number * number } }
let copy = queue.add("copy", .priority(.veryHigh)) { "copied" }

let observation = queue.observe(\.isSuspended, options: [.new]) { _, change in
    print("suspended:", change.newValue ?? false)
}
for await state in copy.states {  // the present state first
    print(state)
    if state == .ready { queue.isSuspended = false }
}
await queue.finished()
print(queue.progress.fractionCompleted)
// snippet.hide
observation.invalidate()

// Prints:
// ready
// suspended: false
// executing
// finished(isCancelled: false)
// 1.0
