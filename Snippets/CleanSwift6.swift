// snippet.hide
// 9. Swift 6, without @unchecked
import Operations

// snippet.show
struct Sum: OperationWork {
    let numbers: [Int]
    func run() -> Int { numbers.reduce(0, +) }
}

let queue = OperationQueue()

let total = queue.add(Sum(numbers: [1, 2, 3]))  // what goes in and out is Sendable: that is all
let text = queue.add(after: total) { "The sum is \($0)." }
print(try await text.value)
// snippet.hide

// Prints:
// The sum is 6.
