import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads) struct PhotoIndexRecordTests {
    private var full: PhotoIndexRecord {
        var record = indexRecord(
            inode: .max, seconds: -5, title: "Ein Zug 🚂", day: 20_421, sidecars: 77)
        record.facts.size = PixelSize(width: 6_000, height: 4_000)
        record.facts.orientation = 6
        record.facts.taken = PhotoTime(seconds: -12_345, offset: -570)
        record.facts.camera = "Camera"
        record.facts.rating = -1
        record.facts.keywords = ["one", "zwei", "三"]
        record.facts.placeholder = PhotoPlaceholder(cells: (0..<12).map { $0 * 5_000 })
        return record
    }

    @Test func recordIsReadAsWritten() {
        for record in [full, indexRecord(inode: 3)] {
            #expect(PhotoIndexRecord(record.bytes[...]) == record)
            let header = PhotoIndexRecord.header(of: record.bytes[...])
            #expect(header?.key == record.key && header?.day == record.day)
        }
        var bare = full
        bare.facts.taken?.offset = nil
        #expect(PhotoIndexRecord(bare.bytes[...]) == bare)
        // Some 150 bytes a photo: ten thousand photos take 2 MB.
        #expect(full.bytes.count < 200)
    }

    /// Neither a shorter nor a longer record, nor one of another kind, is read.
    @Test func otherBytesAreNoRecord() {
        let bytes = full.bytes
        for count in 0..<bytes.count { #expect(PhotoIndexRecord(bytes.prefix(count)) == nil) }
        #expect(PhotoIndexRecord((bytes + [0])[...]) == nil)
        #expect(PhotoIndexRecord(([2] + bytes.dropFirst())[...]) == nil)
    }

    @Test func longTextsAreCut() throws {
        var record = indexRecord(inode: 1, title: String(repeating: "é", count: 5_000))
        record.facts.keywords = (0..<300).map { "\($0)" }
        let read = try #require(PhotoIndexRecord(record.bytes[...]))
        #expect(read.facts.title?.utf8.count == 1_600 && read.facts.keywords.count == 64)
    }
}
