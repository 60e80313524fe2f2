import Foundation
import OperationsTestSupport
import PhotoTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

/// Lists on the disk, whose entries are paths.
@Suite(.ownThreads) struct LocalListTests {
    private static let oddNames = [
        "two words.jpg", "#1.jpg", "what?.jpg", "100%.jpg", "50%25.jpg", "a&b=c.jpg", " space.jpg",
        "ü – é.jpg", "semi;colon.jpg", "tab\there.jpg",
    ]

    @Test(arguments: ["./", ""])
    func everyNameIsPath(prefix: String) async throws {
        try await withTemporaryFolder { folder in
            let names = Self.oddNames.filter { prefix == "./" || !$0.hasPrefix("#") }
            for name in Self.oddNames { try Data([1]).write(to: folder.appending(path: name)) }
            let text = names.map { prefix + $0 }.joined(separator: "\n")
            let list = folder.appending(path: "list.txt")
            try Data(text.utf8).write(to: list)
            let records = try PhotoList.read(file: list).records
            #expect(records.map(\.name) == names)
            for record in records {
                let path = try #require(record.url.flatMap { LocalPath($0) })
                #expect(try LocalFiles.bytes(of: path, named: record.name) == [1])
            }
        }
    }

    @Test func percentEncodingIsSecondGuess() async throws {
        try await withTemporaryFolder { folder in
            try Data([1]).write(to: folder.appending(path: "two words.jpg"))
            let list = folder.appending(path: "list.json")
            try Data(#"["two%20words.jpg", "file:///x.jpg", "http://h/a%20b.jpg"]"#.utf8)
                .write(to: list)
            let photos = try PhotoList.read(file: list)
            #expect(
                photos.records.map { $0.url?.absoluteString } == [
                    folder.appending(path: "two words.jpg").absoluteString, "file:///x.jpg",
                    "http://h/a%20b.jpg",
                ])
        }
    }

    /// The fuzzer found that lines such as these stopped the program.
    @Test func bytesThatLookLikeURLArePaths() throws {
        let lines = ["//host/caf", "http:", "http://host/"].map { Array($0.utf8) + [0xE9] }
        let list = try PhotoList.parse(
            bytes: Array("a.jpg\n".utf8) + lines.joined(separator: [0x0A]), named: "list",
            relativeTo: fileBase)
        #expect(
            list.records.dropFirst().map { $0.url.flatMap { LocalPath($0)?.description } } == [
                #"//host/caf\xE9"#, #"/lists/http:\xE9"#, #"/lists/http://host/\xE9"#,
            ])
    }

    @Test func bytesThatAreNotUTF8ArePaths() async throws {
        try await withTemporaryFolder { folder in
            let root = try #require(LocalPath(folder))
            let name = Array("caf".utf8) + [0xE9] + Array(".jpg".utf8)
            _ = try StagedFile([7], at: root.appending(name)).publish(replacing: false)
            let list = folder.appending(path: "list.txt")
            try Data(Array("./".utf8) + name + [0x0A] + Array("b.jpg\n".utf8)).write(to: list)
            let records = try PhotoList.read(file: list).records
            #expect(records.map(\.name) == [#"caf\xE9.jpg"#, "b.jpg"])
            let path = try #require(records[0].url.flatMap { LocalPath($0) })
            #expect(try LocalFiles.bytes(of: path, named: "the photo") == [7])
        }
    }

    @Test func missingFileIsNamed() async throws {
        try await withTemporaryFolder { folder in
            let list = folder.appending(path: "list.txt")
            try Data("birds/no such #.jpg\n".utf8).write(to: list)
            let record = try PhotoList.read(file: list).records[0]
            let downloader = PhotoDownloader()
            let url = try #require(record.url)
            let error = await #expect(throws: PhotoStageStop.self) {
                try await downloader.bytes(of: url)
            }
            guard case .failed(let failure)? = error else { return }
            #expect(
                failure.reason
                    == "no such #.jpg: there is no such file or folder; check the name.")
            await downloader.shutdown()
        }
    }

    @Test func listFromWebHasNoPaths() throws {
        let photos = try list("a b.jpg\n#c.jpg")
        #expect(photos.lines == ["a b.jpg → https://example.org/lists/a%20b.jpg"])
    }
}

extension String {
    fileprivate var droppingSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}

@Suite(.ownThreads) struct JoinedListTests {
    private func photos(_ names: String...) throws -> PhotoList {
        try list(names.map { "https://example.org/\($0)" }.joined(separator: "\n"))
    }

    @Test func photoOfTwoListsIsKeptOnce() throws {
        let joined = PhotoList.joining([
            (nil, try photos("a.jpg", "b.jpg", "a.jpg")), (nil, try photos("b.jpg", "c.jpg")),
        ])
        #expect(joined.records.map(\.name) == ["a.jpg", "b.jpg", "a.jpg", "c.jpg"])
    }

    @Test func prefixKeepsFoldersApart() throws {
        let joined = PhotoList.joining([
            ("one", try photos("a.jpg")), ("two", try photos("b.jpg")), (nil, try photos("c.jpg")),
        ])
        #expect(joined.records.map(\.name) == ["one/a.jpg", "two/b.jpg", "c.jpg"])
    }

    @Test(
        arguments: [
            (["*.gif"], ["a.jpg", "raw/b.jpg", "raw/x/c.jpg"]), (["raw"], ["a.jpg", "d.gif"]),
            (["raw/*.jpg"], ["a.jpg", "raw/x/c.jpg", "d.gif"]),
            (["raw/x/"], ["a.jpg", "raw/b.jpg", "d.gif"]),
            (["?.jpg"], ["d.gif"]), (["[ab].jpg", "c.*"], ["d.gif"]), (["nothing"], nil), ([], nil),
        ] as [([String], [String]?)])
    func excludedNamesAreLeftOut(patterns: [String], expected: [String]?) async throws {
        let names = ["a.jpg", "raw/b.jpg", "raw/x/c.jpg", "d.gif"]
        try await withTemporaryFolder { folder in
            for name in names {
                let file = folder.appending(path: name)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data([1]).write(to: file)
            }
            let rest = try PhotoList.read(folder: folder).excluding(patterns)
            #expect(Set(rest.records.map(\.name)) == Set(expected ?? names))
            let flat = try PhotoList.read(folder: folder, enteringSubfolders: false)
            #expect(flat.records.map(\.name) == ["a.jpg", "d.gif"])
        }
    }
}
