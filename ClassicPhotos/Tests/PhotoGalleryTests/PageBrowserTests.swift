import DemoOrigin
import Foundation
import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

/// The page in a real browser, as a person sees it.
@Suite(.ownThreads, .oneBrowser, .serialized, .timeLimit(.minutes(15)))
struct PageBrowserTests {
    /// The rows on the screen, without the spare rows above and below it.
    private static let onScreen = """
        [...document.querySelectorAll('.row')].filter(row => {
            const box = row.getBoundingClientRect();
            return box.top >= 0 && box.bottom <= innerHeight;
        })
        """

    private static let allDone = """
        (rows => rows.length >= 5 && rows.every(row =>
            row.dataset.picture === 'filtered' || row.dataset.state === 'failed'))(\(onScreen))
        """

    /// Names and states come from different requests.
    private static let areNamed = """
        \(onScreen).every(row => row.querySelector('.row-name').textContent !== '')
        """

    private static let allShownDone = """
        \(onScreen).every(row =>
            row.dataset.picture === 'filtered' || row.dataset.state === 'failed')
        """

    @Test func rowsAreFilteredOrShowTheirFailure() async throws {
        try await withGallery(Screenshots.origin) { gallery in
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "\(Self.allDone) && \(Self.areNamed)", "every row on the screen is done")

                let names = try await browser.evaluate(
                    "return \(Self.onScreen)[0].querySelector('.row-name').textContent")
                #expect(names == gallery.origin.catalog.entries.first?.name)

                let failed = ".row[data-state=failed]"
                let state = try await browser.evaluate(
                    "return document.querySelector('\(failed) .row-state').textContent")
                #expect(state.contains("Failed to load"))
                let reason = try await browser.evaluate(
                    "return document.querySelector('\(failed) .row-reason').textContent")
                #expect(reason == "The server answered 404 Not Found.")
                let canRetry = try await browser.evaluate(
                    "return !document.querySelector('\(failed) .row-retry').hidden")
                #expect(canRetry == "true" || canRetry == "1")

                #expect(try await browser.consoleMessages() == [])
                try await Screenshots.take(browser, as: "list")
            }
        }
    }

    @Test func distantRowsShowTheirOwnPicturesAfterScroll() async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(for: Self.allDone, "the first rows are done")
                _ = try await browser.evaluate(
                    "window.before = scrollY; scrollTo(0, document.body.scrollHeight / 2)")
                try await browser.wait(for: "scrollY !== window.before", "the page has scrolled")
                try await browser.wait(
                    for: "document.documentElement.dataset.phase === 'settled' && \(Self.allDone)",
                    "the rows in the middle are done")
                let wrong = try await browser.evaluate(
                    """
                    return \(Self.onScreen).filter(row => row.dataset.picture === 'filtered')
                        .filter(row => ![...row.querySelectorAll('img')].some(image =>
                            image.src.includes('/' + row.dataset.row + '/'))).length
                    """)
                #expect(wrong == "0")
                let first = try await browser.evaluate("return \(Self.onScreen)[0].dataset.row")
                #expect(try #require(Int(first)) > 50)
                // The rows that were scrolled past were not downloaded.
                #expect(gallery.requestedPhotos < 120)
            }
        }
    }

    /// Placeholders pass by while the list flies; once it stands still, its photos appear.
    ///
    /// The page's clock counts frames during the fling, because a busy machine may draw none for so
    /// long that the list would stand still in the middle, and rightly start its photos. After the
    /// last frame the clock stands still, so the list flies until the test has counted.
    @Test func flungListStartsItsPhotosWhenItStandsStill() async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.command(
                    "Emulation.setDeviceMetricsOverride",
                    ["width": 800, "height": 600, "deviceScaleFactor": 1, "mobile": false])
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "document.querySelectorAll('[data-picture=filtered]').length > 3"
                        + " && !document.querySelector('.row[data-active=true]')",
                    "the first photos are done")
                // Those ahead of the list, too: a download that has begun goes on during the fling.
                try await gallery.idle()
                let requestsBefore = gallery.requestedPhotos
                _ = try await browser.evaluate(
                    """
                    const from = scrollY, clock = performance.now.bind(performance);
                    let time = clock(), frames = 0;
                    performance.now = () => time;
                    window.startClock = () => { performance.now = clock; };
                    const fly = () => {
                        frames += 1;
                        time += 16;
                        const share = frames / 60;
                        // Without the wheel, each jump would be a scroll with an end of its own.
                        dispatchEvent(new WheelEvent("wheel"));
                        scrollTo(0, from + 2000 * (1 - (1 - share) ** 3));
                        if (share < 1) return requestAnimationFrame(fly);
                        // The next frame sends the event of the last scroll.
                        requestAnimationFrame(() => { window.hasLanded = true; });
                    };
                    requestAnimationFrame(fly);
                    """)
                try await browser.wait(for: "window.hasLanded", "the list has stopped moving")
                let phase = "document.documentElement.dataset.phase"
                #expect(try await browser.evaluate("return \(phase)") == "dragging")
                #expect(gallery.requestedPhotos == requestsBefore)
                _ = try await browser.evaluate("startClock()")
                try await browser.wait(
                    for: "\(phase) === 'settled' && \(Self.allShownDone)",
                    "the list stands still and is complete")
                #expect(gallery.requestedPhotos > requestsBefore)
            }
        }
    }

    @Test func namesAreShownAsPlainText() async throws {
        let name = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>"
        let failure = PhotoFailure(stage: .source, reason: "<i>No</i> URL.", isRetryable: false)
        let photo = PhotoRecord(id: PhotoID(rawValue: 1), name: name, failure: failure)
        try await withGallery(photos: [photo]) { gallery in
            try await Browser.run(width: 360, height: 640) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "document.querySelector('.row[data-state=failed]') && \(Self.areNamed)",
                    "the row is shown")
                let shown = try await browser.evaluate(
                    "return document.querySelector('.row-name').textContent")
                #expect(shown == name)
                #expect(try await browser.evaluate("return document.title") != "owned")
                #expect(
                    try await browser.evaluate("return document.querySelectorAll('.row b').length")
                        == "0")
            }
        }
    }

    /// A name cannot hide its extension by turning the direction of the text.
    @Test func namesDoNotTurnDirectionOfText() async throws {
        let failure = PhotoFailure(stage: .source, reason: "No URL.", isRetryable: false)
        let photo = PhotoRecord(
            id: PhotoID(rawValue: 1), name: "holiday\u{202E}gpj.exe", failure: failure)
        try await withGallery(photos: [photo]) { gallery in
            try await Browser.run(width: 360, height: 640) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "document.querySelector('.row[data-state=failed]') && \(Self.areNamed)",
                    "the row is shown")
                let shown = try await browser.evaluate(
                    "return document.querySelector('.row-name').textContent")
                #expect(shown == "holiday·gpj.exe")
                let page = try await browser.evaluate(
                    "return String(/[\\u202A-\\u202E]/.test(document.body.outerHTML))")
                #expect(page == "false")
            }
        }
    }

    @Test func pageFitsNarrowDarkScreen() async throws {
        try await withGallery(Screenshots.origin) { gallery in
            try await Browser.run(width: 500, height: 800) { browser in
                try await browser.command(
                    "Emulation.setDeviceMetricsOverride",
                    ["width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true])
                try await browser.command(
                    "Emulation.setEmulatedMedia",
                    ["features": [["name": "prefers-color-scheme", "value": "dark"]]])
                try await browser.open(gallery.url)
                try await browser.wait(for: Self.allDone, "every row on the screen is done")
                let overflow = try await browser.evaluate(
                    "return document.documentElement.scrollWidth > innerWidth")
                #expect(overflow == "false" || overflow == "0")
                try await Screenshots.take(browser, as: "narrow-dark")
            }
        }
    }
}

/// Screenshots of the page, stored in the folder that the environment variable SCREENSHOTS names.
enum Screenshots {
    /// Small photos for tests, and larger photos, which take longer, for stored screenshots.
    static var origin: DemoOriginServer.Configuration {
        var configuration = DemoOriginServer.Configuration.quick
        if isStored { configuration.longestSide = 480 }
        return configuration
    }

    /// The folder of stored screenshots; nil for none.
    static var folder: String? { ProcessInfo.processInfo.environment["SCREENSHOTS"] }

    static var isStored: Bool { folder != nil }

    /// Takes a screenshot after all animations, except spinners, have ended.
    static func take(_ browser: Browser, as name: String) async throws {
        try await browser.wait(
            for:
                "document.getAnimations().every(a => a.effect.getTiming().iterations === Infinity)",
            "the page is at rest")
        let png = try await browser.screenshot()
        #expect(png.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        guard let folder else { return }
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        try png.write(to: URL(fileURLWithPath: "\(folder)/\(name).png"))
    }
}
