import Operations
import OperationsTestSupport
import Testing

@testable import OperationsInsight

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TimelineFileTests {
    private func temporaryFolder() -> String {
        var template = Array("/tmp/timeline-XXXXXX".utf8CString)
        return template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? "/tmp"
        }
    }

    private func read(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&part, 1, part.count, file), count > 0 {
            bytes += part[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func fileContainsTraceAndReplacesOlderFile() async throws {
        let folder = temporaryFolder()
        let path = "\(folder)/run.json"
        defer {
            unlink(path)
            rmdir(folder)
        }
        let queue = OperationQueue()
        let timeline = OperationTimeline()
        timeline.record(queue)
        for _ in 0..<2_000 { queue.addOperation {} }
        await queue.drain()
        timeline.stop()
        for _ in 0..<2 {
            try timeline.write(to: path)
            #expect(read(path) == timeline.chromeTrace())
        }
        // Removing the folder succeeds only if it is empty.
        unlink(path)
        #expect(rmdir(folder) == 0)
    }

    /// A million quick operations make a file that a browser can open.
    @Test func fileOfQuickOperationsIsSmall() async {
        let queue = OperationQueue(name: "q", width: 1)
        let timeline = OperationTimeline(limit: 100_000)
        timeline.record(queue)
        let count = 10_000
        for _ in 0..<count { await queue.add {}.finished() }
        timeline.stop()
        let bytes = timeline.chromeTrace().utf8.count
        let ready = timeline.chromeTrace().components(of: "\"name\":\"ready\"") / 2
        #expect(bytes < 180 * count + 260 * ready + 2_000, "\(bytes) bytes, \(ready) ready")
    }

    /// The trace of an operation that was ready for so many nanoseconds.
    private func trace(readyFor nanoseconds: UInt64) -> String {
        var event = TimelineEvent()
        event.kind = .ran
        event.operation = 16
        event.type = unsafeBitCast(BlockOperation.self, to: UInt.self)
        (event.second, event.third) = (1_000_000, 1_000_000 + nanoseconds)
        event.fourth = event.third + 5_000
        let contents = TimelineBuffer.Contents(events: [event])
        let trace = TimelineTrace(
            start: 1, end: 2_000_000, limit: 10, queues: ["queue 'q'"],
            threads: [TimelineTrace.Thread(number: 1, name: "worker 1", contents: contents)],
            running: [])
        var bytes: [UInt8] = []
        ChromeTrace(trace).write { bytes += $0 }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func readyTimesBelowAMicrosecondAreLeftOut() {
        let ready = "\"name\":\"ready\""
        #expect(trace(readyFor: 999).components(of: ready) == 0)
        #expect(trace(readyFor: 999).contains("\"ready for µs\":0.999"))
        #expect(trace(readyFor: 1_000).components(of: ready) == 2)
    }

    @Test func unwritablePathThrows() {
        let error = #expect(throws: OperationTimeline.WriteError.self) {
            try OperationTimeline().write(to: "/nowhere/at/all.json")
        }
        #expect(error?.path == "/nowhere/at/all.json")
        #expect(error?.description.contains("No such file or directory") == true)
    }
}
