import FoundationEssentials

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A path as the system has it: bytes, which need not be UTF-8.
///
/// `String` replaces bytes that are not UTF-8, and the decoded paths of `URL` are empty if they
/// have such bytes. The percent-encoded form of a file URL keeps them; this type goes from there to
/// the system's calls.
struct LocalPath: Sendable, Hashable {
    /// Without a slash at the end, unless the path is the root; never empty, and without a zero
    /// byte.
    let bytes: [UInt8]

    /// The path of a text, as a person typed it.
    ///
    /// - Returns: nil for an empty text, and for one with a zero byte, where the system would stop
    ///   reading.
    init?(_ text: String) { self.init(bytes: text.utf8) }

    /// The path that a file URL names; nil if the URL has a zero byte.
    init?(_ url: URL) {
        self.init(bytes: percentDecoded(url.absoluteURL.path(percentEncoded: true)))
    }

    /// A path of bytes; nil if there are none, or a zero byte is among them.
    init?(bytes: some Sequence<UInt8>) {
        var bytes = Array(bytes)
        while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
        guard !bytes.isEmpty, !bytes.contains(0) else { return nil }
        self.bytes = bytes
    }

    private init(checked bytes: [UInt8]) { self.bytes = bytes }

    static let root = LocalPath(checked: [slash])
    /// The process's own folder, that relative paths are relative to.
    static let workingFolder = LocalPath(checked: Array(".".utf8))

    /// The path of something in this folder, or further below.
    func appending(_ name: some Sequence<UInt8>) -> LocalPath {
        LocalPath(checked: bytes.last == slash ? bytes + name : bytes + [slash] + name)
    }

    /// The folder that this path lies in; nil for the root and for a bare name.
    var folder: LocalPath? {
        guard bytes.count > 1, let last = bytes.lastIndex(of: slash) else { return nil }
        return LocalPath(checked: last == 0 ? [slash] : Array(bytes[..<last]))
    }

    /// The last part.
    var name: ArraySlice<UInt8> {
        guard bytes.count > 1, let last = bytes.lastIndex(of: slash) else { return bytes[...] }
        return bytes[(last + 1)...]
    }

    /// What follows a folder's path; nil if this path does not lie in the folder or below it.
    ///
    /// Both are compared as they are written: ask for their ``resolved`` forms first.
    func suffix(below folder: LocalPath) -> ArraySlice<UInt8>? {
        let prefix = folder.bytes.last == slash ? folder.bytes : folder.bytes + [slash]
        guard bytes.count > prefix.count, bytes.starts(with: prefix) else { return nil }
        return bytes[prefix.count...]
    }

    /// The absolute path without links; nil, with `errno` set, if nothing is there.
    var resolved: LocalPath? {
        withCString { path in
            guard let result = realpath(path, nil) else { return nil }
            defer { free(result) }
            return LocalPath(
                checked: UnsafeBufferPointer(start: result, count: strlen(result)).map {
                    UInt8(bitPattern: $0)
                })
        }
    }

    /// The file URL of the path; keeps every byte.
    var url: URL {
        if let text = String(validating: bytes, as: UTF8.self) {
            return URL(filePath: text, directoryHint: .notDirectory)
        }
        let isAbsolute = bytes.first == slash
        let start = isAbsolute ? "file://" : URL(filePath: "./").absoluteString + "/"
        guard let url = URL(string: start + percentEncoded(bytes)) else {
            preconditionFailure("\(self) has no file URL")
        }
        return url.absoluteURL
    }

    /// Runs a closure with the path as the system's calls take it.
    func withCString<Value>(_ body: (UnsafePointer<CChar>) throws -> Value) rethrows -> Value {
        try (bytes + [0]).withUnsafeBytes { buffer in
            // Bound to CChar: the system's calls take char, whose sign differs between processors.
            let characters = buffer.assumingMemoryBound(to: CChar.self)
            guard let start = characters.baseAddress else {
                preconditionFailure("an array with a zero byte in it has an address")
            }
            return try body(start)
        }
    }
}

extension LocalPath: CustomStringConvertible {
    /// The path for people: bytes that are not UTF-8 are escaped, as in `caf\xE9`.
    var description: String { textForPeople(bytes) }
}

private let slash = UInt8(ascii: "/")

/// Bytes as text for people: those that are not UTF-8 become `\xE9` and the like, so that two names
/// that differ look different, and none is lost.
func textForPeople(_ bytes: some Collection<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var text = ""
    var rest = bytes[...]
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    while true {
        switch parser.parseScalar(from: &iterator) {
        case .valid(let scalar):
            text.unicodeScalars.append(Unicode.UTF8.decode(scalar))
            rest = rest.dropFirst(scalar.count)
        case .error(let length):
            for byte in rest.prefix(length) { text += "\\x" + hexadecimal(byte) }
            rest = rest.dropFirst(length)
        case .emptyInput:
            return text
        }
    }
}

/// The path of a URL for these bytes: all but letters, digits and `-._~/` as `%E9` and the like.
func percentEncoded(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for byte in bytes {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"), slash:
            text.unicodeScalars.append(Unicode.Scalar(byte))
        default: text += "%" + hexadecimal(byte)
        }
    }
    return text
}

/// The bytes that a part of a URL stands for.
func percentDecoded(_ text: some StringProtocol) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count >= 2,
            let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        {
            bytes.append(value)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return bytes
}

private func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return byte < 16 ? "0" + digits : digits
}
