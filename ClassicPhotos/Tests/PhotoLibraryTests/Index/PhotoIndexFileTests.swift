import OperationsTestSupport
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
#elseif canImport(Darwin)
import Darwin
#endif

@Suite(.ownThreads) struct PhotoIndexFileTests {
    /// A cache in a folder that does not exist yet, and what it has said.
    private struct Cache {
        let folder: URL
        let problems = Problems()

        final class Problems: Sendable {
            let sentences = Mutex<[String]>([])
        }

        init(in folder: URL) { self.folder = folder.appending(path: "above/classicphotos") }

        var url: URL { folder.appending(path: "photos.index") }

        var sentences: [String] { problems.sentences.withLock { $0 } }

        func opened(byteLimit: Int = 32 << 20) throws -> PhotoIndexFile {
            let file = PhotoIndexFile(folder: folder, byteLimit: byteLimit) { [problems] sentence in
                problems.sentences.withLock { $0.append(sentence) }
            }
            return try #require(file)
        }

        func bytes() throws -> [UInt8] { Array(try Data(contentsOf: url)) }

        func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: url) }

        /// The titles that another program finds, by inode.
        func titles(_ records: [PhotoIndexRecord]) throws -> [UInt64: String] {
            let found = try opened().records(of: Set(records.map(\.key)))
            return Dictionary(
                uniqueKeysWithValues: found.map { ($0.key.place.inode, $0.value.facts.title ?? "") }
            )
        }
    }

    private func withCache(_ body: (Cache) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body(Cache(in: $0)) }
    }

    private let one = indexRecord(inode: 1, title: "one")
    private let two = indexRecord(inode: 2, title: "two")
    private let three = indexRecord(inode: 3, title: "three")

    @Test func recordsAreFoundAgain() async throws {
        try await withCache { (cache) throws in
            #expect(try cache.titles([one]) == [:])
            #expect(!FileManager.default.fileExists(atPath: cache.folder.systemPath))
            #expect(try cache.opened().append([one, two]) == .done)
            #expect(try cache.opened().append([three]) == .done)
            #expect(try cache.titles([one, three]) == [1: "one", 3: "three"])
            // Another version of the file is another key.
            let changed = indexRecord(inode: 1, seconds: 2, title: "changed")
            #expect(try cache.titles([changed]) == [:])
            #expect(cache.sentences == [])
        }
    }

    @Test func lastRecordCounts() async throws {
        try await withCache { (cache) throws in
            let again = indexRecord(inode: 1, title: "again")
            #expect(try cache.opened().append([one, two, again]) == .done)
            #expect(try cache.titles([one, two]) == [1: "again", 2: "two"])
        }
    }

    @Test func onlyItsOwnerCanReadTheFile() async throws {
        try await withCache { (cache) throws in
            #expect(try cache.opened().append([one]) == .done)
            for (path, mode) in [
                (cache.url.systemPath, 0o600), (cache.folder.systemPath, 0o700),
            ] as [(String, mode_t)] {
                var status = stat()
                #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == mode, "\(path)")
            }
            // A file that was opened for others is closed again.
            #expect(chmod(cache.url.systemPath, 0o644) == 0)
            #expect(try cache.titles([one]) == [1: "one"])
            var status = stat()
            #expect(stat(cache.url.systemPath, &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
    }

    /// Wherever a program or the machine stops, what is whole is found, and new records follow it.
    @Test func tornFileGoesOn() async throws {
        try await withCache { (cache) throws in
            #expect(try cache.opened().append([one, two]) == .done)
            let whole = try cache.bytes()
            let end = whole.count - two.bytes.count - 12
            for count in 0..<whole.count {
                try cache.write(Array(whole.prefix(count)))
                let left = count < end ? [:] : [1: "one"] as [UInt64: String]
                #expect(try cache.titles([one, two]) == left, "\(count) bytes")
                #expect(try cache.opened().append([three]) == .done)
                let titles = try cache.titles([one, two, three])
                #expect(titles == left.merging([3: "three"]) { $1 }, "\(count) bytes")
            }
            #expect(cache.sentences == [])
        }
    }

    /// A wrong bit takes the record that has it and those behind it, and never gives wrong facts.
    @Test func damagedRecordsAreLeftOut() async throws {
        try await withCache { (cache) throws in
            #expect(try cache.opened().append([one, two]) == .done)
            let whole = try cache.bytes()
            for place in 16..<whole.count {
                var bytes = whole
                bytes[place] ^= 0x10
                try cache.write(bytes)
                let isFirst = place < whole.count - two.bytes.count - 12
                #expect(try cache.titles([one, two]) == (isFirst ? [:] : [1: "one"]))
            }
            // The contents of a file may be lost in a power failure.
            try cache.write([UInt8](repeating: 0, count: 5_000))
            #expect(try cache.opened().append([three]) == .done)
            #expect(try cache.titles([one, two, three]) == [3: "three"])
        }
    }

    @Test func recordsOfOtherKindsAreLeftOut() async throws {
        try await withCache { (cache) throws in
            #expect(try cache.opened().append([one]) == .done)
            let later = PhotoIndexRecords.framed([9, 1, 2, 3])
            try cache.write(
                try cache.bytes() + later + PhotoIndexRecords.framed(two.bytes))
            #expect(try cache.titles([one, two]) == [1: "one", 2: "two"])
            #expect(try cache.opened().append([three]) == .done)
            #expect(try cache.titles([one, two, three]).count == 3)
        }
    }

    @Test func fileOfAnotherVersionIsBegunAnew() async throws {
        try await withCache { (cache) throws in
            #expect(try cache.opened().append([one]) == .done)
            var bytes = try cache.bytes()
            bytes[14] = 200
            try cache.write(bytes)
            #expect(try cache.titles([one]) == [:])
            #expect(try cache.opened().append([two]) == .done)
            #expect(try cache.titles([one, two]) == [2: "two"])
        }
    }

    @Test func otherFilesAreNotTouched() async throws {
        try await withCache { (cache) throws in
            let manager = FileManager.default
            try manager.createDirectory(at: cache.folder, withIntermediateDirectories: true)
            let text = Array("A diary, and no index of photos.".utf8)
            try cache.write(text)
            let file = try cache.opened()
            #expect(file.records(of: [one.key]).isEmpty)
            #expect(file.append([one]) == .failed && file.append([two]) == .failed)
            #expect(try cache.bytes() == text)
            #expect(cache.sentences.count == 1 && cache.sentences[0].contains("no index of photos"))
            // A link leads to the same text.
            let target = cache.folder.appending(path: "diary")
            try manager.moveItem(at: cache.url, to: target)
            #expect(symlink(target.systemPath, cache.url.systemPath) == 0)
            #expect(try cache.opened().append([one]) == .failed)
            #expect(try Array(Data(contentsOf: target)) == text)
            // A pipe never blocks.
            #expect(unlink(cache.url.systemPath) == 0 && mkfifo(cache.url.systemPath, 0o600) == 0)
            #expect(try cache.opened().append([one]) == .failed)
            #expect(try cache.titles([one]) == [:])
            #expect(cache.sentences.count == 3)
        }
    }

    @Test func folderThatCannotBeMadeIsSaidOnce() async throws {
        try await withCache { (cache) throws in
            // A file stands where the folder should be.
            let above = cache.folder.deletingLastPathComponent()
            try Data().write(to: above)
            let file = try cache.opened()
            for _ in 0..<3 { #expect(file.append([one]) == .failed) }
            #expect(cache.sentences.count == 1)
            #expect(
                cache.sentences.first?.contains("reads the headers of the photos again") == true)
        }
    }

    /// While another program has the file, records wait.
    @Test func lockedFileIsBusy() async throws {
        try await withCache { (cache) throws in
            #expect(try cache.opened().append([one]) == .done)
            let other = open(cache.url.systemPath, O_RDWR)
            #expect(flock(other, LOCK_EX) == 0)
            let file = try cache.opened()
            #expect(file.append([two]) == .busy)
            close(other)
            #expect(file.append([two]) == .done)
            #expect(try cache.titles([one, two]).count == 2)
        }
    }

    /// Two programs append to one file, each at the end that the other has left.
    @Test func programsShareTheFile() async throws {
        try await withCache { (cache) throws in
            let files = [try cache.opened(), try cache.opened()]
            let records = (0..<200).map { indexRecord(inode: $0, title: "\($0)") }
            for (number, record) in records.enumerated() {
                #expect(files[number % 3 / 2].append([record]) == .done)
            }
            #expect(try cache.titles(records).count == 200)
        }
    }

    @Test func supersededRecordsAreDropped() async throws {
        try await withCache { (cache) throws in
            let file = try cache.opened()
            let former = (0..<400).map { indexRecord(inode: $0, title: "former") }
            let latest = (0..<400).map { indexRecord(inode: $0, seconds: 2, title: "\($0)") }
            #expect(file.append(former) == .done && file.append(former) == .done)
            #expect(file.append(latest) == .done)
            let size = try cache.bytes().count
            #expect(try cache.titles(latest).count == 400)
            #expect(try cache.bytes().count < size / 2)
            #expect(try cache.titles(latest).count == 400)
            // The program that knew the old file appends to the new one.
            #expect(file.append([indexRecord(inode: 900, title: "new")]) == .done)
            let all = latest + [indexRecord(inode: 900)]
            #expect(try cache.titles(all).count == 401)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: cache.folder.systemPath)
                    == ["photos.index"])
        }
    }

    /// Over the limit, what was not used for the longest time goes.
    @Test func oldRecordsAreDroppedOverTheLimit() async throws {
        try await withCache { (cache) throws in
            let records = (0..<200).map { number in
                indexRecord(
                    inode: number, title: "\(number)", day: number.isMultiple(of: 2) ? 100 : 200)
            }
            let file = try cache.opened(byteLimit: 8_192)
            #expect(file.append(records) == .done)
            #expect(try cache.bytes().count > 8_192)
            #expect(file.records(of: [records[199].key]).count == 1)
            #expect(try cache.bytes().count <= 8_192 / 4 * 3 + 16)
            let left = try cache.titles(records)
            #expect(left.count > 60 && left.keys.allSatisfy { !$0.isMultiple(of: 2) })
            #expect(left[199] == "199" && left[1] == nil)
        }
    }
}
