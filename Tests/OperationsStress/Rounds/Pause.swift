import Dispatch

/// The ways in which an async body suspends.
enum Pause {
    static func perform(_ style: Int, _ hops: Int) async {
        switch style {
        case 0...2: for _ in 0..<hops { await Task.yield() }
        case 3: for _ in 0..<hops { await Resumer.shared.pause() }
        case 4:
            await withTaskGroup { group in
                for _ in 0..<hops { group.addTask { await Resumer.shared.pause() } }
            }
        case 5:
            for _ in 0..<hops {
                await withCheckedContinuation { continuation in
                    DispatchQueue.global().async { continuation.resume() }
                }
            }
        case 6: for _ in 0..<hops { await Task.detached {}.value }
        default:
            await Resumer.shared.pause()
            await Task.yield()
        }
    }
}
