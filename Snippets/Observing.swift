// snippet.hide
// Looking on: states, key paths and progress.
import Operations

// snippet.show
let queue = OperationQueue()
queue.isSuspended = true
queue.progress.totalUnitCount = 3  // from now on it counts
for number in 1...2 { queue.add { number * number } }
let copy = queue.add("copy", .priority(.veryHigh)) { "copied" }

let observation = queue.observe(\.isSuspended, options: [.new]) { _, change in
    print("suspended:", change.newValue ?? false)
}
for await state in copy.states {  // first the state it is in
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
