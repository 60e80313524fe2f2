// snippet.hide
// Operations that block
import Operations

// snippet.show
let outer = OperationQueue()
let inner = OperationQueue()

let results = (1...100).map { number in
    outer.add {
        let part = inner.add { number * number }
        part.waitUntilFinished()  // another worker takes its place at once
        return try part.result
    }
}
print(try await results.values().reduce(0, +))
// snippet.hide

// Prints:
// 338350
