/// Counts what a binary property list stands for, before any of it is built.
///
/// An object that is referred to many times is counted once and multiplied, so the survey takes as long
/// as the file is, however much the file stands for.
struct BinaryListSurvey {
    /// What an object stands for, with all that it refers to.
    private struct Extent {
        var values = 1
        var textBytes = 0
        /// How many containers lie in each other, the object itself included.
        var height = 0
    }

    private let file: BinaryListFile
    private let limits: PhotoListLimits
    /// What the file may stand for because of its own size, in values and in bytes of text.
    private let grown: Int
    private let maximumValues: Int
    private let maximumTextBytes: Int
    /// Those of the containers that have been counted.
    private var extents: [Int: Extent] = [:]

    /// How much more than its own size a file may stand for. Names and keys that entries share are written
    /// once, which makes a list a few times larger than its file.
    private static let growth = 64
    /// What every file may stand for, however small it is.
    private static let allowance = 1_024

    init(of file: BinaryListFile, limits: PhotoListLimits) {
        self.file = file
        self.limits = limits
        grown = Self.growth * file.bytes.count + Self.allowance
        maximumValues = min(limits.values, grown)
        // Twice, because a name that many entries share is written once.
        let text = limits.bytes.multipliedReportingOverflow(by: 2)
        maximumTextBytes = min(text.overflow ? .max : text.partialValue, grown)
    }

    /// Throws if the list is beyond its limits.
    mutating func check() throws(ListSyntaxError) { _ = try extent(of: file.top, depth: 0) }

    private mutating func extent(of object: Int, depth: Int) throws(ListSyntaxError) -> Extent {
        let start = try file.start(of: object)
        switch try file.kind(at: start) {
        case .other: return Extent()
        case .text:
            let extent = Extent(textBytes: try file.text(at: start).count)
            try check(extent)
            return extent
        case .array, .dictionary:
            guard depth < limits.depth else { throw .tooDeep(limits, line: nil) }
            if let known = extents[object] {
                guard depth + known.height <= limits.depth else {
                    throw .tooDeep(limits, line: nil)
                }
                return known
            }
            let extent = try extent(ofContainerAt: start, depth: depth)
            extents[object] = extent
            return extent
        }
    }

    /// A container that contains itself ends at the limit of depth, before anything is counted twice.
    private mutating func extent(
        ofContainerAt start: Int, depth: Int
    ) throws(ListSyntaxError) -> Extent {
        var sum = Extent()
        for reference in try file.references(at: start) {
            let part = try extent(of: try file.object(at: reference), depth: depth + 1)
            // Neither sum can overflow: both terms are below the limits.
            sum.values += part.values
            sum.textBytes += part.textBytes
            sum.height = max(sum.height, part.height)
            try check(sum)
        }
        sum.height += 1
        return sum
    }

    private func check(_ extent: Extent) throws(ListSyntaxError) {
        if extent.values > maximumValues {
            guard maximumValues == grown else { throw .tooManyValues(limits, line: nil) }
            throw repeated("\(grown) values")
        }
        if extent.textBytes > maximumTextBytes {
            guard maximumTextBytes == grown else {
                throw ListSyntaxError(
                    kind: .tooLarge, line: nil, problem: "the list has too much text",
                    advice: "split it into several lists")
            }
            throw repeated("\(grown) bytes of text")
        }
    }

    private func repeated(_ amount: String) -> ListSyntaxError {
        ListSyntaxError(
            kind: .tooLarge, line: nil,
            problem:
                "its \(file.bytes.count) bytes stand for more than \(amount), because parts of "
                + "it are used again and again",
            advice: "name each photo once")
    }
}
