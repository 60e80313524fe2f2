/// A setting of an operation, given where the operation is made.
///
/// ```swift
/// queue.add("thumbnail", .priority(.high), .retry(3), .timeout(.seconds(5))) { … }
/// queue.add(file.name, .retry(3), after: download) { … }
/// ```
///
/// A string among the traits is the operation's name: a literal, or a variable.
///
/// Of several traits that set the same thing, such as two timeouts or two deadlines, the last one
/// counts. The limits of different keys (``exclusive(by:)``, ``limited(to:by:)``) all apply, and
/// costs and rates add up (``cost(_:of:)``, ``rate(_:tokens:)``).
///
/// For operations that are made in another way, use
/// ``Operation/apply(_:)-(OperationTraitOrName...)``. Traits about time, keys and budgets have an
/// effect only in a queue: an operation that is started by hand runs once, at once.
///
/// A program names its own combinations of settings in an extension of ``OperationTraitOrName``.
public struct OperationTrait: Sendable {
    /// Writes the trait into the operation's options.
    let apply: @Sendable (inout OperationOptions) -> Void

    init(_ apply: @escaping @Sendable (inout OperationOptions) -> Void) { self.apply = apply }
}

/// What a method that makes an operation takes before the operation's body: traits, and strings as
/// the operation's name.
///
/// The traits belong to this protocol so that a program can write `.retry(3)` beside a string. A
/// program that uses the same setting in many places can give it a name here:
///
/// ```swift
/// extension OperationTraitOrName where Self == OperationTrait {
///     static var polite: OperationTrait { .rate(RateLimit.shared) }
/// }
///
/// queue.add(title, .polite, .retry(3)) { try await fetch(url) }
/// ```
///
/// Programs do not conform types of their own to the protocol.
public protocol OperationTraitOrName: Sendable {
    /// The setting.
    var _trait: OperationTrait { get }
}

extension OperationTrait: OperationTraitOrName {
    /// The trait itself.
    public var _trait: OperationTrait { self }
}

extension String: OperationTraitOrName {
    /// The string as the name of an operation.
    public var _trait: OperationTrait { .name(self) }
}

extension OperationTraitOrName where Self == OperationTrait {
    /// A name for people to read; see ``Operation/name``.
    ///
    /// A string means the same:
    ///
    /// ```swift
    /// queue.add("page \(number)") { … }
    /// queue.add(title) { … }
    /// ```
    public static func name(_ name: String) -> OperationTrait {
        OperationTrait { $0.properties.name = name }
    }

    /// The operation's priority in its queue; see ``Operation/queuePriority``.
    public static func priority(_ priority: Operation.QueuePriority) -> OperationTrait {
        OperationTrait { $0.properties.priority = priority }
    }

    /// How much the work matters; see ``Operation/qualityOfService``.
    public static func qualityOfService(_ quality: QualityOfService) -> OperationTrait {
        OperationTrait { $0.properties.qualityOfService = quality }
    }

    /// A failure of the operation is expected: it does not end the
    /// ``withOperationQueue(name:width:onFailure:isolation:_:)`` that the operation belongs to, and
    /// is not reported if nothing observes it.
    ///
    /// Operations that depend on its success are cancelled as after any failure.
    public static var mayFail: OperationTrait { OperationTrait { $0.properties.mayFail = true } }
}

extension OperationTrait: ExpressibleByStringInterpolation {
    /// Makes the trait ``name(_:)`` of a string literal.
    public init(stringLiteral name: String) { self = .name(name) }
}

/// The combined settings of all traits of one operation.
struct OperationOptions: Sendable {
    struct Retry: Sendable {
        let limit: Int
        let backoff: RetryBackoff
        let decide: @Sendable (any Error) -> RetryDecision
    }

    struct Limit: Sendable {
        let key: OperationKey
        let count: Int
        let isExclusive: Bool
    }

    struct Debounce: Sendable {
        let key: OperationKey
        let pause: Duration
        let longest: Duration?
    }

    struct Throttle: Sendable {
        let key: OperationKey
        let interval: Duration
    }

    struct Group: Sendable {
        let key: OperationKey
        let weight: Int
    }

    struct Rate: Sendable {
        let limit: RateLimit
        /// Nil for the bucket that operations without a key share.
        let key: OperationKey?
        let tokens: Int
    }

    /// The settings that become properties of the operation when they are applied.
    struct Properties {
        var name: String?
        var priority: Operation.QueuePriority?
        var qualityOfService: QualityOfService?
        var mayFail = false
    }

    var properties = Properties()

    var delay: Duration?
    var timeout: Duration?
    /// Returns how much time is left.
    var deadline: (@Sendable () -> Duration)?
    var retry: Retry?
    var period: Duration?

    var joinedKey: OperationKey?
    var latestKey: OperationKey?
    var debounce: Debounce?
    var throttle: Throttle?
    var group: Group?
    var limits: [Limit] = []
    var costs: [PermitRequest.Cost] = []
    var rates: [Rate] = []

    /// Whether the work may run more than once.
    var mayRunAgain: Bool { retry != nil || period != nil }

    /// Whether the options need an `AttemptController`, because the atomic state alone cannot carry
    /// them out.
    var needsController: Bool {
        delay != nil || timeout != nil || deadline != nil || mayRunAgain || joinedKey != nil
            || latestKey != nil || debounce != nil || throttle != nil || group != nil
            || !limits.isEmpty || !costs.isEmpty || !rates.isEmpty
    }
}

extension Operation {
    /// Applies traits to the operation, as a queue does for an operation that it makes.
    ///
    /// ```swift
    /// let upload = UploadOperation(report)
    /// upload.apply(.retry(3), .timeout(.seconds(30)))
    /// queue.addOperation(upload)
    /// ```
    ///
    /// A subclass that overrides ``start()`` runs once: ``OperationTrait/retry(_:backoff:if:)`` and
    /// ``OperationTrait/every(_:)`` have no effect on it.
    ///
    /// - Precondition: the operation is in no queue, and was not started.
    public final func apply(_ traits: any OperationTraitOrName...) { apply(traits) }

    /// Applies an array of traits; see ``apply(_:)-(OperationTraitOrName...)``.
    public final func apply(_ traits: [any OperationTraitOrName]) {
        guard status.phase == .created else {
            return OperationMisuse.traits(for: self).refuse()
        }
        var plan = attemptController?.plan ?? OperationOptions()
        for trait in traits { trait._trait.apply(&plan) }
        if let name = plan.properties.name { self.name = name }
        if let priority = plan.properties.priority { queuePriority = priority }
        if let quality = plan.properties.qualityOfService { qualityOfService = quality }
        if plan.properties.mayFail { withExtras { $0.mayFail = true } }
        guard plan.needsController else { return }
        // Later traits must not set these properties again.
        plan.properties = OperationOptions.Properties()
        let controller = AttemptController(plan)
        let previous = withExtras { extras in
            defer { extras.companion = controller }
            return extras.companion
        }
        withExtendedLifetime(previous) {}
        lifecycle.insert(.hasEndObservers)
        lifecycle.remove(.fastPath)
    }

    /// The controller of the operation's options, if it has any; constant once the operation was
    /// added.
    var attemptController: AttemptController? {
        // No other class is a companion.
        companion.map { unsafeDowncast($0, to: AttemptController.self) }
    }
}
