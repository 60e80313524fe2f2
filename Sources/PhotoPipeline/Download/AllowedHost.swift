#if PhotoPipeline
/// A host on this machine or its local network from which downloads are allowed although its
/// addresses are not public.
///
/// The host is a name or an address, with or without a port: `nas.local`, `192.168.1.5:8080`,
/// `[::1]:8080`. URLs are compared by spelling, so `127.0.0.1` does not allow `localhost`. A host
/// without a port stands for all ports.
public struct AllowedHost: Sendable, Hashable, CustomStringConvertible {
    /// The name or address, in lower case and without brackets.
    public let host: String
    /// The port; nil for all ports.
    public let port: Int?

    /// Creates a host from its parts.
    public init(host: String, port: Int?) {
        self.host = Self.normalized(host)
        self.port = port
    }

    /// Parses `host`, `host:port`, `[IPv6]:port` or `IPv6`.
    ///
    /// - Returns: nil if the text has none of these forms.
    public init?(_ text: String) {
        let isBracketed = text.hasPrefix("[")
        var host = text[...]
        var port: Substring?
        if isBracketed {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[...end]
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        let name = Self.normalized(String(host))
        let isIPv6 = name.contains(":")
        // A name has no empty labels; the final dot of a fully qualified one is gone already.
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.allSatisfy({ !$0.isEmpty }),
            !isIPv6 || NetworkAddress(name) != nil, !isBracketed || isIPv6,
            name.unicodeScalars.allSatisfy({ Self.isValidInHost($0) })
        else { return nil }
        self.host = name
        guard let port else {
            self.port = nil
            return
        }
        guard let number = Int(port), (1...65_535).contains(number), port.first != "+" else {
            return nil
        }
        self.port = number
    }

    /// The text form: `host` or `host:port`.
    public var description: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// Whether this value allows the given host and port of a URL.
    func matches(host other: String, port otherPort: Int) -> Bool {
        host == Self.normalized(other) && (port ?? otherPort) == otherPort
    }

    /// The form in which hosts are compared.
    static func normalized(_ host: String) -> String {
        var name = host.lowercased()
        if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
        // The final dot of a fully qualified name makes no difference.
        if name.hasSuffix("."), name.count > 1 { name.removeLast() }
        return name
    }

    private static func isValidInHost(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.isASCII else { return !scalar.properties.isWhitespace }
        switch scalar {
        case "a"..."z", "0"..."9", "-", ".", "_", ":": return true
        default: return false
        }
    }
}
#endif
