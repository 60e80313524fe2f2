import OperationsTestSupport
import Testing

@testable import Operations
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

/// Timelines as pages that show themselves.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TimelinePageTests {
    private func contents(of path: String) throws -> String {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(byte)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A path in a new folder, which is removed with its file in the end.
    private func withPath(_ name: String, _ body: (String) throws -> Void) throws {
        var template = Array("/tmp/timeline-XXXXXX".utf8CString)
        let folder = String(cString: try #require(mkdtemp(&template)))
        let path = "\(folder)/\(name)"
        defer {
            unlink(path)
            rmdir(folder)
        }
        try body(path)
    }

    private func recorded(_ name: String) async -> OperationTimeline {
        let timeline = OperationTimeline()
        let queue = OperationQueue(name: "Pictures")
        timeline.record(queue)
        queue.add(name) {}
        await queue.drain()
        timeline.stop()
        return timeline
    }

    @Test func aPageHasTheEventsAndNeedsNoNetwork() async throws {
        let timeline = await recorded("decode")
        try withPath("run.html") { path in
            try timeline.write(to: path)
            let page = try contents(of: path)
            #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>\n"))
            #expect(!page.contains("http://") && !page.contains("https://"))
            let start = try #require(page.firstRange(of: "id=\"trace\">")).upperBound
            let end = try #require(page[start...].firstRange(of: "</script>")).lowerBound
            let trace = try Trace(String(page[start..<end]))
            #expect(trace.slices.contains { $0.name == "decode" })
        }
    }

    /// The name of an operation cannot end the part of the page that has the events.
    @Test func aNameIsNoMarkup() async throws {
        let timeline = await recorded("</script><b>")
        try withPath("run.html") { path in
            try timeline.write(to: path)
            let page = try contents(of: path)
            #expect(!page.contains("</script><b>"))
            #expect(page.contains(#"\u003c/script>\u003cb>"#))
        }
    }

    @Test func otherFilesHaveTheTrace() async throws {
        let timeline = await recorded("decode")
        try withPath("run.json") { path in
            try timeline.write(to: path)
            #expect(try contents(of: path).hasPrefix("{"))
        }
    }
}
