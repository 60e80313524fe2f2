// snippet.hide
// Learning that all operations have finished
import Operations

let names = ["a", "b", "c"]
func process(_ name: String) async throws { try await Task.sleep(for: .milliseconds(1)) }
let queue = OperationQueue()

// snippet.show
for name in names { queue.add { try await process(name) } }
await queue.finished()

// The two sequences go on for as long as the queue exists, so the loops end by `break`.
for await count in queue.counts where count == 0 {  // or observe the count
    print("\(count) to go")
    break
}
for await _ in queue.idles {  // each time the queue becomes empty
    print("nothing to do")
    break
}
// snippet.hide

// Prints:
// 0 to go
// nothing to do
