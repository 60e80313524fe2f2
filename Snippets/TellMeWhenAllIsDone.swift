// snippet.hide
// Learning that all operations have finished
import Operations

let names = ["a", "b", "c"]
func process(_ name: String) async throws { try await Task.sleep(for: .milliseconds(1)) }
let queue = OperationQueue()

// snippet.show
for name in names { queue.add { try await process(name) } }
await queue.finished()

// snippet.hide
var last = -1
// snippet.show
for await count in queue.counts {  // or observe the count
    // snippet.hide
    last = count
    if count == 0 { break }
    // snippet.show
}
// snippet.hide
print("\(last) to go")
// snippet.show
for await _ in queue.idles {  // each time the queue becomes empty
    print("nothing to do")
    // snippet.hide
    break
    // snippet.show
}
// snippet.hide

// Prints:
// 0 to go
// nothing to do
