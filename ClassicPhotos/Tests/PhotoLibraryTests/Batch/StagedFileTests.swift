import OperationsTestSupport
import PhotoTestSupport
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
#endif

@Suite(.ownThreads)
struct StagedFileTests {
    private func path(_ name: String, in folder: URL) throws -> LocalPath {
        try #require(LocalPath(folder)).appending(name.utf8)
    }

    private func content(_ name: String, in folder: URL) throws -> [UInt8] {
        try Array(Data(contentsOf: folder.appending(path: name)))
    }

    @Test(arguments: [true, false])
    func publishedFileIsComplete(canBeUnnamed: Bool) async throws {
        try await withTemporaryFolder { folder in
            let path = try path("below/a.jpg", in: folder)
            let first = try StagedFile([1, 2, 3], at: path, canBeUnnamed: canBeUnnamed)
            #expect(try !files(below: folder).contains("below/a.jpg"))
            #expect(try first.publish(replacing: false) == .done)
            #expect(try content("below/a.jpg", in: folder) == [1, 2, 3])
            let second = try StagedFile([4], at: path, canBeUnnamed: canBeUnnamed)
            #expect(try second.publish(replacing: false) == .nameIsTaken)
            #expect(try content("below/a.jpg", in: folder) == [1, 2, 3])
            #expect(try second.publish(replacing: true) == .done)
            #expect(try content("below/a.jpg", in: folder) == [4])
            withExtendedLifetime((first, second)) {}
        }
    }

    @Test(arguments: [true, false])
    func unpublishedFileLeavesNothing(canBeUnnamed: Bool) async throws {
        try await withTemporaryFolder { folder in
            let path = try path("a.jpg", in: folder)
            _ = try StagedFile([1, 2, 3], at: path, canBeUnnamed: canBeUnnamed)
            #expect(try files(below: folder) == [])
        }
    }

    #if os(Linux)
    /// Simulates a full disk by a limit on file sizes, which makes a write fail in the middle.
    @Test func failedWriteLeavesNothing() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 4_096, rlim_max: 4_096)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            try await withTemporaryFolder { folder in
                guard let folderPath = LocalPath(folder) else { exit(5) }
                let path = folderPath.appending("a.jpg".utf8)
                _ = try StagedFile([7], at: path).publish(replacing: false)
                do throws(FileProblem) {
                    _ = try StagedFile([UInt8](repeating: 0, count: 100_000), at: path)
                    exit(1)
                } catch {
                    guard error.message.contains("cannot be written: File too large") else {
                        exit(2)
                    }
                }
                guard try files(below: folder) == ["a.jpg"] else { exit(3) }
                guard try Array(Data(contentsOf: folder.appending(path: "a.jpg"))) == [7] else {
                    exit(4)
                }
            }
        }
    }
    #endif

    @Test func fullDiskErrorGivesAdvice() {
        let problem = FileProblem("/photos/a.jpg", errno: ENOSPC)
        #expect(
            problem.message
                == "/photos/a.jpg cannot be written: No space left on device. Free some "
                + "space, then try again.")
        #expect(problem.affectsAllFiles)
        #expect(!FileProblem("/photos/a.jpg", errno: EACCES).affectsAllFiles)
    }
}
