// instructions runs one workload once. The script Benchmarks/instructions counts the instructions
// that the processor executes meanwhile.

import Dispatch
import Operations
import Synchronization

@main
struct Instructions {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let workload = Workload(rawValue: arguments[1]),
            let count = Int(arguments[2]), count > 0
        else {
            let names = Workload.allCases.map(\.rawValue).joined(separator: "|")
            fatalError("usage: instructions \(names) COUNT")
        }
        // Each operation increments a byte of its own.
        let marks = Marks(bytes: .allocate(capacity: count))
        marks.bytes.initialize(repeating: 0, count: count)
        workload.run(count, marks)
        for index in 0..<count where marks.bytes[index] != 1 {
            fatalError("Operation \(index) ran \(marks.bytes[index]) times.")
        }
        marks.bytes.deallocate()
    }
}

/// Unchecked: no two operations use the same byte, and the bytes are read after all have ended.
struct Marks: @unchecked Sendable {
    let bytes: UnsafeMutablePointer<UInt8>

    @inline(__always)
    func mark(_ index: Int) { bytes[index] &+= 1 }
}

/// The workloads of `queues` that have thresholds, in their smallest form.
enum Workload: String, CaseIterable {
    case blockOperations = "W1"
    case closures = "W1-closures"
    case chain = "W2"
    case layers = "W4-layered"
    case wavefront = "W4-wavefront"
    case chainOfBlocks = "W2-blocks"
    case layersOfBlocks = "W4-layered-blocks"
    case wavefrontOfBlocks = "W4-wavefront-blocks"
    case chainOfResults = "W12"
    case chainOfAsyncResults = "W12-async"
    case asynchronous = "W9"
    case resumed = "W9r"
    case queues = "W16-queue"

    func run(_ count: Int, _ marks: Marks) {
        let queue = OperationQueue()
        switch self {
        case .queues:
            for index in 0..<count {
                _ = OperationQueue()
                marks.mark(index)
            }
        case .blockOperations:
            for index in 0..<count { queue.addOperation(BlockOperation { marks.mark(index) }) }
        case .closures:
            for index in 0..<count { queue.addOperation { marks.mark(index) } }
        case .chain:
            let operations: [Operation] = (0..<count).map { index in
                BlockOperation { marks.mark(index) }
            }
            for index in 1..<count { operations[index].addDependency(operations[index - 1]) }
            queue.addOperations(operations, waitUntilFinished: false)
        case .layers:
            let operations: [Operation] = (0..<count).map { index in
                BlockOperation { marks.mark(index) }
            }
            let width = 1_000
            var random: UInt64 = 1
            for index in width..<max(count, width) {
                let layer = (index / width - 1) * width
                for _ in 0..<4 {
                    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let dependency = layer + Int(random >> 33) % width
                    operations[index].addDependency(operations[dependency])
                }
            }
            queue.addOperations(operations, waitUntilFinished: false)
        case .wavefront:
            let operations: [Operation] = (0..<count).map { index in
                BlockOperation { marks.mark(index) }
            }
            let side = Int(Double(count).squareRoot())
            for index in 0..<count {
                if index >= side { operations[index].addDependency(operations[index - side]) }
                if index % side > 0 { operations[index].addDependency(operations[index - 1]) }
            }
            queue.addOperations(operations, waitUntilFinished: false)
        case .chainOfBlocks:
            add(to: queue, count, marks) { index, dependency in
                if index > 0 { dependency(index - 1) }
            }
        case .layersOfBlocks:
            let width = 1_000
            var random: UInt64 = 1
            add(to: queue, count, marks) { index, dependency in
                guard index >= width else { return }
                let layer = (index / width - 1) * width
                for _ in 0..<4 {
                    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    dependency(layer + Int(random >> 33) % width)
                }
            }
        case .wavefrontOfBlocks:
            let side = Int(Double(count).squareRoot())
            add(to: queue, count, marks) { index, dependency in
                if index >= side { dependency(index - side) }
                if index % side > 0 { dependency(index - 1) }
            }
        case .chainOfResults:
            var latest = queue.add { 0 }
            for index in 0..<count {
                latest = queue.add(after: latest) { number in
                    marks.mark(index)
                    return number + 1
                }
            }
        case .chainOfAsyncResults:
            var latest = queue.add { 0 }
            for index in 0..<count {
                let step: @Sendable (Int) async -> Int = { number in
                    marks.mark(index)
                    return number + 1
                }
                latest = queue.add(after: latest, body: step)
            }
        case .asynchronous:
            for index in 0..<count {
                queue.addOperation(
                    TypedOperation<Void> {
                        await Task.yield()
                        marks.mark(index)
                    })
            }
        case .resumed:
            let resumer = Resumer(count: count)
            for index in 0..<count {
                queue.addOperation(
                    TypedOperation<Void> {
                        await resumer.pause()
                        marks.mark(index)
                    })
            }
        }
        queue.waitUntilAllOperationsAreFinished()
    }

    /// Adds a graph of blocks.
    ///
    /// - Parameter dependencies: calls its second argument with each dependency of a node.
    private func add(
        to queue: OperationQueue, _ count: Int, _ marks: Marks,
        _ dependencies: (Int, (Int) -> Void) -> Void
    ) {
        var graph = BlockGraph()
        var nodes: [BlockGraph.Node<Void>] = []
        nodes.reserveCapacity(count)
        for index in 0..<count { nodes.append(graph.add { marks.mark(index) }) }
        for index in 0..<count {
            dependencies(index) { graph.connect(nodes[$0], before: nodes[index]) }
        }
        do { try queue.add(graph) } catch { fatalError("\(error)") }
    }
}

/// A thread that resumes suspended tasks.
final class Resumer: Sendable {
    private let waiting = Mutex<[UnsafeContinuation<Void, Never>]>([])
    private let isSomething = DispatchSemaphore(value: 0)

    /// Starts the thread. It ends when it has resumed `count` tasks.
    init(count: Int) {
        DispatchQueue(label: "resumer").async { [self] in
            var rest = count
            while rest > 0 {
                isSomething.wait()
                let continuations = waiting.withLock { list in
                    defer { list = [] }
                    return list
                }
                for continuation in continuations { continuation.resume() }
                rest -= continuations.count
            }
        }
    }

    /// Suspends the task until the thread resumes it.
    func pause() async {
        await withUnsafeContinuation { continuation in
            let isFirst = waiting.withLock { list in
                list.append(continuation)
                return list.count == 1
            }
            if isFirst { isSomething.signal() }
        }
    }
}
