// snippet.hide
// Strict order, and last in, first out
import Operations

// snippet.show
// Strictly in the order of addition.
let mail = OperationQueue(name: "mail", width: 1, order: .fifo)

// The row that came into view last starts first.
let rows = OperationQueue(name: "rows", width: 1, order: .lifo)
rows.aging = .seconds(1)  // one priority higher for each second of waiting

for queue in [mail, rows] { queue.isSuspended = true }
for number in 1...3 {
    mail.add("letter", .priority(number == 3 ? .veryHigh : .normal)) { print("letter \(number)") }
    rows.add { print("row \(number)") }
}
for queue in [mail, rows] {
    queue.isSuspended = false
    await queue.finished()
}
// snippet.hide

// Prints:
// letter 1
// letter 2
// letter 3
// row 3
// row 2
// row 1
