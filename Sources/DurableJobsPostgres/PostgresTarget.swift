#if DurableJobsPostgres
import CDurableJobsLibPQ
import DurableJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The server and the database that a URL names.
struct PostgresTarget: Sendable {
    /// The oldest version of the server that the statements need.
    static let oldestServer: Int32 = 130_000

    private let url: String
    private let password: String?
    private let database: String
    /// The URL without its password, for messages.
    let description: String

    /// - Throws: ``JobError/unusableStore(store:reason:)`` if the text is no URL of a database.
    init(_ url: String) throws {
        self.url = url
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(url, &message) else {
            defer { PQfreemem(message) }
            // The message of libpq may quote the whole text, with the password.
            throw JobError.unusableStore(
                store: "the PostgreSQL URL",
                reason: "it has the form postgres://user@host:port/database?option=value")
        }
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                values[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        password = values["password"]
        database = values["dbname"] ?? ""
        let user = values["user"].map { "\($0)@" } ?? ""
        let place = user + (values["host"] ?? "") + (values["port"].map { ":\($0)" } ?? "")
        description = "postgres://\(place)/\(values["dbname"] ?? "")"
        guard let database = values["dbname"], !database.isEmpty else {
            throw JobError.unusableStore(
                store: description, reason: "it names no database: postgres://host/database")
        }
    }

    /// Connects, and checks that the server can be used.
    func connect() throws -> OpaquePointer {
        // What comes before the URL is a default. A connection to a host that vanished is given up
        // within about ten seconds.
        let defaults = [
            ("connect_timeout", "5"), ("keepalives_idle", "5"), ("keepalives_interval", "2"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "10000"),
            ("target_session_attrs", "read-write"), ("application_name", "DurableJobs"),
            ("client_encoding", "UTF8"), ("dbname", url),
        ]
        let connection = Self.withArrays(defaults) { PQconnectdbParams($0, $1, 1) }
        guard let connection else {
            throw JobError.unavailableStore(store: description, reason: "there is no memory")
        }
        guard PQstatus(connection) == CONNECTION_OK else {
            let text = String(cString: PQerrorMessage(connection))
            PQfinish(connection)
            throw JobError.unavailableStore(store: description, reason: clean(text))
        }
        let version = PQserverVersion(connection)
        guard version >= Self.oldestServer else {
            PQfinish(connection)
            throw JobError.unusableStore(
                store: description,
                reason: "the server has the version \(version / 10_000), and the oldest that works "
                    + "is \(Self.oldestServer / 10_000)")
        }
        // Notices, such as that a table exists already, are for nobody.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        return connection
    }

    private static func withArrays<Result>(
        _ pairs: [(String, String)],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) ->
            Result
    ) -> Result {
        let keys = pairs.map { UnsafePointer(strdup($0.0)) } + [nil]
        let values = pairs.map { UnsafePointer(strdup($0.1)) } + [nil]
        defer { for text in keys + values { free(UnsafeMutablePointer(mutating: text)) } }
        return body(keys, values)
    }

    // MARK: Messages

    /// Returns the message of libpq in one line, and without the password.
    private func clean(_ message: String) -> String {
        let lines = message.split(whereSeparator: \.isNewline).map {
            $0.drop(while: \.isWhitespace)
        }
        let text = lines.joined(separator: "; ")
        guard let password, !password.isEmpty else { return text }
        return text.replacing(password, with: "…")
    }

    /// Calls a function that opens the store; adds to its error what a person can do.
    ///
    /// Only a program that opens a store has a person who reads that. A connection that is lost
    /// later had been made before, so its error gets no advice: it would be the error of jobs, and
    /// a warning of each attempt to connect again.
    func advising<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch JobError.unavailableStore(let store, let reason) {
            throw JobError.unavailableStore(store: store, reason: advise(on: reason))
        }
    }

    /// Returns a message with the commands that help. Each command is on a line of its own, so that
    /// it can be copied. A full stop may follow the text.
    func advise(on message: String) -> String {
        let text = clean(message)
        for (sign, help) in Self.remedies where text.contains(sign) {
            let end = text.hasSuffix("?") || text.hasSuffix(".") ? "" : "."
            return "\(text)\(end)\(help.replacing("NAME", with: database))"
        }
        return text
    }

    private static let remedies = [
        (
            "No such file or directory",
            """

            If the server is installed, start it:
                sudo service postgresql start
            Otherwise install it, and make a role and a database:
                sudo apt install postgresql
                sudo -u postgres createuser "$USER"
                sudo -u postgres createdb -O "$USER" NAME
            Then try again
            """
        ),
        (
            "Connection refused",
            """

            If the server is on this machine, start it:
                sudo service postgresql start
            Then try again
            """
        ),
        (
            "role \"",
            """

            Create the role:
                sudo -u postgres createuser "$USER"
            Then try again
            """
        ),
        (
            "database \"",
            """

            Create the database:
                sudo -u postgres createdb -O "$USER" NAME
            Then try again
            """
        ),
        (
            "Peer authentication failed",
            " Without a host, the role in the URL must be the name of your user, or left out"
        ),
        (
            "password authentication failed",
            " Write the password to ~/.pgpass, which other users cannot read"
        ),
        ("no password supplied", " Write the password to ~/.pgpass"),
        (
            "does not support SSL",
            " The URL demands TLS (sslmode), and the server has none"
        ),
        (
            "session is read-only",
            " The server is a replica: name the primary, or all servers, in the URL"
        ),
    ]
}
#endif
