@_spi(ClassicPhotos) import PhotoImaging
import PhotoLibrary
import PhotoPipeline
import Yams

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file with the options of `process` that decide what is made of a photo.
///
///     filters: [sepia=0.8, vignette, look=film.cube]
///     size: 1600
///     format: jpeg
///     quality: 85
///     strip: true
///
/// A file with the extension yaml or yml is YAML, every other one is JSON. All keys are optional.
/// The path of a look is relative to the folder of the recipe. An option on the command line
/// replaces the value of the file.
struct RecipeFile: Decodable {
    /// The filters, when their looks have been read.
    private(set) var filters: [ImageFilter]?
    private var filterTexts: [String]?
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
        let file = URL(filePath: path)
        let isYAML = ["yaml", "yml"].contains(file.pathExtension.lowercased())
        do {
            self =
                isYAML
                ? try YAMLDecoder().decode(Self.self, from: data)
                : try JSONDecoder().decode(Self.self, from: data)
            filters = try filterTexts?.map {
                try FilterArgument.filter($0, relativeTo: file.deletingLastPathComponent())
            }
        } catch let error as DecodingError {
            let reason = Self.explain(error, format: isYAML ? "YAML" : "JSON")
            throw Stop("The recipe \(path) is not valid: \(reason)")
        } catch let stop as Stop {
            throw Stop("The recipe \(path) is not valid: \(stop)")
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
        filterTexts = try values.decodeIfPresent([String].self, forKey: .filters)
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

    private static func explain(_ error: DecodingError, format: String) -> String {
        switch error {
        case .dataCorrupted(let context) where context.underlyingError is YamlError:
            explain(context.underlyingError as? YamlError)
        case .dataCorrupted(let context) where !context.debugDescription.contains(format):
            context.debugDescription
        case .typeMismatch(_, let context) where !context.codingPath.isEmpty,
            .valueNotFound(_, let context) where !context.codingPath.isEmpty:
            "the value of \"\(context.codingPath.first?.stringValue ?? "")\" has the wrong type."
        case .typeMismatch, .valueNotFound: "it is not a dictionary."
        case .dataCorrupted, .keyNotFound: "it is not \(format)."
        @unknown default: "it is not \(format)."
        }
    }

    private static func explain(_ error: YamlError?) -> String {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            "it is not YAML: line \(mark.line), \(problem)."
        case .duplicatedKeysInMapping(let keys, let context):
            "line \(context.mark.line) gives \(keys.sorted().joined(separator: ", ")) twice."
        default: "it is not YAML."
        }
    }
}
