import Dispatch
public import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// Checks that the standard error of a process contains the given sentences.
public func expect(
    _ result: ExitTest.Result?, says sentences: String...,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    for sentence in sentences {
        #expect(text.contains(sentence), "standard error: \(text)", sourceLocation: sourceLocation)
    }
}

/// Ends the process after a quarter of an hour with a status that makes its exit test fail.
///
/// For exit tests of code that hangs if it is wrong: a suite's time limit does not reach their
/// processes.
package func endSoon(_ status: Int32 = 0) {
    startTestThread {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 900)
        exit(status)
    }
}
