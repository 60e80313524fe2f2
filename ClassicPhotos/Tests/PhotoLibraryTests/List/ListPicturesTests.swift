import DemoOrigin
import Operations
import OperationsInsight
import OperationsTestSupport
import PhotoImaging
import PhotoTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The small pictures of a list: in memory, made again, and kept on the disk.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct ListPicturesTests {
    /// A list of files of different grays, with what shows it.
    private struct List {
        let records: [PhotoRecord]
        let options: PhotoListSession.Options
        let loader: PhotoLoader
        let timeline: OperationTimeline

        var pictures: ListPictures {
            ListPictures(catalog: PhotoCatalog(records), options: options, loader: loader)
        }

        /// Shows all rows, and returns the updates of the rows when they are complete.
        func show() async -> [PhotoListSession.RowUpdate] {
            let session = PhotoListSession(records: records, options: options, loader: loader)
            let changes = await session.subscribe()
            await session.scrolled(to: Row(0)..<Row(records.count), .settled)
            var rows: [PhotoListSession.RowUpdate] = []
            for await _ in changes {
                let snapshot = await session.takeSnapshot()
                rows = snapshot.rows
                if snapshot.counts.filtered + snapshot.counts.failed == records.count { break }
            }
            // The unfiltered picture may come last.
            for row in rows where row.picture != nil {
                #expect(
                    await eventually {
                        await session.pictureName(row.change.row, .downloaded) != nil
                    })
            }
            await session.close()
            return rows
        }

        func count(of stage: String) throws -> Int {
            try PixelTimeline(timeline).count(of: [stage])
        }
    }

    private func withList(
        of files: [URL], memory: Int = 64 << 20, thumbnails: PhotoDiskCache? = nil,
        filters: [ImageFilter] = [.sepia()], _ body: (List) async throws -> Void
    ) async throws {
        let downloader = PhotoDownloader(limits: .patient)
        var options = PhotoListSession.Options(filters: filters, pictureBytes: memory)
        options.thumbnails = thumbnails
        let timeline = OperationTimeline()
        var loading = options.forLoader
        loading.acceptsDamage = true
        // The work itself, not the stages of the rows that wait for it.
        loading.timeline = timeline
        let loader = PhotoLoader(downloader: downloader, options: loading)
        let records = files.enumerated().map { index, file in
            PhotoRecord(
                id: PhotoID(rawValue: UInt64(index)), name: file.lastPathComponent, url: file)
        }
        try await body(
            List(records: records, options: options, loader: loader, timeline: timeline))
        await downloader.shutdown()
    }

    private func files(_ count: Int, in folder: URL) throws -> [URL] {
        try (0..<count).map { number in
            let file = folder.appending(path: "\(number).jpg")
            try Data(jpeg(gray: UInt8(20 * number + 20))).write(to: file)
            return file
        }
    }

    @Test func displacedPictureIsMadeAgainUnderItsName() async throws {
        try await withTemporaryFolder { folder in
            // Room for a single picture.
            try await withList(of: try files(8, in: folder), memory: 4_000) { list in
                let rows = await list.show()
                #expect(rows.count == 8)
                let pictures = list.pictures
                var displaced = 0
                for row in rows {
                    let name = try #require(row.picture)
                    if pictures.pictureInMemory(row.change.row, named: name) == nil {
                        displaced += 1
                    }
                    let image = try #require(
                        await pictures.picture(row.change.row, named: name))
                    #expect(NamedPicture(image).name == name)
                }
                #expect(displaced > 0)
                #expect(list.loader.memory.byteCount <= 2_000)
            }
        }
    }

    @Test func nameOfAnotherRowIsNotFound() async throws {
        try await withTemporaryFolder { folder in
            try await withList(of: try files(2, in: folder)) { list in
                let rows = await list.show()
                let name = try #require(rows[0].picture)
                #expect(try await list.pictures.picture(Row(0), named: name) != nil)
                #expect(try await list.pictures.picture(Row(1), named: name) == nil)
                #expect(try await list.pictures.picture(Row(2), named: name) == nil)
            }
        }
    }

    @Test(arguments: [[ImageFilter.sepia()], []])
    func secondRunTakesPicturesFromTheDisk(filters: [ImageFilter]) async throws {
        try await withTemporaryFolder { folder in
            let files = try files(5, in: folder)
            let cacheFolder = folder.appending(path: "cache")
            var shown: [[PhotoListSession.RowUpdate]] = []
            for run in 0..<2 {
                let cache = try PhotoDiskCache(folder: cacheFolder)
                try await withList(of: files, thumbnails: cache, filters: filters) { list in
                    shown.append(await list.show())
                    await cache.written()
                    #expect(try list.count(of: "Decode") == (run == 0 ? 5 : 0))
                    for row in shown[run] {
                        let name = try #require(row.picture)
                        #expect(list.pictures.pictureInMemory(row.change.row, named: name) != nil)
                    }
                }
            }
            #expect(shown[0].map(\.picture) == shown[1].map(\.picture))
            // The index has the rest.
            for (first, second) in zip(shown[0].map(\.facts), shown[1].map(\.facts)) {
                #expect(second?.decodedColor != nil && first?.decodedColor == second?.decodedColor)
                #expect(first?.size == second?.size && first?.byteCount == second?.byteCount)
            }
        }
    }

    @Test func changedFilterSizeOrFileIsDecodedAgain() async throws {
        try await withTemporaryFolder { folder in
            let files = try files(3, in: folder)
            let cache = try PhotoDiskCache(folder: folder.appending(path: "cache"))
            try await withList(of: files, thumbnails: cache) { _ = await $0.show() }
            await cache.written()
            let noir = [ImageFilter.noir()]
            try await withList(of: files, thumbnails: cache, filters: noir) { list async throws in
                _ = await list.show()
                #expect(try list.count(of: "Decode") == 3)
            }
            await cache.written()
            try Data(jpeg(width: 80, gray: 250)).write(to: files[1])
            try await withList(of: files, thumbnails: cache) { list async throws in
                let rows = await list.show()
                #expect(try list.count(of: "Decode") == 1)
                #expect(rows[1].facts?.size?.width == 80)
            }
        }
    }

    @Test func damagedPhotoIsNotKeptAndDamagedEntryIsMadeAgain() async throws {
        try await withTemporaryFolder { folder in
            let files = try files(2, in: folder)
            let whole = try jpeg(width: 400, gray: 90)
            try Data(whole.prefix(whole.count * 3 / 4)).write(to: files[0])
            let cacheFolder = folder.appending(path: "cache")
            let cache = try PhotoDiskCache(folder: cacheFolder)
            for run in 0..<3 {
                try await withList(of: files, thumbnails: cache) { list async throws in
                    let rows = await list.show()
                    #expect(rows[0].facts?.damage != nil && rows[1].facts?.damage == nil)
                    #expect(try list.count(of: "Decode") == (run == 1 ? 1 : 2))
                }
                await cache.written()
                let entries = try FileManager.default.contentsOfDirectory(
                    atPath: cacheFolder.path())
                #expect(entries.count == 1)
                guard run == 1, let entry = entries.first else { continue }
                let file = cacheFolder.appending(path: entry)
                var bytes = [UInt8](try Data(contentsOf: file))
                bytes[bytes.count - 10] ^= 1
                try Data(bytes).write(to: file)
            }
        }
    }

    @Test func entriesOfOtherVersionsAreNoPictures() throws {
        let image = EncodedImage(
            bytes: [1, 2, 3], format: .jpeg, size: PixelSize(width: 2, height: 1))
        var facts = PhotoFacts()
        facts.size = PixelSize(width: 20, height: 10)
        (facts.orientation, facts.byteCount, facts.decodedColor) = (6, 99, 0x123456)
        let other = EncodedImage(bytes: [4], format: .jpeg, size: PixelSize(width: 1, height: 1))
        let kept = KeptListPictures(
            facts: facts, downloaded: NamedPicture(image), filtered: NamedPicture(other))
        let entry = try #require(kept.entry)
        let again = try #require(KeptListPictures(entry))
        #expect(again.facts == facts)
        #expect(again.downloaded.image == image && again.filtered.image == other)
        #expect(KeptListPictures(entry.dropLast()) == nil)
        #expect(KeptListPictures([]) == nil)
        #expect(KeptListPictures(Array("{}\nabc".utf8)) == nil)
    }

    @Test func namesAreSixteenDigits() throws {
        let name = try #require(PictureName("0123456789abcdef"))
        #expect("\(name)" == "0123456789abcdef")
        let others = ["", "0123456789ABCDEF", "123", "0123456789abcdef0", "+123456789abcdef"]
        for text in others {
            #expect(PictureName(text) == nil, "\(text)")
        }
    }
}
