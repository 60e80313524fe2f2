#if PhotoPipeline
extension UInt64 {
    /// All sixteen hexadecimal digits, in lower case.
    @_spi(ClassicPhotos) public var hexadecimalDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
#endif
