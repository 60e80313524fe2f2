import DemoOrigin
import OperationsTestSupport
import PhotoTestSupport
import Testing

@testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Downloads from a real server on this machine that returns faulty responses on purpose.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoDownloaderTests {
    /// A small limit on the size and long time limits, because the machine may be busy.
    private static var limits: DownloadLimits {
        var limits = DownloadLimits()
        limits.maximumBytes = 1 << 20
        limits.maximumFileBytes = 2 << 20
        limits.connectTimeout = .seconds(600)
        limits.firstByteTimeout = .seconds(600)
        limits.idleTimeout = .seconds(600)
        limits.rateWindow = .seconds(600)
        limits.totalTimeout = .seconds(600)
        limits.retryDelay = .milliseconds(1)
        return limits
    }

    /// The bytes or the failure of a fault's download, and the number of requests.
    private func fetch(
        _ fault: DemoFault, limits: DownloadLimits = limits
    ) async throws -> (result: Result<[UInt8], PhotoStageStop>, requests: Int) {
        try await withDemoOrigin(.quick) { origin in
            let result = await download(origin.url(for: fault), limits: limits)
            return (result, origin.requestCount(for: fault.path))
        }
    }

    private func download(
        _ address: String, limits: DownloadLimits = limits
    ) async -> Result<[UInt8], PhotoStageStop> {
        guard let url = URL(string: address) else {
            preconditionFailure("\(address) is not a URL.")
        }
        let downloader = PhotoDownloader(limits: limits, allowing: [.thisMachine])
        let result: Result<[UInt8], PhotoStageStop>
        do throws(PhotoStageStop) {
            result = .success(try await downloader.bytes(of: url))
        } catch {
            result = .failure(error)
        }
        await downloader.shutdown()
        return result
    }

    private func reason(_ result: Result<[UInt8], PhotoStageStop>) -> String {
        switch result {
        case .success(let bytes): "\(bytes.count) bytes"
        case .failure(.cancelled): "cancelled"
        case .failure(.failed(let failure)): failure.reason
        }
    }

    @Test func pictureIsDownloadedCompletely() async throws {
        let (result, requests) = try await fetch(.none)
        let bytes = try result.get()
        #expect(bytes.starts(with: [0xFF, 0xD8]))
        #expect(bytes.suffix(2) == [0xFF, 0xD9])
        #expect(requests == 1)
    }

    @Test func slowPictureIsDownloadedCompletely() async throws {
        let (result, _) = try await fetch(.drip(chunk: 200, milliseconds: 5))
        #expect(try result.get().suffix(2) == [0xFF, 0xD9])
    }

    @Test func contentHasFinalURL() async throws {
        try await withDemoOrigin(.quick) { origin in
            let url = try #require(URL(string: origin.url(for: .movedList)))
            let content = try await PhotoDownloader.run(
                limits: Self.limits, allowing: [.thisMachine]
            ) { downloader in
                try await downloader.content(of: url)
            }
            #expect(content.url.absoluteString == origin.url(for: .list))
        }
    }

    @Test func redirectsAreLimited() async throws {
        let (five, _) = try await fetch(.redirects(5))
        #expect(try five.get().starts(with: [0xFF, 0xD8]))
        let (six, _) = try await fetch(.redirects(6))
        #expect(reason(six) == "127.0.0.1 redirects more than 5 times.")
        let (loop, _) = try await fetch(.redirectLoop)
        #expect(reason(loop) == "127.0.0.1 redirects in a loop.")
    }

    @Test func tooLargeContentLengthIsRejected() async throws {
        let (result, requests) = try await fetch(.huge(bytes: 2 << 20))
        #expect(
            reason(result)
                == "The file is larger than 1 MiB. Use a smaller file, or raise the limit.")
        #expect(requests == 1)
    }

    @Test func tooLargeChunkedBodyIsRejected() async throws {
        let (result, _) = try await fetch(.endless(bytes: 100 << 20))
        #expect(
            reason(result)
                == "The file is larger than 1 MiB. Use a smaller file, or raise the limit.")
    }

    @Test func permanentErrorIsNotRetried() async throws {
        let (result, requests) = try await fetch(.status(404))
        #expect(reason(result) == "The server answered 404 Not Found.")
        #expect(requests == 1)
    }

    @Test(arguments: [429, 500, 503])
    func temporaryErrorIsRetried(status: Int) async throws {
        let flaky = DemoFault.flaky(status: status, failures: 2, retryAfter: 0, key: "passes")
        let (result, requests) = try await fetch(flaky)
        #expect(try result.get().starts(with: [0xFF, 0xD8]))
        #expect(requests == 3)
    }

    @Test func attemptsAreLimited() async throws {
        let flaky = DemoFault.flaky(status: 503, failures: 99, retryAfter: 0, key: "stays")
        let (result, requests) = try await fetch(flaky)
        #expect(reason(result) == "The server answered 503 Service Unavailable.")
        #expect(requests == 3)
    }

    @Test func longRetryAfterIsNotRetried() async throws {
        let flaky = DemoFault.flaky(status: 429, failures: 1, retryAfter: 3_600, key: "later")
        let (result, requests) = try await fetch(flaky)
        #expect(reason(result) == "The server answered 429 Too Many Requests.")
        #expect(requests == 1)
    }

    @Test func earlyCloseFailsDownload() async throws {
        let (result, requests) = try await fetch(.closeEarly(after: 100))
        #expect(reason(result) == "127.0.0.1 closed the connection before the file was complete.")
        #expect(requests == 3)
    }

    @Test func unreachableHostIsNamed() async throws {
        try await withClosedPort { port in
            let result = await download("http://127.0.0.1:\(port)/photo.jpg")
            #expect(
                reason(result)
                    == "127.0.0.1, port \(port), refuses connections or cannot be reached.")
        }
    }

    @Test func cancellationEndsDownloadImmediately() async throws {
        try await withDemoOrigin(.quick) { origin in
            let address = origin.url(for: .neverAnswers)
            let task = Task { await download(address, limits: Self.limits) }
            #expect(await comesTrue { origin.requestCount(for: DemoFault.neverAnswers.path) != 0 })
            task.cancel()
            #expect(await reason(task.value) == "cancelled")
        }
    }

    // MARK: Disk

    @Test func fileURLIsReadFromDisk() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "a.jpg")
            try Data([1, 2, 3]).write(to: file)
            #expect(try await download(file.absoluteString).get() == [1, 2, 3])
        }
    }

    @Test func missingFileLargeFileAndFolderFail() async throws {
        try await withTemporaryFolder { folder in
            // Every viewer of a server's page can read the reasons. They must not say where the
            // photos are.
            let missing = await download(folder.appending(path: "none.jpg").absoluteString)
            #expect(
                reason(missing)
                    == "none.jpg: there is no such file or folder; check the name.")
            let large = folder.appending(path: "large.jpg")
            try Data(count: 2 << 20).write(to: large)
            // Only downloads have the other limit.
            #expect(try await download(large.absoluteString).get().count == 2 << 20)
            try Data(count: (2 << 20) + 1).write(to: large)
            let tooLarge = await download(large.absoluteString)
            #expect(reason(tooLarge) == "large.jpg is larger than 2 MiB.")
            let noFile = await download(folder.absoluteString)
            #expect(reason(noFile) == "\(folder.lastPathComponent) is not a regular file.")
        }
    }
}
