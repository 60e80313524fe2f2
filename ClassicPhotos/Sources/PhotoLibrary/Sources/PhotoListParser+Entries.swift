@_spi(ClassicPhotos) import PhotoPipeline

// Converts the values of a list to photos. A single invalid entry becomes a failed record; a list
// without any valid entry is not a list of photos.
extension PhotoListParser {
    /// Adds the photos of a dictionary of name → URL, sorted by name.
    func add(
        _ members: [ListValue.Member], to builder: inout PhotoListBuilder
    ) throws(PhotoSourceError) {
        guard members.count <= limits.entries else { throw .tooManyEntries(source, limits) }
        if let first = members.first, !members.contains(where: { isText($0.value) }) {
            throw PhotoSourceError(
                .notAList, source: source, place: place(of: first),
                problem: "the value of the key \(quoted(first.key)) is \(first.value.kindName)",
                advice: Self.shapes)
        }
        // Sorting is not stable, but equal names must keep their order, because their identifiers
        // depend on it.
        let sorted = members.enumerated()
            .map { (order: NaturalOrder($1.key), position: $0, member: $1) }
            .sorted { ($0.order, $0.position) < ($1.order, $1.position) }
        for (_, position, member) in sorted {
            try add(member, position: position, to: &builder)
        }
    }

    private func add(
        _ member: ListValue.Member, position: Int, to builder: inout PhotoListBuilder
    ) throws(PhotoSourceError) {
        let place = place(of: member)
        switch member.value {
        case .text(let url) where !PhotoURL.trim(member.key).isEmpty:
            try builder.add(name: member.key, url: url, at: place)
        case .text(let url):
            try builder.addFailure(
                name: url, problem: "the URL \(quoted(url)) has an empty name", at: place)
        case .array, .dictionary, .other:
            let name = member.key.isEmpty ? "Entry \(position + 1)" : member.key
            try builder.addFailure(
                name: name,
                problem: "\(quoted(name)) has \(member.value.kindName) where a URL was expected",
                at: place)
        }
    }

    /// Adds the photos of an array of {name, url} or of URLs, in order.
    func add(
        _ elements: [ListValue.Element], to builder: inout PhotoListBuilder
    ) throws(PhotoSourceError) {
        guard elements.count <= limits.entries else { throw .tooManyEntries(source, limits) }
        if let first = elements.first, !elements.contains(where: { isPhoto($0.value) }) {
            throw PhotoSourceError(
                .notAList, source: source, place: place(of: first, position: 0),
                problem: "the array contains \(first.value.kindName)", advice: Self.shapes)
        }
        for (position, element) in elements.enumerated() {
            let place = place(of: element, position: position)
            switch element.value {
            case .text(let url):
                try builder.add(name: nil, url: url, at: place)
            case .dictionary(let members):
                try add(members, asEntry: position, at: place, to: &builder)
            case .array, .other:
                try builder.addFailure(
                    name: "Entry \(position + 1)",
                    problem: "there is \(element.value.kindName) where {name, url} was expected",
                    at: place)
            }
        }
    }

    /// Adds the photo of a {name, url} dictionary.
    private func add(
        _ members: [ListValue.Member], asEntry position: Int, at place: PhotoSourceError.Place,
        to builder: inout PhotoListBuilder
    ) throws(PhotoSourceError) {
        let name = text(of: "name", in: members)
        let url = text(of: "url", in: members)
        switch (name, url) {
        case (.some(let name), .some(let url)):
            try builder.add(name: name, url: url, at: place)
        case (.some(let name), .none):
            try builder.addFailure(
                name: name, problem: missing("url", of: quoted(name), in: members), at: place)
        case (.none, let url):
            let entry = "Entry \(position + 1)"
            try builder.addFailure(
                name: url ?? entry, problem: missing("name", of: "the entry", in: members),
                at: place)
        }
    }

    /// The text for a key; `nil` if the value is missing, blank, or not a string.
    private func text(of key: String, in members: [ListValue.Member]) -> String? {
        for member in members where member.key == key {
            if case .text(let text) = member.value, !PhotoURL.trim(text).isEmpty { return text }
        }
        return nil
    }

    private func missing(
        _ key: String, of owner: String, in members: [ListValue.Member]
    ) -> String {
        if let member = members.first(where: { $0.key == key }) {
            let kind = isText(member.value) ? "an empty string" : member.value.kindName
            return "\(owner) has \(kind) as its \(quoted(key))"
        }
        let shown = 5
        let keys = members.prefix(shown).map { quoted($0.key) }.joined(separator: ", ")
        let rest = members.count > shown ? ", …" : ""
        return "\(owner) has no \(quoted(key))"
            + (keys.isEmpty ? "; it is empty" : "; its keys are \(keys)\(rest)")
    }

    private func place(of member: ListValue.Member) -> PhotoSourceError.Place {
        member.line.map { .line($0) } ?? .key(member.key)
    }

    private func place(
        of element: ListValue.Element, position: Int
    ) -> PhotoSourceError.Place {
        element.line.map { .line($0) } ?? .entry(position + 1)
    }

    private func isText(_ value: ListValue) -> Bool {
        switch value {
        case .text: true
        case .array, .dictionary, .other: false
        }
    }

    private func isPhoto(_ value: ListValue) -> Bool {
        switch value {
        case .text: true
        case .dictionary(let members): members.contains { $0.key == "url" || $0.key == "name" }
        case .array, .other: false
        }
    }
}
