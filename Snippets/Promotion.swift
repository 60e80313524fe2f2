// snippet.hide
// Promotion
import Operations

let queue = OperationQueue()
queue.isSuspended = true

// snippet.show
let index = queue.add("index", .qualityOfService(.background)) { ["sepia", "sea"] }
let answer = queue.add("answer", .qualityOfService(.userInitiated), after: index) { index in
    index.contains("sepia")
}
print(index.effectiveQualityOfService)  // raised: 'answer' waits for it
// snippet.hide
queue.isSuspended = false
print(try await answer.value)

// Prints:
// userInitiated
// true
