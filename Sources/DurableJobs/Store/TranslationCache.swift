#if DurableJobs
import OperationsRuntime
import Operations

/// The statements of a dialect, translated once each.
package final class TranslationCache: Sendable {
    private let dialect: SQLDialect
    private let translations = Locked<[String: String]>([:])

    package init(_ dialect: SQLDialect) { self.dialect = dialect }

    package subscript(sql: String) -> String {
        if let known = translations.withLock({ $0[sql] }) { return known }
        let translation = dialect.translate(sql)
        translations.withLock { $0[sql] = translation }
        return translation
    }
}
#endif
