/// Makes titles for pictures from their subjects.
enum PictureName {
    /// The title, unique for every pair of subject and round.
    static func title(_ subject: Subject, _ time: TimeOfDay, round: Int, number: Int) -> String {
        let place = places[(round * 23 + number * 11) % places.count]
        let hours = hours(time)
        let hour = hours[(round / 2 + number) % hours.count]
        let cycle = round / places.count
        return phrase(subject, hour, place) + (cycle == 0 ? "" : ", No. \(cycle + 1)")
    }

    private static func phrase(_ subject: Subject, _ hour: String, _ place: String) -> String {
        switch subject {
        case .ridges: "\(hour) over the \(place) Ridges"
        case .alps: "\(hour) on Mount \(place)"
        case .seascape: "\(hour) in \(place) Bay"
        case .dunes: "\(hour) on the \(place) Dunes"
        case .city: "\(hour) in Port \(place)"
        case .forest: "\(hour) in the Firs of \(place)"
        case .lake: "\(hour) over \(place) Lake"
        case .fields: "\(hour) on the \(place) Fields"
        case .aurora: "Northern Lights over \(place) Pass"
        case .canyon: "\(hour) in \(place) Canyon"
        case .shore: "\(place) Beach from Above, \(hour)"
        case .lights: "\(place) Street, Out of Focus"
        case .cloudSea: "\(hour) above the Clouds of \(place)"
        case .stars: "The Milky Way over \(place)"
        case .wood: "\(hour) in \(place) Wood"
        case .balloons: "Balloons over \(place), \(hour)"
        case .winter: "Winter \(hour) at \(place)"
        }
    }

    private static func hours(_ time: TimeOfDay) -> [String] {
        switch time {
        case .dawn: ["Dawn", "First Light", "Daybreak"]
        case .morning: ["Morning", "Clear Morning", "Early Hours"]
        case .noon: ["Noon", "Midday", "Full Sun"]
        case .overcast: ["Gray Light", "Soft Light", "Stillness"]
        case .storm: ["Storm Light", "Gathering Storm", "Before the Rain"]
        case .goldenHour: ["Golden Hour", "Late Sun", "Evening Gold"]
        case .sunset: ["Sunset", "Afterglow", "Last Light"]
        case .dusk: ["Dusk", "Blue Hour", "Twilight"]
        case .night: ["Night", "Midnight", "Late Night"]
        }
    }

    /// Invented names, or names of plants, birds and winds. There are 59, a prime number, so that
    /// any stride visits every name before it repeats.
    private static let places = [
        "Karst", "Alder", "Amber", "Arven", "Birka", "Bramble", "Calder", "Carrow", "Corrin",
        "Dunmore", "Eider", "Elster", "Falken", "Fenwick", "Garnet", "Glenmoor", "Hallow",
        "Harrow", "Heron", "Ivar", "Juniper", "Kestrel", "Kirin", "Lantern", "Larch", "Linden",
        "Lorne", "Lumen", "Merle", "Mistral", "Norrin", "Oakhaven", "Orla", "Osprey", "Pelham",
        "Quill", "Raven", "Rowan", "Rune", "Sable", "Saffron", "Selkie", "Sorrel", "Tamar",
        "Tarn", "Tern", "Thistle", "Umber", "Varda", "Verity", "Vesper", "Willow", "Windle",
        "Wren", "Yarrow", "Zephyr", "Tilda", "Solvei", "Marlow",
    ]
}
