import Foundation
import OperationsTestSupport
import PhotoImaging
import Testing

@testable import PhotoGallery

/// The page of a folder in a real browser: lines of photos with their own proportions, headings,
/// and the colors of photos that are not there yet.
@Suite(.ownThreads, .oneStillBrowser, .serialized, .timeLimit(.minutes(15)))
struct OwnPhotosBrowserTests {
    private static let shapes = [(90, 60), (60, 90), (80, 60), (300, 50), (60, 60), (40, 120)]

    /// The cells that exist, in the order of their places.
    private static let cells = "[...document.querySelectorAll('.row')]"

    /// Those of which something is on the screen: only they have photos.
    private static let shown = """
        \(cells).filter(cell => {
            const { top, bottom } = cell.getBoundingClientRect();
            const edge = document.querySelector('#header').getBoundingClientRect().bottom;
            return bottom > edge + 1 && top < innerHeight - 1;
        })
        """

    private static let isDone = """
        \(shown).length > 3 && document.documentElement.dataset.phase === 'settled'
            && \(shown).every(cell => cell.dataset.picture === 'filtered')
        """

    private static let focused = "document.activeElement.closest('.row')"

    private static let headings =
        "[...document.querySelectorAll('h2.heading')].map(title => title.textContent).join(';')"

    /// Three months with fourteen photos each, in two folders and beside them.
    private func withPage(
        width: Int = 1280, height: Int = 900,
        _ body: @escaping @Sendable (Browser, Gallery, ChangingFolder) async throws -> Void
    ) async throws {
        try await withGalleryOfFolder([]) { gallery, folder in
            for index in 0..<42 {
                let (width, height) = Self.shapes[index % Self.shapes.count]
                let parent = ["", "Boats/", "Boats/Old/"][index / 14]
                try folder.write(
                    "\(parent)photo\(index).jpg", width: width, height: height,
                    gray: UInt8(index * 5), month: 3 + index % 3)
            }
            let isRead = try await eventually {
                let text = try await gallery.get("/api/order?layout=1&complete=1").text
                return text.firstMatch(of: /"shapes":\[(.*?)\]/)?.1.split(separator: ",").count
                    == 42
            }
            #expect(isRead)
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.resize(width: width, height: height)
                try await browser.open(gallery.url)
                try await browser.wait(for: Self.isDone, "the photos are shown")
                try await body(browser, gallery, folder)
                #expect(try await browser.consoleMessages() == [])
            }
        }
    }

    private func order(by key: String, in browser: Browser) async throws {
        _ = try await browser.evaluate(
            """
            const sort = document.querySelector('#sort');
            sort.value = '\(key)';
            sort.dispatchEvent(new Event('change'));
            """)
    }

    @Test(arguments: [360, 768, 1280])
    func linesFillWidthAndPhotosKeepTheirProportions(width: Int) async throws {
        try await withPage(width: width) { browser, _, _ in
            #expect(
                try await browser.evaluate("return document.getElementById('list').dataset.view")
                    == "grid")
            let problems = try await browser.evaluate(
                """
                const list = document.querySelector('#list').getBoundingClientRect();
                const boxes = \(Self.cells).map(cell => {
                    const { left, right, top, bottom, width, height } = cell.getBoundingClientRect();
                    const image = cell.querySelector('img:last-of-type');
                    const own = image ? image.naturalWidth / image.naturalHeight : width / height;
                    const shape = Math.min(3, Math.max(0.5, own));
                    return { left, right, top, bottom, width, height, shape };
                });
                const problems = [];
                boxes.forEach((box, index) => {
                    if (Math.abs(box.width - box.shape * box.height) > 1 + box.shape) {
                        problems.push(`shape ${JSON.stringify(box)}`);
                    }
                    for (const other of boxes.slice(0, index)) {
                        const isApart = other.right <= box.left || other.left >= box.right
                            || other.bottom <= box.top || other.top >= box.bottom;
                        if (!isApart) problems.push(`overlap ${JSON.stringify([box, other])}`);
                    }
                });
                const lines = Map.groupBy(boxes, box => box.top);
                let full = 0;
                for (const [top, line] of lines) {
                    if (new Set(line.map(box => box.height)).size > 1) problems.push('heights');
                    const right = Math.max(...line.map(box => box.right));
                    if (Math.abs(right - list.right) <= 1) full += 1;
                    if (right > list.right + 1) problems.push('too wide');
                }
                // The last line of each section may be shorter.
                if (full < lines.size - document.querySelectorAll('h2.heading').length) {
                    problems.push(`${full} of ${lines.size} lines are full`);
                }
                if (document.documentElement.scrollWidth > innerWidth) problems.push('overflow');
                return problems.join('\\n')
                """)
            #expect(problems == "")
        }
    }

    /// The same for many lists of photos, also at widths that no test shows.
    @Test func layoutIsRightForAllWidths() async throws {
        try await withPage { browser, _, _ in
            let problems = try await browser.evaluateAsync(
                """
                import("/rows.js").then(({ Rows }) => {
                    const problems = new Set();
                    const pool = [1500, 667, 1333, 750, 1778, 4000, 300, 1000, 0];
                    for (const width of [300, 354, 720, 1232, 1872, 2480]) {
                        for (let total = 1; total < 60; total += 1) {
                            const shapes = Array.from({ length: total },
                                (_, place) => pool[(place * place + total) % pool.length]);
                            const sections = total % 2 ? [] : [{ name: "a", count: total / 2 },
                                { name: "b", count: total / 2 }];
                            const rows = new Rows("grid", width, total, { shapes, sections });
                            for (let place = 0; place < total; place += 1) {
                                const box = rows.box(place);
                                const shape = Math.min(3, Math.max(0.5, shapes[place] / 1000 || 1.5));
                                const error = Math.abs(box.width - shape * box.height);
                                if (error > 1.5 + shape) problems.add("shape");
                                if (box.left < 0 || box.left + box.width > width) {
                                    problems.add("width");
                                }
                                const isLast = [total - 1, sections.length ? total / 2 - 1 : 0]
                                    .includes(place);
                                if (rows.nextLine(place) === place + 1 && !isLast
                                    && box.left + box.width !== width) problems.add("not full");
                                const { first, last } = rows.places(box.top, box.top + 1);
                                if (first > place || last < place) problems.add("not visible");
                                const middle = box.left + box.width / 2;
                                const next = rows.step(place, 1, middle);
                                const below = rows.box(next);
                                const end = rows.box(rows.nextLine(next) - 1);
                                const isFull = end.left + end.width === width;
                                const isBeside = below.left - rows.gap > middle
                                    || below.left + below.width + rows.gap < middle;
                                if (isFull && isBeside) problems.add("not below");
                            }
                            const { top, height } = rows.box(total - 1);
                            if (rows.height !== top + height) problems.add("height");
                        }
                    }
                    done([...problems].join());
                });
                """)
            #expect(problems == "")
        }
    }

    @Test func photosOfEachFolderAreUnderHeading() async throws {
        try await withPage(height: 3_000) { browser, _, _ in
            let headings = try await browser.evaluate("return \(Self.headings)")
            #expect(headings == "Photos;Boats;Boats/Old")
            // Screen readers find the heading before its list, which is named by it.
            let lists = try await browser.evaluate(
                """
                return [...document.querySelectorAll('#list [role=list]')].map(list => [
                    document.getElementById(list.getAttribute('aria-labelledby')).textContent,
                    list.previousElementSibling.tagName, list.childElementCount,
                    list.firstElementChild.getAttribute('aria-posinset'),
                    list.firstElementChild.getAttribute('aria-setsize')].join()).join(';')
                """)
            #expect(lists == "Photos,H2,14,1,14;Boats,H2,14,1,14;Boats/Old,H2,14,1,14")
            let isBelow = try await browser.evaluate(
                """
                return String([...document.querySelectorAll('.section')].every(section => {
                    const title = section.querySelector('h2').getBoundingClientRect();
                    const tops = [...section.querySelectorAll('.row')].map(
                        row => row.getBoundingClientRect().top);
                    return Math.abs(Math.min(...tops) - title.bottom) < 1;
                }))
                """)
            #expect(isBelow == "true")
        }
    }

    @Test func photosOfEachMonthAreUnderHeading() async throws {
        try await withPage(height: 3_000) { browser, _, _ in
            try await order(by: "date", in: browser)
            try await browser.wait(
                for: "\(Self.headings) === 'May 2020;April 2020;March 2020'", "months are shown")
            let isGrouped = try await browser.evaluate(
                """
                return String([...document.querySelectorAll('.section')].every((section, index) =>
                    [...section.querySelectorAll('.row-name')].every(name =>
                        name.title.match(/\\d+/)[0] % 3 === 2 - index)))
                """)
            #expect(isGrouped == "true")
            try await order(by: "size", in: browser)
            try await browser.wait(for: "\(Self.headings) === ''", "other orders have no headings")
        }
    }

    /// The list of months also says which one is at the top of the screen.
    @Test func keyboardJumpsToMonth() async throws {
        try await withPage(width: 1000, height: 500) { browser, _, _ in
            let shown = "document.querySelector('#jump').value"
            try await order(by: "date", in: browser)
            try await browser.wait(for: "\(shown) === 'May 2020'", "the first month is named")
            _ = try await browser.evaluate("document.querySelector('#jump').focus()")
            try await browser.press("ArrowDown")
            let title = """
                [...document.querySelectorAll('h2.heading')].find(
                    title => title.textContent === 'April 2020').getBoundingClientRect()
                """
            try await browser.wait(
                for: """
                    document.documentElement.dataset.phase === 'settled' && (box => box.top <
                        document.querySelector('#header').getBoundingClientRect().bottom + 10
                        && box.top > 0)(\(title))
                    """, "the month is at the top")
            #expect(try await browser.evaluate("return \(shown)") == "April 2020")
            _ = try await browser.evaluate("scrollTo(0, document.body.scrollHeight)")
            try await browser.wait(for: "\(shown) === 'March 2020'", "the last month is named")
        }
    }

    /// There is not enough below the last month to bring it to the top of a tall screen.
    @Test func chosenMonthIsNamedUntilScroll() async throws {
        try await withPage(width: 1000, height: 1_400) { browser, _, _ in
            let shown = "document.querySelector('#jump').value"
            try await order(by: "date", in: browser)
            try await browser.wait(for: "\(shown) === 'May 2020'", "the first month is named")
            _ = try await browser.evaluate("document.querySelector('#jump').focus()")
            try await browser.press("ArrowDown")
            try await browser.press("ArrowDown")
            try await browser.wait(
                for: "\(Self.isDone) && scrollY > 0", "the last months are on the screen")
            #expect(try await browser.evaluate("return \(shown)") == "March 2020")
            _ = try await browser.evaluate("scrollTo(0, 0)")
            try await browser.wait(for: "\(shown) === 'May 2020'", "the first month is named")
        }
    }

    @Test func reloadReturnsToSamePlaceOfOrder() async throws {
        try await withPage(width: 1000, height: 500) { browser, _, _ in
            try await order(by: "date", in: browser)
            try await browser.wait(for: "\(Self.headings).startsWith('May')", "months are shown")
            _ = try await browser.evaluate("scrollTo(0, 420)")
            try await browser.wait(
                for: "location.hash.includes('at=') && \(Self.isDone)", "the address is known")
            _ = try await browser.evaluate("window.isOld = true; location.reload()")
            try await browser.wait(
                for: "!window.isOld && scrollY === 420 && \(Self.isDone)", "the place is the same")
        }
    }

    @Test func keysFollowPositionsOfPhotos() async throws {
        try await withPage(width: 1000) { browser, _, _ in
            let box =
                "(box => [box.left, box.right, box.top].join())"
                + "(\(Self.focused).getBoundingClientRect())"
            func place() async throws -> [Double] {
                try await browser.evaluate("return \(box)").split(separator: ",").compactMap {
                    Double($0)
                }
            }
            try await browser.press("ArrowDown")
            try await browser.press("ArrowRight")
            try await browser.press("ArrowRight")
            var path = [try await place()]
            for _ in 0..<2 {
                try await browser.press("ArrowDown")
                path.append(try await place())
            }
            let middle = (path[0][0] + path[0][1]) / 2
            #expect(Set(path.map { $0[0] }).count > 1 && Set(path.map { $0[2] }).count > 1)
            for box in path { #expect(box[0] - 7 <= middle && middle <= box[1] + 7, "\(path)") }
            let name = "\(Self.focused).querySelector('.row-name').title"
            for _ in 0..<2 { try await browser.press("ArrowUp") }
            #expect(try await browser.evaluate("return \(name)") == "photo2.jpg")
            try await browser.press("End")
            try await browser.press("ArrowDown")
            #expect(try await browser.evaluate("return \(name)") == "Boats/Old/photo41.jpg")
            try await browser.press("Home")
            #expect(try await browser.evaluate("return scrollY") == "0")
        }
    }

    /// Holds the pictures of the pages that open from now on, until `release` is called.
    private func holdPictures(in browser: Browser) async throws {
        try await browser.command(
            "Page.addScriptToEvaluateOnNewDocument",
            [
                "source": """
                const { decode } = HTMLImageElement.prototype;
                const released = new Promise(resolve => { window.release = resolve; });
                HTMLImageElement.prototype.decode = async function () {
                    await released;
                    return decode.call(this);
                };
                """
            ])
    }

    @Test func photosDoNotMoveWhenTheirPicturesArrive() async throws {
        try await withPage { browser, gallery, _ in
            try await holdPictures(in: browser)
            try await browser.open("about:blank")
            try await browser.open(gallery.url)
            let places = """
                JSON.stringify(\(Self.cells).map(cell => [cell.dataset.row, cell.offsetLeft,
                    cell.offsetTop, cell.offsetWidth, cell.offsetHeight]))
                """
            try await browser.wait(
                for: "\(Self.shown).length > 3 && \(Self.shown).every("
                    + "cell => cell.dataset.state === 'filtered')", "the cells are there")
            #expect(
                try await browser.evaluate(
                    "return String(\(Self.shown).every(cell => cell.dataset.picture === 'none'))")
                    == "true")
            let before = try await browser.evaluate("return \(places)")
            _ = try await browser.evaluate("release()")
            try await browser.wait(for: Self.isDone, "the pictures are shown")
            #expect(try await browser.evaluate("return \(places)") == before)
        }
    }

    /// A picture that is red at the left and blue at the right.
    private static func twoColors() throws -> [UInt8] {
        let row = (0..<64).flatMap { $0 < 32 ? [230, 20, 20] as [UInt8] : [20, 20, 230] }
        let bitmap = try Bitmap(
            size: PixelSize(width: 64, height: 48), pixels: (0..<48).flatMap { _ in row })
        return try ImageEngine.encode(bitmap, as: .jpeg, quality: 95).bytes
    }

    /// The index has the colors of a file without a small picture once it was decoded.
    @Test func colorsAreShownUntilPhotoIsThere() async throws {
        try await withGalleryOfFolder([]) { gallery, folder in
            try folder.write("a.jpg", bytes: try Self.twoColors())
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.open(gallery.url)
                let picture = "document.querySelector('.row').dataset.picture"
                try await browser.wait(for: "\(picture) === 'filtered'", "the photo is shown")
                try await holdPictures(in: browser)
                try await browser.open("about:blank")
                try await browser.open(gallery.url)
                let colors = "document.querySelector('.row-colors')"
                try await browser.wait(
                    for: "\(colors).checkVisibility() && \(picture) === 'none'",
                    "colors are shown instead of the photo")
                let pixels = try await browser.evaluate(
                    """
                    const { data } = \(colors).getContext('2d').getImageData(0, 0, 4, 3);
                    const isRed = place => data[4 * place] > 150 && data[4 * place + 2] < 80;
                    const isBlue = place => data[4 * place] < 80 && data[4 * place + 2] > 150;
                    return [isRed(0), isBlue(3), isRed(8), isBlue(11)].join()
                    """)
                #expect(pixels == "true,true,true,true")
                let size = try await browser.evaluate(
                    """
                    const frame = document.querySelector('.row-picture').getBoundingClientRect();
                    const box = \(colors).getBoundingClientRect();
                    return String(box.width === frame.width && box.height === frame.height)
                    """)
                #expect(size == "true")
                _ = try await browser.evaluate("release()")
                try await browser.wait(for: "\(picture) === 'filtered'", "the photo is shown")
                #expect(try await browser.consoleMessages() == [])
            }
        }
    }

    @Test(arguments: [360, 768, 1280, 1920])
    func headerHasOneLineAndCountsOnlyFailures(width: Int) async throws {
        try await withPage(width: width) { browser, _, folder in
            let header = """
                (header => [...header.querySelectorAll('#title, #query, #sort, #view, #room')]
                    .filter(part => part.checkVisibility()).map(part => {
                        const box = part.getBoundingClientRect();
                        return Math.round((box.top + box.bottom) / 2);
                    }))(document.querySelector('#header'))
                """
            let spread = try await browser.evaluate(
                "const y = \(header); return [y.length, Math.max(...y) - Math.min(...y)].join()")
            // On a phone, the title and the views have a line of their own, which scrolls away.
            let parts = spread.split(separator: ",").compactMap { Int($0) }
            #expect(parts[0] == 5)
            #expect(width < 700 ? parts[1] < 60 : parts[1] <= 4, "\(spread)")
            let chips = """
                [...document.querySelectorAll('#counts button')].filter(
                    chip => chip.checkVisibility()).map(chip => chip.textContent).join()
                """
            #expect(try await browser.evaluate("return \(chips)") == "")
            #expect(
                try await browser.evaluate(
                    "return String(document.querySelector('#strip').checkVisibility())") == "false")
            try folder.write("a-broken.jpg", bytes: [0xFF, 0xD8, 0xFF, 0xE0, 0, 0])
            try await browser.wait(for: "\(chips) === '1 failed'", "the failure is counted")
            try await browser.clickFirst("#room")
            try await browser.wait(
                for: "document.querySelectorAll('#engine .cards > li').length === 2"
                    + " && \(chips).split(',').length === 4", "the engine room has all states")
            try await browser.clickFirst("#engine-button")
            try await browser.wait(
                for: "\(chips) === '1 failed' && document.activeElement.id === 'room'",
                "the engine room is closed")
        }
    }

    /// The demo's page stays as it is: equal cells, all states, and the queues.
    @Test func demoHasEqualCellsAndStates() async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1280, height: 900) { browser in
                try await browser.open(gallery.url)
                try await browser.wait(for: "\(Self.cells).length > 12", "the grid is filled")
                let shown = try await browser.evaluate(
                    """
                    const sizes = new Set(\(Self.cells).map(cell => cell.offsetHeight));
                    return [sizes.size, document.querySelector('#strip').checkVisibility(),
                        document.querySelector('#room').checkVisibility(),
                        document.querySelector('#jump').checkVisibility()].join()
                    """)
                #expect(shown == "1,true,false,false")
            }
        }
    }
}
