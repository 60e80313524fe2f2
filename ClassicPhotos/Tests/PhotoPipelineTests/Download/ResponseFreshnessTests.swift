import HTTPTypes
import Testing

@testable import PhotoPipeline

struct ResponseFreshnessTests {
    /// 1994-11-06 08:49:37 UTC.
    private static let now = 784_111_777
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// The time for which a response with some headers is fresh, in seconds; nil if the response
    /// must not be stored.
    private func lifetime(_ headers: (String, String)...) -> Int? {
        let freshness = ResponseFreshness(fields: HTTPFields(headers), now: Self.now)
        guard freshness.isStorable else { return nil }
        let seconds = freshness.end - Self.now
        #expect(freshness.isFresh(at: Self.now) == (seconds > 0))
        #expect(!freshness.isFresh(at: freshness.end))
        return seconds
    }

    @Test func cacheControlDecides() {
        #expect(lifetime(("Cache-Control", "public, max-age=60")) == 60)
        #expect(lifetime(("Cache-Control", "MAX-AGE=\"60\"")) == 60)
        #expect(lifetime(("Cache-Control", "max-age=60, no-cache")) == 0)
        #expect(lifetime(("Cache-Control", "max-age=60"), ("Cache-Control", "no-store")) == nil)
        #expect(lifetime(("Cache-Control", "max-age=-5")) == 0)
        #expect(lifetime(("Cache-Control", "max-age=99999999999999999999")) == Int(Int32.max))
    }

    @Test func ageShortensTheLifetime() {
        #expect(lifetime(("Cache-Control", "max-age=60"), ("Age", "20")) == 40)
        #expect(lifetime(("Cache-Control", "max-age=60"), ("Age", "90")) == 0)
        let early = "Sun, 06 Nov 1994 08:49:07 GMT"
        #expect(lifetime(("Cache-Control", "max-age=60"), ("Date", early)) == 30)
    }

    @Test func expiresCountsWithoutMaxAge() {
        let later = "Sun, 06 Nov 1994 08:59:37 GMT"
        #expect(lifetime(("Date", Self.date), ("Expires", later)) == 600)
        #expect(lifetime(("Expires", later), ("Cache-Control", "max-age=5")) == 5)
        #expect(lifetime(("Expires", "0")) == 0)
    }

    @Test func dateOfModificationAllowsAGuess() {
        let before = "Sun, 06 Nov 1994 08:32:57 GMT"
        #expect(lifetime(("Date", Self.date), ("Last-Modified", before)) == 100)
        let longBefore = "Sun, 06 Nov 1983 08:49:37 GMT"
        #expect(lifetime(("Date", Self.date), ("Last-Modified", longBefore)) == 86_400)
        #expect(lifetime(("ETag", "\"1\"")) == 0)
    }
}
