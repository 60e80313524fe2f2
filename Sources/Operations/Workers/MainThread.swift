import Dispatch

/// The only way onto the main thread that works with every kind of program: its dispatch queue.
enum MainThread {
    static func perform(_ work: @escaping @Sendable () -> Void) {
        DispatchQueue.main.async(execute: work)
    }
}
