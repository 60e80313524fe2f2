// snippet.hide
// A graph of blocks, which runs once for each picture.
import Operations

let queue = OperationQueue()

// snippet.show
var graph = BlockGraph("tiles")
let picture = graph.add("load") { "picture" }
let tiles = (0..<10).map { number in
    graph.add(after: picture) { picture in "\(picture) \(number)" }
}
let result = graph.add("join", after: tiles) { tiles in "\(tiles.count) tiles" }

for frame in 0..<3 {
    let results = try await queue.run(graph)
    print("\(frame): \(try results[result])")
}
// snippet.hide

// Prints:
// 0: 10 tiles
// 1: 10 tiles
// 2: 10 tiles
