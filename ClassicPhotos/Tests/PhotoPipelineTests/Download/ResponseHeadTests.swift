import FoundationEssentials
import HTTPTypes
import OperationsTestSupport
import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite(.ownThreads, .timeLimit(.minutes(15))) struct ResponseHeadTests {
    /// Swift takes this mark and the separator before it as one character.
    private static let mark = "\u{59E}"

    private func head(_ lines: String...) -> ResponseHead {
        var head = ResponseHead()
        for line in lines {
            Array("\(line)\r\n".utf8).withUnsafeBytes { head.lineArrived($0) }
        }
        return head
    }

    @Test func fieldsOfInterimResponsesAreDropped() {
        let head = head("HTTP/1.1 103 Early Hints", "age: 1", "", "HTTP/1.1 206 OK", "age: 2", "")
        #expect(head.isComplete)
        #expect(head.status == 206)
        #expect(head.fields[values: .age] == ["2"])
    }

    @Test func separatorsBeforeMarksAreFound() {
        let head = head("HTTP/2 200 \(Self.mark)", "etag:\(Self.mark)\"", "age \(Self.mark): 3", "")
        #expect(head.status == 200)
        #expect(head.fields.first(.eTag) == "\(Self.mark)\"")
        #expect(head.fields.first(.age) == nil)
    }

    @Test func linesWithoutNameOrNumberCountForNothing() {
        let head = head("HTTP/1.1 many", "no colon", ": no name", "a b: c", "age:4", "")
        #expect(head.isComplete)
        #expect(head.status == 0)
        #expect(head.fields.count == 1)
        #expect(head.fields.first(.age) == "4")
    }

    /// Found by the fuzzer: such a tag was kept, but never sent.
    @Test(arguments: ["\"a\"", "W/\"a\"", "unquoted", "\(mark)\"", "tag date "])
    func entityTagBecomesConditionOfNextRequest(tag: String) throws {
        let version = PhotoVersion(bytes: [1], entityTag: tag, lastModified: nil, now: 0)
        let condition = try #require(PhotoVersion.condition(for: version.text))
        #expect(condition.name == .ifNoneMatch)
        #expect(condition.value == tag)
    }

    /// The same letter, in one piece and with a mark of its own.
    @Test func partOfFileWithAnotherTagIsNotContinued() throws {
        let url = try #require(URL(string: "https://example.com/a.jpg"))
        let transfer = DownloadTransfer(unless: nil) { _ in }
        transfer.keep([1, 2, 3], of: url, [.eTag: "\"\u{E9}\""])
        let part = try #require(transfer.takePart(of: url))
        let range = "bytes 3-9/10"
        #expect(part.isContinued(by: [.eTag: "\"\u{E9}\"", .contentRange: range]))
        #expect(!part.isContinued(by: [.eTag: "\"e\u{301}\"", .contentRange: range]))
    }

    @Test func directiveAfterCommaWithMarkCounts() {
        let fields: HTTPFields = [.cacheControl: "no-store,\(Self.mark)a"]
        #expect(!ResponseFreshness(fields: fields, now: 0).isStorable)
    }
}
