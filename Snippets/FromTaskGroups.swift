// snippet.hide
// Work that moves over from task groups and semaphores of tasks
import Operations

struct Row: Sendable { let number: Int }

@Sendable func size(of page: String) async throws -> Int {
    try await Task.sleep(for: .milliseconds(page.count))
    return page.count
}
@Sendable func query(_ number: Int) async throws -> Row { Row(number: number) }
@Sendable func check(_ amount: Int) async { await Task.yield() }
@Sendable func readFile() -> String { "contents" }
let addresses = ["index.html", "a.html", "bb.html"]

// snippet.show
// A task group that starts four tasks, awaits one and adds the next:
let sizes = try await addresses.concurrentMap(width: 4) { try await size(of: $0) }
print(sizes)

// for try await result in group: results as they finish
var total = 0
for try await (_, size) in addresses.concurrentResults(width: 4, { try await size(of: $0) }) {
    total += size
}
print(total)

// withThrowingTaskGroup { group in … }: tasks of several kinds, at most two at a time
let answer = try await withOperationQueue(width: 2) { queue in
    let row = queue.add { try await query(1) }
    let page = queue.add { try await size(of: "index.html") }
    return try await row.value.number + page.value
}
print(answer)

// AsyncSemaphore(value: 1) around the methods of an actor
actor Account {
    private let turns = OperationQueue(name: "account", width: 1, order: .fifo)
    private(set) var balance = 0

    func deposit(_ amount: Int) async throws {
        try await turns.add("deposit") {
            let before = await self.balance
            await check(amount)  // no other deposit runs meanwhile
            await self.set(before + amount)
        }.value
    }

    private func set(_ balance: Int) { self.balance = balance }
}
let account = Account()
try await (1...10).concurrentForEach(width: 10) { try await account.deposit($0) }
print(await account.balance)

// await Task.detached { readFile() }.value, for a function that blocks
print(await blocking { readFile() })
// snippet.hide

// Prints:
// [10, 6, 7]
// 23
// 11
// 55
// contents
