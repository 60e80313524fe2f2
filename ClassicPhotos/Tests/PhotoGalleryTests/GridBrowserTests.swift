import DemoOrigin
import OperationsTestSupport
import Testing

/// The grid of photos in a real browser: its layout, its keys, and its address.
@Suite(.ownThreads, .oneStillBrowser, .serialized, .timeLimit(.minutes(15)))
struct GridBrowserTests {
    /// The cells on the screen in the order of their rows.
    private static let onScreen = """
        [...document.querySelectorAll('.row')].filter(cell => {
            const box = cell.getBoundingClientRect();
            return box.top >= 0 && box.bottom <= innerHeight;
        }).sort((a, b) => a.dataset.row - b.dataset.row)
        """

    private static let hasFailed = "document.querySelector('.row[data-state=failed]') !== null"

    private static let isFilled = "\(onScreen).length >= 12"

    private static let focusedRow =
        "String(document.activeElement.closest('.row')?.dataset.row)"

    private static let settled = "document.documentElement.dataset.phase === 'settled'"

    private func withPage(
        width: Int = 1440, cells: Int = 12,
        _ body: @escaping @Sendable (Browser, Gallery) async throws -> Void
    ) async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.resize(width: width, height: 800)
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "\(Self.onScreen).length >= \(cells)", "the grid is filled")
                try await body(browser, gallery)
                #expect(try await browser.consoleMessages() == [])
            }
        }
    }

    @Test(arguments: [768, 1440, 2560])
    func cellsAreAlignedWithBothEdges(width: Int) async throws {
        try await withPage(width: width) { browser, _ in
            let gaps = try await browser.evaluate(
                """
                const cells = \(Self.onScreen).map(cell => cell.getBoundingClientRect());
                const left = Math.min(...cells.map(box => box.left));
                const right = innerWidth - Math.max(...cells.map(box => box.right));
                const widths = cells.map(box => box.width);
                const spread = Math.max(...widths) - Math.min(...widths);
                return [Math.abs(left - right) <= 1, left <= 40, spread <= 1].join()
                """)
            #expect(gaps == "true,true,true")
            let overflow = try await browser.evaluate(
                "return String(document.documentElement.scrollWidth > innerWidth)")
            #expect(overflow == "false")
        }
    }

    @Test func photosStayInPlaceWhileOthersComeAndGo() async throws {
        let names = (10..<70).map { "photo\($0).jpg" }
        try await withGalleryOfFolder(names) { gallery, folder in
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.resize(width: 900, height: 800)
                try await browser.open(gallery.url)
                try await browser.wait(for: "\(Self.onScreen).length >= 12", "the grid is filled")
                _ = try await browser.evaluate("scrollTo(0, 900)")
                try await browser.wait(
                    for: """
                        \(Self.settled) && scrollY > 800 && \(Self.onScreen).every(
                            cell => cell.dataset.picture === 'filtered')
                        """, "the photos on the screen are shown")
                let top = "return String(Math.round(kept.getBoundingClientRect().top))"
                let before = try await browser.evaluate(
                    """
                    const header = document.getElementById('header').getBoundingClientRect().bottom;
                    window.kept = \(Self.onScreen).find(
                        cell => cell.getBoundingClientRect().top >= header);
                    window.wasEmptied = false;
                    new MutationObserver(() => {
                        if (kept.dataset.picture === 'none') wasEmptied = true;
                    }).observe(kept, { attributes: true });
                    \(top)
                    """)
                for name in ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"] { try folder.write(name) }
                try folder.remove("photo10.jpg")
                try await browser.wait(
                    for: "kept.getAttribute('aria-setsize') === '64'",
                    "the new photos have places")
                #expect(try await browser.evaluate(top) == before)
                // The cell was neither replaced nor emptied.
                #expect(
                    try await browser.evaluate(
                        "return String(kept.isConnected && !wasEmptied)") == "true")
                _ = try await browser.evaluate("scrollTo(0, 0)")
                try await browser.wait(
                    for: """
                        [...document.querySelectorAll('.row')].slice(0, 5).map(
                            cell => cell.querySelector('.row-name').textContent).join()
                            === 'a.jpg,b.jpg,c.jpg,d.jpg,e.jpg'
                        """, "the new photos are at the top")
                #expect(try await browser.consoleMessages() == [])
            }
        }
    }

    @Test(arguments: ["grid", "list"])
    func damagedPhotoIsShownWithBadge(view: String) async throws {
        try await withGalleryOfFolder(["b.jpg"]) { gallery, folder in
            let whole = try folder.bytes(of: "b.jpg")
            try folder.write("a.jpg", bytes: Array(whole.prefix(whole.count - 8)))
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(for: "\(Self.onScreen).length === 2", "the grid is filled")
                if view == "list" {
                    _ = try await browser.evaluate(
                        "document.querySelector('#view [data-view=list]').click()")
                }
                let badges =
                    "[...document.querySelectorAll('.row-badge')].filter("
                    + "badge => badge.checkVisibility())"
                try await browser.wait(
                    for: """
                        \(badges).map(badge => [badge.innerText, badge.closest('.row')
                            .querySelector('.row-name').textContent,
                            badge.closest('.row').dataset.picture].join()).join(';')
                            === 'Damaged,a.jpg,filtered'
                        """, "the damaged photo is shown and has a badge")
                _ = try await browser.evaluate(
                    "\(badges)[0].closest('.row').querySelector('.row-link').click()")
                try await browser.wait(for: DetailView.isLarge, "the photo is shown")
                try await browser.wait(
                    for: """
                        document.querySelector('#detail .damage').innerText.startsWith(
                            'This file is damaged: ')
                        """, "the view says what is wrong")
            }
        }
    }

    /// The length of a panorama is no measure: its short side must cover the cell.
    @Test func picturesAreSharpOnScreenWithManyPixels() async throws {
        try await withGalleryOfFolder([]) { gallery, folder in
            for (name, width, height) in [
                ("a.jpg", 1_200, 900), ("b.jpg", 3_000, 400), ("c.jpg", 500, 1_600),
            ] {
                try folder.write(name, width: width, height: height)
            }
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.command(
                    "Emulation.setDeviceMetricsOverride",
                    ["width": 1000, "height": 800, "deviceScaleFactor": 2, "mobile": false])
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: """
                        (cells => cells.length === 3 && cells.every(cell => {
                            const image = cell.querySelector('img:last-of-type');
                            const frame = cell.querySelector('.row-photo');
                            return image.naturalWidth * 1.2 >= 2 * frame.clientWidth
                                && image.naturalHeight * 1.2 >= 2 * frame.clientHeight;
                        }))([...document.querySelectorAll('.row')])
                        """, "every picture has enough pixels for its cell")
                #expect(try await browser.consoleMessages() == [])
            }
        }
    }

    @Test func deletedPhotoClosesItsView() async throws {
        try await withGalleryOfFolder(["a.jpg", "b.jpg"]) { gallery, folder in
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(
                    for: "document.querySelector('.row .row-name')?.textContent === 'a.jpg'",
                    "the name is known")
                _ = try await browser.evaluate(
                    "document.querySelector('.row[data-row=\"0\"] .row-link').click()")
                try await browser.wait(for: DetailView.isOpen, "the view is open")
                try folder.remove("a.jpg")
                try await browser.wait(for: DetailView.isClosed, "the view is closed")
                try await browser.wait(
                    for: """
                        document.getElementById('notice-text').textContent
                            === 'This photo is no longer there.'
                        """, "the page says why")
            }
        }
    }

    @Test func cellsDoNotMoveWhenPhotosArrive() async throws {
        try await withPage { browser, _ in
            let places = """
                JSON.stringify(\(Self.onScreen).map(cell => [cell.dataset.row, cell.offsetLeft,
                    cell.offsetTop, cell.offsetWidth, cell.offsetHeight]))
                """
            let before = try await browser.evaluate("return \(places)")
            try await browser.wait(
                for: """
                    \(Self.onScreen).every(cell => cell.dataset.active === 'false'
                        && (cell.dataset.picture === 'filtered' || cell.dataset.state === 'failed'))
                    """, "every photo on the screen is done")
            #expect(try await browser.evaluate("return \(places)") == before)
            let spinners = try await browser.evaluate(
                "return \(Self.onScreen).filter(c => c.querySelector('.row-spinner:not([hidden])'))"
                    + ".length")
            #expect(spinners == "0")
        }
    }

    /// Neither a chosen state nor the numbers of a very long list change the header's height.
    @Test(arguments: [390, 768, 1200, 1366, 1920])
    func headerKeepsItsHeight(width: Int) async throws {
        try await withPage(width: width, cells: 5) { browser, _ in
            try await browser.wait(
                for: "document.querySelector('#counts.known') && \(Self.hasFailed)",
                "the numbers are known")
            let height = "document.querySelector('#header').offsetHeight"
            let before = try await browser.evaluate("return \(height)")
            try await browser.clickFirst("[data-count=failed]")
            try await browser.wait(
                for: "!document.querySelector('#retry-all').hidden"
                    + " && document.querySelector('#total').textContent.includes(' of ')",
                "the failed photos are shown")
            #expect(try await browser.evaluate("return \(height)") == before)
            let after = try await browser.evaluate(
                """
                for (const chip of document.querySelectorAll('[data-count]')) {
                    chip.textContent = '100,000 ' + chip.dataset.count;
                }
                document.querySelector('#total').textContent = '99,999 of 100,000 photos';
                return [\(height), document.documentElement.scrollWidth <= innerWidth].join()
                """)
            #expect(after == "\(before),true")
        }
    }

    @Test func keysMoveFocusThroughGrid() async throws {
        try await withPage { browser, _ in
            let columns = try await browser.evaluate(
                "return \(Self.onScreen).filter(c => c.offsetTop === 0).length")
            func row(after key: String) async throws -> String {
                try await browser.press(key)
                return try await browser.evaluate("return \(Self.focusedRow)")
            }
            #expect(try await row(after: "ArrowDown") == "0")
            #expect(try await row(after: "ArrowRight") == "1")
            #expect(try await row(after: "ArrowLeft") == "0")
            #expect(try await row(after: "ArrowDown") == columns)
            #expect(try await row(after: "ArrowUp") == "0")
            #expect(try await row(after: "End") == "239")
            let isVisible = try await browser.evaluate(
                """
                const box = document.activeElement.getBoundingClientRect();
                return String(box.top >= 0 && box.bottom <= innerHeight)
                """)
            #expect(isVisible == "true")
            #expect(try await row(after: "PageUp") != "239")
            #expect(try await row(after: "Home") == "0")
            #expect(try await browser.evaluate("return scrollY") == "0")
        }
    }

    @Test func focusStaysOnPhotoThatIsScrolledAway() async throws {
        try await withPage { browser, _ in
            try await browser.press("ArrowDown")
            try await browser.press("ArrowRight")
            _ = try await browser.evaluate("scrollTo(0, document.body.scrollHeight)")
            try await browser.wait(
                for: "\(Self.settled) && \(Self.onScreen).some(c => c.dataset.row > 200)",
                "the last photos are shown")
            #expect(try await browser.evaluate("return \(Self.focusedRow)") == "1")
            // The next key continues from this photo.
            try await browser.press("ArrowRight")
            #expect(try await browser.evaluate("return \(Self.focusedRow)") == "2")
        }
    }

    @Test func viewIsSwitchedByKeyAndRemembered() async throws {
        try await withPage { browser, gallery in
            let view = "document.getElementById('list').dataset.view"
            #expect(try await browser.evaluate("return \(view)") == "grid")
            try await browser.press("#")
            try await browser.wait(for: "\(view) === 'list'", "the list is shown")
            try await browser.open("about:blank")
            try await browser.open(gallery.url)
            try await browser.wait(for: "\(Self.onScreen).length >= 5", "the list is filled")
            #expect(try await browser.evaluate("return \(view)") == "list")
            _ = try await browser.evaluate(
                "document.querySelector('#view [data-view=grid]').click()")
            #expect(try await browser.evaluate("return \(view)") == "grid")
        }
    }

    /// On a very wide screen, the list has columns.
    @Test func listUsesWideScreen() async throws {
        try await withPage(width: 3840) { browser, _ in
            try await browser.clickFirst("#view [data-view=list]")
            try await browser.wait(
                for: """
                    \(Self.onScreen).filter(cell => cell.offsetTop === 0).length === 4
                        && Math.max(...\(Self.onScreen).map(cell =>
                            cell.getBoundingClientRect().right)) > 3700
                    """, "the list has four columns")
        }
    }

    /// The title is the last part of its line that gives way.
    @Test func titleIsWholeOnSmallPhone() async throws {
        try await withPage(width: 320, cells: 5) { browser, _ in
            let isWhole = try await browser.evaluate(
                """
                document.querySelector('#total').textContent = '99,999 of 100,000 photos';
                const title = document.querySelector('#title');
                return String(title.scrollWidth <= title.clientWidth)
                """)
            #expect(isWhole == "true")
        }
    }

    @Test func pressedLooksPressedInForcedColors() async throws {
        try await withPage { browser, _ in
            try await browser.command(
                "Emulation.setEmulatedMedia",
                ["features": [["name": "forced-colors", "value": "active"]]])
            try await browser.clickFirst("[data-count=filtered]")
            // Without colors of its own, an element loses its background.
            for element in ["#counts [aria-pressed=true]", "#view [aria-pressed=true]", "#view i"] {
                let adjust = try await browser.evaluate(
                    """
                    return getComputedStyle(document.querySelector('\(element)')).forcedColorAdjust
                    """)
                #expect(adjust == "none", "\(element)")
            }
        }
    }

    @Test func viewsHaveNamesAndShownOneIsPressed() async throws {
        try await withPage { browser, _ in
            let buttons = """
                [...document.querySelectorAll('#view button')].map(button =>
                    button.innerText + ' ' + button.getAttribute('aria-pressed')).join()
                """
            #expect(try await browser.evaluate("return \(buttons)") == "Grid true,List false")
            try await browser.clickFirst("#view [data-view=list]")
            #expect(try await browser.evaluate("return \(buttons)") == "Grid false,List true")
        }
    }

    @Test func questionMarkListsKeys() async throws {
        try await withPage { browser, _ in
            try await browser.press("?")
            try await browser.wait(
                for: "document.querySelector('#keys[open]')?.innerText.includes('Enlarge')",
                "the keys are listed")
            try await browser.press("?")
            try await browser.wait(for: "!document.querySelector('#keys[open]')", "it is closed")
        }
    }

    /// A browser has six connections for a server, and keeps pages that were left.
    @Test func pageThatWasLeftHoldsNoConnection() async throws {
        try await withPage { browser, gallery in
            for _ in 1...7 {
                try await browser.open("about:blank")
                try await browser.open(gallery.url)
                try await browser.wait(for: Self.isFilled, "the grid is filled")
            }
            try await browser.open("about:blank")
            _ = try await browser.evaluate("history.back()")
            try await browser.wait(
                for: "document.documentElement.dataset.connection === 'open' && \(Self.isFilled)",
                "the page is back")
        }
    }

    /// Collects the addresses of the thumbnails that the page has shown. The page shows a picture
    /// once it is decoded, so its transfer is complete.
    private static let collectShown = """
        window.shown = new Set();
        new MutationObserver(changes => {
            for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) {
                if (node.src?.includes('/api/thumbnails/')) window.shown.add(node.src);
            }
        }).observe(document, { childList: true, subtree: true });
        """

    /// The addresses of thumbnails name their contents, so the browser's cache has those that were
    /// shown before. A transfer that the page has stopped, because a newer picture came, may be
    /// repeated.
    @Test func reloadTransfersNoThumbnailAgain() async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.resize(width: 1440, height: 800)
                try await browser.command(
                    "Page.addScriptToEvaluateOnNewDocument", ["source": Self.collectShown])
                func addresses(_ script: String) async throws -> Set<Substring> {
                    let text = try await browser.evaluate("return [\(script)].join()")
                    return Set(text.split(separator: ","))
                }
                // A transfer has an entry a moment after its end.
                let allDone = """
                    \(Self.isFilled) && \(Self.onScreen).every(cell =>
                        cell.dataset.state === 'failed' || cell.dataset.picture === 'filtered')
                    && [...window.shown].every(address =>
                        performance.getEntriesByName(address).length > 0)
                    """
                let transferred = """
                    ...performance.getEntriesByType('resource')
                        .filter(({ name, transferSize }) =>
                            name.includes('/api/thumbnails/') && transferSize > 0)
                        .map(({ name }) => name)
                    """
                try await browser.open(gallery.url)
                try await browser.wait(for: allDone, "the photos are shown")
                var known = try await addresses("...window.shown")
                #expect(known.count > 5)
                #expect(known.isSubset(of: try await addresses(transferred)))
                for _ in 1...3 {
                    _ = try await browser.evaluate("window.isOld = true; location.reload()")
                    try await browser.wait(
                        for: "!window.isOld && \(allDone)", "they are shown again")
                    let shown = try await addresses("...window.shown")
                    #expect(!shown.isDisjoint(with: known))
                    #expect(try await addresses(transferred).isDisjoint(with: known))
                    known.formUnion(shown)
                }
            }
        }
    }

    @Test func reloadReturnsToSamePhotos() async throws {
        try await withPage { browser, _ in
            _ = try await browser.evaluate("scrollTo(0, 1500)")
            try await browser.wait(
                for: "\(Self.settled) && location.hash.includes('at=') && \(Self.isFilled)",
                "the address is known")
            let place = "JSON.stringify([scrollY, \(Self.onScreen)[0].dataset.row])"
            let before = try await browser.evaluate("return \(place)")
            _ = try await browser.evaluate("window.isOld = true; location.reload()")
            // The page lays out its rows more than once while it loads.
            try await browser.wait(
                for: "!window.isOld && document.readyState === 'complete' && \(Self.isFilled) "
                    + "&& \(place) === '\(before)'", "the page shows \(before) again")
        }
    }

    @Test func flingIsDragThenDecelerationThenRest() async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.command(
                    "Emulation.setDeviceMetricsOverride",
                    ["width": 800, "height": 800, "deviceScaleFactor": 2, "mobile": true])
                try await browser.command(
                    "Emulation.setTouchEmulationEnabled", ["enabled": true, "maxTouchPoints": 1])
                try await browser.open(gallery.url)
                try await browser.wait(for: Self.isFilled, "the grid is filled")
                _ = try await browser.evaluate(
                    """
                    window.phases = [];
                    const root = document.documentElement;
                    new MutationObserver(() => phases.push(root.dataset.phase))
                        .observe(root, { attributeFilter: ['data-phase'] });
                    """)
                func touch(_ type: String, _ y: Int?) async throws {
                    let points = y.map { [["x": 200, "y": $0]] } ?? []
                    try await browser.command(
                        "Input.dispatchTouchEvent", ["type": type, "touchPoints": points])
                }
                try await touch("touchStart", 700)
                for y in stride(from: 660, through: 260, by: -40) {
                    try await touch("touchMove", y)
                }
                try await touch("touchEnd", nil)
                try await browser.wait(
                    for: "window.phases.at(-1) === 'settled'", "the list has settled")
                #expect(try #require(Int(try await browser.evaluate("return scrollY|0"))) > 300)
                let phases = try await browser.evaluate("return phases.join()")
                #expect(
                    phases == "dragging,decelerating,settled" || phases == "dragging,settled")
            }
        }
    }

    /// The empty cells that a fast scroll shows are where the cells will be.
    @Test(arguments: ["grid", "list"])
    func patternFollowsWindowAndIsAlignedWithCells(view: String) async throws {
        try await withPage { browser, _ in
            _ = try await browser.evaluate(
                """
                document.querySelector('#view [data-view=\(view)]').click();
                scrollTo(0, 3000)
                """)
            try await browser.wait(
                for: "scrollY === 3000 && \(Self.settled) && \(Self.onScreen).length > 3",
                "the list stands still")
            let places = try await browser.evaluate(
                """
                const pattern = document.querySelector('#pattern').getBoundingClientRect();
                const cells = \(Self.onScreen).map(cell => cell.getBoundingClientRect());
                const tops = [...new Set(cells.map(box => box.top))].sort((a, b) => a - b);
                const shift = (tops[0] - pattern.top) % (tops[1] - tops[0]);
                return [pattern.top <= 0, pattern.bottom >= innerHeight, Math.abs(shift) < 0.1,
                    Math.abs(pattern.left - cells[0].left) < 0.1].join()
                """)
            #expect(places == "true,true,true,true")
        }
    }

    @Test func fastStepsEndSoonerThanNotches() async throws {
        try await withPage { browser, _ in
            let pauses = try await browser.evaluateAsync(
                """
                import("/scroll.js").then(({ pauseAfter }) => done([
                    pauseAfter([]), pauseAfter([16, 17]), pauseAfter([16, 17, 16]),
                    pauseAfter([16, 30, 16, 16]), pauseAfter([16, 16, 80]),
                ].join()));
                """)
            #expect(pauses == "150,150,42.5,75,150")
        }
    }

    @Test func countsHaveSeparators() async throws {
        try await withPage { browser, _ in
            let counts = try await browser.evaluateAsync(
                """
                import("/strings.js").then(({ number }) => done(
                    [0, 999, 1000, 73912, 100000, 1234567, 1234.5].map(value => number(value))
                        .join(" ")));
                """)
            #expect(counts == "0 999 1,000 73,912 100,000 1,234,567 1,234.5")
        }
    }

    @Test func samePhotosStayOnScreenWhenWindowBecomesNarrow() async throws {
        try await withPage { browser, _ in
            _ = try await browser.evaluate("scrollTo(0, 2000)")
            try await browser.wait(
                for: "\(Self.settled) && location.hash.includes('at=') && \(Self.isFilled)",
                "the list has settled")
            let first = try await browser.evaluate("return \(Self.onScreen)[0].dataset.row")
            try await browser.resize(width: 720, height: 800)
            try await browser.wait(
                for: "innerWidth === 720 && \(Self.onScreen)"
                    + ".some(cell => cell.dataset.row === '\(first)')",
                "the same photo is shown")
        }
    }
}
