/// A waiter that is notified when an operation, or every operation of a queue, has finished.
package enum Waiter: Sendable {
    case thread(Latch)
    case task(CheckedContinuation<Void, Never>)
    /// A capacity waiter, which is resumed with true when it has a reservation.
    case capacity(CheckedContinuation<Bool, Never>)
    /// A function that is called, with no lock held, on the thread that brought about the end.
    case handler(@Sendable () -> Void)

    package func wake() {
        switch self {
        case .thread(let latch): latch.open()
        case .task(let continuation): continuation.resume()
        case .capacity(let continuation): continuation.resume(returning: true)
        case .handler(let handler): handler()
        }
    }
}
