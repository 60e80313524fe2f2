import DemoOrigin
import Foundation
import OperationsTestSupport
import Testing

/// axe-core's rules for the page in a real browser; `Scripts/fetch-axe` gets axe-core.
@Suite(
    .ownThreads, .oneStillBrowser, .serialized, .timeLimit(.minutes(15)),
    .enabled(if: Axe.script != nil))
struct AccessibilityBrowserTests {
    private static let done = "document.querySelectorAll('[data-picture=filtered]').length > 3"

    @Test(arguments: [(360, "dark"), (1440, "light")], ["none", "active"])
    func noStateOfPageBreaksRules(
        screen: (width: Int, scheme: String), forcedColors: String
    ) async throws {
        let (width, scheme) = screen
        try await withGallery { gallery in
            try await Browser.run(width: 1440, height: 900) { browser in
                try await browser.command(
                    "Emulation.setDeviceMetricsOverride",
                    ["width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false])
                try await browser.command(
                    "Emulation.setEmulatedMedia",
                    [
                        "features": [
                            ["name": "prefers-color-scheme", "value": scheme],
                            ["name": "forced-colors", "value": forcedColors],
                            // Contrast is measured on what is drawn, also in the middle of a fade.
                            ["name": "prefers-reduced-motion", "value": "reduce"],
                        ]
                    ])
                try await browser.open(gallery.url)
                try await browser.wait(for: Self.done, "photos are shown")
                try await Axe.check(browser, "the first view")
                try await click("#view [aria-pressed=false]", browser)
                try await browser.wait(for: Self.done, "photos are shown in the other view")
                try await Axe.check(browser, "the other view")
                try await click("[data-count=failed]", browser)
                try await browser.wait(
                    for: "!document.querySelector('#retry-all').hidden", "failed photos are shown")
                try await Axe.check(browser, "the failed photos")
                try await click("[data-count=failed]", browser)
                try await click("#engine-button", browser)
                try await browser.wait(
                    for: "document.querySelectorAll('#engine .cards > li').length === 2",
                    "the engine room is open")
                try await Axe.check(browser, "the engine room")
                try await click("#engine-button", browser)
                try await click(".row-link", browser)
                try await browser.wait(
                    for: "document.querySelector('#detail .look input')", "the photo is open")
                try await Axe.check(browser, "a photo")
                try await browser.press("i")
                try await Axe.check(browser, "a photo with the other panel")
                try await browser.press("b")
                try await Axe.check(browser, "the comparison")
                try await browser.press("?")
                try await browser.wait(for: "document.querySelector('#keys[open]')", "the keys")
                try await Axe.check(browser, "the list of keys")
                try await browser.press("?")
                try await browser.press("Escape")
                try await browser.wait(
                    for: "!document.querySelector('#detail[open]')", "the photo is closed")
                try await click(".row[data-state=failed] .row-link", browser)
                try await browser.wait(
                    for: "document.querySelector('#detail[data-state=failed]')", "it is open")
                try await Axe.check(browser, "a failed photo")
            }
        }
    }

    private func click(_ selector: String, _ browser: Browser) async throws {
        _ = try await browser.evaluate("document.querySelector('\(selector)').click()")
    }
}

/// The rules of axe-core.
enum Axe {
    /// The source, if it has been fetched.
    static let script: String? = {
        let package = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try? String(
            contentsOf: package.appending(path: ".build/axe/axe.min.js"), encoding: .utf8)
    }()

    /// Reports each broken rule with the elements that break it.
    static func check(_ browser: Browser, _ state: String) async throws {
        let script = try #require(script)
        _ = try await browser.evaluate("if (!window.axe) { \(script) }")
        let violations = try await browser.evaluateAsync(
            """
            axe.run().then(
                ({ violations }) => done(violations.map(({ id, nodes }) =>
                    id + ': ' + nodes.map(({ html }) => html).join(' ')).join('\\n')),
                error => done(String(error)));
            """)
        #expect(violations == "", "\(state)")
    }
}
