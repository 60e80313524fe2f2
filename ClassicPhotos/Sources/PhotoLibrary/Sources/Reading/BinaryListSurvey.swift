import PhotoPipeline

/// Counts the contents of a binary property list before any value is built.
///
/// An object with many references is counted once and multiplied. The survey therefore takes time
/// in proportion to the file, not to its expanded contents.
struct BinaryListSurvey {
    /// The expanded size of an object, including all objects that it refers to.
    private struct Extent {
        var values = 1
        var textBytes = 0
        /// The number of nested containers, including the object itself.
        var height = 0
    }

    private let file: BinaryListFile
    private let limits: PhotoListLimits
    /// The maximum expansion for a file of this size, in values and in bytes of text.
    private let expansionLimit: Int
    private let maximumValues: Int
    private let maximumTextBytes: Int
    /// The sizes of the containers that have been counted.
    private var extents: [Int: Extent] = [:]

    /// The maximum ratio of expanded size to file size. Shared names and keys are stored once, so a
    /// list is normally a few times larger than its file.
    private static let expansionRatio = 64
    /// The expansion that is allowed for every file, however small.
    private static let expansionAllowance = 1_024

    init(of file: BinaryListFile, limits: PhotoListLimits) {
        self.file = file
        self.limits = limits
        expansionLimit = Self.expansionRatio * file.bytes.count + Self.expansionAllowance
        maximumValues = min(limits.values, expansionLimit)
        // Twice the limit, because a name shared by many entries is stored once.
        let text = limits.bytes.multipliedReportingOverflow(by: 2)
        maximumTextBytes = min(text.overflow ? .max : text.partialValue, expansionLimit)
    }

    /// Throws if the list exceeds its limits.
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

    /// The size of a container. A container that contains itself reaches the depth limit before any
    /// of its parts is counted twice.
    private mutating func extent(
        ofContainerAt start: Int, depth: Int
    ) throws(ListSyntaxError) -> Extent {
        var sum = Extent()
        for reference in try file.references(at: start) {
            let part = try extent(of: try file.object(at: reference), depth: depth + 1)
            // Neither sum can overflow, because both terms are below the limits.
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
            guard maximumValues == expansionLimit else { throw .tooManyValues(limits, line: nil) }
            throw repeated("\(expansionLimit) values")
        }
        if extent.textBytes > maximumTextBytes {
            guard maximumTextBytes == expansionLimit else {
                throw ListSyntaxError(
                    kind: .tooLarge, line: nil, problem: "the list has too much text",
                    advice: "split it into several lists")
            }
            throw repeated("\(expansionLimit) bytes of text")
        }
    }

    private func repeated(_ amount: String) -> ListSyntaxError {
        ListSyntaxError(
            kind: .tooLarge, line: nil,
            problem:
                "its \(file.bytes.count) bytes expand to more than \(amount), because parts of "
                + "it are used repeatedly",
            advice: "list each photo once")
    }
}
