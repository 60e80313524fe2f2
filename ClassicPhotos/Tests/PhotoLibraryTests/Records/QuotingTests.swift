import OperationsTestSupport
import Testing

@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads)
struct QuotingTests {
    /// Control characters, and those that reverse the text around them, could show a name as
    /// another one.
    @Test func namesOnOneLineControlNothing() {
        #expect("a\u{1B}[2Jb\nc\u{85}".onOneLine == "a·[2Jb·c·")
        #expect("photo\u{202E}gpj.exe".onOneLine == "photo·gpj.exe")
        for control in ["\u{61C}", "\u{200E}", "\u{200F}", "\u{2066}", "\u{2069}", "\u{2028}"] {
            #expect("a\(control)b".onOneLine == "a·b")
        }
        // Letters of every direction and joined emoji are names as they are.
        for name in ["Café", "شجرة", "相片", "👩‍👧 family", ""] { #expect(name.onOneLine == name) }
    }
}
