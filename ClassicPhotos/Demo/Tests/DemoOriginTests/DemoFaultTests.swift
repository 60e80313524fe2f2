import OperationsTestSupport
import Testing

@testable import DemoOrigin

@Suite(.ownThreads)
struct DemoFaultTests {
    static let all: [DemoFault] = [
        .redirects(0), .redirects(5), .redirectLoop, .huge(bytes: 1), .endless(bytes: 0),
        .drip(chunk: 100, milliseconds: 5), .closeEarly(after: 10),
        .flaky(status: 503, failures: 2, retryAfter: 1, key: "a-test"), .status(418), .htmlPage,
        .empty, .truncated, .randomBytes, .hugeHeader, .neverAnswers, .none,
    ]

    @Test(arguments: all)
    func pathsRoundTrip(fault: DemoFault) {
        #expect(DemoFault(path: fault.path) == fault)
    }

    @Test(arguments: [
        "", "/", "/faults", "/faults/", "/faults/unheard-of", "/faults/redirects",
        "/faults/redirects/x", "/faults/redirects/-1", "/faults/drip/0/5", "/faults/status/999",
        "/faults/flaky/503/2/1", "/faults/flaky/99/2/1/key", "/faults/never/1", "faults/never",
        "/faults/huge/99999999999999999999", "/other/never", "/faults/drip/10/5/x",
    ])
    func otherPathsAreNotFaults(path: String) {
        #expect(DemoFault(path: path) == nil)
    }
}
