import OperationsTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads) struct XMPFieldsTests {
    private func fields(_ packet: String) -> XMPFields { XMPFields(Array(packet.utf8)) }

    /// A packet with some elements, and with attributes in its description.
    private func packet(_ elements: String, _ attributes: String = "") -> String {
        """
        <?xpacket begin="\u{FEFF}" id="W5M0MpCehiHzreSzNTczkc9d"?>
        <!-- made by hand -->
        <x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="a > b">
        <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
          xmlns:xmp='http://ns.adobe.com/xap/1.0/' \(attributes)>
        \(elements)
        </rdf:Description></rdf:RDF></x:xmpmeta>
        <?xpacket end="w"?>
        """
    }

    @Test func titleRatingAndKeywordsAreRead() {
        let fields = fields(
            packet(
                """
                <dc:title><rdf:Alt><rdf:li xml:lang="de">Der Zug</rdf:li>
                <rdf:li xml:lang="x-default">The
                train &amp; the&#x20;sea</rdf:li></rdf:Alt></dc:title>
                <dc:description><rdf:Alt><rdf:li>A text</rdf:li></rdf:Alt></dc:description>
                <dc:subject><rdf:Bag><rdf:li>Sea</rdf:li><rdf:li><![CDATA[a <b>]]></rdf:li>
                <rdf:li>Sea</rdf:li><rdf:li> </rdf:li></rdf:Bag></dc:subject>
                """, #"xmp:Rating="4""#))
        #expect(fields.title == "The train & the sea")
        #expect(fields.rating == 4)
        #expect(fields.keywords == ["Sea", "a <b>"])
    }

    @Test(arguments: [("3", 3), ("-1", -1), ("5.0", 5), ("0", 0), ("6", nil), ("many", nil)])
    func ratingIsAnElementOrAnAttribute(text: String, rating: Int?) {
        #expect(fields(packet("<xmp:Rating>\(text)</xmp:Rating>")).rating == rating)
        #expect(fields(packet("", "xmp:Rating='\(text)'")).rating == rating)
    }

    @Test func prefixesMeanTheirNamespaces() {
        let other = """
            <r:Description xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
            xmlns:rate="http://ns.adobe.com/xap/1.0/" xmlns:xmp="http://example.com/" rate:Rating="2"
            xmp:Rating="5"/>
            """
        #expect(fields(other).rating == 2)
        // Without declarations.
        #expect(fields("<rdf:Description xap:Rating='1'/>").rating == 1)
    }

    @Test func whatFollowsAnErrorIsLeftOut() {
        let start = packet("<dc:subject><rdf:Bag><rdf:li>Sea</rdf:li><rdf:li>Su")
        #expect(fields(start).keywords == ["Sea"])
        #expect(fields("").keywords == nil && fields("<").rating == nil)
        #expect(fields("<rdf:Description xmp:Rating='1").rating == nil)
        #expect(fields("\u{0}\u{1}binary<a></b>") == XMPFields())
    }

    /// Neither an entity of the packet nor a file is read.
    @Test func entitiesAreNotExpanded() {
        let bomb = """
            <!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">
            <!ENTITY c SYSTEM "file:///etc/passwd">]>
            """ + packet("<dc:title><rdf:Alt><rdf:li>&b;&c;</rdf:li></rdf:Alt></dc:title>")
        #expect(fields(bomb) == XMPFields())
        let unknown = packet("<dc:title><rdf:Alt><rdf:li>&b;</rdf:li></rdf:Alt></dc:title>")
        #expect(fields(unknown).title == nil)
    }

    @Test func lengthsAreLimited() {
        let item = "<rdf:li>\(String(repeating: "x", count: 1_000))</rdf:li>"
        let items = (0..<100).map { "<rdf:li>k\($0)</rdf:li>" }.joined()
        let fields = fields(
            packet(
                "<dc:title><rdf:Alt>\(item)</rdf:Alt></dc:title>"
                    + "<dc:subject><rdf:Bag>\(item)\(items)</rdf:Bag></dc:subject>"))
        #expect(fields.title?.count == 400)
        #expect(fields.keywords?.count == 64 && fields.keywords?.first?.count == 100)
        // The rating is behind the first 64 KiB.
        let padding = String(repeating: " ", count: 65_536)
        #expect(self.fields(packet(padding + "<xmp:Rating>1</xmp:Rating>")).rating == nil)
        let deep = String(repeating: "<a>", count: 10_000)
        #expect(self.fields(packet(deep + "<xmp:Rating>1</xmp:Rating>")).rating == 1)
    }
}
