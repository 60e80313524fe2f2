import NIOCore
import PhotoGallery
import Subprocess

/// The address at which a person opens the gallery.
struct PageAddress: CustomStringConvertible {
    let description: String

    /// - Parameter host: the name or address on which the server listens; for `0.0.0.0` and `::`,
    ///   the address shows one that other machines can use.
    init(host: String, port: Int, token: GalleryToken?) {
        var name = host
        if GalleryServer.isThisMachine(host) {
            name = "localhost"
        } else if host == "0.0.0.0" || host == "::" {
            name = Self.networkAddress() ?? "localhost"
        }
        if name.contains(":") { name = "[\(name)]" }
        description = "http://\(name):\(port)/" + (token.map { "?token=\($0.text)" } ?? "")
    }

    /// The first IPv4 address of this machine that other machines can use.
    private static func networkAddress() -> String? {
        let devices = (try? System.enumerateDevices()) ?? []
        return devices.lazy.compactMap(\.address)
            .filter { $0.protocol == .inet }.compactMap(\.ipAddress)
            .first { !$0.hasPrefix("127.") && !$0.hasPrefix("169.254.") }
    }

    /// The address as a QR code for a phone; nil if nobody sees a terminal, or if the program
    /// `qrencode` is not installed.
    func code() async -> String? {
        guard Terminal.isOutputTerminal else { return nil }
        // The address goes through standard input: other users can see the arguments of a program.
        let result = try? await run(
            .name("qrencode"), arguments: ["-t", "ANSIUTF8", "-m", "2"],
            input: .string(description), output: .string(limit: 1 << 16), error: .discarded)
        guard let result, result.terminationStatus.isSuccess else { return nil }
        return result.standardOutput
    }
}
