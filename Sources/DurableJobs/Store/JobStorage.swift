#if DurableJobs
/// Where jobs are stored: a SQLite file, or a database of another module.
public struct JobStorage: Sendable, CustomStringConvertible {
    /// The name of the place for people, without passwords.
    public let description: String
    package let open: @Sendable () async throws -> any JobDatabase

    package init(
        _ description: String, open: @escaping @Sendable () async throws -> any JobDatabase
    ) {
        (self.description, self.open) = (description, open)
    }

    /// Makes the tables, or migrates those of an older version of the library; does nothing if they
    /// have its version, or a newer one.
    ///
    /// A program that opens a queue does the same. Call this method to do it at another time, and
    /// with a role that has more rights than the programs.
    ///
    /// - Throws: ``JobError`` if the store cannot be used, or changed.
    public func migrate() async throws {
        await (try await open()).close()
    }

    /// A SQLite file, which is created if it does not exist. Its folder must exist, on a disk of
    /// this machine.
    ///
    /// Any number of processes of one machine may open the file.
    public static func file(_ path: String) -> JobStorage {
        JobStorage(path) { try await SQLiteDatabase(path: path) }
    }
}
#endif
