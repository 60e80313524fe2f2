/// Where one thread sleeps until another one posts. A post that comes first is remembered.
final class Parker: Sendable {
    private let posts = Monitor(0)

    func post() {
        posts.withLock { $0 += 1 }
        // With the mutex free: the thread that wakes would only have to wait for it.
        posts.signal()
    }

    func wait() {
        posts.hold { held in
            while held.state == 0 { held.wait() }
            held.state -= 1
        }
    }

    /// False if the time was up.
    func wait(milliseconds: Int) -> Bool {
        posts.hold { held in
            while held.state == 0 {
                if !held.wait(milliseconds: milliseconds), held.state == 0 { return false }
            }
            held.state -= 1
            return true
        }
    }
}
