import Foundation

/// Prints one line: a name that no other line of the program has, and what was found.
func line(_ name: String, _ value: Any?) {
    print("\(name): \(value.map { "\($0)" } ?? "nil")")
}

/// Words in the order in which threads have written them.
final class Log: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [String] = []

    func write(_ word: String) { lock.withLock { list.append(word) } }

    var words: String { lock.withLock { list.joined(separator: " ") } }
    var sorted: String { lock.withLock { list.sorted().joined(separator: " ") } }
}

/// A door that threads wait at until it is opened.
final class Door: @unchecked Sendable {
    private let condition = NSCondition()
    private var isOpen = false

    func open() {
        condition.lock()
        isOpen = true
        condition.broadcast()
        condition.unlock()
    }

    func wait() {
        condition.lock()
        while !isOpen { condition.wait() }
        condition.unlock()
    }
}

/// The states of an operation that its properties show.
func state(of operation: Operation) -> String {
    let words = [
        operation.isReady ? "ready" : nil,
        operation.isExecuting ? "executing" : nil,
        operation.isFinished ? "finished" : nil,
        operation.isCancelled ? "cancelled" : nil,
    ]
    return words.compactMap { $0 }.joined(separator: " ")
}

/// An operation that writes its name into a log.
final class Note: Operation, @unchecked Sendable {
    let log: Log

    init(_ name: String, _ log: Log) {
        self.log = log
        super.init()
        self.name = name
    }

    override func main() { log.write(name ?? "") }
}

/// An operation that says when it has begun, and returns when its door is open.
final class Held: Operation, @unchecked Sendable {
    let began = Door()
    let mayEnd = Door()
    var stateInMain = ""

    override func main() {
        stateInMain = state(of: self)
        began.open()
        mayEnd.wait()
    }
}

/// The case of a quality of service, whose raw value differs between systems.
func word(for quality: QualityOfService) -> String {
    switch quality {
    case .userInteractive: "userInteractive"
    case .userInitiated: "userInitiated"
    case .utility: "utility"
    case .background: "background"
    default: "default"
    }
}

/// A queue of the width 1.
func serialQueue(isSuspended: Bool = false) -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = isSuspended
    return queue
}

/// The text without the addresses in it.
func withoutAddresses(_ text: String) -> String {
    text.replacingOccurrences(
        of: "0x[0-9a-f]+", with: "(address)", options: .regularExpression)
}
