// Three stages with a limit each: reading, parsing, inserting. A producer waits while the next
// stage is full, and the first error ends all of them.

import Operations
import Synchronization

struct Row: Sendable {
    let number: Int
}

func parse(_ line: String) throws -> Row {
    guard let number = Int(line) else { throw NotANumber(line: line) }
    return Row(number: number)
}

struct NotANumber: Error {
    let line: String
}

let table = Mutex<[Int]>([])

func load(_ lines: [String]) async throws {
    // The last stage is the outermost scope: it exists for as long as others add to it.
    try await withOperationQueue(width: 1) { inserting in
        try await withOperationQueue(width: 4) { parsing in
            for line in lines {
                try await parsing.add(capacity: 8) {
                    let row = try parse(line)
                    try await inserting.add(capacity: 16) {
                        table.withLock { $0.append(row.number) }
                    }
                }
            }
        }
    }
}

try await load((1...10_000).map(String.init))
print(table.withLock { $0.count }, "rows")
do {
    try await load(["1", "two", "3"])
} catch {
    print("stopped by", error)
}
// snippet.hide

// Prints:
// 10000 rows
// stopped by NotANumber(line: "two")
