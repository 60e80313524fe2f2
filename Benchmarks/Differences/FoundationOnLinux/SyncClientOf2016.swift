// Swift 5
// A sync client in the style of 2016: an asynchronous operation class, a group with a queue of its
// own, conditions, retries, a delegate, a progress. Foundation on Linux crashes where operations
// are cancelled whose dependency is released (see ReleasedDependents).

import Foundation

// MARK: - AsyncOperation (as found in every code base of 2016)

class AsyncOperation: Operation, @unchecked Sendable {
    enum State: String {
        case ready, executing, finished
        var keyPath: String { "is" + rawValue.capitalized }
    }
    private let lock = NSLock()
    private var _state = State.ready
    var state: State {
        get { lock.lock(); defer { lock.unlock() }; return _state }
        set {
            let old = state
            willChangeValue(forKey: newValue.keyPath)
            willChangeValue(forKey: old.keyPath)
            lock.lock(); _state = newValue; lock.unlock()
            didChangeValue(forKey: old.keyPath)
            didChangeValue(forKey: newValue.keyPath)
        }
    }
    override var isAsynchronous: Bool { true }
    override var isReady: Bool { super.isReady && state == .ready }
    override var isExecuting: Bool { state == .executing }
    override var isFinished: Bool { state == .finished }
    var errors: [Error] = []
    override func start() {
        if isCancelled { state = .finished; return }
        state = .executing
        main()
    }
    func finish(_ error: Error? = nil) {
        if let error { errors.append(error) }
        if state != .finished { state = .finished }
    }
    override func main() { fatalError("override main") }
}

enum SyncError: Error, Equatable {
    case offline, badStatus(Int), corrupted, conditionFailed(String)
}

// MARK: - A fake network (what URLSession would be)

final class Network: @unchecked Sendable {
    static let shared = Network()
    private let lock = NSLock()
    private(set) var inFlight = 0, peak = 0, requests = 0
    private var failuresLeft: [String: Int] = ["/item/3": 2, "/item/7": 99]
    func get(_ path: String, completion: @escaping @Sendable (Result<Data, Error>) -> Void) {
        lock.lock(); inFlight += 1; requests += 1; peak = max(peak, inFlight)
        let fails =
            failuresLeft[path].map { left -> Bool in
                failuresLeft[path] = left - 1; return left > 0
            } ?? false
        lock.unlock()
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(10)) {
            self.lock.lock(); self.inFlight -= 1; self.lock.unlock()
            completion(
                fails ? .failure(SyncError.offline) : .success(Data("payload of \(path)".utf8)))
        }
    }
}

// MARK: - Downloads

class DownloadOperation: AsyncOperation, @unchecked Sendable {
    let path: String
    private(set) var data: Data?
    private var attempts = 0
    let maxAttempts = 3
    init(path: String) {
        self.path = path
        super.init()
        name = "download \(path)"
    }
    override func main() { attempt() }
    private func attempt() {
        if isCancelled { finish(); return }
        attempts += 1
        Network.shared.get(path) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let data): self.data = data; self.finish()
            case .failure(let error):
                if self.attempts < self.maxAttempts {
                    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) {
                        self.attempt()
                    }
                } else {
                    self.finish(error)
                }
            }
        }
    }
}

final class ParseOperation: Operation, @unchecked Sendable {
    var item: String?
    var error: Error?
    override func main() {
        guard !isCancelled else { return }
        guard let download = dependencies.compactMap({ $0 as? DownloadOperation }).first else {
            error = SyncError.corrupted; return
        }
        if let first = download.errors.first { error = first; return }
        guard let data = download.data, let text = String(data: data, encoding: .utf8) else {
            error = SyncError.corrupted; return
        }
        item = text.uppercased()
    }
}

final class SaveOperation: BlockOperation, @unchecked Sendable {
    convenience init(store: Store, parse: ParseOperation) {
        self.init()
        addExecutionBlock { [unowned self] in
            guard !self.isCancelled else { return }
            if let item = parse.item {
                store.save(item)
            } else {
                store.fail(parse.error ?? SyncError.corrupted)
            }
        }
    }
}

final class Store: @unchecked Sendable {
    private let lock = NSLock()
    private var _items: [String] = [], _errors: [Error] = []
    var items: [String] { lock.lock(); defer { lock.unlock() }; return _items.sorted() }
    var errors: [Error] { lock.lock(); defer { lock.unlock() }; return _errors }
    func save(_ item: String) { lock.lock(); _items.append(item); lock.unlock() }
    func fail(_ error: Error) { lock.lock(); _errors.append(error); lock.unlock() }
}

// MARK: - Conditions (as in Advanced NSOperations, WWDC 2015)

protocol Condition {
    var name: String { get }; func evaluate(_ done: @escaping @Sendable (Bool) -> Void)
}
struct Reachable: Condition {
    let name = "reachable"
    func evaluate(_ done: @escaping @Sendable (Bool) -> Void) {
        DispatchQueue.global().async { done(true) }
    }
}
struct UserAgreed: Condition {
    let name = "user agreed"
    let agrees: Bool
    func evaluate(_ done: @escaping @Sendable (Bool) -> Void) {
        let agrees = agrees; DispatchQueue.global().async { done(agrees) }
    }
}

class ConditionalOperation: AsyncOperation, @unchecked Sendable {
    var conditions: [Condition] = []
    private var body: (() -> Void)?
    convenience init(_ name: String, conditions: [Condition], body: @escaping () -> Void) {
        self.init()
        self.name = name
        self.conditions = conditions
        self.body = body
    }
    override func main() { check(conditions[...]) }
    private func check(_ rest: ArraySlice<Condition>) {
        guard let condition = rest.first else { body?(); finish(); return }
        condition.evaluate { holds in
            if holds {
                self.check(rest.dropFirst())
            } else {
                self.finish(SyncError.conditionFailed(condition.name))
            }
        }
    }
}

// MARK: - A group with an internal queue

class GroupOperation: AsyncOperation, @unchecked Sendable {
    let internalQueue = OperationQueue()
    private let finishing = BlockOperation(block: {})
    let operations: [Operation]
    init(operations: [Operation]) {
        self.operations = operations
        super.init()
        internalQueue.isSuspended = true
        finishing.completionBlock = { [weak self] in self?.finish() }
        for operation in operations {
            finishing.addDependency(operation); internalQueue.addOperation(operation)
        }
        internalQueue.addOperation(finishing)
    }
    override func main() { internalQueue.isSuspended = false }
    override func cancel() { internalQueue.cancelAllOperations(); super.cancel() }
}

// MARK: - The client

protocol SyncClientDelegate: AnyObject {
    func syncClient(_ client: SyncClient, didFinishWith items: [String], errors: [Error])
}

final class SyncClient: NSObject, @unchecked Sendable {
    weak var delegate: SyncClientDelegate?
    let network = OperationQueue(), work = OperationQueue(), database = OperationQueue()
    let store = Store()
    let progress = Progress(totalUnitCount: 10)
    private var observation: Timer?

    override init() {
        super.init()
        network.name = "network"; network.maxConcurrentOperationCount = 4;
        network.qualityOfService = .utility
        work.name = "work"; work.qualityOfService = .userInitiated
        database.name = "database"; database.maxConcurrentOperationCount = 1
    }

    func sync() {
        let done = BlockOperation { [unowned self] in
            self.delegate?.syncClient(
                self, didFinishWith: self.store.items, errors: self.store.errors)
        }
        done.queuePriority = .veryLow
        let gate = ConditionalOperation(
            "gate", conditions: [Reachable(), UserAgreed(agrees: true)]
        ) {}
        for number in 0..<10 {
            let download = DownloadOperation(path: "/item/\(number)")
            download.addDependency(gate)
            if number == 0 { download.queuePriority = .veryHigh }
            let parse = ParseOperation()
            parse.addDependency(download)
            let save = SaveOperation(store: store, parse: parse)
            save.addDependency(parse)
            save.completionBlock = { [progress] in progress.completedUnitCount += 1 }
            done.addDependency(save)
            network.addOperation(download)
            work.addOperation(parse)
            database.addOperation(save)
        }
        network.addOperation(gate)
        work.addOperation(done)
    }
    func cancel() { [network, work, database].forEach { $0.cancelAllOperations() } }
    func wait() { [network, work, database].forEach { $0.waitUntilAllOperationsAreFinished() } }
}

final class Printer: SyncClientDelegate {
    func syncClient(_ client: SyncClient, didFinishWith items: [String], errors: [Error]) {
        print("\(items.count) items, \(errors.count) errors: \(errors)")
    }
}

// MARK: - main

let client = SyncClient()
let printer = Printer()
client.delegate = printer
client.sync()
client.wait()
Thread.sleep(forTimeInterval: 0.05)  // completion blocks come later
print(
    "progress \(client.progress.fractionCompleted)",
    "at most \(Network.shared.peak) requests at a time, \(Network.shared.requests) in all")

let cleanups = (0..<3).map { number in
    BlockOperation {
        Thread.sleep(forTimeInterval: 0.01); _ = number
    }
}
let group = GroupOperation(operations: cleanups)
group.name = "cleanup"
let after = BlockOperation {
    print("after the group: \(cleanups.filter { $0.isFinished }.count) of 3")
}
after.addDependency(group)
OperationQueue().addOperations([group, after], waitUntilFinished: true)

// What crashes does so in some of the rounds.
var saved = 0
for _ in 0..<50 {
    let second = SyncClient()
    second.network.isSuspended = true
    second.sync()
    second.cancel()
    second.network.isSuspended = false
    second.wait()
    saved += second.store.items.count
}
print("cancelled: \(saved) items")

let refused = ConditionalOperation("refused", conditions: [Reachable(), UserAgreed(agrees: false)])
{ print("never") }
OperationQueue().addOperations([refused], waitUntilFinished: true)
print(refused.errors)

let serial = OperationQueue()
serial.maxConcurrentOperationCount = 1
serial.isSuspended = true
for (number, priority) in [(1, Operation.QueuePriority.low), (2, .normal), (3, .high)] {
    let operation = BlockOperation { print("priority \(number)") }
    operation.queuePriority = priority
    serial.addOperation(operation)
}
serial.addBarrierBlock { print("barrier") }
serial.isSuspended = false
serial.waitUntilAllOperationsAreFinished()

// With Foundation: crashes
// With Operations:
// 9 items, 1 errors: [program.SyncError.offline]
// progress 1.0 at most 4 requests at a time, 14 in all
// after the group: 3 of 3
// cancelled: 0 items
// [program.SyncError.conditionFailed("user agreed")]
// priority 3
// priority 2
// priority 1
// barrier
