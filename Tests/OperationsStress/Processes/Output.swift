#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// Standard output without a buffer: what a process has written survives its crash.
enum Output {
    static func write(_ text: String) { write(text, to: STDOUT_FILENO) }

    static func write(_ text: String, to file: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                #if canImport(Darwin)
                let count = Darwin.write(file, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                let count = Musl.write(file, rest.baseAddress, rest.count)
                #elseif canImport(Android)
                let count = Android.write(file, rest.baseAddress, rest.count)
                #else
                let count = Glibc.write(file, rest.baseAddress, rest.count)
                #endif
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
    }
}
