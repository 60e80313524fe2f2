// snippet.hide
// XCTest's expectations of a value, for operations of this library
#if canImport(XCTest)
import Operations
import XCTest

typealias Operation = Operations.Operation
typealias BlockOperation = Operations.BlockOperation
typealias OperationQueue = Operations.OperationQueue

// snippet.show
final class XCTKVOExpectation: XCTestExpectation, @unchecked Sendable {
    private var observation: KeyValueObservation?

    /// An expectation that the property gets the value, or has it already.
    init<Value: Equatable & Sendable>(
        keyPath: KeyPath<Operation, Value>, object: Operation, expectedValue: Value
    ) {
        super.init(description: "\(keyPath) is \(expectedValue)")
        assertForOverFulfill = false
        observation = object.observe(keyPath, options: [.initial, .new]) { [weak self] _, change in
            if change.newValue == expectedValue { self?.fulfill() }
        }
    }
}

extension XCTestCase {
    /// The same, for `waitForExpectations(timeout:)`.
    func keyValueObservingExpectation<Value: Equatable & Sendable>(
        for object: Operation, keyPath: KeyPath<Operation, Value>, expectedValue: Value
    ) -> XCTestExpectation {
        let expectation = expectation(description: "\(keyPath) is \(expectedValue)")
        expectation.assertForOverFulfill = false
        let observation = object.observe(keyPath, options: [.initial, .new]) { _, change in
            if change.newValue == expectedValue { expectation.fulfill() }
        }
        addTeardownBlock { observation.invalidate() }
        return expectation
    }
}
// snippet.hide

#if os(Linux)
let test = XCTestCase(name: "downloads") { test in
    let queue = OperationQueue()
    let download = BlockOperation {}
    let executes = XCTKVOExpectation(
        keyPath: \.isExecuting, object: download, expectedValue: true)
    _ = test.keyValueObservingExpectation(
        for: download, keyPath: \.isFinished, expectedValue: true)
    queue.addOperation(download)
    test.wait(for: [executes], timeout: 60)
    test.waitForExpectations(timeout: 60)
    print("executed and finished: \(download.isFinished)")

    let isCancelled = XCTKVOExpectation(
        keyPath: \.isCancelled, object: Operation(), expectedValue: true)
    print("cancelled: \(XCTWaiter.wait(for: [isCancelled], timeout: 0.01) == .completed)")
}
test.run()
#endif
#endif

// Prints:
// executed and finished: true
// cancelled: false
