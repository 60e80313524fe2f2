import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Synchronization
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The system calls, with a log of the calls and with injected errors.
final class FileCallRecorder: Sendable {
    private struct State {
        var calls: [String] = []
        var writeError: Int32?
        var writesBeforeError = 0
    }

    private let state = Mutex(State())

    /// The calls so far, in order: "sync", "link", "rename".
    var recordedCalls: [String] { state.withLock { $0.calls } }

    func clear() { state.withLock { $0.calls = [] } }

    /// Makes writes fail after a number of successful writes.
    func fail(with code: Int32, after writes: Int) {
        state.withLock { ($0.writeError, $0.writesBeforeError) = (code, writes) }
    }

    private func record(_ call: String) { state.withLock { $0.calls.append(call) } }

    /// - Parameter syncing: called before each sync of a file or folder.
    func calls(syncing: @escaping @Sendable () -> Void = {}) -> FileCalls {
        let system = FileCalls.system
        return FileCalls(
            write: { file, bytes in
                let code = self.state.withLock { state -> Int32? in
                    defer { state.writesBeforeError -= 1 }
                    return state.writesBeforeError <= 0 ? state.writeError : nil
                }
                guard let code else { return system.write(file, bytes) }
                errno = code
                return -1
            },
            sync: { file in
                syncing()
                self.record("sync")
                return system.sync(file)
            },
            link: { source, target in
                self.record("link")
                return system.link(source, target)
            },
            rename: { source, target in
                self.record("rename")
                return system.rename(source, target)
            })
    }
}

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct OutputFolderTests {
    private let photo = URL(filePath: "/photos/a.jpg")
    private let other = URL(filePath: "/photos/b.jpg")

    private func open(
        _ folder: URL, overwrites: Bool = false, calls: FileCalls = .system
    ) throws -> OutputFolder {
        try OutputFolder(
            path: Array(folder.systemPath.utf8), overwrites: overwrites, calls: calls)
    }

    private func write(
        _ bytes: [UInt8], as name: String, from source: URL, into folder: OutputFolder
    ) async -> String {
        do throws(PhotoStageStop) {
            try await folder.write(
                bytes, to: OutputPath(folder: folder.path, relativePath: Array(name.utf8)),
                from: ResultOrigin(url: source, version: nil, recipe: 1))
            return "written"
        } catch {
            switch error {
            case .cancelled: return "cancelled"
            case .failed(let failure): return failure.reasonWithFlag
            }
        }
    }

    private func content(_ name: String, in folder: URL) throws -> [UInt8] {
        try Array(Data(contentsOf: folder.appending(path: name)))
    }

    // MARK: Replacing files

    @Test func resultReplacesEarlierResultOfSamePhoto() async throws {
        try await withTemporaryFolder { folder in
            for number in UInt8(1)...2 {
                let later = try open(folder)
                #expect(await write([number], as: "a.jpg", from: photo, into: later) == "written")
                #expect(try content("a.jpg", in: folder) == [number])
            }
        }
    }

    @Test func resultOfOtherPhotoIsNotReplaced() async throws {
        try await withTemporaryFolder { folder in
            #expect(try await write([1], as: "a.jpg", from: photo, into: open(folder)) == "written")
            let refusal = try await write([2], as: "a.jpg", from: other, into: open(folder))
            #expect(refusal.contains("a.jpg exists, but is not a result of this photo"))
            #expect(refusal.contains("--overwrite"))
            #expect(try content("a.jpg", in: folder) == [1])
            let overwriting = try open(folder, overwrites: true)
            #expect(await write([2], as: "a.jpg", from: other, into: overwriting) == "written")
            #expect(try content("a.jpg", in: folder) == [2])
        }
    }

    @Test(arguments: ["a file", "a file of the same size", "a link", "a folder"])
    func filesOfOtherProgramsAreNotReplaced(kind: String) async throws {
        try await withTemporaryFolder { folder in
            #expect(try await write([1], as: "a.jpg", from: photo, into: open(folder)) == "written")
            let file = folder.appending(path: "a.jpg")
            try FileManager.default.removeItem(at: file)
            switch kind {
            case "a file": try Data([7, 7]).write(to: file)
            case "a file of the same size": try Data([7]).write(to: file)
            case "a link":
                try FileManager.default.createSymbolicLink(
                    atPath: file.systemPath, withDestinationPath: "elsewhere.jpg")
            default:
                try FileManager.default.createDirectory(
                    at: file, withIntermediateDirectories: false)
            }
            let reason = try await write([2], as: "a.jpg", from: photo, into: open(folder))
            #expect(reason.contains("a.jpg exists") || reason.contains("a folder with that name"))
            if kind.hasPrefix("a file") { #expect(try content("a.jpg", in: folder).first == 7) }
            let forced = try await write(
                [2], as: "a.jpg", from: photo, into: open(folder, overwrites: true))
            #expect(
                kind == "a folder"
                    ? forced.contains("a folder with that name") : forced == "written")
        }
    }

    @Test func overwriteNeverReplacesOriginal() async throws {
        try await withTemporaryFolder { folder in
            let original = folder.appending(path: "a.jpg")
            try Data([1]).write(to: original)
            let folderToOverwrite = try open(folder, overwrites: true)
            let reason = await write([2], as: "a.jpg", from: original, into: folderToOverwrite)
            #expect(reason.contains("is the original photo"))
            #expect(try content("a.jpg", in: folder) == [1])
        }
    }

    @Test func concurrentlyCreatedFileIsNotReplaced() async throws {
        try await withTemporaryFolder { folder in
            // The name is free when the bytes are written, but taken when the file is published.
            let file = folder.appending(path: "a.jpg")
            let calls = FileCallRecorder().calls(syncing: { try? Data([7]).write(to: file) })
            let reason = try await write(
                [2], as: "a.jpg", from: photo, into: open(folder, calls: calls))
            #expect(reason.contains("a.jpg exists, but is not a result of this photo"))
            #expect(try content("a.jpg", in: folder) == [7])
        }
    }

    @Test func originalsThrowAndResultsAreSkipped() async throws {
        try await withTemporaryFolder { folder in
            let results = folder.appending(path: "below")
            let output = try open(results)
            #expect(await write([1], as: "a.jpg", from: photo, into: output) == "written")
            try Data(jpeg()).write(to: folder.appending(path: "a.jpg"))
            let all = try PhotoList.read(folder: folder).records
            #expect(all.map(\.name) == ["a.jpg", "below/a.jpg"])
            #expect(try open(results).recordsWithoutResults(of: all).map(\.name) == ["a.jpg"])

            try Data(jpeg()).write(to: results.appending(path: "b.jpg"))
            let more = try PhotoList.read(folder: folder).records
            let problem = #expect(throws: OutputFolder.Problem.self) {
                _ = try open(results).recordsWithoutResults(of: more)
            }
            #expect(problem?.description.contains("contains originals: \"below/b.jpg\".") == true)
            #expect(output.isInside(folder))
            #expect(try !open(folder).isInside(results))
        }
    }

    // MARK: Links

    private func link(_ name: String, to target: String, in folder: URL) throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.appending(path: name).systemPath, withDestinationPath: target)
    }

    @Test(arguments: [false, true])
    func resultsDoNotFollowLinksBelowFolder(overwrites: Bool) async throws {
        try await withTemporaryFolder { folder in
            let outside = folder.appending(path: "outside")
            try FileManager.default.createDirectory(
                at: outside.appending(path: "deep"), withIntermediateDirectories: true)
            // A person may name the folder for the results by a link.
            try FileManager.default.createDirectory(
                at: folder.appending(path: "real"), withIntermediateDirectories: true)
            try link("out", to: "real", in: folder)
            try link("real/sub", to: "../outside", in: folder)
            let output = try open(folder.appending(path: "out"), overwrites: overwrites)
            for name in ["sub/a.jpg", "sub/deep/a.jpg", "sub/new/a.jpg"] {
                let reason = await write([1], as: name, from: photo, into: output)
                #expect(reason.contains("/out/sub is a link, and results are written only inside"))
                let path = OutputPath(folder: output.path, relativePath: Array(name.utf8))
                await #expect(throws: PhotoStageStop.self) {
                    try await output.stage(
                        [1], for: path, from: ResultOrigin(url: photo, version: nil, recipe: 1)
                    ) { folder.appending(path: "staged").systemPath }
                }
            }
            #expect(await write([1], as: "b/a.jpg", from: photo, into: output) == "written")
            #expect(try files(below: folder) == ["real/b/a.jpg"])
        }
    }

    /// A result gets its name in the folder that was open when its bytes were written.
    @Test(arguments: [false, true])
    func folderThatBecomesLinkIsNotFollowed(overwrites: Bool) async throws {
        try await withTemporaryFolder { folder in
            let manager = FileManager.default
            let (out, sub) = (folder.appending(path: "out"), folder.appending(path: "out/sub"))
            for place in [sub, folder.appending(path: "outside")] {
                try manager.createDirectory(at: place, withIntermediateDirectories: true)
            }
            let calls = FileCallRecorder().calls(syncing: {
                // Fails from the second time on.
                try? manager.moveItem(at: sub, to: folder.appending(path: "moved"))
                try? manager.createSymbolicLink(
                    atPath: sub.systemPath, withDestinationPath: "../outside")
            })
            let output = try open(out, overwrites: overwrites, calls: calls)
            _ = await write([1], as: "sub/a.jpg", from: photo, into: output)
            #expect(try files(below: folder) == ["moved/a.jpg"])
        }
    }

    // MARK: The log

    /// A pipe has no end, and perhaps no beginning.
    @Test(.timeLimit(.minutes(2)), arguments: ["a pipe", "a folder", "a link"])
    func logThatIsNoFileThrows(kind: String) async throws {
        try await withTemporaryFolder { folder in
            let out = folder.appending(path: "out")
            let file = out.appending(path: log)
            try FileManager.default.createDirectory(at: out, withIntermediateDirectories: true)
            try Data("secret".utf8).write(to: folder.appending(path: "other"))
            switch kind {
            case "a pipe": #expect(mkfifo(file.systemPath, 0o600) == 0)
            case "a folder":
                try FileManager.default.createDirectory(
                    at: file, withIntermediateDirectories: false)
            default: try link("out/\(log)", to: "../other", in: folder)
            }
            let problem = #expect(throws: OutputFolder.Problem.self) { _ = try open(out) }
            #expect(
                problem?.description.contains(
                    kind == "a link" ? "a link out of its folder" : "it is not a regular file")
                    == true)
            #expect(throws: OutputFolder.Problem.self) {
                _ = try OutputFolder(readingOnly: Array(out.systemPath.utf8))
            }
        }
    }

    /// The file may also be replaced after the log was read.
    @Test(.timeLimit(.minutes(2)), arguments: ["a pipe", "a link"])
    func logThatIsNoFileLaterFails(kind: String) async throws {
        try await withTemporaryFolder { folder in
            let out = folder.appending(path: "out")
            let output = try open(out)
            try Data("secret".utf8).write(to: folder.appending(path: "other"))
            if kind == "a pipe" {
                #expect(mkfifo(out.appending(path: log).systemPath, 0o600) == 0)
            } else {
                try link("out/\(log)", to: "../other", in: folder)
            }
            let reason = await write([1], as: "a.jpg", from: photo, into: output)
            #expect(reason.contains(log))
            #expect(try content("other", in: folder) == Array("secret".utf8))
            #expect(
                !FileManager.default.fileExists(atPath: out.appending(path: "a.jpg").systemPath))
        }
    }

    private var log: String { ResultLog.fileName }

    @Test func logRecordsSourceOfEachResult() async throws {
        try await withTemporaryFolder { folder in
            _ = try await write([1, 2], as: "below/ü.jpg", from: photo, into: open(folder))
            _ = try await write([1, 2], as: "below/ü.jpg", from: photo, into: open(folder))
            let text = String(decoding: try content(log, in: folder), as: UTF8.self)
            #expect(
                text == """
                    {"version":1,"result":"below/%C3%BC.jpg","source":"file:///photos/a.jpg",\
                    "bytes":2,"fnv1a":"\(String(fnv1a([1, 2]), radix: 16))","recipe":"1"}\n
                    """)
        }
    }

    @Test func tornLineAndUnknownKeyAreIgnored() async throws {
        try await withTemporaryFolder { folder in
            _ = try await write([1], as: "a.jpg", from: photo, into: open(folder))
            _ = try await write([1], as: "b.jpg", from: other, into: open(folder))
            var text = String(decoding: try content(log, in: folder), as: UTF8.self)
            text = text.replacing("\"bytes\"", with: "\"filters\":[\"sepia\"],\"bytes\"")
            text += "{\"version\":1,\"resu"
            try Data(text.utf8).write(to: folder.appending(path: log))
            #expect(try await write([2], as: "a.jpg", from: photo, into: open(folder)) == "written")
            #expect(try await write([3], as: "a.jpg", from: photo, into: open(folder)) == "written")
            #expect(try await write([2], as: "b.jpg", from: other, into: open(folder)) == "written")
        }
    }

    @Test func newerLogVersionThrows() async throws {
        try await withTemporaryFolder { folder in
            try Data("{\"version\":2,\"bytes\":\"many\"}\n".utf8)
                .write(to: folder.appending(path: log))
            let problem = #expect(throws: OutputFolder.Problem.self) { _ = try open(folder) }
            #expect(problem?.description.contains("written by a newer version") == true)
        }
    }

    @Test func logLineWithoutResultIsHarmless() async throws {
        try await withTemporaryFolder { folder in
            // The same state as after two kills between logging and publishing.
            _ = try await write([1], as: "a.jpg", from: photo, into: open(folder))
            let path = try #require(LocalPath(folder))
            let file = try ResultLog.read(in: path).file
            try file.append(
                [
                    .init(
                        result: Array("a.jpg".utf8),
                        origin: ResultOrigin(url: photo, version: nil, recipe: 1), byteCount: 1,
                        checksum: fnv1a([9]))
                ], calls: .system)
            #expect(try await write([2], as: "a.jpg", from: photo, into: open(folder)) == "written")
        }
    }

    // MARK: The disk

    @Test func resultsAreSyncedInGroupsBeforePublishing() async throws {
        try await withTemporaryFolder { folder in
            // The first round of publishing waits in its first sync until all other results are
            // ready.
            let calls = FileCallRecorder()
            let (count, begun, ready) = (8, Signal(), Signal())
            let isFirst = Mutex(true)
            let output = try open(
                folder,
                calls: calls.calls(syncing: {
                    let waits = isFirst.withLock { isFirst in
                        defer { isFirst = false }
                        return isFirst
                    }
                    if waits {
                        begun.send()
                        ready.wait()
                    }
                }))
            calls.clear()
            await withTaskGroup(of: String.self) { group in
                group.addTask { await write([0], as: "0.jpg", from: photo, into: output) }
                #expect(await begun.arrives())
                for number in 1...count {
                    group.addTask {
                        await write([UInt8(number)], as: "\(number).jpg", from: photo, into: output)
                    }
                }
                #expect(await comesTrue { output.readyCount == count })
                ready.send()
                for await outcome in group { #expect(outcome == "written") }
            }
            let round = ["sync", "sync", "link", "sync"]
            let group =
                Array(repeating: "sync", count: count + 1)
                + Array(repeating: "link", count: count) + ["sync"]
            #expect(calls.recordedCalls == round + group)
        }
    }

    @Test(arguments: [ENOSPC, EDQUOT, EROFS])
    func onlyFirstDiskProblemIsReported(code: Int32) async throws {
        try await withTemporaryFolder { folder in
            let calls = FileCallRecorder()
            let output = try open(folder, calls: calls.calls())
            calls.fail(with: code, after: 0)
            let reason = await write([1], as: "a.jpg", from: photo, into: output)
            #expect(reason.contains("a.jpg cannot be written: "))
            #expect(await write([1], as: "b.jpg", from: other, into: output) == "cancelled")
            #expect(output.problem?.code == code)
            #expect(try files(below: folder) == [])
        }
    }

    @Test func fullDiskIsDetectedWhenFolderOpens() async throws {
        try await withTemporaryFolder { folder in
            let calls = FileCallRecorder()
            calls.fail(with: ENOSPC, after: 0)
            let problem = #expect(throws: OutputFolder.Problem.self) {
                _ = try open(folder, calls: calls.calls())
            }
            let name = try #require(LocalPath(folder)).description
            #expect(
                problem?.description == "\(name) cannot be written: No space left on device. Free "
                    + "some space, then try again.")
        }
    }

    @Test func checkDoesNotCreateFolder() async throws {
        try await withTemporaryFolder { folder in
            let below = folder.appending(path: "not/there").systemPath
            try OutputFolder.check(Array(below.utf8))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.systemPath) == [])
            try Data().write(to: folder.appending(path: "not"))
            let problem = #expect(throws: OutputFolder.Problem.self) {
                try OutputFolder.check(Array(below.utf8))
            }
            #expect(problem?.description.contains("Not a directory") == true)
        }
    }
}
