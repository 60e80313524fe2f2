/// An object whose end threads and tasks wait for: an operation or a queue.
///
/// The two classes declare the methods that wait. What keeps such a wait from lasting for ever lies
/// above them, in `Waiting/`, where they conform to this protocol.
protocol Awaited: AnyObject {
    /// Blocks the calling thread until the latch is open, which the end of this object opens.
    ///
    /// Before that, the other operations of a cancellation are cancelled, and this object is
    /// promoted to the importance of the caller. A wait that can never end stops the program.
    func blockThread(at latch: Latch)

    /// Blocks the calling thread, which runs a part of this object, until the latch is open. If the
    /// thread is a worker's, another worker takes its place meanwhile.
    func blockWorker(at latch: Latch)

    /// Records that the calling task waits for the end of this object, until the result is ended. A
    /// wait that can never end stops the program.
    ///
    /// - Returns: nil if the wait need not be recorded.
    func recordWaitOfTask() -> (any RecordedWait)?
}

/// A wait that is recorded while it lasts.
protocol RecordedWait {
    func end()
}
