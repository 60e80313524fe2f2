import Foundation

/// A PostgreSQL cluster of this test run, or the server that DURABLE_JOBS_TEST_POSTGRES names.
///
/// A shell makes the cluster in a folder of /var/tmp, and deletes it when its standard input ends:
/// also when the test process crashes.
public enum PostgresCluster {
    /// The cluster does not start.
    public struct Failure: Error, CustomStringConvertible {
        /// What to install.
        public let description: String
    }

    /// The beginning of a URL without a database.
    private static let server = Result { try start() }

    /// The URL of a database, which need not exist.
    public static func url(_ database: String) throws -> String {
        let parts = try server.get()
        return parts.before + database + parts.after
    }

    private static func start() throws -> (before: String, after: String) {
        if let given = ProcessInfo.processInfo.environment["DURABLE_JOBS_TEST_POSTGRES"] {
            return (given.hasSuffix("/") ? given : given + "/", "")
        }
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        // Held until the process ends, which closes it.
        keptOpen = input
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8)
        {
            guard !byte.isEmpty else { break }
            line += byte
        }
        let folder = String(decoding: line, as: UTF8.self)
        guard folder.hasPrefix("/var/tmp/") else {
            throw Failure(
                description: "PostgreSQL does not start: sudo apt install postgresql libpq-dev; "
                    + "the messages are above")
        }
        return ("postgres://tests@/", "?host=\(folder)")
    }

    nonisolated(unsafe) private static var keptOpen: Pipe?

    // initdb and postgres refuse to run as root.
    private static let script = """
        set -eu
        bin=$(pg_config --bindir)
        folder=$(mktemp -d /var/tmp/durable-jobs.XXXXXX)
        run() {
            if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
        }
        end() {
            run "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
            rm -rf "$folder"
        }
        trap end EXIT
        trap '' INT TERM HUP
        if [ "$(id -u)" = 0 ]; then chown postgres "$folder"; fi
        cd "$folder"
        run "$bin/initdb" -A trust -U tests -E UTF8 --no-locale -D "$folder/data" >&2
        run "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w \
            -o "-c listen_addresses='' -c unix_socket_directories='$folder' \
                -c max_connections=400" start >&2
        echo "$folder"
        cat >/dev/null
        """
}
