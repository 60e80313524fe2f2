import FoundationEssentials
import TestSupport
import Testing

@testable import PhotoPipeline

#if canImport(Glibc)
import Glibc
#endif

@Suite(.ownThreads)
struct AtomicFileTests {
    @Test func aFileIsReplacedAsAWhole() async throws {
        try await withTemporaryFolder { folder in
            let path = OutputPath(folder: folder.systemPath, name: "a.jpg")
            try AtomicFile.write([1, 2, 3], to: path)
            try AtomicFile.write([4], to: path)
            #expect(try Array(Data(contentsOf: folder.appending(path: "a.jpg"))) == [4])
            #expect(try files(below: folder) == ["a.jpg"])
        }
    }

    #if os(Linux)
    /// A limit on the size of files stands for a full disk: a write fails in the middle.
    @Test func aWriteThatFailsInTheMiddleLeavesNothing() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 4_096, rlim_max: 4_096)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            try await withTemporaryFolder { folder in
                let path = OutputPath(folder: folder.systemPath, name: "a.jpg")
                try AtomicFile.write([7], to: path)
                do throws(FileProblem) {
                    try AtomicFile.write([UInt8](repeating: 0, count: 100_000), to: path)
                    exit(1)
                } catch {
                    guard error.sentence.contains("cannot be written: File too large") else {
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

    @Test func aFullDiskIsNamedWithAdvice() {
        let problem = FileProblem("/photos/a.jpg", errno: ENOSPC)
        #expect(
            problem.sentence
                == "/photos/a.jpg cannot be written: No space left on device. Free some "
                + "space, then run the same command again.")
    }
}
