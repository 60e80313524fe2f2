/// Accompanies one operation, which retains it. An operation has at most one such observer, which
/// must not retain the operation.
package protocol OperationObserver: AnyObject, Sendable {
    /// Calls the body on this thread: `start()`, or the code that runs in its place.
    ///
    /// For an async body this covers only its beginning. Each thread that helps to run the blocks
    /// of the operation makes one more call.
    func perform(_ body: () -> Void)
    /// Calls an async body, in its task.
    func perform(_ body: @Sendable () async -> Void) async
}

extension Operation {
    /// The observer of the operation; usually nil.
    package final var operationObserver: (any OperationObserver)? {
        existingExtras?.operationObserver
    }

    /// Sets the operation's observer. Called just before the operation is added to a queue.
    ///
    /// - Returns: false if the operation has an observer, or is already in a queue. If two threads
    ///   add an operation at the same time, one of the two additions will be refused.
    package final func accept(_ observer: any OperationObserver) -> Bool {
        withExtras { extras in
            guard status.phase == .created, extras.operationObserver == nil else { return false }
            extras.operationObserver = observer
            return true
        }
    }
}
