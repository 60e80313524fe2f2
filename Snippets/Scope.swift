// 20. A scope
import Operations

struct Picture {
    let size: Int
}
@Sendable func decode(_ path: String) throws -> Picture { Picture(size: path.count) }
let paths = ["sea.jpg", "mountains.jpg"]

// snippet.show
let sizes = try await withOperationQueue { queue in
    let pictures = paths.map { path in
        queue.add { try decode(path).size }
    }
    return try await pictures.values()
}
// snippet.hide
print(sizes)

// Prints:
// [7, 13]
