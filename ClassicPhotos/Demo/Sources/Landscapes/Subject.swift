/// The subject of a demo picture.
public enum Subject: String, Sendable, Hashable, CaseIterable {
    /// Mountain ridges, one behind the other, fading into haze.
    case ridges
    /// High mountains with snow, in true perspective.
    case alps
    /// The open sea with the sun or moon over it.
    case seascape
    /// Sand dunes with sharp crests.
    case dunes
    /// A skyline with lit windows, mirrored in a river.
    case city
    /// Firs in fog.
    case forest
    /// Mountains mirrored in a lake.
    case lake
    /// Rolling farmland under clouds.
    case fields
    /// Northern lights over snow.
    case aurora
    /// Mesas and gorges of layered rock.
    case canyon
    /// A beach from above.
    case shore
    /// City lights out of focus.
    case lights
    /// Peaks standing out of a sea of clouds.
    case cloudSea
    /// The Milky Way.
    case stars
    /// Trunks in a wood.
    case wood
    /// Hot-air balloons over hills.
    case balloons
    /// Snow and firs.
    case winter

    /// The times of day that suit this subject.
    var times: [TimeOfDay] {
        switch self {
        case .ridges: [.dawn, .sunset, .goldenHour, .dusk, .morning, .overcast]
        case .alps: [.morning, .noon, .sunset, .goldenHour, .dawn, .dusk]
        case .seascape: [.sunset, .dawn, .noon, .storm, .night, .goldenHour, .dusk, .morning]
        case .dunes: [.goldenHour, .morning, .sunset, .noon, .dawn]
        case .city: [.dusk, .night, .sunset]
        case .forest: [.overcast, .dawn, .goldenHour, .dusk, .morning]
        case .lake: [.dawn, .morning, .sunset, .goldenHour, .dusk, .noon, .night]
        case .fields: [.noon, .morning, .goldenHour, .storm, .sunset]
        case .aurora, .stars, .lights: [.night]
        case .canyon: [.goldenHour, .noon, .morning, .sunset, .storm]
        case .shore: [.noon, .morning, .goldenHour, .overcast]
        case .cloudSea: [.dawn, .sunset, .goldenHour, .morning, .dusk]
        case .wood: [.goldenHour, .overcast, .morning, .dawn]
        case .balloons: [.dawn, .goldenHour, .morning]
        case .winter: [.dawn, .overcast, .noon, .dusk, .sunset]
        }
    }
}
