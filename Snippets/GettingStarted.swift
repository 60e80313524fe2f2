// The README's first program, built with everything else.
import Operations

let download = AsyncOperation {
    try await Task.sleep(for: .seconds(1))
    print("downloaded")
}
let filter = BlockOperation { print("filtered") }
filter.addDependency(download)
filter.queuePriority = .high

let queue = OperationQueue()
queue.maxConcurrentOperationCount = 4
queue.addOperations([filter, download], waitUntilFinished: true)

// Prints:
// downloaded
// filtered
