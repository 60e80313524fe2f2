#if PhotoImaging
extension ImageFormat {
    /// Describes the damage of a file that could not be decoded.
    ///
    /// The description is based on the bytes, not on libvips' message: all threads share its error
    /// buffer, so under load the message may concern another picture.
    func damage(in bytes: [UInt8], reading part: String) -> String {
        endsEarly(bytes)
            ? "the \(rawValue) file ends too early, after \(bytes.count) bytes"
            : "the \(part) of the \(rawValue) file cannot be read"
    }

    /// Whether the format's end mark is missing; always false for formats without an end mark.
    private func endsEarly(_ bytes: [UInt8]) -> Bool {
        switch self {
        // Some cameras and editors append data, so the mark may be a little before the end.
        case .jpeg, .raw: !contains([0xFF, 0xD9], in: bytes.suffix(4096))
        case .png: !contains(Array("IEND".utf8), in: bytes.suffix(4096))
        case .gif: !bytes.suffix(4096).contains(0x3B)
        case .webp: bytes.count < 12 || bytes.count < 8 + riffLength(bytes)
        case .tiff, .heif, .avif: false
        }
    }

    private func riffLength(_ bytes: [UInt8]) -> Int {
        bytes[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private func contains(_ mark: [UInt8], in bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count >= mark.count else { return false }
        return (bytes.startIndex...(bytes.endIndex - mark.count))
            .contains { bytes[$0...].starts(with: mark) }
    }
}
#endif
