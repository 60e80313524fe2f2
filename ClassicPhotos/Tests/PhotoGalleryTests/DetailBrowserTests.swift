import DemoOrigin
import Foundation
import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

/// The detail view, the search and the engine room in a real browser.
@Suite(.ownThreads, .oneStillBrowser, .serialized, .timeLimit(.minutes(15)))
struct DetailBrowserTests {
    private static let focusedRow = "document.activeElement.closest('.row')?.dataset.row"

    private func withPage(
        _ body: @escaping @Sendable (Browser, Gallery) async throws -> Void
    ) async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "document.querySelectorAll('[data-picture=filtered]').length > 3",
                    "photos are shown")
                try await body(browser, gallery)
            }
        }
    }

    private func openFirst(_ browser: Browser) async throws {
        try await browser.press("ArrowDown")
        try await browser.press("Enter")
        try await browser.wait(
            for: "\(DetailView.isOpen) && \(DetailView.isLarge)", "the photo is open")
    }

    @Test func photoOpensClosesAndReturnsFocus() async throws {
        try await withPage { browser, gallery in
            try await openFirst(browser)
            let name = try await browser.evaluate(
                "return document.querySelector('#detail-name').textContent")
            #expect(name == gallery.origin.catalog.entries.first?.name)
            try await browser.press("ArrowRight")
            try await browser.wait(
                for: "location.hash.includes('photo=1.') && \(DetailView.isLarge)",
                "the next photo is open and has its own address")
            try await browser.press("Escape")
            try await browser.wait(
                for: "\(DetailView.isClosed) && \(Self.focusedRow) === '1'",
                "the view is closed, and the focus is on the photo that was shown last")
            #expect(try await browser.evaluate("return location.hash") == "")
            #expect(try await browser.consoleMessages() == [])
        }
    }

    @Test func addressOfPhotoOpensIt() async throws {
        try await withPage { browser, _ in
            try await openFirst(browser)
            _ = try await browser.evaluate("window.isOld = true; location.reload()")
            try await browser.wait(
                for: "!window.isOld && \(DetailView.isOpen) && \(DetailView.isLarge)",
                "the photo is open after a reload")
            _ = try await browser.evaluate("history.back()")
            try await browser.wait(for: DetailView.isClosed, "Back closes the view")
            _ = try await browser.evaluate("history.forward()")
            try await browser.wait(for: DetailView.isOpen, "Forward opens it again")
        }
    }

    @Test func filtersChangePictureOnStage() async throws {
        try await withPage { browser, _ in
            try await openFirst(browser)
            let address = "document.querySelector('#detail .canvas img:last-of-type').src"
            #expect(try await browser.evaluate("return \(address)").contains("sepia"))
            _ = try await browser.evaluate(
                """
                const slider = document.querySelector('.look input');
                slider.value = 0.25;
                slider.dispatchEvent(new Event('input'));
                const add = document.querySelector('#detail select');
                add.value = 'vignette';
                add.dispatchEvent(new Event('change'));
                """)
            try await browser.wait(
                for: "decodeURIComponent(\(address)).includes('sepia=intensity:0.25,vignette=')",
                "the picture has both filters")
            _ = try await browser.evaluate(
                "document.querySelector('#detail [aria-pressed]').click()")
            try await browser.wait(
                for: "document.querySelector('#detail .canvas img').src.includes('filters=none')",
                "the original is beside it")
            let result = try await browser.evaluate(
                "return document.querySelector('#detail .of-picture a').href")
            #expect(result.contains("/result?size=full&filters=sepia"))
            #expect(result.contains("vignette"))
        }
    }

    /// A look that a person has changed is part of the address, within the limits of its filters.
    @Test func addressKeepsLook() async throws {
        try await withPage { browser, gallery in
            try await openFirst(browser)
            _ = try await browser.evaluate(
                """
                const slider = document.querySelector('.look input');
                slider.value = 0.25;
                slider.dispatchEvent(new Event('input'));
                """)
            try await browser.wait(
                for: "decodeURIComponent(location.hash).includes('look=sepia=intensity:0.25')",
                "the address has the look")
            let address =
                "decodeURIComponent(document.querySelector('.canvas img:last-of-type').src)"
            _ = try await browser.evaluate("window.isOld = true; location.reload()")
            try await browser.wait(
                for:
                    "!window.isOld && \(DetailView.isOpen) && \(address).includes('intensity:0.25')",
                "the look is back after a reload")
            try await browser.open("about:blank")
            try await browser.open(gallery.url + "#photo=0&look=sepia%3D9%2Cbogus%3D1")
            try await browser.wait(
                for: "\(DetailView.isOpen) && \(address).includes('filters=sepia=intensity:1&')",
                "an invalid look is mended")
        }
    }

    @Test(arguments: ["240", "99999999999"])
    func addressOfMissingPhotoSaysSo(row: String) async throws {
        try await withPage { browser, gallery in
            try await browser.open("about:blank")
            try await browser.open(gallery.url + "#photo=\(row)")
            try await browser.wait(
                for: "document.querySelector('#notice').innerText.includes('the list has 240')",
                "the notice says how long the list is")
        }
    }

    @Test func nextPhotoStartsAtTopOfPanel() async throws {
        try await withPage { browser, _ in
            try await openFirst(browser)
            try await browser.resize(width: 1280, height: 520)
            let top = "document.querySelector('#detail-body').scrollTop"
            try await browser.wait(
                for: "(document.querySelector('#detail-body').scrollTop = 60) && \(top) > 40",
                "the panel is scrolled")
            try await browser.press("ArrowRight")
            try await browser.wait(
                for: "location.hash.includes('photo=1.') && \(top) === 0", "it is at its top")
        }
    }

    /// Why a photo is not there yet is said in the page's language.
    @Test func explanationIsInLanguageOfPage() async throws {
        var origin = DemoOriginServer.Configuration.quick
        origin.latency = .seconds(600) ... .seconds(600)
        try await withGallery(origin) { gallery in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.command(
                    "Emulation.setUserAgentOverride",
                    ["userAgent": "test", "acceptLanguage": "zh-CN"])
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "document.querySelector('.row[data-active=true]')", "work has begun")
                try await browser.clickFirst(".row[data-active=true] .row-link")
                let why = "document.querySelector('.trouble button:last-of-type')"
                try await browser.wait(
                    for: "\(DetailView.isOpen) && \(why).checkVisibility()",
                    "the photo is not there")
                _ = try await browser.evaluate("\(why).click()")
                let reason = try await browser.evaluate(
                    "return document.querySelector('.trouble p').textContent")
                #expect(reason.contains("正在排队或下载"))
            }
        }
    }

    @Test func nextOpenedPhotoHasLookOfList() async throws {
        try await withPage { browser, _ in
            try await openFirst(browser)
            _ = try await browser.evaluate(
                "document.querySelector('#detail .look .icon').click()")
            let address = "document.querySelector('#detail .canvas img:last-of-type').src"
            try await browser.wait(for: "\(address).includes('filters=none')", "no filter is left")
            try await browser.press("Escape")
            try await browser.wait(for: DetailView.isClosed, "the view is closed")
            try await browser.press("Enter")
            try await browser.wait(
                for: "\(DetailView.isOpen) && \(address).includes('sepia')",
                "the list's look is back")
        }
    }

    /// The line of the comparison stays above the knob while the photo is enlarged and moved.
    @Test func lineOfComparisonIsAboveKnob() async throws {
        try await withPage { browser, _ in
            try await openFirst(browser)
            let distance = try await browser.evaluate(
                """
                document.querySelector('#detail [aria-pressed]').click();
                const divider = document.querySelector('#detail .divider');
                divider.value = 25;
                divider.dispatchEvent(new Event('input'));
                const canvas = document.querySelector('#detail .canvas');
                canvas.style.transition = 'none';
                const fitted = canvas.getBoundingClientRect();
                const knob = fitted.x + 0.25 * fitted.width;
                for (const label of ['Enlarge', 'Enlarge']) {
                    document.querySelector(`#detail [aria-label=${label}]`).click();
                }
                const box = canvas.getBoundingClientRect();
                const line = box.x + parseFloat(canvas.style.getPropertyValue('--share')) / 100
                    * box.width;
                return String(Math.round(Math.abs(line - knob)))
                """)
            #expect(distance == "0" || distance == "1")
        }
    }

    @Test func photoFillsScreen() async throws {
        try await withPage { browser, _ in
            try await openFirst(browser)
            try await browser.press("f")
            let isFull = "document.fullscreenElement?.matches('.stage') === true"
            try await browser.wait(for: isFull, "the stage fills the screen")
            try await browser.press("f")
            try await browser.wait(for: "!document.fullscreenElement", "the page is back")
        }
    }

    @Test func wheelEnlargesAndPointerPans() async throws {
        try await withPage { browser, _ in
            try await openFirst(browser)
            try await browser.waitForRest()
            func mouse(_ type: String, x: Int, _ more: [String: Any] = [:]) async throws {
                let common: [String: Any] = ["type": type, "x": x, "y": 400]
                try await browser.command(
                    "Input.dispatchMouseEvent", common.merging(more) { $1 })
            }
            let box = "document.querySelector('#detail .canvas').getBoundingClientRect()"
            let width = try await browser.evaluate("return String(\(box).width)")
            try await mouse("mouseWheel", x: 500, ["deltaX": 0, "deltaY": -300])
            try await browser.wait(
                for: "\(box).width > 2 * \(width)", "the photo is enlarged")
            try await browser.waitForZoom()
            let left = try await browser.evaluate("return String(\(box).left)")
            let button: [String: Any] = ["button": "left", "buttons": 1, "clickCount": 1]
            try await mouse("mousePressed", x: 500, button)
            try await mouse("mouseMoved", x: 440, button)
            try await mouse("mouseReleased", x: 440, button)
            try await browser.wait(
                for: "Math.abs(\(box).left - (\(left) - 60)) < 2", "the photo follows the pointer")
            try await browser.press("0")
            try await browser.wait(
                for: "Math.abs(\(box).width - \(width)) < 1", "the whole photo is shown again")
        }
    }

    /// The keys of the photo work while the comparison is shown, and after a slider was moved.
    @Test func keysWorkInComparisonAndAfterSlider() async throws {
        try await withPage { browser, _ in
            try await openFirst(browser)
            try await browser.waitForRest()
            let isDivided = "document.querySelector('.canvas').matches('.divided')"
            let width = "document.querySelector('#detail .canvas').getBoundingClientRect().width"
            let fitted = try await browser.evaluate("return String(\(width))")
            try await browser.press("b")
            try await browser.wait(for: isDivided, "the comparison is shown")
            try await browser.press("+")
            try await browser.wait(for: "\(width) > 1.4 * \(fitted)", "the photo is enlarged")
            try await browser.press("-")
            try await browser.wait(for: "\(width) < 1.1 * \(fitted)", "the photo is reduced")
            try await browser.press("+")
            try await browser.press("0")
            try await browser.wait(
                for: "Math.abs(\(width) - \(fitted)) < 1", "the whole photo is shown")
            try await browser.press("b")
            try await browser.wait(for: "!\(isDivided)", "the comparison is over")
            let place = try await browser.evaluate(
                """
                const box = document.querySelector('.look input').getBoundingClientRect();
                return [box.x + box.width / 3, box.y + box.height / 2].map(Math.round).join()
                """
            ).split(separator: ",").compactMap { Int($0) }
            for type in ["mousePressed", "mouseReleased"] {
                try await browser.command(
                    "Input.dispatchMouseEvent",
                    [
                        "type": type, "x": place[0], "y": place[1], "button": "left",
                        "buttons": type == "mousePressed" ? 1 : 0, "clickCount": 1,
                    ])
            }
            try await browser.wait(
                for: "Number(document.querySelector('.look input').value) < 0.5",
                "the slider has moved")
            try await browser.press("ArrowRight")
            try await browser.wait(
                for: "location.hash.includes('photo=1.')", "the next photo is open")
        }
    }

    @Test func failedPhotoSaysWhy() async throws {
        try await withPage { browser, _ in
            let failed = ".row[data-state=failed] .row-link"
            try await browser.wait(for: "document.querySelector('\(failed)')", "a photo failed")
            _ = try await browser.evaluate("document.querySelector('\(failed)').click()")
            try await browser.wait(for: DetailView.isOpen, "the failed photo is open")
            let reason = try await browser.evaluate(
                "return document.querySelector('.trouble').innerText")
            #expect(reason.contains("The server answered 404 Not Found."))
            let offered = try await browser.evaluate(
                """
                return [...document.querySelectorAll('#detail a')]
                    .filter(link => link.checkVisibility()).length
                """)
            #expect(offered == "0", "there is no file to save")
        }
    }

    /// Without a connection, the thumbnail stays, and the message is in the page's own words.
    @Test func lostConnectionKeepsThumbnail() async throws {
        try await withPage { browser, _ in
            try await openFirst(browser)
            try await browser.wait(
                for: """
                    document.querySelector('[data-row="1"][data-picture=filtered]' +
                        '[data-active=false]')
                    """, "the next photo has a thumbnail")
            try await browser.command("Network.enable", [:])
            func setOffline(_ isOffline: Bool) async throws {
                try await browser.command(
                    "Network.emulateNetworkConditions",
                    [
                        "offline": isOffline, "latency": 0, "downloadThroughput": -1,
                        "uploadThroughput": -1,
                    ])
            }
            try await setOffline(true)
            try await browser.press("ArrowRight")
            try await browser.wait(
                for: "location.hash.includes('photo=1.')"
                    + " && !document.querySelector('.trouble').hidden", "the message is shown")
            let shown = try await browser.evaluateAsync(
                """
                const image = document.querySelector('.canvas img:last-of-type');
                image.decode().catch(() => {}).then(() => done(
                    [document.querySelector('.trouble p').textContent,
                        document.querySelector('.state').textContent,
                        image.naturalWidth > 0].join()));
                """)
            #expect(shown == "The server does not answer.,Filtered,true")
            try await setOffline(false)
            try await browser.wait(
                for: "document.querySelector('.trouble').hidden && \(DetailView.isLarge)",
                "the photo comes when the server is back")
        }
    }

    @Test func slashSearchesAndAddressKeepsSearch() async throws {
        try await withPage { browser, gallery in
            let word = "night"
            let names = gallery.origin.catalog.entries.map(\.name)
            let expected = names.count { $0.lowercased().contains(word) }
            try await browser.press("/")
            for key in word { try await browser.press(String(key)) }
            let size = "document.querySelector('.row')?.getAttribute('aria-setsize')"
            try await browser.wait(
                for: """
                    \(size) === '\(expected)' && [...document.querySelectorAll('.row-name')]
                        .every(name => name.textContent !== '')
                    """, "the matches are shown with their names")
            let shown = try await browser.evaluate(
                """
                return [...document.querySelectorAll('.row-name')]
                    .every(name => name.textContent.toLowerCase().includes('\(word)'))
                """)
            #expect(shown == "1" || shown == "true")
            try await browser.wait(
                for: "document.querySelectorAll('[data-picture=filtered]').length > 1",
                "the matches are downloaded")
            _ = try await browser.evaluate("window.isOld = true; location.reload()")
            try await browser.wait(
                for: "!window.isOld && \(size) === '\(expected)'", "the search survives a reload")
        }
    }

    @Test func chipShowsFailedPhotosOnly() async throws {
        try await withPage { browser, _ in
            try await browser.wait(
                for: "document.querySelector('.row[data-state=failed]')", "a photo failed")
            _ = try await browser.evaluate("document.querySelector('[data-count=failed]').click()")
            try await browser.wait(
                for: """
                    location.hash.includes('state=failed') && [...document.querySelectorAll('.row')]
                        .every(cell => cell.dataset.state === 'failed')
                    """, "only failed photos are shown")
        }
    }

    @Test func typingSelectsPhotoByName() async throws {
        try await withPage { browser, gallery in
            let names = gallery.origin.catalog.entries.map(\.name)
            let row = try #require(names.firstIndex { $0.lowercased().contains("balloon") })
            // A pause between two keys would begin a new name, so a script presses them.
            _ = try await browser.evaluate(
                """
                for (const key of 'balloon') {
                    document.activeElement.dispatchEvent(
                        new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
                }
                """)
            try await browser.wait(
                for: "\(Self.focusedRow) === '\(row)'", "the photo has the focus")
        }
    }

    @Test func chineseBrowserGetsChineseTexts() async throws {
        let invalid = PhotoFailure(
            stage: .source, reason: "photos.json, entry 1: no URL.", isRetryable: false,
            cause: .init(.badEntry, ["detail": "no URL."]))
        let missing = try #require(URL(string: "http://127.0.0.1:1/missing.jpg"))
        let photos = [
            PhotoRecord(id: PhotoID(rawValue: 1), name: "Invalid", failure: invalid),
            PhotoRecord(id: PhotoID(rawValue: 2), name: "Blocked", url: missing),
        ]
        try await withGallery(photos: photos) { gallery in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.command(
                    "Emulation.setUserAgentOverride",
                    ["userAgent": "test", "acceptLanguage": "zh-CN"])
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "document.querySelector('#total').textContent === '2 张照片'",
                    "the number of photos is in Chinese")
                #expect(
                    try await browser.evaluate("return document.documentElement.lang") == "zh-Hans")
                try await browser.wait(
                    for: "document.querySelectorAll('.row[data-state=failed]').length === 2",
                    "both photos have failed")
                let reasons = try await browser.evaluate(
                    """
                    return [...document.querySelectorAll('.row-reason')]
                        .map(reason => reason.textContent).join(' ')
                    """)
                #expect(reasons.contains("列表中的此条目有误：no URL."))
                #expect(reasons.contains("可用 --allow-host 127.0.0.1:1 允许此主机。"))
                // A retry cannot help either of them.
                let retries = try await browser.evaluate(
                    "return document.querySelectorAll('.row-retry:not([hidden])').length")
                #expect(retries == "0")
            }
        }
    }
}
