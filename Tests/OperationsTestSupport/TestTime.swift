import Foundation
import Testing

/// The time that a test case takes, for Scripts/run-tests.
///
/// swift-testing announces all tests of a suite at once, and says of most tests only when they have
/// ended. Each case of a test appends two lines to the file that `TEST_TIMES` names: one at its
/// beginning, with no time, and one at its end, with its milliseconds.
struct TestTime {
    private static let path = ProcessInfo.processInfo.environment["TEST_TIMES"]

    private let path: String
    private let test: String
    private let start = ContinuousClock.now

    /// Begins the time of a case; nil if nobody asks for times.
    init?(of test: Test) {
        guard let path = Self.path else { return nil }
        self.path = path
        self.test = "\(test.id)"
        append(.zero)
    }

    func ends() { append(ContinuousClock.now - start) }

    private func append(_ time: Duration) {
        // Whole lines: cases that run at the same time append to the same file.
        let line = "\(Int(time / .milliseconds(1))) \(test)\n"
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        _ = line.withCString { write(file, $0, strlen($0)) }
        close(file)
    }
}
