/// The plan of a picture, made from its index before anything is painted.
struct PicturePlan {
    let subject: Subject
    let timeOfDay: TimeOfDay
    let name: String
    let size: (width: Int, height: Int)

    init(index: Int) {
        let subjects = Subject.allCases
        let round = index / subjects.count
        let position = index % subjects.count
        subject = Self.order(round: round)[position]
        let number = subjects.firstIndex(of: subject) ?? 0
        let times = subject.times
        timeOfDay = times[(round + number) % times.count]
        size = Self.sizes[(index * 7 + round * 3) % Self.sizes.count]
        name = PictureName.title(subject, timeOfDay, round: round, number: number)
    }

    /// The order of the subjects in a round; each round contains every subject once.
    private static func order(round: Int) -> [Subject] {
        guard round > 0 else { return opening }
        var random = Random(seed: UInt64(round) &* 0xD134_2543_DE82_EF95 &+ 77)
        return Subject.allCases.shuffled(using: &random)
    }

    /// Starts with contrasts, because people judge by the first screen.
    private static let opening: [Subject] = [
        .ridges, .shore, .balloons, .city, .lake, .wood, .seascape, .dunes, .aurora, .cloudSea,
        .fields, .forest, .lights, .alps, .canyon, .winter, .stars,
    ]

    private static let sizes: [(width: Int, height: Int)] = [
        (1600, 1200), (1600, 1067), (1200, 1600), (1920, 1080), (1400, 1400),
        (1600, 1200), (1067, 1600), (2000, 1000), (1600, 1067), (2250, 1500), (1280, 1600),
    ]
}
