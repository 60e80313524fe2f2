import Foundation
import Landscapes
import OperationsTestSupport
import Testing

@testable import DemoOrigin

@Suite(.ownThreads)
struct DemoCatalogTests {
    private struct Line: Decodable, Equatable {
        var name: String
        var url: String
    }

    private let catalog = DemoCatalog()

    @Test func demoHas240UniqueEntries() {
        #expect(catalog.entries.count == 240)
        #expect(Set(catalog.entries.map(\.name)).count == 240)
        #expect(Set(catalog.entries.map(\.path)).count == 240)
        #expect(catalog.entries.map(\.id) == Array(0..<240))
    }

    @Test func oneInTwentyEntriesIsBadAndEveryKindOccurs() {
        let bad = catalog.entries.filter { $0.kind != .good }
        #expect((10...14).contains(bad.count))
        #expect(Set(catalog.entries.map(\.kind)) == Set(DemoCatalog.Kind.allCases))
    }

    @Test func firstDozenHasOneOrTwoFailures() {
        let early = catalog.entries.prefix(12).filter { !$0.kind.isPicture }
        #expect((1...2).contains(early.count))
    }

    @Test func titlesOfBadEntriesSayThatTheyAreOnPurpose() {
        for entry in catalog.entries {
            #expect(entry.name.hasSuffix(" on purpose)") == (entry.kind != .good))
            #expect(entry.name.contains("broken") == !entry.kind.isPicture)
            #expect(entry.name.hasPrefix(entry.picture.name))
        }
    }

    @Test func badEntriesAreSpreadOverList() {
        let places = catalog.entries.filter { $0.kind != .good }.map(\.id)
        let gaps = zip(places, places.dropFirst()).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 <= 32 })
        #expect((places.last ?? 0) > 205)
    }

    @Test func withoutFaultsEveryEntryIsGood() {
        #expect(DemoCatalog(faults: false).entries.allSatisfy { $0.kind == .good })
    }

    @Test func missingPhotoIsMisspeltOnlyInItsPath() throws {
        let entry = try #require(catalog.entries.first { $0.kind == .missing })
        let right = "/photos/\(DemoCatalog.slug(entry.picture.name)).jpg"
        #expect(entry.path != right)
        #expect(entry.path.sorted() == right.sorted())
    }

    @Test func entriesAreFoundByPath() {
        for entry in catalog.entries { #expect(catalog[path: entry.path] == entry) }
        #expect(catalog[path: "/photos/nothing.jpg"] == nil)
        #expect(catalog[path: "/photos/../photos.plist"] == nil)
    }

    @Test func slugsArePlainAndMisspellingsDiffer() {
        #expect(
            DemoCatalog.slug("Dawn over the Karst Lake, No. 2") == "dawn-over-the-karst-lake-no-2")
        #expect(DemoCatalog.misspelt("dawn-over") == "dwan-over")
        #expect(DemoCatalog.misspelt("aab") == "aba")
        #expect(DemoCatalog.misspelt("a") == "a")
    }

    @Test func propertyListKeepsOrder() throws {
        let text = catalog.propertyList(origin: "http://127.0.0.1:8080")
        let lines = try PropertyListDecoder().decode([Line].self, from: Data(text.utf8))
        let expected = catalog.entries.map {
            Line(name: $0.name, url: "http://127.0.0.1:8080" + $0.path)
        }
        #expect(lines == expected)
    }

    @Test func propertyListEscapesOrigin() throws {
        let origin = "http://127.0.0.1/?a=1&b=<2>"
        let text = DemoCatalog(count: 1).propertyList(origin: origin)
        let lines = try PropertyListDecoder().decode([Line].self, from: Data(text.utf8))
        #expect(lines.first?.url.hasPrefix(origin) == true)
    }

    @Test func jsonKeepsOrder() throws {
        let text = try catalog.json(origin: "http://127.0.0.1:8080")
        let lines = try JSONDecoder().decode([Line].self, from: Data(text.utf8))
        #expect(lines.map(\.name) == catalog.entries.map(\.name))
        #expect(lines.map(\.url) == catalog.entries.map { "http://127.0.0.1:8080" + $0.path })
    }

    @Test(arguments: [-3, 0, 1, 5, 12])
    func catalogHasRequestedCount(count: Int) {
        #expect(DemoCatalog(count: count).entries.count == max(count, 0))
    }
}
