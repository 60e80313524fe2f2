import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads) struct BinaryPropertyListTests {
    /// Encodes a property list with the system's encoder.
    private func encoded(_ value: some Encodable) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return Array(try encoder.encode(value))
    }

    private func parsed(_ bytes: [UInt8]) throws -> PhotoList {
        try PhotoList.parse(bytes: bytes, named: "photos.plist", relativeTo: webBase)
    }

    @Test func dictionaryIsSortedInNaturalOrder() throws {
        let photos = try parsed(
            encoded(["photo10": "http://h/10.jpg", "été": "http://h/é.jpg", "photo2": "2.jpg"]))
        #expect(
            photos.lines == [
                "photo2 → https://example.org/lists/2.jpg", "photo10 → http://h/10.jpg",
                "été → http://h/%C3%A9.jpg",
            ])
    }

    @Test func arrayOfDictionariesKeepsOrder() throws {
        let photos = try parsed(
            encoded([["name": "b", "url": "http://h/b.jpg"], ["name": "a", "url": "a.jpg"]]))
        #expect(photos.lines == ["b → http://h/b.jpg", "a → https://example.org/lists/a.jpg"])
    }

    private struct Mixed: Encodable {
        let good = "http://h/1.jpg"
        let number = 3
        let truth = true
        let moment = Date(timeIntervalSince1970: 0)
        let bytes = Data([1, 2, 3])
        let list = ["x"]
    }

    @Test func invalidEntryIsNamedByKey() throws {
        let photos = try parsed(encoded(Mixed()))
        #expect(
            photos.lines == [
                "bytes ✘ photos.plist, key \"bytes\": \"bytes\" has data where a URL was expected.",
                "good → http://h/1.jpg",
                "list ✘ photos.plist, key \"list\": \"list\" has an array where a URL was expected.",
                "moment ✘ photos.plist, key \"moment\": \"moment\" has a date where a URL was "
                    + "expected.",
                "number ✘ photos.plist, key \"number\": \"number\" has a number where a URL was "
                    + "expected.",
                "truth ✘ photos.plist, key \"truth\": \"truth\" has a Boolean value where a URL "
                    + "was expected.",
            ])
        let array = try parsed(encoded([["name": "a", "url": "a.jpg"], ["name": "b"]]))
        #expect(
            array.lines.last
                == "b ✘ photos.plist, entry 2: \"b\" has no \"url\"; its keys are \"name\".")
    }

    @Test func truncationAndChangedBytesNeverTrap() throws {
        let whole = try encoded([
            ["name": "b", "url": "http://h/b.jpg"], ["name": "ü", "url": "ü"],
        ])
        for length in 8..<whole.count {
            #expect(refusal(Array(whole.prefix(length))).contains("is damaged: "))
        }
        var accepted = 0
        for index in 8..<whole.count {
            for change: UInt8 in [0x01, 0x80, 0xFF] {
                var bytes = whole
                bytes[index] ^= change
                if refusal(bytes) == "accepted" { accepted += 1 }
            }
        }
        // Changed letters are valid, but a changed structure is not. No change may trap.
        #expect(accepted > 0 && accepted < 3 * whole.count)
    }

    @Test func damagedListIsReported() {
        #expect(
            refusal(Array("bplist00".utf8), named: "photos.plist")
                == "photos.plist: the binary property list is damaged: it is truncated; "
                + "create it again, or save it as XML")
    }

    @Test func selfContainingListIsRejected() {
        // One object: an array whose only element is object 0.
        #expect(
            refusal(binary(objects: [[0xA1, 0x00]]))
                == "photos: the list is nested deeper than 32 levels; a list of photos needs only two"
        )
    }

    /// A small file whose entries all refer to one large dictionary, which would take quadratic
    /// time.
    @Test func listMuchLargerThanFileIsRejected() {
        let members = 60_000
        let limits = PhotoListLimits(bytes: 1_000_000, entries: members, depth: 4)
        let array: [UInt8] = [0xAF, 0x12, 0, 0, 0xEA, 0x60] + repeated([0, 1], members)
        let dictionary: [UInt8] = [0xDF, 0x12, 0, 0, 0xEA, 0x60] + repeated([0, 2], 2 * members)
        let bytes = binary(
            objects: [array, dictionary, [0x51, UInt8(ascii: "a")]],
            referenceWidth: 2)
        #expect(
            refusal(bytes, limits: limits)
                == "photos: the list has more than 480000 values; split it into several lists")
        let text = [0x5F, 0x12, 0, 0, 0xEA, 0x60] + repeated([UInt8(ascii: "a")], members)
        #expect(
            refusal(binary(objects: [array, text], referenceWidth: 2), limits: limits)
                == "photos: the list has too much text; split it into several lists")
    }

    /// Thirty arrays, each with two references to the next array, expand to a billion values.
    @Test func hugeExpansionIsRejectedBeforeAllocation() {
        let depth = 30
        let levels: [[UInt8]] = (0..<depth).map { [0xA2, UInt8($0 + 1), UInt8($0 + 1)] }
        let bytes = binary(objects: levels + [[0x51, UInt8(ascii: "a")]])
        let before = peakMemory()
        #expect(
            refusal(bytes)
                == "photos: its \(bytes.count) bytes expand to more than "
                + "\(64 * bytes.count + 1_024) values, because parts of it are used repeatedly; "
                + "list each photo once")
        // The values that the limits allow would take half a gigabyte.
        #expect(peakMemory() - before < 64 << 20)
    }

    @Test func repeatedLongTextIsRejected() {
        let text = [0x5F, 0x11, 0x10, 0x00] + repeated([UInt8(ascii: "a")], 4_096)
        let array: [UInt8] = [0xAF, 0x11, 0x08, 0x00] + repeated([1], 2_048)
        let bytes = binary(objects: [array, text])
        #expect(
            refusal(bytes).contains("bytes of text, because parts of it are used repeatedly"))
    }

    /// Python's `plistlib` writes such files: one dictionary with a thousand references.
    @Test func listMayRepeatEntry() throws {
        let array: [UInt8] = [0xAF, 0x11, 0x03, 0xE8] + repeated([1], 1_000)
        let text = Array("http://h/1.jpg".utf8)
        let bytes = binary(objects: [
            array, [0xD1, 2, 3], [0x53] + Array("url".utf8), [0x5E] + text,
        ])
        #expect(try parsed(bytes).records.count == 1_000)
    }

    @Test func manySelfReferencesAreRejectedQuickly() {
        let array: [UInt8] = [0xAF, 0x10, 200] + repeated([0], 200)
        #expect(
            refusal(binary(objects: [array]))
                == "photos: the list is nested deeper than 32 levels; a list of photos needs only two"
        )
    }

    /// The peak memory of this process so far, in bytes.
    private func peakMemory() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (kilobytes ?? 0) << 10
    }

    private func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        Array(repeatElement(bytes, count: count).joined())
    }

    /// A file with the given objects: header, objects, offsets of four bytes, trailer.
    private func binary(objects: [[UInt8]], referenceWidth: Int = 1) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for offset in offsets { bytes += bigEndian(UInt32(offset)) }
        bytes += [0, 0, 0, 0, 0, 0, 4, UInt8(referenceWidth)]
        for number in [objects.count, 0, table] { bytes += bigEndian(UInt64(number)) }
        return bytes
    }

    private func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }
}
