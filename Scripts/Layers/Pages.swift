import Foundation

/// The pages for contributors, whose names must exist: a page that explains what was removed is
/// worse than none.
struct Pages {
    private let known: Set<Substring>
    private let files: Set<String>

    /// - Parameter folders: where names are declared or used.
    init(namesIn folders: [String]) {
        var known = Set<Substring>()
        let atRoot = try? FileManager.default.contentsOfDirectory(atPath: ".")
        var files = Set(atRoot ?? [])
        for folder in folders {
            for file in Self.files(in: folder) {
                files.insert(String(file.split(separator: "/").last ?? ""))
                guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
                    continue
                }
                known.formUnion(Self.names(in: text[...]))
            }
        }
        (self.known, self.files) = (known, files)
    }

    /// Returns a line about each name in code voice, and each link, that leads nowhere.
    func staleNames(in pages: [String]) -> [String] {
        pages.flatMap { page in
            lines(of: page).enumerated().flatMap { number, line in
                codeVoice(in: line).compactMap { text -> String? in
                    guard let name = stalePart(of: text) else { return nil }
                    return "\(page):\(number + 1): nothing has the name \(name) of `\(text)`."
                }
                    + line.matches(of: /<doc:([A-Za-z]+)>/).compactMap { link in
                        files.contains("\(link.1).md")
                            ? nil : "\(page):\(number + 1): there is no page \(link.1)."
                    }
            }
        }
    }

    private func codeVoice(in line: Substring) -> [Substring] {
        line.matches(of: /`+([^`]+)`+/).map(\.1)
    }

    private func stalePart(of text: Substring) -> Substring? {
        // A pattern for several names, or a flag, is no name.
        if text.contains(where: { "…*<".contains($0) }) || text.hasPrefix("-") { return nil }
        let last = text.split(separator: "/").last ?? ""
        if text.contains("/") || ["swift", "pml", "md"].contains(last.split(separator: ".").last) {
            let isFile = last.contains(".") && !last.contains(" ")
            return isFile && !files.contains(String(last)) ? last : nil
        }
        return Self.names(in: text).first { $0.count > 3 && !known.contains($0) }
    }

    private static func names(in text: Substring) -> [Substring] {
        text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) && $0 != "_" }
            .filter { $0.first?.isNumber == false }
    }

    private static func files(in folder: String) -> [String] {
        let names =
            FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.filter { !$0.contains(".build") }.map { "\(folder)/\($0)" }
    }
}
