import DemoOrigin
import OperationsTestSupport
import Testing

/// The engine room in a real browser.
@Suite(.ownThreads, .oneBrowser, .serialized, .timeLimit(.minutes(15)))
struct EngineBrowserTests {
    private static let room = "document.querySelector('#engine')"

    private func withEngineRoom(
        _ body: @escaping @Sendable (Browser, Gallery) async throws -> Void
    ) async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "document.querySelectorAll('[data-picture=filtered]').length > 3",
                    "photos are shown")
                _ = try await browser.evaluate("document.querySelector('#engine-button').click()")
                try await browser.wait(
                    for: "document.querySelectorAll('#engine .cards > li').length === 2",
                    "the engine room shows two queues")
                try await body(browser, gallery)
                #expect(try await browser.consoleMessages() == [])
            }
        }
    }

    @Test func roomShowsFinishedWork() async throws {
        try await withEngineRoom { browser, _ in
            let finished = "Number(\(Self.room).querySelector('.finished dd').textContent)"
            try await browser.wait(for: "\(finished) > 3", "downloads have finished")
            let label = "\(Self.room).querySelector('canvas').getAttribute('aria-label')"
            try await browser.wait(
                for: "/: [1-9][0-9]* operation/.test(\(label))", "the timeline has operations")
            // The page draws in its next frame.
            try await browser.wait(
                for: """
                    (canvas => {
                        const { data } = canvas.getContext('2d')
                            .getImageData(0, 0, canvas.width, canvas.height);
                        let colored = 0;
                        for (let index = 0; index < data.length; index += 4) {
                            const difference = Math.abs(data[index] - data[index + 2]);
                            if (difference > 60 && data[index + 3] > 100) colored += 1;
                        }
                        return colored > 50;
                    })(\(Self.room).querySelector('canvas'))
                    """, "the operations have colors")
        }
    }

    @Test func pausedQueueStartsNothingUntilItIsResumed() async throws {
        try await withEngineRoom { browser, gallery in
            let pause = "\(Self.room).querySelector('.cards li .switches > .pill')"
            _ = try await browser.evaluate("\(pause).click()")
            try await browser.wait(for: "\(pause).textContent === 'Resume'", "the queue is paused")
            let done = "document.querySelectorAll('[data-count=filtered]')[0].textContent"
            _ = try await browser.evaluate(
                "window.before = scrollY; scrollTo(0, document.body.scrollHeight)")
            try await browser.wait(
                for: "scrollY > window.before + 500 "
                    + "&& document.documentElement.dataset.phase === 'settled' "
                    + "&& document.querySelectorAll('.row[data-active=true]').length > 3",
                "the last photos wait")
            let last = gallery.origin.catalog.entries.suffix(4)
            #expect(last.allSatisfy { gallery.origin.requestCount(for: $0.path) == 0 })
            let before = try await browser.evaluate("return \(done)")
            _ = try await browser.evaluate("\(pause).click()")
            try await browser.wait(for: "\(done) !== '\(before)'", "the queue works again")
        }
    }

    /// A photo that is opened is not loaded past the paused queue, and the view says so.
    @Test func pausedQueueHoldsOpenedPhoto() async throws {
        try await withEngineRoom { browser, gallery in
            let pause = "\(Self.room).querySelector('.cards li .switches > .pill')"
            _ = try await browser.evaluate("\(pause).click()")
            try await browser.wait(
                for: "document.documentElement.hasAttribute('data-paused')", "the page is paused")
            _ = try await browser.evaluate("scrollTo(0, document.body.scrollHeight)")
            let waiting =
                "document.querySelector('[data-state=new][data-active=true] .row-link')"
            try await browser.wait(
                for: "document.documentElement.dataset.phase === 'settled' && \(waiting)",
                "a photo waits")
            _ = try await browser.evaluate("\(waiting).click()")
            let trouble = "document.querySelector('#detail .trouble')"
            try await browser.wait(
                for: "\(trouble)?.innerText.includes('Downloading is paused.')",
                "the view says why the photo is not there")
            #expect(
                gallery.origin.catalog.entries.suffix(1).allSatisfy {
                    gallery.origin.requestCount(for: $0.path) == 0
                })
            _ = try await browser.evaluate("\(pause).click()")
            try await browser.wait(
                for: """
                    \(trouble).hidden && document.querySelector(
                        '#detail .canvas img:last-of-type').naturalWidth > 0
                    """,
                "the photo comes once the queue is resumed")
        }
    }

    @Test func fastClicksOnWidthAllCount() async throws {
        try await withEngineRoom { browser, _ in
            let width = "\(Self.room).querySelector('.switches b').textContent"
            let before = try await browser.evaluate("return \(width)")
            _ = try await browser.evaluate(
                """
                const more = \(Self.room).querySelectorAll('.switches .step')[1];
                for (let click = 0; click < 4; click += 1) more.click();
                """)
            let wanted = (Int(before) ?? 0) + 4
            try await browser.wait(for: "\(width) === '\(wanted)'", "four more at once")
        }
    }

    @Test func naiveModeIsSwitchedOnAndOff() async throws {
        try await withEngineRoom { browser, _ in
            let mode = "\(Self.room).dataset.naive"
            for expected in ["true", "false"] {
                _ = try await browser.evaluate("document.querySelector('#naive').click()")
                try await browser.wait(
                    for: "\(mode) === '\(expected)'", "naive mode is \(expected)")
            }
        }
    }

    @Test func everyControlHasName() async throws {
        try await withEngineRoom { browser, _ in
            _ = try await browser.evaluate(
                "document.querySelector('.row-link').click()")
            try await browser.wait(
                for: "document.querySelector('#detail .look input')", "the detail view is complete")
            let nameless = try await browser.evaluate(
                """
                return [...document.querySelectorAll('button, a[href], input, select, canvas')]
                    .filter(control => control.offsetParent !== null)
                    .filter(control => !(control.getAttribute('aria-label')
                        || control.textContent.trim() || control.labels?.length > 0))
                    .map(control => control.outerHTML).join()
                """)
            #expect(nameless == "")
        }
    }
}
