import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

let webBase = URL(string: "https://example.org/lists/photos.plist")
let fileBase = URL(filePath: "/lists/photos.plist", directoryHint: .notDirectory)

/// Parses a text as a list from the web.
func list(
    _ text: String, named name: String = "photos", relativeTo base: URL? = webBase,
    limits: PhotoListLimits = .standard
) throws(PhotoSourceError) -> PhotoList {
    try PhotoList.parse(
        bytes: Array(text.utf8), named: name, relativeTo: base, limits: limits)
}

/// The error message for a text; "accepted" if the text is a valid list.
func refusal(
    _ text: String, named name: String = "photos", relativeTo base: URL? = webBase,
    limits: PhotoListLimits = .standard
) -> String {
    refusal(Array(text.utf8), named: name, relativeTo: base, limits: limits)
}

func refusal(
    _ bytes: [UInt8], named name: String = "photos", relativeTo base: URL? = webBase,
    limits: PhotoListLimits = .standard
) -> String {
    do throws(PhotoSourceError) {
        _ = try PhotoList.parse(bytes: bytes, named: name, relativeTo: base, limits: limits)
        return "accepted"
    } catch {
        return error.description
    }
}

extension PhotoList {
    /// The records in a short form: "name → URL" or "name ✘ reason".
    var lines: [String] {
        records.map { record in
            switch (record.url, record.state) {
            case (.some(let url), .new): "\(record.name) → \(url.absoluteString)"
            case (_, .failed(let failure)): "\(record.name) ✘ \(failure.reason)"
            case (_, let state): "\(record.name) has an unexpected state: \(state)"
            }
        }
    }
}

/// A complete property list with the given elements.
func propertyList(_ elements: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
    "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    \(elements)
    </plist>
    """
}
