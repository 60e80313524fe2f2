// snippet.hide
// Passing results on
import Operations

func fetch(_ name: String) async throws -> [UInt8] { Array(name.utf8) }
func decode(_ bytes: [UInt8]) throws -> String { String(decoding: bytes, as: UTF8.self) }

// snippet.show
let queue = OperationQueue()

let download = queue.add { try await fetch("photo.jpg") }
let picture = queue.add(after: download) { bytes in try decode(bytes) }
let caption = queue.add { "Morning" }
let card = queue.add(after: picture, caption) { picture, caption in "\(caption): \(picture)" }

print(try await card.value)
// snippet.hide

// Prints:
// Morning: photo.jpg
