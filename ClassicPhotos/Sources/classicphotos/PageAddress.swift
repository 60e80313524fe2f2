import Foundation
import NIOCore
import Operations
import PhotoGallery

/// The address at which a person opens the gallery.
struct PageAddress: CustomStringConvertible {
    let description: String

    /// - Parameters:
    ///   - host: the name or address on which the server listens; for `0.0.0.0` and `::`, the
    ///     address shows one that other machines can use.
    ///   - origin: the address of a proxy before the server; nil for none.
    init(host: String, port: Int, token: GalleryToken?, origin: GalleryOrigin?) {
        let query = token.map { "?token=\($0.text)" } ?? ""
        if let origin {
            description = "\(origin)/\(query)"
            return
        }
        var name = host
        if GalleryServer.isThisMachine(host) {
            name = "localhost"
        } else if host == "0.0.0.0" || host == "::" {
            name = Self.networkAddress() ?? "localhost"
        }
        if name.contains(":") { name = "[\(name)]" }
        description = "http://\(name):\(port)/\(query)"
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
        return await blocking { [description] in
            // The address goes through standard input: other users can see the arguments of a
            // program. It fits into the pipe, so it is written before there is a reader, which may
            // end without reading.
            let (input, output) = (Pipe(), Pipe())
            let program = Foundation.Process()
            program.executableURL = URL(filePath: "/usr/bin/env")
            program.arguments = ["qrencode", "-t", "ANSIUTF8", "-m", "2"]
            program.standardInput = input
            program.standardOutput = output
            program.standardError = FileHandle.nullDevice
            do {
                try input.fileHandleForWriting.write(contentsOf: Data(description.utf8))
                try input.fileHandleForWriting.close()
                try program.run()
                let code = try output.fileHandleForReading.readToEnd()
                program.waitUntilExit()
                guard program.terminationStatus == 0, let code else { return nil }
                return String(decoding: code, as: UTF8.self)
            } catch {
                return nil
            }
        }
    }
}
