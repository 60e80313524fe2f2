import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

@testable import PhotoGallery

/// The texts of the page, in English and Chinese.
@Suite(.ownThreads)
struct CatalogTests {
    private func keys(of name: String) throws -> Set<Substring> {
        let file = try #require(PageRoutes.files.first { $0.path == name })
        let key = /(?:^|, |\n)(?:"([a-z]+-[A-Za-z-]+)"|([a-z][A-Za-z]*)): "/
        let keys = String(decoding: file.bytes, as: UTF8.self).matches(of: key).map {
            $0.output.1 ?? $0.output.2 ?? ""
        }
        #expect(Set(keys).count == keys.count)
        return Set(keys)
    }

    @Test func everyTextIsTranslated() throws {
        let (english, chinese) = (try keys(of: "strings.js"), try keys(of: "chinese.js"))
        #expect(english.count > 80)
        #expect(english.subtracting(chinese) == [])
        // The server has English words for these.
        let others = chinese.subtracting(english).filter { key in
            !["word-", "tip-", "failure-"].contains { key.hasPrefix($0) }
        }
        #expect(others == [])
    }

    @Test func everyFailureHasChineseSentence() throws {
        let failures = try keys(of: "chinese.js").filter { $0.hasPrefix("failure-") }
        let codes = PhotoFailure.Cause.Code.allCases.map { "failure-\($0.rawValue)" }
        #expect(failures == Set(codes.map { $0[...] }))
    }
}
