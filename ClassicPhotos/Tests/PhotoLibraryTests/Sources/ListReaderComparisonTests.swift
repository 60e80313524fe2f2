import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Compares the readers with the encoders of FoundationEssentials, on random names and URLs.
@Suite(.ownThreads) struct ListReaderComparisonTests {
    private struct Entry: Codable {
        let name: String
        let url: String
    }

    @Test(arguments: seeds(1, 2, 3, 4))
    func listsFromSystemEncodersRoundTrip(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let entries = (0..<Int.random(in: 1...20, using: &random)).map { number in
                Entry(
                    name: "n" + randomText(&random), url: "http://h/\(number)")
            }
            let expected = entries.map { "\($0.name) → \($0.url)" }
            for bytes in try [xml(entries), binary(entries), json(entries)] {
                let photos = try PhotoList.parse(bytes: bytes, named: "list", relativeTo: nil)
                #expect(photos.lines == expected, "seed \(seed)")
            }
        }
    }

    @Test(arguments: seeds(1, 2, 3, 4))
    func corruptedListsNeverTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let entries = [Entry(name: "a\"&é", url: "http://h/1"), Entry(name: "b", url: "2")]
        var refusals = 0
        for original in try [xml(entries), binary(entries), json(entries)] {
            for _ in 0..<500 {
                var bytes = original
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    corrupt(&bytes, &random)
                }
                if refusal(bytes) != "accepted" { refusals += 1 }
            }
        }
        #expect(refusals > 100, "seed \(seed)")
    }

    private func corrupt(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard let index = bytes.indices.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: index)
        default: bytes.insert(bytes[bytes.count - 1 - index], at: index)
        }
    }

    private func randomText(_ random: inout SeededGenerator) -> String {
        let alphabet = Array("ab\"\\/<>&'; \n\té😀中]]>#{[\u{301}")
        return String(
            (0..<Int.random(in: 0..<30, using: &random)).map { _ in
                alphabet.randomElement(using: &random) ?? "?"
            })
    }

    private func xml(_ entries: [Entry]) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return Array(try encoder.encode(entries))
    }

    private func binary(_ entries: [Entry]) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return Array(try encoder.encode(entries))
    }

    private func json(_ entries: [Entry]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .prettyPrinted
        return Array(try encoder.encode(entries))
    }
}
