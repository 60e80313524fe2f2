import Testing

@testable import Operations

/// What a scope returns or throws, for each kind of early end and each result of its body.
@Suite struct EarlyEndTests {
    private enum Failure: Error, Equatable { case body, operation }

    private struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let end: EarlyEnd?
        let body: Result<Int, any Error>
        let outcome: @Sendable (Result<Int, any Error>) -> Bool
    }

    private static let value = Result<Int, any Error>.success(7)
    private static let failure = Result<Int, any Error>.failure(Failure.body)

    private static func metCancellation(_ reason: CancellationReason) -> Result<Int, any Error> {
        .failure(OperationCancellation(operation: "'a'", reason: reason))
    }

    private static func throwsFailure(_ expected: Failure)
        -> @Sendable (Result<Int, any Error>) -> Bool
    {
        { outcome in
            guard case .failure(let error as Failure) = outcome else { return false }
            return error == expected
        }
    }

    private static let throwsCancellation: @Sendable (Result<Int, any Error>) -> Bool = { outcome in
        guard case .failure(is CancellationError) = outcome else { return false }
        return true
    }

    private static let operationFailed = EarlyEnd.operationFailed("'a'", Failure.operation)

    private static let rows: [Row] = [
        Row(testDescription: "none, value", end: nil, body: value) { (try? $0.get()) == 7 },
        Row(
            testDescription: "none, error", end: nil, body: failure,
            outcome: throwsFailure(.body)),
        Row(
            testDescription: "operation failed, value", end: operationFailed, body: value,
            outcome: throwsFailure(.operation)),
        Row(
            testDescription: "operation failed, error", end: operationFailed, body: failure,
            outcome: throwsFailure(.operation)),
        Row(
            testDescription: "body threw", end: .thrown(Failure.body), body: failure,
            outcome: throwsFailure(.body)),
        Row(
            testDescription: "task cancelled, value", end: .taskCancelled, body: value,
            outcome: throwsCancellation),
        Row(
            testDescription: "task cancelled, error", end: .taskCancelled, body: failure,
            outcome: throwsFailure(.body)),
        Row(
            testDescription: "task cancelled, operation cancelled with it", end: .taskCancelled,
            body: metCancellation(.taskCancelled), outcome: throwsCancellation),
        Row(
            testDescription: "task cancelled, operation cancelled before", end: .taskCancelled,
            body: metCancellation(.requested)
        ) { outcome in
            guard case .failure(is OperationCancellation) = outcome else { return false }
            return true
        },
    ]

    @Test(arguments: rows) private func outcomeOfAScope(row: Row) {
        #expect(row.outcome(Result { try row.body.outcome(after: row.end) }))
    }

    @Test func reasonNamesTheEvent() {
        let cancellation = OperationCancellation(operation: "'a'", reason: .message("enough"))
        #expect(
            Self.operationFailed.reason.description
                == CancellationReason.siblingFailed(operation: "'a'", error: Failure.operation)
                .description)
        #expect(
            EarlyEnd.thrown(Failure.body).reason.description
                == CancellationReason.scopeFailed(error: Failure.body).description)
        #expect(
            EarlyEnd.operationCancelled(cancellation).reason.description
                == CancellationReason.message("enough").description)
        #expect(EarlyEnd.operationCancelled(cancellation).error is OperationCancellation)
    }
}
