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

/// A temporary folder, which is removed when this object is released.
private final class Scratch {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(component: "photo-source-\(UUID())", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String {
        url.appending(path: name).path(percentEncoded: false)
    }

    @discardableResult
    func write(_ name: String, _ bytes: [UInt8] = []) throws -> URL {
        let file = url.appending(path: name, directoryHint: .notDirectory)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
        return file
    }

    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: path(name), withDestinationPath: target)
    }
}

private func message(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "accepted"
    } catch {
        return "\(error)"
    }
}

@Suite(.ownThreads) struct FolderSourceTests {
    @Test func picturesInSubfoldersAreFoundInNaturalOrder() throws {
        let scratch = try Scratch()
        for name in [
            "photo10.jpg", "photo2.JPG", "b/2.png", "b/10.webp", "b/a/x.heic", "B.tiff",
            "ü #1?.gif",
        ] { try scratch.write("in/\(name)") }
        let photos = try PhotoList.read(folder: scratch.url.appending(path: "in"))
        #expect(
            photos.records.map(\.name) == [
                "b/2.png", "b/10.webp", "b/a/x.heic", "B.tiff", "photo2.JPG", "photo10.jpg",
                "ü #1?.gif",
            ])
        #expect(photos.skippedFileCount == 0)
        for record in photos.records {
            let path = try #require(record.url).path(percentEncoded: false)
            #expect(path == scratch.path("in/\(record.name)"))
        }
    }

    @Test func skippedFilesAreCountedExceptHiddenFilesAndSidecars() throws {
        let scratch = try Scratch()
        let hidden = [".hidden.jpg", ".git/x.jpg"]
        let sidecars = ["a.xmp", "b/a.jpg.XMP"]
        for name in ["a.jpg", "readme.txt", "b/c.plist", "jpg"] + hidden + sidecars {
            try scratch.write("in/\(name)")
        }
        let photos = try PhotoList.read(folder: scratch.url.appending(path: "in"))
        #expect(photos.records.map(\.name) == ["a.jpg"])
        #expect(photos.skippedFileCount == 3)
    }

    @Test func linksOutOfFolderAreCounted() throws {
        let scratch = try Scratch()
        try scratch.write("outside/secret.jpg")
        try scratch.write("in/a.jpg")
        try scratch.write("in-sibling/x.jpg")
        try scratch.write("in/sub/notes.txt")
        try scratch.link("in/inside.jpg", to: "a.jpg")
        try scratch.link("in/out.jpg", to: "../outside/secret.jpg")
        try scratch.link("in/absolute.jpg", to: scratch.path("outside/secret.jpg"))
        try scratch.link("in/sibling.jpg", to: "../in-sibling/x.jpg")
        try scratch.link("in/folder", to: "../outside")
        try scratch.link("in/through.jpg", to: "folder/secret.jpg")
        try scratch.link("in/chain.jpg", to: "out.jpg")
        try scratch.link("in/loop", to: ".")
        try scratch.link("in/self.jpg", to: "self.jpg")
        try scratch.link("in/dangling.jpg", to: "gone.jpg")
        try scratch.link("in/folder.jpg", to: "sub")
        let photos = try PhotoList.read(folder: scratch.url.appending(path: "in"))
        #expect(photos.records.map(\.name) == ["a.jpg", "inside.jpg"])
        #expect(photos.records.last?.url == photos.records.first?.url)
        #expect(photos.skippedFileCount == 3)
        #expect(photos.outwardLinkCount == 6)
    }

    /// Links can lead out of the folder, back into it, and in circles.
    @Test func linksOutOfFolderAreFollowedOnRequest() throws {
        let scratch = try Scratch()
        for name in [
            "in/a.jpg", "in/sub/b.jpg", "outside/c.jpg", "outside/deep/d.jpg", "other/e.jpg",
            "other/notes.txt",
        ] {
            try scratch.write(name)
        }
        try scratch.link("in/best", to: "../outside")
        try scratch.link("in/zweite", to: scratch.path("outside"))
        try scratch.link("in/e.jpg", to: "../other/e.jpg")
        try scratch.link("in/notes.txt", to: "../other/notes.txt")
        try scratch.link("in/here", to: ".")
        try scratch.link("in/sub/above", to: "../..")
        try scratch.link("outside/deep/back", to: "../../in")
        try scratch.link("outside/deep/up", to: "..")
        let source = scratch.url.appending(path: "in")
        let photos = try PhotoList.read(folder: source, followingLinks: true)
        // The folder above this one is read in the place of the last link that leads to it.
        let names = Set(photos.records.map(\.name))
        #expect(
            names.isSuperset(of: [
                "a.jpg", "best/c.jpg", "best/deep/d.jpg", "e.jpg", "sub/b.jpg",
            ]))
        #expect(names.contains("sub/above/other/e.jpg"))
        // Every folder is entered once, under whatever name.
        let urls = photos.records.compactMap { $0.url?.absoluteString }
        #expect(urls.count == Set(urls).count + 1, "\(urls)")
        for record in photos.records {
            let file = try #require(record.file)
            #expect(try LocalFiles.bytes(of: file, named: record.name) == [])
        }
        // A link that changes later does not lead elsewhere.
        let followed = try #require(photos.records.first { $0.name == "best/c.jpg" })
        try FileManager.default.removeItem(atPath: scratch.path("outside/c.jpg"))
        try scratch.link("outside/c.jpg", to: scratch.path("other/e.jpg"))
        #expect(LocalFiles.status(of: try #require(followed.file)) == nil)
        let flat = try PhotoList.read(
            folder: source, enteringSubfolders: false, followingLinks: true)
        #expect(flat.records.map(\.name) == ["a.jpg", "e.jpg"])
    }

    @Test func foldersOfStorageAndSystemsAreSkipped() throws {
        let scratch = try Scratch()
        for name in [
            "@eaDir/a.jpg", "#recycle", "@Recycle", "$RECYCLE.BIN", "$Recycle.Bin", "lost+found",
            "__MACOSX", "@__thumb", ".thumbnails", "System Volume Information", "b/@eaDir",
            "#snapshot",
        ] {
            try scratch.write("in/\(name)/SYNOPHOTO_THUMB_M.jpg")
        }
        for name in ["in/a.jpg", "in/b/eaDir/c.jpg", "in/lost+found.jpg"] {
            try scratch.write(name)
        }
        let photos = try PhotoList.read(folder: scratch.url.appending(path: "in"))
        #expect(
            photos.records.map(\.name) == ["a.jpg", "b/eaDir/c.jpg", "lost+found.jpg"])
        #expect(photos.skippedFileCount == 0)
        // A person may name such a folder.
        let named = try PhotoList.read(folder: scratch.url.appending(path: "in/#recycle"))
        #expect(named.records.count == 1)
    }

    @Test func linkedSourceFolderIsRead() throws {
        let scratch = try Scratch()
        try scratch.write("in/a.jpg")
        try scratch.link("link", to: "in")
        guard case .folder(let url) = try PhotoSource(argument: scratch.path("link")) else {
            Issue.record("A link to a folder must count as a folder.")
            return
        }
        #expect(try PhotoList.read(folder: url).records.map(\.name) == ["a.jpg"])
    }

    @Test func folderWithoutPicturesNamesSupportedExtensions() throws {
        let scratch = try Scratch()
        try scratch.write("in/readme.txt")
        #expect(
            message { _ = try PhotoList.read(folder: scratch.url.appending(path: "in")) }
                == "in: the folder contains no pictures, only 1 other file; expected files that "
                + "end in .jpg .jpeg .jpe .jfif .png .webp .gif .tiff .tif .heic .heif .hif "
                + ".avif .dng .nef .nrw .cr2 .arw .sr2 .orf .rw2 .rwl .pef .srw")
    }

    @Test func namesNeedNotBeUTF8() throws {
        let scratch = try Scratch()
        let root = try #require(LocalPath(scratch.url))
        let folder = Array("in/caf".utf8) + [0xE9]
        for name in [[0x61, 0xFF], [0xFF], [0xFE], Array("b".utf8)] {
            let path = root.appending(folder + Array("/".utf8) + name + Array(".jpg".utf8))
            _ = try StagedFile([], at: path).publish(replacing: false)
        }
        let photos = try PhotoList.read(folder: scratch.url.appending(path: "in"))
        #expect(
            photos.records.map(\.name) == [
                #"caf\xE9/\xFE.jpg"#, #"caf\xE9/\xFF.jpg"#, #"caf\xE9/a\xFF.jpg"#,
                #"caf\xE9/b.jpg"#,
            ])
        #expect(Set(photos.records.map(\.id)).count == 4)
        let bytes: [UInt8] = Array("caf".utf8) + [0xE9, 0x2F, 0xFE] + Array(".jpg".utf8)
        #expect(photos.records[0].nameBytes == bytes)
        for record in photos.records {
            let url = try #require(record.url)
            #expect(try LocalFiles.photoBytes(of: url, in: nil, limit: 10).get() == [])
        }
        // Lists and arguments can name such files too.
        let list = try scratch.write("in/list.txt", Array("caf%E9/%FE.jpg\n".utf8))
        let listed = try PhotoList.read(file: list).records
        #expect(listed.map(\.name) == [#"\xFE.jpg"#])
        #expect(listed[0].nameBytes == [0xFE] + Array(".jpg".utf8))
        #expect(listed[0].url == photos.records[0].url)
        let source = try PhotoSource(path: root.appending(folder).bytes)
        guard case .folder(let url) = source else {
            Issue.record("This must be a folder: \(source)")
            return
        }
        #expect(try PhotoList.read(folder: url).records.map(\.url) == photos.records.map(\.url))
        #expect(
            message { _ = try PhotoSource(path: [0x78, 0xFF]) }
                == #"x\xFF: there is no such file or folder; check the name"#)
    }

    @Test func unsupportedFormatsAreNamed() throws {
        let scratch = try Scratch()
        // Many raw files start with the signature of TIFF.
        let tiff: [UInt8] = [0x49, 0x49, 0x2A, 0]
        for name in ["a.jpg", "b/raw.IIQ", "c.bmp", "d.jxl", "notes.txt"] {
            try scratch.write("in/\(name)", tiff)
        }
        try scratch.write("in/notes.txt", Array("hello".utf8))
        try scratch.write("in/c.bmp", Array("BM".utf8))
        let photos = try PhotoList.read(folder: scratch.url.appending(path: "in"))
        #expect(photos.records.map(\.name) == ["a.jpg"])
        #expect(
            photos.unsupportedFiles.map { "\($0.name): \($0.format)" } == [
                "b/raw.IIQ: a camera's raw file of this kind", "c.bmp: a BMP picture",
                "d.jxl: a JPEG XL picture",
            ])
        #expect(photos.skippedFileCount == 1)
        let folder = scratch.url.appending(path: "in")
        try FileManager.default.removeItem(at: folder.appending(path: "a.jpg"))
        #expect(
            message { _ = try PhotoList.read(folder: folder) }.hasPrefix(
                "in: the folder contains no pictures, only 4 other files (unsupported: "
                    + "a BMP picture, a JPEG XL picture, a camera's raw file of this kind); "
                    + "expected"))
        #expect(
            message { _ = try PhotoList.read(file: folder.appending(path: "c.bmp")) }
                == "c.bmp: it is a BMP picture, which is not read: its decoder is not safe with "
                + "damaged or malicious files; "
                + "convert it to JPEG, PNG, TIFF or WebP")
    }

    /// Many raw files start like a TIFF file, whose first picture is a small preview.
    @Test func rawFileOfUnknownKindIsNotTakenForItsPreview() throws {
        let scratch = try Scratch()
        let tiff = try encoded(as: .tiff)
        func reason(_ kind: String) -> String {
            "\(kind), which is not read: there is no decoder for it; export it as JPEG"
        }
        let (canon, other) = (
            reason("a Canon raw file (CR3)"), reason("a camera's raw file of this kind")
        )
        for (name, reason) in [("in/DSC_1.CR3", canon), ("in/a.3fr", other)] {
            let file = try scratch.write(name, tiff)
            #expect(
                message { _ = try PhotoList.read(file: file) }
                    == "\(file.lastPathComponent): it is \(reason)")
        }
        try scratch.write("in/b.tif", tiff)
        try scratch.link("in/c.tif", to: "DSC_1.CR3")
        let folder = try PhotoList.read(folder: scratch.url.appending(path: "in"))
        #expect(folder.unsupportedFiles.map(\.name) == ["a.3fr", "DSC_1.CR3"])
        let lines = ["c.tif ✘ This is \(canon).", "b.tif → \(scratch.url.absoluteString)in/b.tif"]
        #expect(folder.lines.sorted() == lines.sorted())
        let list = try scratch.write(
            "list.txt", Array("in/DSC_1.CR3\nin/b.tif\nhttps://h/x.3FR\n".utf8))
        let photos = try PhotoList.read(file: list)
        #expect(
            photos.lines == [
                "DSC_1.CR3 ✘ This is \(canon).", lines[1], "x.3FR ✘ This is \(other).",
            ])
        #expect(photos.records[0].state.failure?.cause?.code == .formatNotRead)
    }

    @Test func rawFilesOfKnownKindsArePhotos() throws {
        let scratch = try Scratch()
        for name in ["in/DSC_1.NEF", "in/DSC_1.JPG", "in/a.dng"] { try scratch.write(name) }
        let photos = try PhotoList.read(folder: scratch.url.appending(path: "in"))
        #expect(photos.records.map(\.name) == ["a.dng", "DSC_1.JPG", "DSC_1.NEF"])
        #expect(photos.excludingRawFiles().records.map(\.name) == ["DSC_1.JPG"])
        // The name of a file in a list counts, too.
        let list = try scratch.write(
            "list.json", Array(#"{"A": "in/DSC_1.NEF", "B": "in/DSC_1.JPG"}"#.utf8))
        let named = try PhotoList.read(file: list)
        #expect(named.excludingRawFiles().records.map(\.name) == ["B"])
    }

    @Test func pictureWithoutExtensionIsFoundBySignature() throws {
        let scratch = try Scratch()
        try scratch.write("in/IMG_0001", [0xFF, 0xD8, 0xFF, 0xE0, 0, 0])
        try scratch.write("in/scan.backup", [0xFF, 0xD8, 0xFF, 0xE0, 0, 0])
        try scratch.write("in/Makefile", Array("all:".utf8))
        let photos = try PhotoList.read(folder: scratch.url.appending(path: "in"))
        #expect(photos.records.map(\.name) == ["IMG_0001", "scan.backup"])
        #expect(photos.skippedFileCount == 1)
    }

    @Test func foldersBeyondDepthLimitAreFailedRecords() throws {
        let scratch = try Scratch()
        try scratch.write("in/a/b/c/deep.jpg")
        try scratch.write("in/a/b/x.jpg")
        let limits = PhotoListLimits(bytes: 1, entries: 10, depth: 2)
        let photos = try PhotoList.read(folder: scratch.url.appending(path: "in"), limits: limits)
        #expect(photos.records.map(\.name) == ["a/b/c/", "a/b/x.jpg"])
        #expect(
            photos.lines[0] == "a/b/c/ ✘ The folder \"a/b/c\" was skipped: folders are nested "
                + "deeper than 2 levels.")
        let narrow = PhotoListLimits(bytes: 1, entries: 1, depth: 9)
        #expect(
            message {
                _ = try PhotoList.read(folder: scratch.url.appending(path: "in"), limits: narrow)
            } == "in: there are more than 1 photos; split them into several lists or folders")
    }

    @Test func relativeURLsResolveAgainstListFolder() throws {
        let scratch = try Scratch()
        let file = try scratch.write("my lists/photos.txt", Array("birds/a.jpg\n".utf8))
        let photos = try PhotoList.read(file: file)
        #expect(
            photos.records[0].url?.path(percentEncoded: false)
                == scratch.path("my lists/birds/a.jpg"))
    }

    @Test func pictureFileIsListOfOnePhoto() throws {
        let scratch = try Scratch()
        let jpeg = try scratch.write("scan", [0xFF, 0xD8, 0xFF, 0xE0, 0, 0])
        let bigTIFF = try scratch.write("large scan", [0x4D, 0x4D, 0x00, 0x2B, 0, 8])
        let empty = try scratch.write("empty.jpg")
        #expect(try PhotoList.read(file: jpeg).records.map(\.url) == [jpeg])
        #expect(try PhotoList.read(file: bigTIFF).records.map(\.url) == [bigTIFF])
        #expect(try PhotoList.read(file: empty).records.map(\.name) == ["empty.jpg"])
        // The picture exceeds the limit for lists, which does not apply to pictures.
        let limits = PhotoListLimits(bytes: 5, entries: 1, depth: 1)
        #expect(try PhotoList.read(file: jpeg, limits: limits).records.map(\.name) == ["scan"])
        let film = try scratch.write("film", Array("[\"a.jpg\"]".utf8))
        #expect(
            message { _ = try PhotoList.read(file: film, limits: limits) }
                == "film: the list has more than 5 bytes; split it into several lists")
    }

    @Test func argumentsAreParsed() throws {
        let scratch = try Scratch()
        let file = try scratch.write("in/list.plist")
        let folder = scratch.url.appending(path: "in", directoryHint: .isDirectory)
        #expect(try PhotoSource(argument: scratch.path("in")) == .folder(folder))
        #expect(try PhotoSource(argument: "in/", relativeTo: scratch.url) == .folder(folder))
        #expect(try PhotoSource(argument: "in/list.plist", relativeTo: scratch.url) == .file(file))
        #expect(try PhotoSource(argument: file.absoluteString) == .file(file))
        let web = try #require(URL(string: "https://h/list.json"))
        #expect(try PhotoSource(argument: "https://h/list.json") == .web(web))
    }

    @Test(arguments: [
        ("ftp://h/x", "ftp://h/x: the scheme \"ftp\" is not supported; use http, https or a path"),
        (
            "/no/such/list.plist",
            "/no/such/list.plist: there is no such file or folder; check the name"
        ),
        (
            "http://h:70000/",
            "http://h:70000/: \"http://h:70000/\" has a port outside the range 1 to 65535; "
                + "specify a list, a folder, a picture or a URL"
        ),
        (
            "file://nas/x",
            "file://nas/x: \"file://nas/x\" does not name a file on this machine; "
                + "specify a list, a folder, a picture or a URL"
        ),
        ("", "source: the argument is empty; specify a list, a folder, a picture or a URL"),
        (
            "/dev/null",
            "/dev/null: this is neither a file nor a folder; "
                + "specify a list, a folder, a picture or a URL"
        ),
    ])
    func invalidArgumentErrorSaysWhatToDo(argument: String, expected: String) {
        #expect(message { _ = try PhotoSource(argument: argument) } == expected)
    }

    @Test func missingFileThrows() {
        let file = URL(filePath: "/no/such/list.plist")
        #expect(
            message { _ = try PhotoList.read(file: file) }
                == "list.plist: there is no such file or folder; check the name")
        #expect(
            message { _ = try PhotoList.read(folder: file) }
                == "list.plist: there is no such file or folder; check the name")
    }
}
