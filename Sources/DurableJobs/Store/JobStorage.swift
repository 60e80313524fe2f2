#if DurableJobs
/// Where jobs are stored: a SQLite file, or a database of another module.
public struct JobStorage: Sendable, CustomStringConvertible {
    /// The name of the place for people, without passwords.
    public let description: String
    package private(set) var `extension`: (any JobExtension)?
    private let opening: @Sendable (ExtensionSchema?) async throws -> any JobDatabase
    private let version: @Sendable () async throws -> Int

    /// - Parameters:
    ///   - open: makes or migrates the tables, too, and those of the extension.
    ///   - version: the version of the tables, 0 for none; changes nothing.
    package init(
        _ description: String,
        open: @escaping @Sendable (ExtensionSchema?) async throws -> any JobDatabase,
        version: @escaping @Sendable () async throws -> Int
    ) {
        (self.description, opening, self.version) = (description, open, version)
    }

    /// The same place, with an extension.
    package func with(_ extension: any JobExtension) -> JobStorage {
        var result = self
        result.extension = `extension`
        return result
    }

    package func open() async throws -> JobStore {
        JobStore(try await opening(`extension`?.schema), extension: `extension`)
    }

    /// The version of the tables that this library makes. The library can also use newer tables
    /// that say so.
    public static var newestSchemaVersion: Int { JobSchema.version }

    /// The version of the tables, or 0 if there are none; changes nothing.
    ///
    /// - Throws: ``JobError`` if the store cannot be read.
    public func schemaVersion() async throws -> Int { try await version() }

    /// Makes the tables, or migrates those of an older version of the library; does nothing if they
    /// have its version, or a newer one.
    ///
    /// A program that opens a queue does the same. Call this method to do it at another time, and
    /// with a role that has more rights than the programs.
    ///
    /// - Throws: ``JobError`` if the store cannot be used, or changed.
    public func migrate() async throws {
        await (try await open()).database.close()
    }

    /// A SQLite file, which is created if it does not exist. Its folder must exist, on a disk of
    /// this machine.
    ///
    /// Any number of processes of one machine may open the file.
    public static func file(_ path: String) -> JobStorage {
        JobStorage(path) {
            try await SQLiteDatabase(path: path, extension: $0)
        } version: {
            try await SQLiteDatabase.schemaVersion(path: path)
        }
    }
}
#endif
