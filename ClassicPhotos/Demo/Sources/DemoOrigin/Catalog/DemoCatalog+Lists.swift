import Foundation

extension DemoCatalog {
    private struct Line: Encodable {
        var name: String
        var url: String
    }

    /// The list as an XML property list: an array of dictionaries with `name` and `url`.
    ///
    /// The classic demo had one dictionary from name to address. This list is an array, because a
    /// dictionary has no order and people expect the list to keep its order.
    ///
    /// - Parameter origin: the prefix of each path, such as `http://127.0.0.1:8080`.
    public func propertyList(origin: String) -> String {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
            "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <array>

            """
        for entry in entries {
            text += """
                \t<dict>
                \t\t<key>name</key>
                \t\t<string>\(Self.escaped(entry.name))</string>
                \t\t<key>url</key>
                \t\t<string>\(Self.escaped(origin + entry.path))</string>
                \t</dict>

                """
        }
        return text + "</array>\n</plist>\n"
    }

    /// The list as JSON: an array of objects with `name` and `url`.
    ///
    /// - Parameter origin: the prefix of each path, such as `http://127.0.0.1:8080`.
    /// - Throws: the encoder's error if it rejects a string, which does not happen in practice.
    public func json(origin: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let lines = entries.map { Line(name: $0.name, url: origin + $0.path) }
        return String(decoding: try encoder.encode(lines), as: UTF8.self) + "\n"
    }

    private static func escaped(_ text: String) -> String {
        var out = ""
        for character in text {
            switch character {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            default: out.append(character)
            }
        }
        return out
    }
}
