import DemoOrigin
import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct PhotoDiskCacheTests {
    private func entryFiles(_ folder: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(atPath: folder.systemPath).sorted()
            .filter { $0.hasSuffix(".photo") }.map { folder.appending(path: $0) }
    }

    private func content(_ bytes: [UInt8], isStorable: Bool = true) -> PhotoDownloader.Content {
        PhotoDownloader.Content(
            bytes: bytes, url: webURL("http://host/"),
            version: PhotoVersion(
                bytes: bytes, entityTag: "\"e\"", lastModified: nil, now: 0),
            freshness: ResponseFreshness(isStorable: isStorable, end: 7))
    }

    @Test func freshDownloadSurvivesARestart() async throws {
        try await withTemporaryFolder { folder in
            let above = folder.appending(path: "above")
            let cache = above.appending(path: "cache")
            try await withDemoOrigin(.quick) { origin in
                let url = webURL(origin.url(for: .none))
                var bitmaps: [[UInt8]] = []
                for expected in [Photo.Origin.network, .cache] {
                    try await withLoader(cache: PhotoDiskCache(folder: cache)) { loader, _ in
                        let photo = try await loader.photo(for: url, fitting: thumbnail)
                        #expect(photo.origin == expected)
                        bitmaps.append(photo.bitmap.pixels())
                        // Another size needs no download either.
                        #expect(try await loader.photo(for: url).origin == .cache)
                    }
                }
                #expect(bitmaps[0] == bitmaps[1])
                #expect(origin.requestCount(for: DemoFault.none.path) == 1)
            }
            for made in [above, cache] {
                let mode = try FileManager.default.attributesOfItem(atPath: made.systemPath)
                // The type of the number depends on the library that is loaded.
                #expect("\(mode[.posixPermissions] ?? "none")" == "\(0o700)")
            }
        }
    }

    @Test func staleEntryIsAskedForWithItsValidator() async throws {
        let picture = try jpeg()
        try await withTemporaryFolder { folder in
            try await withScriptedOrigin { connection in
                while let head = connection.readHead() {
                    let isKnown = head.contains("If-None-Match: \"1\"")
                    connection.send(
                        picture, status: isKnown ? "304 Not Modified" : "200 OK",
                        headers: ["ETag: \"1\"", "Cache-Control: max-age=\(isKnown ? 600 : 0)"])
                }
            } _: { origin in
                let url = webURL(origin.url + "/a.jpg")
                for (expected, requests) in [(Photo.Origin.network, 1), (.cache, 2), (.cache, 2)] {
                    try await withLoader(cache: PhotoDiskCache(folder: folder)) {
                        loader, _ async throws in
                        #expect(try await loader.photo(for: url).origin == expected)
                        #expect(origin.requests.count == requests)
                    }
                }
            }
        }
    }

    @Test func everyDamageOfAnEntryIsAMiss() async throws {
        try await withTemporaryFolder { folder in
            let cache = try PhotoDiskCache(folder: folder)
            let url = webURL("http://host/a.jpg")
            let bytes = (0..<40).map { UInt8($0) }
            await cache.store(content(bytes), for: url)
            let file = try #require(try entryFiles(folder).first)
            let whole = try Data(contentsOf: file)
            let entry = try #require(await cache.entry(for: url))
            #expect(entry.bytes == bytes && entry.version.text == "tag \"e\"")
            #expect(entry.freshness == ResponseFreshness(isStorable: true, end: 7))
            for count in 0..<whole.count {
                try whole.prefix(count).write(to: file)
                #expect(await cache.entry(for: url) == nil)
            }
            for position in whole.count - 40..<whole.count {
                var damaged = whole
                damaged[position] ^= 1
                try damaged.write(to: file)
                #expect(await cache.entry(for: url) == nil)
            }
            try (whole + [1]).write(to: file)
            #expect(await cache.entry(for: url) == nil)
            // The next download replaces the damaged entry.
            await cache.store(content(bytes), for: url)
            #expect(await cache.entry(for: url)?.bytes == bytes)
        }
    }

    /// Two URLs may have one file name; here a file is renamed to the name of another URL.
    @Test func entryOfAnotherURLIsAMiss() async throws {
        try await withTemporaryFolder { folder in
            let cache = try PhotoDiskCache(folder: folder)
            let (a, b) = (webURL("http://host/a.jpg"), webURL("http://host/b.jpg"))
            await cache.store(content([1]), for: a)
            try FileManager.default.moveItem(
                at: folder.appending(path: DiskCacheFile.name(for: a)),
                to: folder.appending(path: DiskCacheFile.name(for: b)))
            #expect(await cache.entry(for: b) == nil)
        }
    }

    @Test func unstorableResponseReplacesTheEntryByNothing() async throws {
        try await withTemporaryFolder { folder in
            let cache = try PhotoDiskCache(folder: folder)
            let url = webURL("http://host/a.jpg")
            await cache.store(content([1]), for: url)
            await cache.store(content([2], isStorable: false), for: url)
            #expect(await cache.entry(for: url) == nil)
            #expect(try entryFiles(folder).isEmpty)
        }
    }

    @Test func entryThatIsStoredManyTimesAtOnceIsWhole() async throws {
        try await withTemporaryFolder { folder in
            let caches = [
                try PhotoDiskCache(folder: folder), try PhotoDiskCache(folder: folder),
            ]
            let url = webURL("http://host/a.jpg")
            await withTaskGroup { group in
                for number in 0..<40 {
                    let bytes = [UInt8](repeating: UInt8(number), count: 100_000)
                    let content = content(bytes)
                    group.addTask {
                        await caches[number % 2].store(content, for: url)
                        #expect(await caches[0].entry(for: url)?.bytes.count == 100_000)
                    }
                }
            }
            // Nothing incomplete is left.
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.systemPath)
            #expect(names == [DiskCacheFile.name(for: url)])
        }
    }

    @Test func leastRecentlyUsedEntriesAreDeleted() async throws {
        try await withTemporaryFolder { folder in
            // Two programs with one folder, each of which stores half of the photos.
            let caches = [
                try PhotoDiskCache(folder: folder, byteLimit: 100_000),
                try PhotoDiskCache(folder: folder, byteLimit: 100_000),
            ]
            func url(_ number: Int) -> URL { webURL("http://host/\(number).jpg") }
            for number in 0..<40 {
                await caches[number % 2].store(
                    content([UInt8](repeating: 7, count: 5_000)), for: url(number))
                // The file system may store times in seconds; the order of use is set here.
                let file = folder.appending(path: DiskCacheFile.name(for: url(number)))
                let time = Date(timeIntervalSince1970: Double(1_000_000 + 10 * number))
                try? FileManager.default.setAttributes(
                    [.modificationDate: time], ofItemAtPath: file.systemPath)
                // The first photo is used again and again.
                #expect(await caches[0].entry(for: url(0)) != nil)
            }
            let sizes = try entryFiles(folder).map { try Data(contentsOf: $0).count }
            #expect(sizes.reduce(0, +) <= 125_000)
            #expect(sizes.count >= 15)
            #expect(await caches[0].entry(for: url(1)) == nil)
            #expect(await caches[0].entry(for: url(39)) != nil)
            await caches[1].removeAll()
            #expect(try entryFiles(folder).isEmpty)
        }
    }

    @Test func folderThatCannotBeWrittenFailsNoRequest() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "file")
            try Data([1]).write(to: file)
            try await withDemoOrigin(.quick) { origin in
                let url = webURL(origin.url(for: .none))
                let cache = try PhotoDiskCache(folder: file.appending(path: "cache"))
                try await withLoader(cache: cache) { loader, _ async throws in
                    #expect(try await loader.photo(for: url).origin == .network)
                }
            }
        }
        #expect(throws: PhotoFailure.self) { try PhotoDiskCache(folder: webURL("http://host/")) }
    }
}
