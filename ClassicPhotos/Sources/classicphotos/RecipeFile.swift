import FoundationEssentials
import Imaging
import PhotoPipeline

/// A file with the options of `process` that decide what is made of a photo.
///
///     {"filters": ["sepia=0.8", "vignette"], "size": 1600, "format": "jpeg", "quality": 85,
///      "strip": true}
///
/// All keys are optional. An option on the command line replaces the value of the file.
struct RecipeFile: Decodable {
    var filters: [ImageFilter]?
    var size: Int?
    var format: ImageFormat?
    var quality: Int?
    var strip: Bool?
    var acceptDamaged: Bool?

    private enum Key: String, CodingKey, CaseIterable {
        case filters, size, format, quality, strip
        case acceptDamaged = "accept-damaged"
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Without a file.
    init() {}

    /// Reads a file.
    ///
    /// - Throws: ``Stop`` with a sentence about the mistake.
    init(path: String) throws {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw Stop("The recipe \(path) cannot be read. Check the name and its permissions.")
        }
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch let error as DecodingError {
            throw Stop("The recipe \(path) is not valid: \(Self.explain(error))")
        }
    }

    init(from decoder: any Decoder) throws {
        let all = try decoder.container(keyedBy: AnyKey.self)
        let names = Key.allCases.map(\.rawValue)
        for key in all.allKeys where !names.contains(key.stringValue) {
            let guess =
                closestName(to: key.stringValue, in: names)
                .map { " Did you mean \"\($0)\"?" } ?? ""
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: [],
                    debugDescription: "there is no key \"\(key.stringValue)\".\(guess) The keys "
                        + "are \(names.joined(separator: ", "))."))
        }
        let values = try decoder.container(keyedBy: Key.self)
        filters = try values.decodeIfPresent([ImageFilter].self, forKey: .filters)
        size = try values.decodeIfPresent(Int.self, forKey: .size)
        quality = try values.decodeIfPresent(Int.self, forKey: .quality)
        strip = try values.decodeIfPresent(Bool.self, forKey: .strip)
        acceptDamaged = try values.decodeIfPresent(Bool.self, forKey: .acceptDamaged)
        if let name = try values.decodeIfPresent(String.self, forKey: .format) {
            guard let format = ImageFormat(argument: name) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .format, in: values,
                    debugDescription: "there is no format \"\(name)\".")
            }
            self.format = format
        }
    }

    private static func explain(_ error: DecodingError) -> String {
        switch error {
        case .dataCorrupted(let context) where !context.debugDescription.contains("JSON"):
            context.debugDescription
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "the value of \"\(context.codingPath.first?.stringValue ?? "")\" has the wrong type."
        case .dataCorrupted, .keyNotFound: "it is not JSON."
        @unknown default: "it is not JSON."
        }
    }
}
