// snippet.hide
// Swift 6 without @unchecked
import Operations

// snippet.show
struct Sum: OperationWork {
    let numbers: [Int]
    func run() -> Int { numbers.reduce(0, +) }
}

let queue = OperationQueue()

let total = queue.add(Sum(numbers: [1, 2, 3]))  // input and result are Sendable
let text = queue.add(after: total) { "The sum is \($0)." }
print(try await text.value)
// snippet.hide

// Prints:
// The sum is 6.
