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

    /// A SQLite file, which is created if it does not exist. Its folder must exist, on a disk of
    /// this machine.
    ///
    /// Any number of processes of one machine may open the file.
    public static func file(_ path: String) -> JobStorage {
        JobStorage(path) { try await SQLiteDatabase(path: path) }
    }
}
#endif
