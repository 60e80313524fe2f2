#if DurableJobs
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The stored form of arguments and results.
enum JobCoding {
    static func arguments<J: Job>(of job: J) throws -> Data {
        let data = try JSONEncoder().encode(job)
        guard data.count <= JobLimits.argumentBytes else {
            throw JobError.argumentsTooLarge(
                job: J.name, byteCount: data.count, field: largestField(of: job))
        }
        return data
    }

    static func result(_ output: some Encodable, of job: String) throws -> Data {
        let data = try JSONEncoder().encode(output)
        guard data.count <= JobLimits.resultBytes else {
            throw JobError.resultTooLarge(job: job, byteCount: data.count)
        }
        return data
    }

    /// Decodes a result.
    static func output<Output: Decodable>(
        _ type: Output.Type, from data: Data, of id: JobID
    ) throws -> Output {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw JobError.unreadableResult(id, reason: describe(error))
        }
    }

    /// Returns text for an error that can be stored. Decoding errors name the path to the value.
    static func describe(_ error: any Error) -> String {
        let text: String
        if let error = error as? DecodingError {
            text = describe(error)
        } else {
            text = "\(error)"
        }
        // PostgreSQL stores no NUL characters in text.
        let clean = text.contains("\0") ? text.filter { $0 != "\0" } : text
        guard clean.utf8.count > JobLimits.errorBytes else { return clean }
        return String(decoding: clean.utf8.prefix(JobLimits.errorBytes), as: UTF8.self)
    }

    private static func describe(_ error: DecodingError) -> String {
        let context: DecodingError.Context
        switch error {
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
            context = found
        case .keyNotFound(let key, let found):
            context = DecodingError.Context(
                codingPath: found.codingPath + [key], debugDescription: "there is no value")
        @unknown default: return "\(error)"
        }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
    }

    /// Returns the name of the property that takes the most bytes.
    private static func largestField(of value: some Encodable) -> String? {
        Mirror(reflecting: value).children
            .compactMap { child -> (String, Int)? in
                guard let name = child.label, let value = child.value as? any Encodable,
                    let data = try? JSONEncoder().encode(value)
                else { return nil }
                return (name, data.count)
            }
            .max { $0.1 < $1.1 }?.0
    }

    /// Checks a name that is stored as text.
    static func check(name: String) throws {
        guard !name.isEmpty, name.utf8.count <= JobLimits.nameBytes, !name.contains("\0") else {
            throw JobError.invalidName(String(name.filter { $0 != "\0" }.prefix(60)))
        }
    }
}

/// The stored form of unique and exclusive keys.
enum JobKey {
    /// - Throws: ``JobError/invalidTrait(_:)`` if the JSON of the key differs from process to
    ///   process.
    static func digest(_ key: some Encodable, for trait: String) throws -> String {
        if let type = unorderedPart(of: key, depth: 0) {
            throw JobError.invalidTrait(
                "\(trait): a key with a \(type) differs from process to process; use a sorted array"
            )
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return SHA256.hexadecimalDigest(of: try encoder.encode(key))
    }

    /// Returns the type of a part that is encoded in the order of hash values; nil if there is
    /// none.
    private static func unorderedPart(of value: Any, depth: Int) -> Any.Type? {
        if let value = value as? any HashOrdered, value.isHashOrdered { return type(of: value) }
        // A class may refer to itself.
        guard depth < 16 else { return nil }
        var mirror: Mirror? = Mirror(reflecting: value)
        while let present = mirror {
            for child in present.children {
                if let type = unorderedPart(of: child.value, depth: depth + 1) { return type }
            }
            mirror = present.superclassMirror
        }
        return nil
    }
}

/// A collection that may be encoded in the order of hash values.
private protocol HashOrdered {
    var isHashOrdered: Bool { get }
}

extension Set: HashOrdered {
    var isHashOrdered: Bool { count > 1 }
}

extension Dictionary: HashOrdered {
    /// Other keys are those of a JSON object, which the encoder sorts.
    var isHashOrdered: Bool { count > 1 && !(Key.self is any CodingKeyRepresentable.Type) }
}
#endif
