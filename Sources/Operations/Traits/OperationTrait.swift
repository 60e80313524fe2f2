/// Something that is said about an operation where it is made.
///
/// ```swift
/// queue.add("thumbnail", .priority(.high), .qualityOfService(.utility)) { … }
/// ```
///
/// Of two traits that contradict each other the later one counts.
public struct OperationTrait: Sendable {
    /// Writes into the plan what the trait says.
    let apply: @Sendable (inout OperationPlan) -> Void

    init(_ apply: @escaping @Sendable (inout OperationPlan) -> Void) { self.apply = apply }

    /// What orders it among the ready operations of its queue; see ``Operation/queuePriority``.
    public static func priority(_ priority: Operation.QueuePriority) -> OperationTrait {
        OperationTrait { $0.priority = priority }
    }

    /// How much the work matters; see ``Operation/qualityOfService``.
    public static func qualityOfService(_ quality: QualityOfService) -> OperationTrait {
        OperationTrait { $0.qualityOfService = quality }
    }
}

/// What all traits of one operation say together.
struct OperationPlan {
    var priority: Operation.QueuePriority?
    var qualityOfService: QualityOfService?
}

extension Operation {
    /// Takes over what is said where the operation is made. Nobody else sees it yet.
    final func adopt(_ name: String?, _ traits: [OperationTrait]) {
        if let name { self.name = name }
        guard !traits.isEmpty else { return }
        var plan = OperationPlan()
        for trait in traits { trait.apply(&plan) }
        if let priority = plan.priority { queuePriority = priority }
        if let quality = plan.qualityOfService { qualityOfService = quality }
    }
}
