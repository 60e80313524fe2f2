import HTTPTypes
import OperationsTestSupport
import PhotoTestSupport
import Testing

@testable import PhotoPipeline

@Suite(.ownThreads, .timeLimit(.minutes(15))) struct RetryAfterTests {
    private static let november1994 = 784_111_777

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ])
    func allThreeDateFormsAreParsed(text: String) {
        #expect(HTTPDate.seconds(text, now: 1_800_000_000) == Self.november1994)
    }

    @Test func leapYearsAndYearEndsAreCorrect() {
        let dates = [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Fri, 31 Dec 2027 23:59:60 GMT", 1_830_297_600),
        ]
        for (text, seconds) in dates { #expect(HTTPDate.seconds(text, now: 0) == seconds) }
    }

    @Test(arguments: [
        "", "tomorrow", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nuv 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "1 2 3 4 5 6 7 8",
        "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
    ])
    func invalidDatesAreRejected(text: String) {
        #expect(HTTPDate.seconds(text, now: 0) == nil)
    }

    private func wait(_ fields: [(String, String)], now: Int = 0) -> Duration? {
        RetryAfter.wait(in: HTTPFields(fields), now: now)
    }

    @Test func secondsAreParsed() {
        #expect(wait([("Retry-After", "120")]) == .seconds(120))
        #expect(wait([("Retry-After", "0")]) == .zero)
        #expect(wait([("Retry-After", "99999999999999999999")]) == .seconds(Int(Int32.max)))
        #expect(wait([("Retry-After", "-5")]) == nil)
        #expect(wait([("Retry-After", "soon")]) == nil)
        #expect(wait([]) == nil)
    }

    @Test func dateIsComparedWithServerClock() {
        let later = ("Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT")
        #expect(wait([later, ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")], now: 5) == .seconds(10))
        #expect(wait([later], now: Self.november1994 + 4) == .seconds(6))
        #expect(wait([later], now: Self.november1994 + 400) == .zero)
    }

    private func requests(retryAfter date: String) async -> Int {
        var limits = DownloadLimits.patient
        limits.attempts = 2
        return await withScriptedOrigin { connection in
            _ = connection.readHead()
            connection.send(
                "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n"
                    + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: \(date)\r\n\r\n")
        } _: { origin in
            #expect(
                await downloaded(origin.url, limits: limits)
                    == "The server answered 503 Service Unavailable.")
            return origin.requests.count
        }
    }

    @Test func distantRetryAfterDateIsNotRetried() async {
        #expect(await requests(retryAfter: "Sun, 06 Nov 1994 09:49:37 GMT") == 1)
        #expect(await requests(retryAfter: "Sun, 06 Nov 1994 08:49:37 GMT") == 2)
    }
}
