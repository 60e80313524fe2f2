#if DurableJobs
/// Parts of the text of a path.
package enum PathText {
    /// The folder of a file.
    package static func folder(of file: String) -> String {
        guard let slash = file.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }
}
#endif
