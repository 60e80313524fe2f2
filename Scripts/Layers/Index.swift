import Foundation

/// What the compiler knows about the files of this repository, from the index that it writes while
/// it builds: which file declares what, and which file uses it.
struct Index {
    struct Declaration {
        var name: String
        var file: String
        var line: Int
        var kind: indexstore_symbol_kind_t

        var module: Substring { file.split(separator: "/").prefix(2).last ?? "" }
    }

    struct Use {
        /// Identifies the declaration in all modules.
        var symbol: String
        var name: String
        var line: Int
    }

    /// The files that were compiled, by their paths in the repository, and when.
    private(set) var compiled: [String: Date] = [:]
    private(set) var declarations: [String: Declaration] = [:]
    private(set) var uses: [String: [Use]] = [:]
    /// The types that inherit from a class, or conform to a protocol, as their declarations say.
    private(set) var heirs: [String: Set<String>] = [:]

    private let store: indexstore_t
    private let here = FileManager.default.currentDirectoryPath + "/"

    /// Reads the index of one build. Stops if there is none.
    init(at path: String) {
        var error: indexstore_error_t?
        guard let store = indexstore_store_create(path, &error) else {
            stop("\(path) is no index: \(String(cString: indexstore_error_get_description(error)))")
        }
        self.store = store
        // The index also has files of other packages, files that have been removed, and files that
        // several builds have compiled.
        var latest: [String: (unit: String, time: Date)] = [:]
        for unit in units {
            guard let (file, time) = source(of: unit) else { continue }
            if let other = latest[file], other.time > time { continue }
            latest[file] = (unit, time)
        }
        for (file, (unit, time)) in latest {
            compiled[file] = time
            uses[file] = []
            readUnit(unit, of: file)
        }
    }

    /// The names of what the compiler has written for each compilation of a file.
    private var units: [String] {
        var units: [String] = []
        withUnsafeMutablePointer(to: &units) { units in
            _ = indexstore_store_units_apply_f(store, 0, units) { units, name in
                units?.assumingMemoryBound(to: [String].self).pointee.append(name.text)
                return true
            }
        }
        return units
    }

    /// Returns which file of this repository was compiled, and when; nil if the file belongs to
    /// another package, or has been removed.
    private func source(of unit: String) -> (file: String, time: Date)? {
        guard let unit = indexstore_unit_reader_create(store, unit, nil) else { return nil }
        defer { indexstore_unit_reader_dispose(unit) }
        let path = indexstore_unit_reader_get_main_file(unit).text
        guard path.hasPrefix(here), FileManager.default.fileExists(atPath: path) else { return nil }
        let file = String(path.dropFirst(here.count))
        if file.hasPrefix(".") { return nil }
        var (seconds, nanoseconds) = (Int64(0), Int64(0))
        indexstore_unit_reader_get_modification_time(unit, &seconds, &nanoseconds)
        return (file, Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9))
    }

    private mutating func readUnit(_ unit: String, of file: String) {
        guard let unit = indexstore_unit_reader_create(store, unit, nil) else { return }
        defer { indexstore_unit_reader_dispose(unit) }
        var records: [String] = []
        forEach({ indexstore_unit_reader_dependencies_apply_f(unit, $0, $1) }) { dependency in
            guard
                indexstore_unit_dependency_get_kind(dependency)
                    == INDEXSTORE_UNIT_DEPENDENCY_RECORD,
                indexstore_unit_dependency_get_filepath(dependency).text == here + file
            else { return }
            records.append(indexstore_unit_dependency_get_name(dependency).text)
        }
        for record in records { readRecord(record, of: file) }
    }

    private mutating func readRecord(_ name: String, of file: String) {
        guard let record = indexstore_record_reader_create(store, name, nil) else { return }
        defer { indexstore_record_reader_dispose(record) }
        let isWitness = UInt64(INDEXSTORE_SYMBOL_ROLE_REL_OVERRIDEOF)
        let isBase = UInt64(INDEXSTORE_SYMBOL_ROLE_REL_BASEOF)
        forEach({ indexstore_record_reader_occurrences_apply_f(record, $0, $1) }) { occurrence in
            let symbol = indexstore_occurrence_get_symbol(occurrence)
            let roles = indexstore_occurrence_get_roles(occurrence)
            let (id, name) = (
                indexstore_symbol_get_usr(symbol).text, indexstore_symbol_get_name(symbol).text
            )
            var line: UInt32 = 0
            indexstore_occurrence_get_line_col(occurrence, &line, nil)
            if roles & UInt64(INDEXSTORE_SYMBOL_ROLE_DEFINITION) != 0 {
                declarations[id] = Declaration(
                    name: name, file: file, line: Int(line),
                    kind: indexstore_symbol_get_kind(symbol))
            } else if !name.prefix(while: { $0 != "(" }).contains(":"), roles & isWitness == 0 {
                // Accessors, such as "getter:name", are left out: there is a use of the property.
                // So are the members by which a class conforms that only inherits the conformance:
                // whether the compiler lists them depends on the order of its work.
                uses[file, default: []].append(Use(symbol: id, name: name, line: Int(line)))
            }
            guard roles & isBase != 0 else { return }
            forEach({ indexstore_occurrence_relations_apply_f(occurrence, $0, $1) }) { relation in
                guard indexstore_symbol_relation_get_roles(relation) & isBase != 0 else { return }
                let heir = indexstore_symbol_relation_get_symbol(relation)
                heirs[id, default: []].insert(indexstore_symbol_get_usr(heir).text)
            }
        }
    }
}

extension Index {
    /// Returns the types that conform to a protocol, also through a protocol that inherits from it.
    func conformers(of symbol: String) -> Set<String> {
        (heirs[symbol] ?? []).reduce(into: []) { types, heir in
            if declarations[heir]?.kind == INDEXSTORE_SYMBOL_KIND_PROTOCOL {
                types.formUnion(conformers(of: heir))
            } else {
                types.insert(heir)
            }
        }
    }
}

private typealias Receiver =
    @convention(c) (
        UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
    ) -> Bool

/// Calls `body` with each element that a function of the C interface passes to its receiver.
private func forEach(
    _ apply: (UnsafeMutableRawPointer, Receiver) -> Bool,
    _ body: (UnsafeMutableRawPointer) -> Void
) {
    typealias Body = (UnsafeMutableRawPointer) -> Void
    withoutActuallyEscaping(body) { body in
        var body: Body = body
        withUnsafeMutablePointer(to: &body) { body in
            _ = apply(body) { body, element in
                if let element { body?.assumingMemoryBound(to: Body.self).pointee(element) }
                return true
            }
        }
    }
}

extension indexstore_string_ref_t {
    fileprivate var text: String {
        String(decoding: UnsafeRawBufferPointer(start: data, count: length), as: UTF8.self)
    }
}
