// snippet.hide
// A scope, and a budget that queues share
import Operations

struct Broken: Error {}
let paths = (1...12).map { "photo \($0).jpg" }
@Sendable func megabytes(_ path: String) -> Int { 100 }
@Sendable func decode(_ path: String) throws -> String { path.uppercased() }

// snippet.show
let memory = ConcurrencyBudget(512, name: "megabytes")

let pictures = try await withOperationQueue { queue in
    let pictures = paths.map { path in
        queue.add(.cost(megabytes(path), of: memory)) { try decode(path) }
    }
    return try await pictures.values()
}
print(pictures.count, pictures.last ?? "")

do {
    try await withOperationQueue { queue in
        // Cancelled by the first error.
        queue.add("slow") { try await Task.sleep(for: .seconds(3600)) }
        queue.add("broken") { throw Broken() }
    }
} catch {
    print("left with \(error)")
}
// snippet.hide

// Prints:
// 12 PHOTO 12.JPG
// left with Broken()
