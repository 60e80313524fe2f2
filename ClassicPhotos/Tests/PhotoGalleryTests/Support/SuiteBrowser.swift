import Testing

/// One browser for the tests of a suite, of which one runs at a time. Each test gets a new window.
/// The start of a browser takes longer than most of the tests.
actor SuiteBrowser {
    @TaskLocal static var current: SuiteBrowser?

    private let driver: String
    private let moves: Bool
    private var browser: Browser?
    private var isInUse = false

    /// Runs a closure with a browser, which ends with the closure.
    static func with(
        moves: Bool, _ body: @escaping @Sendable (SuiteBrowser) async throws -> Void
    ) async throws {
        try await BrowserDriver.run { port in
            let browser = SuiteBrowser(driver: port, moves: moves)
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(browser))
            } catch {
                result = .failure(error)
            }
            try await browser.quit()
            try result.get()
        }
    }

    private init(driver port: Int, moves: Bool) {
        driver = "http://127.0.0.1:\(port)"
        self.moves = moves
    }

    /// Runs a closure with a window of its own. The browser starts with the first window.
    func run(
        _ width: Int, _ height: Int, _ body: @Sendable (Browser) async throws -> Void
    ) async throws {
        precondition(!isInUse, "Tests with one browser run one after the other: add .serialized")
        isInUse = true
        defer { isInUse = false }
        let window: Browser
        if let browser {
            window = browser
            try await window.setWindow(width, height)
        } else {
            window = try await Browser(driver: driver, width, height, moves: moves)
            browser = window
        }
        do {
            try await body(window)
            try await window.replaceWindow()
        } catch {
            // Nobody knows in which state a failed test leaves the browser. The test's own task may
            // be cancelled, and can send nothing then.
            await Task { try? await quit() }.value
            throw error
        }
    }

    private func quit() async throws {
        guard let browser else { return }
        self.browser = nil
        try await browser.quit()
    }
}

/// Gives the tests of a suite one browser.
///
/// The names of these suites end with `BrowserTests`, so `--filter BrowserTests` runs all tests in
/// a browser, and `--skip BrowserTests` all others.
struct OneBrowser: SuiteTrait, TestScoping {
    let moves: Bool

    func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        precondition(
            test.name.hasSuffix("BrowserTests"),
            "\(test.name) starts a browser: end its name with BrowserTests")
        try await withoutActuallyEscaping(function) { function in
            try await SuiteBrowser.with(moves: moves) { browser in
                try await SuiteBrowser.$current.withValue(browser) { try await function() }
            }
        }
    }
}

extension Trait where Self == OneBrowser {
    /// Gives the tests of a suite one browser. They have to be `.serialized`.
    static var oneBrowser: Self { OneBrowser(moves: true) }

    /// The same, with a browser that asks pages for no motion. Otherwise a third of the time goes
    /// into drawing movements.
    static var oneStillBrowser: Self { OneBrowser(moves: false) }
}
