#if DurableJobs
import FoundationEssentials

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

    static func result<J: Job>(_ output: J.Output, of job: J.Type) throws -> Data {
        let data = try JSONEncoder().encode(output)
        guard data.count <= JobLimits.resultBytes else {
            throw JobError.resultTooLarge(job: J.name, byteCount: data.count)
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
    static func digest(_ key: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return SHA256.hexadecimalDigest(of: try encoder.encode(key))
    }
}
#endif
