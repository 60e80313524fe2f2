/// A waiter that is notified when an operation, or every operation of a queue, has finished.
enum Waiter: Sendable {
    case thread(Latch)
    case task(CheckedContinuation<Void, Never>)
    /// A capacity waiter, which is resumed with true when it has a reservation.
    case capacity(CheckedContinuation<Bool, Never>)
    /// A function that is called, with no lock held, on the thread that brought about the end.
    case handler(@Sendable () -> Void)

    func wake() {
        switch self {
        case .thread(let latch): latch.open()
        case .task(let continuation): continuation.resume()
        case .capacity(let continuation): continuation.resume(returning: true)
        case .handler(let handler): handler()
        }
    }
}

/// A function that is called when an operation is cancelled.
struct CancelHandler: Sendable {
    /// Whether the body itself registered the handler, which is then dropped at the end of the
    /// attempt.
    let isOfAttempt: Bool
    let call: @Sendable () -> Void
}
