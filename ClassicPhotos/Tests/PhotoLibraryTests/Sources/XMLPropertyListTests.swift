import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

@Suite(.ownThreads) struct XMLPropertyListTests {
    @Test func dictionaryIsSortedInNaturalOrder() throws {
        let photos = try list(
            propertyList(
                """
                <dict>
                  <key>photo10</key> <string>http://h/10.jpg</string>
                  <key>photo2</key> <string> http://h/2.jpg
                  </string>
                </dict>
                """))
        #expect(photos.lines == ["photo2 → http://h/2.jpg", "photo10 → http://h/10.jpg"])
    }

    @Test func arrayOfDictionariesKeepsOrder() throws {
        let photos = try list(
            propertyList(
                """
                <array>
                  <dict><key>url</key><string>b.jpg</string><key>name</key><string>B</string></dict>
                  <!-- a remark -->
                  <dict>
                    <key>name</key><string>A</string><key>url</key><string>http://h/a.jpg</string>
                    <key>taken</key><date>2015-02-03T17:41:00Z</date>
                    <key>size</key><integer>3</integer><key>star</key><true/>
                    <key>tags</key><array><string>x</string></array>
                  </dict>
                  <string>http://h/c.jpg</string>
                </array>
                """))
        #expect(
            photos.lines == [
                "B → https://example.org/lists/b.jpg", "A → http://h/a.jpg",
                "c.jpg → http://h/c.jpg",
            ])
    }

    @Test func referencesAndCDATAAreDecoded() throws {
        let photos = try list(
            propertyList(
                """
                <dict><key>&lt;&amp;&gt;&quot;&apos;&#65;&#x1F600;<![CDATA[<b>&amp;]]></key>
                <string>http://h/?a=1&amp;b=2</string></dict>
                """))
        #expect(photos.lines == ["<&>\"'A😀<b>&amp; → http://h/?a=1&b=2"])
    }

    @Test func invalidEntriesFailWithTheirLines() throws {
        let photos = try list(
            propertyList(
                """
                <dict>
                  <key>Deliberately wrong</key>
                  <string>ftp://h/1.jpg</string>
                  <key>Empty</key>
                  <string/>
                  <key>Good</key>
                  <string>http://h/2.jpg</string>
                  <key>Number</key>
                  <integer>3</integer>
                </dict>
                """), named: "photos.plist")
        #expect(
            photos.lines == [
                "Deliberately wrong ✘ photos.plist, line 5: \"ftp://h/1.jpg\" has the unsupported "
                    + "scheme \"ftp\"; use http or https.",
                "Empty ✘ photos.plist, line 7: the URL is empty.",
                "Good → http://h/2.jpg",
                "Number ✘ photos.plist, line 11: \"Number\" has a number where a URL was expected.",
            ])
    }

    @Test(arguments: [
        (
            "<dict>\n<key>a</key>\n<string>b</strin>\n</dict>",
            "line 6: found </strin>; expected </string> for the <string> of line 6"
        ),
        (
            "<dict>\n<key>a</key>\n</dict>",
            "line 6: the key \"a\" has no value; expected <string> after each <key>"
        ),
        (
            "<dict>\n<string>a</string></dict>",
            "line 5: found <string> in place of a key; expected <key> before each value"
        ),
        (
            "<dict>\n<key>a</key><key>b</key></dict>",
            "line 5: found <key> in place of a value; expected <string>, <dict> or <array>"
        ),
        (
            "<array>\n\n<strin>a</strin></array>",
            "line 6: unknown element <strin>; expected <string>, <dict> or <array>"
        ),
        (
            "<dict><key>a</key>\n<string>http://h/?a=1&b=2</string></dict>",
            "line 5: invalid character reference \"&b\"; "
                + "expected &amp; for an ampersand, &lt; &gt; &quot; &apos; or &#…;"
        ),
        (
            "<array><string>a<b>c</b></string></array>",
            "line 4: found <b> inside <string>; expected text, then </string>"
        ),
        ("<array>\nx</array>", "line 5: found \"x\" between the tags; expected a tag"),
        ("<array>\n<!-- x</array>", "line 5: this comment is never closed; expected -->"),
        (
            "<array>\n<string><![CDATA[x</string></array>",
            "line 5: this CDATA section is never closed; expected ]]>"
        ),
        (
            "<array></array>\n<array></array>",
            "line 5: found <array>; expected </plist> for the <plist> of line 4"
        ),
        ("", "line 5: the property list is empty; expected <dict> or <array>"),
    ])
    func syntaxErrorNamesLineAndExpectation(elements: String, message: String) {
        #expect(
            refusal(propertyList(elements), named: "photos.plist")
                == "photos.plist, " + message)
    }

    @Test func truncatedListNamesUnclosedElement() {
        #expect(
            refusal("<plist>\n<dict>\n<key>a</key>\n<string>b</string>\n", named: "photos.plist")
                == "photos.plist, line 2: this <dict> is never closed; expected </dict>")
        #expect(
            refusal("<plist>\n<dict>\n<key>a</key>\n<string>b", named: "photos.plist")
                == "photos.plist, line 4: this <string> is never closed; expected </string>")
        #expect(
            refusal("<plist>\n<array>\n\n<strin", named: "photos.plist")
                == "photos.plist, line 4: this tag is never closed; expected \">\"")
        #expect(
            refusal("<plist><array></array>", named: "photos.plist")
                == "photos.plist, line 1: this <plist> is never closed; expected </plist>")
    }

    @Test func entityDeclarationsAreRejected() {
        let external = """
            <?xml version="1.0"?>
            <!DOCTYPE plist [ <!ENTITY secret SYSTEM "file:///etc/hostname"> ]>
            <plist><dict><key>a</key><string>&secret;</string></dict></plist>
            """
        #expect(
            refusal(external, named: "photos.plist")
                == "photos.plist, line 2: the document type declares entities, which are not "
                + "supported; expected a document type without [ ]")
        #expect(
            refusal("<plist><array><string>&secret;</string></array></plist>")
                == "photos, line 1: invalid character reference \"&secret\"; "
                + "expected &amp; for an ampersand, &lt; &gt; &quot; &apos; or &#…;")
    }

    @Test func otherEncodingsAreRejected() {
        #expect(
            refusal("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<plist><array/></plist>")
                == "photos, line 1: the property list declares an encoding other than UTF-8; "
                + "expected UTF-8")
    }

    @Test func otherXMLIsRejected() {
        #expect(
            refusal("<?xml version=\"1.0\"?>\n<rss>x</rss>")
                == "photos, line 2: this is not a property list; expected <plist>")
        #expect(
            refusal("<!DOCTYPE html>\n<html><body>Not found</body></html>", named: "photos.plist")
                == "photos.plist: this is a web page, not a list of photos; " + shapes)
        #expect(
            refusal("<plist><string>x</string></plist>")
                == "photos: this is a string, not a list; " + shapes)
        #expect(
            refusal("<plist><array/></plist>")
                == "photos: the list is empty; expected at least one photo")
    }

    @Test func deepNestingIsRejectedWithoutStackOverflow() {
        let deep = "<plist>" + String(repeating: "<array>\n", count: 100_000)
        #expect(
            refusal(deep) == "photos, line 33: the list is nested deeper than 32 levels; "
                + "a list of photos needs only two")
    }
}
