import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.ownThreads) struct TextListTests {
    @Test func everyLineIsURLExceptCommentsAndBlankLines() throws {
        let photos = try list(
            "\u{FEFF}# birds\r\nhttp://h/1.jpg\r\n\r\n   \t\n  # more\n  birds/two 2.jpg  \nfile:///x\nlast",
            named: "birds.txt")
        #expect(
            photos.lines == [
                "1.jpg → http://h/1.jpg",
                "two 2.jpg → https://example.org/lists/birds/two%202.jpg",
                "file:///x ✘ birds.txt, line 7: \"file:///x\" is a file URL, which only a local list "
                    + "may contain; use http or https.",
                "last → https://example.org/lists/last",
            ])
    }

    @Test func failureOmitsPasswordOfURL() throws {
        let photos = try list("http://h/1.jpg\nhttp://me:secret@h/2.jpg", named: "x.txt")
        #expect(
            photos.lines == [
                "1.jpg → http://h/1.jpg",
                "h ✘ x.txt, line 2: the URL for \"h\" contains a user name or password, which are "
                    + "not supported; remove them.",
            ])
    }

    /// A list has the same entries in every order.
    @Test(arguments: [
        ["notes.txt", "a.png"], ["a.png", "notes.txt"], ["x", "y", "http://h/z"],
        ["", "x", "a.gif"],
    ])
    func anyLineMakesTextAList(entries: [String]) throws {
        let photos = try list(entries.joined(separator: "\n"), named: "photos.txt")
        #expect(
            photos.records.map(\.name)
                == entries.filter { !$0.isEmpty }.map { $0 == "http://h/z" ? "z" : $0 })
    }

    @Test func entriesMayEndWithZeroBytes() throws {
        let name = "a\nb #1\u{301}?.jpg"
        let photos = try PhotoList.parse(
            zeroSeparated: Array("http://h/1.jpg\0\(name)\0\0 x\0".utf8) + [0xFF, 0],
            named: "standard input", relativeTo: URL(filePath: "/in/", directoryHint: .isDirectory))
        #expect(photos.records.map(\.name) == ["1.jpg", name, "x", "\\xFF"])
        let error = #expect(throws: PhotoSourceError.self) {
            try PhotoList.parse(zeroSeparated: [0, 0], named: "x", relativeTo: nil)
        }
        #expect(error?.kind == .noPhotos)
    }

    @Test func otherTextIsRejected() {
        #expect(
            refusal("# remark\nDear aunt,\nthank you", named: "letter.txt")
                == "letter.txt, line 2: \"Dear aunt,\" is not the URL of a picture; "
                + "expected one URL per line, a property list, or JSON")
        #expect(
            refusal("Subject: photos", named: "letter.txt")
                == "letter.txt, line 1: \"Subject: photos\" is not the URL of a picture; "
                + "expected one URL per line, a property list, or JSON")
        #expect(
            refusal("# nothing\n\n", named: "none.txt")
                == "none.txt: the list is empty; expected at least one photo")
        #expect(refusal("", named: "none.txt") == "none.txt: the file is empty; " + shapes)
        #expect(
            refusal([0x7F, 0x45, 0x4C, 0x46, 0, 0], named: "program")
                == "program: this is neither a picture nor UTF-8 text; expected a property list, "
                + "JSON, or a UTF-8 text file with one URL per line")
    }

    @Test func messagesContainNoControlCharacters() {
        #expect(
            refusal("a\u{1B}[2J\u{202E}b", named: "x.txt")
                == "x.txt, line 1: \"a\\u{1B}[2J\\u{202E}b\" is not the URL of a picture; "
                + "expected one URL per line, a property list, or JSON")
    }
}

@Suite(.ownThreads) struct PhotoListURLTests {
    @Test(arguments: [
        ("http:///a.jpg", "\"http:///a.jpg\" has no host"),
        ("http:a.jpg", "\"http:a.jpg\" has no host"),
        (
            "http://h:99999/a.jpg",
            "\"http://h:99999/a.jpg\" has a port outside the range 1 to 65535"
        ),
        ("http://h:0/a.jpg", "\"http://h:0/a.jpg\" has a port outside the range 1 to 65535"),
        (
            "http://münchen.de/a.jpg",
            "\"http://münchen.de/a.jpg\" has a host name with invalid characters; "
                + "write international names in their xn-- form"
        ),
        (
            "javascript:alert(1)",
            "\"javascript:alert(1)\" has the unsupported scheme \"javascript\"; use http or https"
        ),
        (
            "file:///etc/passwd",
            "\"file:///etc/passwd\" is a file URL, which only a local list may contain; "
                + "use http or https"
        ),
        ("http://[::1/a.jpg", "\"http://[::1/a.jpg\" is not a valid URL"),
        ("  ", "the URL is empty"),
    ])
    func invalidURLFailsWithReason(url: String, problem: String) throws {
        let photos = try list("{\"a\": \"\(url)\"}", named: "x.json")
        #expect(photos.lines == ["a ✘ x.json, line 1: \(problem)."])
    }

    @Test func localListMayContainFileURLs() throws {
        let photos = try list(
            #"["a.jpg", "../b.jpg", "/c.jpg", "file:///d.jpg", "http://h/e.jpg", "//nas/f.jpg", "file:g"]"#,
            named: "x.json", relativeTo: fileBase)
        #expect(
            photos.lines == [
                "a.jpg → file:///lists/a.jpg", "b.jpg → file:///lists/../b.jpg",
                "c.jpg → file:///c.jpg",
                "d.jpg → file:///d.jpg", "e.jpg → http://h/e.jpg",
                "//nas/f.jpg ✘ x.json, line 1: \"//nas/f.jpg\" does not name a file on this "
                    + "machine; use file:///path.",
                "file:g ✘ x.json, line 1: \"file:g\" does not name a file on this machine; "
                    + "use file:///path.",
            ])
    }

    @Test func relativeURLNeedsBaseURL() throws {
        let photos = try list(#"["a.jpg", "http://h/b.jpg"]"#, named: "x.json", relativeTo: nil)
        #expect(
            photos.lines == [
                "a.jpg ✘ x.json, line 1: \"a.jpg\" is a relative URL, but the address of the list "
                    + "is unknown; use an absolute URL.",
                "b.jpg → http://h/b.jpg",
            ])
    }

    @Test func pictureIsListOfOnePhoto() throws {
        let address = try #require(URL(string: "https://example.org/a/Bird%201"))
        let pictures: [[UInt8]] = [
            [0xFF, 0xD8, 0xFF, 0xE0], [0x89] + Array("PNG\r\n\u{1A}\n".utf8), Array("GIF89a".utf8),
            Array("RIFF....WEBPVP8 ".utf8), [0, 0, 0, 0x20] + Array("ftypavif".utf8),
            [0x49, 0x49, 0x2A, 0x00],
        ]
        for bytes in pictures {
            let photos = try PhotoList.parse(bytes: bytes, named: "x", relativeTo: address)
            #expect(photos.lines == ["Bird 1 → https://example.org/a/Bird%201"])
        }
        #expect(
            refusal([0xFF, 0xD8, 0xFF, 0xE0], relativeTo: nil)
                == "photos: this is a picture whose address is unknown; " + shapes)
    }

    @Test func identifiersAreStableAndUnique() throws {
        let short = try list(#"["http://h/b.jpg", "http://h/c.jpg"]"#)
        let long = try list(
            #"["http://h/a.jpg", "http://h/b.jpg", "http://h/c.jpg", "http://h/c.jpg"]"#)
        #expect(long.records[1...2].map(\.id) == short.records.map(\.id))
        #expect(Set(long.records.map(\.id)).count == 4)
    }

    @Test func limitsAreEnforced() {
        let limits = PhotoListLimits(bytes: 40, entries: 2, depth: 4)
        #expect(refusal(#"["http://h/1", "http://h/2"]"#, limits: limits) == "accepted")
        #expect(
            refusal(#"["/1", "/2", "/3"]"#, limits: limits)
                == "photos: there are more than 2 photos; split them into several lists or folders")
        #expect(
            refusal("/1.jpg\n/2.jpg\n/3.jpg", limits: limits)
                == "photos: there are more than 2 photos; split them into several lists or folders")
        #expect(
            refusal(#"{"1":"/1","2":"/2","3":"/3"}"#, limits: limits)
                == "photos: there are more than 2 photos; split them into several lists or folders")
        #expect(
            refusal("[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9]", limits: limits)
                == "photos, line 1: the list has more than 16 values; split it into several lists")
        #expect(
            refusal(String(repeating: " ", count: 41), limits: limits)
                == "photos: the list has more than 40 bytes; split it into several lists")
    }

    @Test(.timeLimit(.minutes(15)))
    func manyEqualEntriesTakeLinearTime() throws {
        let photos = try list(String(repeating: "/a.jpg\n", count: 100_000))
        #expect(Set(photos.records.map(\.id)).count == 100_000)
    }
}
