#if PhotoPipeline
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A path in the system's form: bytes, which need not be UTF-8.
///
/// `String` replaces bytes that are not UTF-8, and the decoded path of a `URL` with such bytes is
/// empty. The percent-encoded form of a file URL keeps the bytes; this type converts that form for
/// system calls.
@_spi(ClassicPhotos) public struct LocalPath: Sendable, Hashable {
    /// The bytes without a trailing slash, except for the root; never empty, and without a zero
    /// byte.
    public let bytes: [UInt8]

    /// Creates a path from text that a person typed.
    ///
    /// - Returns: nil for an empty text and for a text with a zero byte, at which the system would
    ///   stop reading.
    public init?(_ text: String) { self.init(bytes: text.utf8) }

    /// The path of a file URL; nil if the URL has a zero byte.
    public init?(_ url: URL) {
        self.init(bytes: percentDecoded(url.absoluteURL.path(percentEncoded: true)))
    }

    /// Creates a path from bytes; nil if the bytes are empty or contain a zero byte.
    public init?(bytes: some Sequence<UInt8>) {
        var bytes = Array(bytes)
        while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
        guard !bytes.isEmpty, !bytes.contains(0) else { return nil }
        self.bytes = bytes
    }

    /// Creates a path from bytes that are not empty and contain no zero byte.
    init(checked bytes: [UInt8]) { self.bytes = bytes }

    /// The root of the file system.
    public static let root = LocalPath(checked: [slash])
    /// The process's working folder, the base of relative paths.
    public static let workingFolder = LocalPath(checked: Array(".".utf8))

    /// The path of an item in this folder or further below.
    public func appending(_ name: some Sequence<UInt8>) -> LocalPath {
        LocalPath(checked: bytes.last == slash ? bytes + name : bytes + [slash] + name)
    }

    /// The parent folder; nil for the root and for a bare name.
    public var folder: LocalPath? {
        guard bytes.count > 1, let last = bytes.lastIndex(of: slash) else { return nil }
        return LocalPath(checked: last == 0 ? [slash] : Array(bytes[..<last]))
    }

    /// The last component.
    public var name: ArraySlice<UInt8> {
        guard bytes.count > 1, let last = bytes.lastIndex(of: slash) else { return bytes[...] }
        return bytes[(last + 1)...]
    }

    /// The part after a folder's path; nil if this path is not inside the folder.
    ///
    /// Both paths are compared as written, so use their ``resolved`` forms.
    public func suffix(below folder: LocalPath) -> ArraySlice<UInt8>? {
        let prefix = folder.bytes.last == slash ? folder.bytes : folder.bytes + [slash]
        guard bytes.count > prefix.count, bytes.starts(with: prefix) else { return nil }
        return bytes[prefix.count...]
    }

    /// The absolute path without links; nil, with `errno` set, if no item exists at the path.
    public var resolved: LocalPath? {
        withCString { path in
            guard let result = realpath(path, nil) else { return nil }
            defer { free(result) }
            return LocalPath(
                checked: UnsafeBufferPointer(start: result, count: strlen(result)).map {
                    UInt8(bitPattern: $0)
                })
        }
    }

    /// The file URL of the path, which preserves every byte.
    public var url: URL {
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

    /// Calls a closure with the path in the form for system calls.
    public func withCString<Value>(
        _ body: (UnsafePointer<CChar>) throws -> Value
    ) rethrows -> Value {
        try (bytes + [0]).withUnsafeBytes { buffer in
            // Bound to CChar, because system calls take char, whose signedness depends on the
            // processor.
            let characters = buffer.assumingMemoryBound(to: CChar.self)
            guard let start = characters.baseAddress else {
                preconditionFailure("an array with a zero byte in it has an address")
            }
            return try body(start)
        }
    }
}

@_spi(ClassicPhotos) extension LocalPath: CustomStringConvertible {
    /// The path for display; bytes that are not UTF-8 are escaped, as in `caf\xE9`.
    public var description: String { displayText(bytes) }
}

private let slash = UInt8(ascii: "/")

/// Converts bytes to text for display. Bytes that are not UTF-8 become `\xE9` and the like, so that
/// different names look different and no byte is lost.
@_spi(ClassicPhotos) public func displayText(_ bytes: some Collection<UInt8>) -> String {
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

/// The bytes as a URL path: everything but letters, digits and `-._~/` is percent-encoded.
@_spi(ClassicPhotos) public func percentEncoded(_ bytes: some Sequence<UInt8>) -> String {
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

/// Decodes the percent-encoding of a part of a URL.
@_spi(ClassicPhotos) public func percentDecoded(_ text: some StringProtocol) -> [UInt8] {
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
#endif
