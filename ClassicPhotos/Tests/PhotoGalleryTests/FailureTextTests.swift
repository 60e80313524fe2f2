import Foundation
import OperationsTestSupport
import PhotoPipeline
import Testing

@testable import PhotoGallery

/// The sentences for failures in the page's catalogue.
@Suite(.ownThreads)
struct FailureTextTests {
    @Test func catalogueHasChineseSentenceForEveryFailure() throws {
        let file = try #require(PageRoutes.files.first { $0.path == "strings.js" })
        let catalogue = String(decoding: file.bytes, as: UTF8.self)
        for code in PhotoFailure.Cause.Code.allCases {
            #expect(catalogue.contains("\"failure-\(code.rawValue)\": \""), "\(code)")
        }
        let sentences = catalogue.split(separator: "\"failure-").dropFirst()
        #expect(sentences.count == PhotoFailure.Cause.Code.allCases.count)
    }
}
