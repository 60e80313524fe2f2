import DemoOrigin
import Foundation
import OperationsTestSupport
import PhotoImaging
import PhotoLibrary
import Testing

/// Photos in their full size in a real browser: on the stage, as a saved file, and on their way.
@Suite(.ownThreads, .oneStillBrowser, .serialized, .timeLimit(.minutes(15)))
struct FullSizeBrowserTests {
    /// Opens a photo of 6,000 × 400 pixels.
    private func withLargePhoto(
        _ body: @escaping @Sendable (Browser) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "photos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let size = PixelSize(width: 6_000, height: 400)
        let bitmap = try Bitmap(
            size: size, pixels: [UInt8](repeating: 120, count: size.width * size.height * 3))
        let file = folder.appending(path: "large.png")
        try Data(ImageEngine.encode(bitmap, as: .png).bytes).write(to: file)
        let photo = PhotoRecord(id: PhotoID(rawValue: 1), name: "large.png", url: file)
        try await withGallery(photos: [photo]) { gallery in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.open(gallery.url + "#photo=0")
                try await browser.wait(
                    for: "\(DetailView.isOpen) && \(DetailView.isLarge)"
                        + " && document.querySelector('dd')", "the photo is open")
                try await browser.waitForRest()
                try await body(browser)
                #expect(try await browser.consoleMessages() == [])
            }
        }
    }

    /// A picture as large as the window is enough until the photo is enlarged beyond its pixels.
    @Test func zoomReachesPixelsOfPhoto() async throws {
        try await withLargePhoto { browser in
            let image = "document.querySelector('.canvas img:last-of-type')"
            // The stage has another shape until the size of the photo is known.
            try await browser.wait(
                for: "\(image).src.includes('fit=1280')", "the picture has the window's size")
            try await browser.press("1")
            try await browser.wait(
                for: "\(image).src.includes('fit=full') && \(image).naturalWidth === 6000",
                "the stage has all pixels")
            try await browser.waitForZoom()
            let width = try await browser.evaluate(
                "return String(Math.round(\(image).getBoundingClientRect().width))")
            #expect(width == "6000", "each pixel of the photo has one of the screen")
        }
    }

    /// The picture that was loaded for a small window has too few pixels for a large one.
    @Test func pictureFollowsSizeOfWindow() async throws {
        try await withLargePhoto { browser in
            let image = "document.querySelector('.canvas img:last-of-type')"
            for (width, side) in [(600, 1280), (2_200, 2560), (600, 2560)] {
                try await browser.command(
                    "Emulation.setDeviceMetricsOverride",
                    ["width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false])
                try await browser.wait(
                    for: "innerWidth === \(width) && \(image).src.includes('fit=\(side)')"
                        + " && \(image).naturalWidth === \(side)",
                    "the picture has the size for a window of \(width) pixels")
            }
        }
    }

    /// Also on a screen with two pixels for each CSS pixel, and in a window of an odd size.
    @Test func pixelsOfPhotoCoincideWithThoseOfScreen() async throws {
        try await withLargePhoto { browser in
            try await browser.command(
                "Emulation.setDeviceMetricsOverride",
                ["width": 961, "height": 601, "deviceScaleFactor": 2, "mobile": false])
            try await browser.wait(for: "devicePixelRatio === 2", "the screen is another one")
            let image = "document.querySelector('.canvas img:last-of-type')"
            try await browser.press("1")
            try await browser.wait(for: "\(image).naturalWidth === 6000", "all pixels are there")
            try await browser.waitForZoom()
            let edges = try await browser.evaluate(
                """
                const box = \(image).getBoundingClientRect();
                const isWhole = (edge) => Math.abs(edge * 2 - Math.round(edge * 2)) < 0.05;
                return [Math.abs(box.width * 2 - 6000) < 0.1, isWhole(box.x), isWhole(box.y)].join()
                """)
            #expect(edges == "true,true,true")
        }
    }

    @Test(arguments: [("full", 6_000), ("1280", 1_280)])
    func resultHasChosenSize(choice: String, width: Int) async throws {
        try await withLargePhoto { browser in
            let saved = try await browser.evaluateAsync(
                """
                const sizes = document.querySelector('#detail-body [aria-label^="Size"]');
                sizes.value = '\(choice)';
                sizes.dispatchEvent(new Event('change'));
                const link = document.querySelector('#detail .of-picture a');
                fetch(link.href).then(async (answer) => {
                    const picture = await createImageBitmap(await answer.blob());
                    done([answer.headers.get('content-type'), picture.width,
                        answer.headers.get('content-disposition').startsWith('attachment'),
                        link.hasAttribute('download')].join());
                }).catch(error => done(String(error)));
                """)
            #expect(saved == "image/png,\(width),true,true")
        }
    }

    /// A ring shows how much of a photo has arrived.
    @Test func ringShowsProgressOfDownload() async throws {
        var origin = DemoOriginServer.Configuration.quick
        origin.slowTransfer = .seconds(60)
        try await withGallery(origin) { gallery in
            let entries = gallery.origin.catalog.entries
            let slow = try #require(entries.firstIndex { $0.kind == .verySlow })
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.open(gallery.url + "#at=\(slow)")
                let ring = "document.querySelector('.row-spinner.measured')"
                try await browser.wait(
                    for: "\(ring) && parseFloat(\(ring).style.getPropertyValue('--share')) > 0",
                    "the ring has begun")
            }
        }
    }

    /// The ring also shows the progress of a photo that is not among those of the list's screen.
    @Test func ringShowsProgressOfPhotoOutsideScreen() async throws {
        var origin = DemoOriginServer.Configuration.quick
        origin.slowTransfer = .seconds(60)
        try await withGallery(origin) { gallery in
            let entries = gallery.origin.catalog.entries
            let slow = try #require(entries.firstIndex { $0.kind == .verySlow && $0.id > 12 })
            try await Browser.run(width: 500, height: 300) { browser in
                try await browser.open(gallery.url + "#photo=\(slow - 12)")
                try await browser.wait(for: DetailView.isOpen, "the photo is open")
                for _ in 0..<12 { try await browser.press("ArrowRight") }
                let ring = "document.querySelector('#detail .row-spinner.measured')"
                try await browser.wait(
                    for: "location.hash.includes('photo=\(slow).') && \(ring)?.checkVisibility()"
                        + " && parseFloat(\(ring).style.getPropertyValue('--share')) > 0",
                    "the ring has begun")
                #expect(
                    try await browser.evaluate(
                        "return String(document.querySelector('#list .measured'))") == "null")
            }
        }
    }
}
