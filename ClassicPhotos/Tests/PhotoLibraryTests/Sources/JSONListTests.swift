import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

@Suite(.ownThreads) struct JSONListTests {
    @Test func dictionaryIsSortedInNaturalOrder() throws {
        let photos = try list(
            #"{"photo10": "http://h/10.jpg", "Photo2": "http://h/2.jpg", "bird": "b.jpg"}"#)
        #expect(
            photos.lines == [
                "bird → https://example.org/lists/b.jpg", "Photo2 → http://h/2.jpg",
                "photo10 → http://h/10.jpg",
            ])
    }

    @Test func arrayOfDictionariesKeepsOrderAndIgnoresOtherKeys() throws {
        let photos = try list(
            """
            [
              {"name": "b", "url": "http://h/b.jpg", "size": [1, {"x": null}]},
              {"url": "http://h/a.jpg", "name": "a"}
            ]
            """)
        #expect(photos.lines == ["b → http://h/b.jpg", "a → http://h/a.jpg"])
    }

    @Test func arrayOfURLsNamesPhotosAfterFiles() throws {
        let photos = try list(#"["http://h/x/a%20b.jpg?size=2", "/c.png", "http://h/"]"#)
        #expect(
            photos.lines == [
                "a b.jpg → http://h/x/a%20b.jpg?size=2", "c.png → https://example.org/c.png",
                "h → http://h/",
            ])
    }

    @Test func escapesAndUnicodeAreDecoded() throws {
        let photos = try list(
            #"{"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00 é😀": "http:\/\/h\/1.jpg"}"#)
        #expect(photos.records.first?.name == "\"\\/\u{8}\u{C}\n\r\té😀 é😀")
    }

    @Test func byteOrderMarkIsIgnored() throws {
        #expect(try list("\u{FEFF}[\"http://h/1.jpg\"]").lines == ["1.jpg → http://h/1.jpg"])
    }

    @Test func entriesWithEqualNamesAreAllKept() throws {
        let photos = try list(#"{"a": "http://h/1.jpg", "a": "http://h/2.jpg"}"#)
        #expect(photos.lines == ["a → http://h/1.jpg", "a → http://h/2.jpg"])
    }

    @Test func invalidEntriesFailIndividually() throws {
        let photos = try list(
            """
            [
              {"name": "no URL"},
              {"url": "http://h/nameless.jpg"},
              {"name": "", "url": "http://h/1.jpg"},
              {"name": "number", "url": 3},
              {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6},
              {},
              17,
              ["http://h/1.jpg"],
              "ftp://h/1.jpg",
              {"name": "good", "url": "http://h/good.jpg"}
            ]
            """, named: "photos.json")
        #expect(
            photos.lines == [
                "no URL ✘ photos.json, line 2: \"no URL\" has no \"url\"; its keys are \"name\".",
                "http://h/nameless.jpg ✘ photos.json, line 3: the entry has no \"name\"; "
                    + "its keys are \"url\".",
                "http://h/1.jpg ✘ photos.json, line 4: the entry has an empty string as its "
                    + "\"name\".",
                "number ✘ photos.json, line 5: \"number\" has a number as its \"url\".",
                "Entry 5 ✘ photos.json, line 6: the entry has no \"name\"; its keys are \"a\", "
                    + "\"b\", \"c\", \"d\", \"e\", ….",
                "Entry 6 ✘ photos.json, line 7: the entry has no \"name\"; it is empty.",
                "Entry 7 ✘ photos.json, line 8: there is a number where {name, url} was expected.",
                "Entry 8 ✘ photos.json, line 9: there is an array where {name, url} was expected.",
                "ftp://h/1.jpg ✘ photos.json, line 10: \"ftp://h/1.jpg\" has the unsupported scheme "
                    + "\"ftp\"; use http or https.",
                "good → http://h/good.jpg",
            ])
        #expect(photos.records.allSatisfy { $0.state.failure?.isRetryable != true })
    }

    @Test func invalidDictionaryMembersFailIndividually() throws {
        let photos = try list(
            """
            {"good": "http://h/1.jpg",
             "true": true,
             "": "http://h/2.jpg",
             "bad": "ht tp://h/3.jpg"}
            """, named: "photos.json")
        #expect(
            photos.lines == [
                "http://h/2.jpg ✘ photos.json, line 3: the URL \"http://h/2.jpg\" has an empty "
                    + "name.",
                "bad ✘ photos.json, line 4: \"ht tp://h/3.jpg\" is not a valid URL.",
                "good → http://h/1.jpg",
                "true ✘ photos.json, line 2: \"true\" has a Boolean value where a URL was expected.",
            ])
    }

    @Test(arguments: [
        (
            "{",
            "line 1: found the end of the file in a dictionary; expected a key in quotation marks"
        ),
        (
            "[\n\"a.jpg\",\n]",
            "line 3: found \"]\"; expected a value: a string in quotation marks, [ or {"
        ),
        (
            "[\"a.jpg\"\n \"b.jpg\"]",
            "line 2: found \"\"\" after an element; expected \",\" or \"]\""
        ),
        ("{\"a\" \"b\"}", "line 1: found \"\"\" after the key \"a\"; expected \":\""),
        ("{\"a\": \"b\" \"c\"}", "line 1: found \"\"\" after an entry; expected \",\" or \"}\""),
        ("{a: \"b\"}", "line 1: found \"a\" in a dictionary; expected a key in quotation marks"),
        (
            "[\n\"a.jpg",
            "line 2: this string is never closed; expected a closing quotation mark"
        ),
        (
            "[\"a\nb\"]",
            "line 1: a string contains a control character or a line break; "
                + "expected a closing quotation mark, or an escape such as \\n"
        ),
        (
            "[\"\\x\"]",
            "line 1: a string contains an unknown escape; "
                + "expected \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u"
        ),
        (
            "[\"\\uD83D\"]",
            "line 1: a \\u escape is invalid; "
                + "expected four hexadecimal digits, or two escapes that form a surrogate pair"
        ),
        (
            "[\"a.jpg\"] x",
            "line 1: found \"x\" after the end of the list; expected the end of the file"
        ),
        ("[\"a.jpg\", 1-2]", "line 1: \"1-2\" is not a number; expected a value"),
        ("[nil]", "line 1: found \"n\"; expected a value: a string in quotation marks, [ or {"),
    ])
    func syntaxErrorNamesLineAndExpectation(text: String, message: String) {
        #expect(refusal(text, named: "photos.json") == "photos.json, " + message)
    }

    @Test(arguments: [
        (
            "{\"photos\": [\"a.jpg\"]}",
            "photos.json, line 1: the value of the key \"photos\" is an array; " + shapes
        ),
        ("[\n[\"a.jpg\"]]", "photos.json, line 2: the array contains an array; " + shapes),
        (
            "[{\"link\": \"a.jpg\"}]",
            "photos.json, line 1: the array contains a dictionary; " + shapes
        ),
        ("[]", "photos.json: the list is empty; expected at least one photo"),
        ("{ }", "photos.json: the list is empty; expected at least one photo"),
    ])
    func otherJSONIsRejected(text: String, message: String) {
        #expect(refusal(text, named: "photos.json") == message)
    }

    @Test func deepNestingIsRejectedWithoutStackOverflow() {
        let deep = String(repeating: "[", count: 1_000_000)
        #expect(
            refusal(deep) == "photos, line 1: the list is nested deeper than 32 levels; "
                + "a list of photos needs only two")
    }
}

let shapes = "expected a dictionary of name → URL, an array of {name, url}, or an array of URLs"
