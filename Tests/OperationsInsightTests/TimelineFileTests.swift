import Operations
import OperationsInsight
import OperationsTestSupport
import Testing

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

    @Test func unwritablePathThrows() {
        let error = #expect(throws: OperationTimeline.WriteError.self) {
            try OperationTimeline().write(to: "/nowhere/at/all.json")
        }
        #expect(error?.path == "/nowhere/at/all.json")
        #expect(error?.description.contains("No such file or directory") == true)
    }
}
