import DemoOrigin
import OperationsTestSupport
import Testing

@testable import PhotoGallery

/// The gallery's token in a real browser.
@Suite(.ownThreads, .oneBrowser, .serialized, .timeLimit(.minutes(15)))
struct TokenBrowserTests {
    /// The demo's origin is another site than the gallery, as a browser sees it.
    @Test func linkInOtherPageOpensGallery() async throws {
        let token = GalleryToken()
        try await withGallery(token: token) { gallery in
            try await Browser.run(width: 800, height: 600) { browser in
                for name in ["localhost", "my-pictures.localhost"] {
                    let address = "http://\(name):\(gallery.port)/"
                    for link in ["\(address)?token=\(token.text)", address] {
                        try await browser.open(gallery.origin.url)
                        _ = try await browser.evaluate(
                            """
                            const link = document.createElement("a");
                            link.href = "\(link)";
                            document.body.append(link);
                            link.click();
                            """)
                        try await browser.wait(
                            for: """
                                location.href.startsWith("\(address)")
                                && document.querySelector("[data-picture=filtered]")
                                """, "the photos of \(link) are shown")
                    }
                }
            }
        }
    }
}
