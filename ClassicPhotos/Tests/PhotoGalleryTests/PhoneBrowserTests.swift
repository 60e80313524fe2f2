import OperationsTestSupport
import Testing

/// The page on a touch screen of the size of a phone, in a real browser.
@Suite(.ownThreads, .oneBrowser, .serialized, .timeLimit(.minutes(15)))
struct PhoneBrowserTests {
    /// A photo on a touch screen, which a finger turns over, closes, and frees of all controls.
    private func withPhotoOnPhone(
        width: Int = 390, height: Int = 844,
        _ body: @escaping @Sendable (Browser) async throws -> Void
    ) async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.touchScreen(width: width, height: height)
                try await browser.open(gallery.url)
                let first = "[data-row=\"0\"][data-picture=filtered] .row-link"
                try await browser.wait(
                    for: "document.querySelector('\(first)')", "the first photo is shown")
                try await browser.clickFirst(first)
                try await browser.wait(
                    for: "\(DetailView.isOpen) && \(DetailView.isLarge)", "it is open")
                try await browser.waitForRest()
                try await body(browser)
                #expect(try await browser.consoleMessages() == [])
            }
        }
    }

    @Test func fingerSwipesToNextPhoto() async throws {
        try await withPhotoOnPhone { browser in
            let points = stride(from: 300, through: 100, by: -20).map { (x: $0, y: 400) }
            try await browser.touch(along: points, isLifted: false)
            try await browser.wait(
                for: """
                    (box => box.left > 0 && box.left < innerWidth && box.width > 100)(
                        document.querySelector('.beside').getBoundingClientRect())
                    """, "the neighbor is visible")
            try await browser.touch(along: [])
            try await browser.wait(
                for: "location.hash.includes('photo=1.') && \(DetailView.isLarge)"
                    + " && !document.querySelector('.beside')", "the next photo is open")
        }
    }

    @Test func fingerClosesPhotoDownwards() async throws {
        try await withPhotoOnPhone { browser in
            let points = stride(from: 300, through: 500, by: 20).map { (x: 200, y: $0) }
            try await browser.touch(along: points)
            try await browser.wait(for: DetailView.isClosed, "the view is closed")
        }
    }

    @Test func tapLeavesPhotoAlone() async throws {
        try await withPhotoOnPhone { browser in
            let visible = "getComputedStyle(document.querySelector('.turn.on')).visibility"
            #expect(try await browser.evaluate("return \(visible)") == "visible")
            try await browser.touch(along: [(200, 300)])
            try await browser.wait(for: "\(visible) === 'hidden'", "the controls are hidden")
            try await browser.touch(along: [(200, 300)])
            try await browser.wait(for: "\(visible) === 'visible'", "the controls are back")
        }
    }

    /// The panel is a line above the photo until a person unfolds it.
    @Test(arguments: [(390, 844), (844, 390)])
    func photoHasWholePhone(width: Int, height: Int) async throws {
        try await withPhotoOnPhone(width: width, height: height) { browser in
            let size =
                "(box => [box.width, box.height].join())"
                + "(document.querySelector('.stage').getBoundingClientRect())"
            #expect(try await browser.evaluate("return \(size)") == "\(width),\(height)")
            let body = "document.querySelector('#detail-body').checkVisibility()"
            #expect(try await browser.evaluate("return String(\(body))") == "false")
            try await browser.tap(".fold")
            try await browser.wait(for: body, "the details are shown")
            let share = try await browser.evaluate(
                """
                const box = document.querySelector('.stage').getBoundingClientRect();
                return String(box.width * box.height > 0.5 * innerWidth * innerHeight)
                """)
            #expect(share == "true")
            try await browser.tap(".fold")
            try await browser.wait(for: "!\(body)", "the details are folded again")
        }
    }

    @Test func twoFingersEnlarge() async throws {
        try await withPhotoOnPhone { browser in
            let width = "document.querySelector('.canvas').getBoundingClientRect().width"
            for (type, gap) in [("touchStart", 40), ("touchMove", 80), ("touchMove", 120)] {
                try await browser.command(
                    "Input.dispatchTouchEvent",
                    [
                        "type": type,
                        "touchPoints": [
                            ["x": 195 - gap, "y": 400, "id": 1],
                            ["x": 195 + gap, "y": 400, "id": 2],
                        ],
                    ])
            }
            try await browser.touch(along: [])
            try await browser.wait(for: "\(width) > 800", "the photo is enlarged")
            // Now a finger moves the photo, and does not turn it over.
            try await browser.touch(along: [(300, 400), (250, 400), (200, 400), (150, 400)])
            #expect(try await browser.evaluate("return location.hash").contains("photo=0."))
        }
    }

    /// A message about a photo neither moves the stage nor covers the buttons beside it.
    @Test(arguments: [(320, 640), (390, 844), (844, 390)])
    func messageLeavesStageAndButtonsInPlace(width: Int, height: Int) async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.touchScreen(width: width, height: height)
                try await browser.open(gallery.url)
                let failed = ".row[data-state=failed] .row-link"
                try await browser.wait(
                    for: "document.querySelectorAll('[data-picture=filtered]').length > 3"
                        + " && document.querySelector('\(failed)')", "photos are shown")
                let box = "JSON.stringify(document.querySelector('.stage').getBoundingClientRect())"
                let shown = "[data-picture=filtered] .row-link"
                try await browser.clickFirst(shown)
                try await browser.wait(
                    for: "\(DetailView.isOpen) && \(DetailView.isLarge)", "it is open")
                let before = try await browser.evaluate("return \(box)")
                try await browser.press("Escape")
                try await browser.wait(for: DetailView.isClosed, "the view is closed")
                try await browser.clickFirst(failed)
                try await browser.wait(for: DetailView.isOpen, "the failed photo is open")
                try await browser.waitForRest()
                #expect(try await browser.evaluate("return \(box)") == before)
                let isWithin = try await browser.evaluate(
                    """
                    const stage = document.querySelector('.stage').getBoundingClientRect();
                    const message = document.querySelector('.trouble').getBoundingClientRect();
                    return String(message.top >= stage.top && message.bottom <= stage.bottom)
                    """)
                #expect(isWithin == "true")
                let row = try await browser.evaluate("return location.hash")
                try await browser.tap(".turn.on")
                try await browser.wait(
                    for: "location.hash !== '\(row)' && \(DetailView.isOpen)",
                    "the next photo is open")
            }
        }
    }

    /// The engine room leaves photos on the screen of a phone that is held sideways.
    @Test func engineRoomLeavesSpaceForPhotos() async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.touchScreen(width: 844, height: 390)
                try await browser.open(gallery.url)
                try await browser.wait(for: "document.querySelector('.row')", "photos are shown")
                try await browser.clickFirst("#engine-button")
                try await browser.wait(
                    for: "document.querySelectorAll('#engine .cards > li').length === 2",
                    "the engine room is open")
                _ = try await browser.evaluate("scrollTo(0, 400)")
                try await browser.wait(
                    for: """
                        document.querySelector('#strip').getBoundingClientRect().top - Math.max(0,
                            document.querySelector('#header').getBoundingClientRect().bottom)
                            > 0.4 * innerHeight
                        """, "photos have two fifths of the screen")
            }
        }
    }
}
