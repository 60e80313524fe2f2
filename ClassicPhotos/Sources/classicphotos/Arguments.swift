/// The arguments in their original bytes.
///
/// The arguments that Swift provides are `String`s, in which bytes that are not UTF-8 have been
/// replaced, so such an argument no longer names its file.
enum RawArguments {
    /// The original bytes of an argument, or of an option's value, that the parser has as text.
    ///
    /// If several arguments have the same text, the first one is returned.
    static func bytes(of text: String) -> [UInt8] {
        let exact = Array(text.utf8)
        guard text.unicodeScalars.contains("\u{FFFD}") else { return exact }
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            var bytes: [UInt8] = []
            var byte = argument
            while byte.pointee != 0 {
                bytes.append(UInt8(bitPattern: byte.pointee))
                byte += 1
            }
            // The forms --out=folder and -ofolder.
            let value = bytes.drop { $0 != UInt8(ascii: "=") }.dropFirst()
            for candidate in [bytes[...], value, bytes.dropFirst(2)] {
                if String(decoding: candidate, as: UTF8.self) == text { return Array(candidate) }
            }
        }
        return exact
    }
}
