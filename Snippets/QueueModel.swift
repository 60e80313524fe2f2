// snippet.hide
// A model for an interface, on the main actor.
import Observation
import Operations

// snippet.show
@MainActor @Observable
final class QueueModel {
    private(set) var waitingCount = 0
    private(set) var fraction = 0.0
    private(set) var titles: [String] = []

    /// Follows the queue until the task is cancelled, as SwiftUI's `.task { … }` does.
    func follow(_ queue: OperationQueue) async {
        async let counts: Void = followCounts(of: queue)
        for await fraction in queue.progress.fractions { self.fraction = fraction }
        await counts
    }

    private func followCounts(of queue: OperationQueue) async {
        for await count in queue.counts { waitingCount = count }
    }

    func load(_ names: [String], in queue: OperationQueue) {
        queue.progressCountsAdditions = true
        for name in names {
            let title = queue.add(name) { try await fetchTitle(name) }
            queue.add(after: title) { @MainActor title in self.titles.append(title) }
        }
    }
}
// snippet.hide
@Sendable func fetchTitle(_ name: String) async throws -> String { name.uppercased() }

let queue = OperationQueue()
queue.isSuspended = true
let model = QueueModel()
model.load(["sea", "hill"], in: queue)
let following = Task { await model.follow(queue) }
while model.waitingCount < 4 { await Task.yield() }
queue.isSuspended = false
await queue.finished()
while model.waitingCount > 0 { await Task.yield() }
following.cancel()
await following.value
print(model.titles.sorted(), model.fraction)

// Prints:
// ["HILL", "SEA"] 1.0
