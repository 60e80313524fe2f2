// snippet.hide
// A subclass of Operation, run and cancelled.
import Operations

// snippet.show
final class Sum: Operation, @unchecked Sendable {
    let numbers: [Int]
    private(set) var total = 0  // main() writes it; read it after the end

    init(_ numbers: [Int]) {
        self.numbers = numbers
    }

    override func main() {
        for number in numbers {
            if isCancelled { return }
            total += number
        }
    }
}

let queue = OperationQueue()
let sum = Sum([1, 2, 3])
print(sum.isReady, sum.isFinished)  // ready, and not started yet
queue.addOperation(sum)
await sum.finished()
print(sum.isFinished, sum.total)

let unwanted = Sum([4, 5, 6])
unwanted.cancel()
queue.addOperation(unwanted)  // finishes without main()
await unwanted.finished()
print(unwanted.isFinished, unwanted.isCancelled, unwanted.total)
// snippet.hide

// Prints:
// true false
// true 6
// true true 0
