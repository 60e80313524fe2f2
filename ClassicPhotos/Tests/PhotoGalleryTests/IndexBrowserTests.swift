import Foundation
import OperationsTestSupport
import Testing

@testable import PhotoGallery

/// What the page shows of the index of photos, in a real browser.
@Suite(.ownThreads, .oneStillBrowser, .serialized, .timeLimit(.minutes(15)))
struct IndexBrowserTests {
    @Test func titleIsFoundAndShown() async throws {
        try await withGalleryOfFolder(["a.jpg", "b.jpg"]) { gallery, folder in
            let item = "<rdf:li>&lt;b&gt;Fête</rdf:li>"
            try folder.write(
                "b.xmp", bytes: Array("<dc:title><rdf:Alt>\(item)</rdf:Alt></dc:title>".utf8))
            let isRead = try await eventually {
                try await gallery.get("/api/order?query=fete&complete=1").text == #"{"rows":[1]}"#
            }
            #expect(isRead)
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "document.querySelectorAll('[data-picture=filtered]').length === 2",
                    "both photos are shown")
                _ = try await browser.evaluate(
                    """
                    const query = document.querySelector('#query');
                    query.value = 'fete';
                    query.dispatchEvent(new Event('input'));
                    """)
                try await browser.wait(
                    for: """
                        document.querySelectorAll('.row').length === 1 \
                        && document.querySelector('.row').dataset.row === '1'
                        """, "only the photo with the title is shown")
                _ = try await browser.evaluate("document.querySelector('.row-link').click()")
                try await browser.wait(
                    for: "\(DetailView.isOpen) && \(DetailView.isLarge)", "the photo is open")
                let title = "document.querySelector('#detail .title')"
                #expect(try await browser.evaluate("return \(title).textContent") == "<b>Fête")
                try await browser.press("Escape")
                try await browser.wait(for: DetailView.isClosed, "the view is closed")
                #expect(try await browser.consoleMessages() == [])
            }
        }
    }

    /// The color of the small picture is that of the cell until the photo has a color of its own.
    @Test func cellHasColorBeforeItsPhoto() async throws {
        try await withGalleryOfFolder(["a.jpg"]) { gallery, _ in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.open(gallery.url)
                for (record, color) in [
                    ("{ state: 'new' }", "rgb(200, 100, 50)"),
                    ("{ state: 'new', color: '#010203' }", "rgb(1, 2, 3)"),
                ] {
                    let shown = try await browser.evaluateAsync(
                        """
                        import('/cell.js').then(({ Cell }) => {
                            const cell = new Cell(document.querySelector('#row-template'));
                            cell.show({ page: '', name: 'a', record: \(record), color: '#c86432' });
                            done(cell.frame.style.backgroundColor);
                        });
                        """)
                    #expect(shown == color)
                }
            }
        }
    }

    /// The words on a failed photo could not be read on the color of its small picture.
    @Test func failedPhotoHasNoColorOfItsOwn() async throws {
        try await withGalleryOfFolder(["a.jpg"]) { gallery, _ in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.open(gallery.url)
                let shown = try await browser.evaluateAsync(
                    """
                    import('/cell.js').then(({ Cell }) => {
                        const colors = ['new', 'failed'].map(state => {
                            const cell = new Cell(document.querySelector('#row-template'));
                            document.body.append(cell.element);
                            cell.show({ page: '', name: 'a', record: { state }, color: '#c86432' });
                            const { backgroundColor } = getComputedStyle(cell.frame);
                            cell.element.remove();
                            return backgroundColor === 'rgb(200, 100, 50)';
                        });
                        done(colors.join());
                    });
                    """)
                #expect(shown == "true,false")
            }
        }
    }
}
