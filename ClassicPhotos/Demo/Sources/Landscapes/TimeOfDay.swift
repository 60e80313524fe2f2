/// The time of day at which a picture was "taken"; sets the palette and the position of the sun.
public enum TimeOfDay: String, Sendable, Hashable, CaseIterable {
    /// Pink and still, before or at sunrise.
    case dawn
    /// Clear, cool light.
    case morning
    /// A high sun and a deep sky.
    case noon
    /// A closed, bright gray sky.
    case overcast
    /// Dark clouds with a gap of light.
    case storm
    /// Low, warm sun.
    case goldenHour
    /// The sun on the horizon.
    case sunset
    /// The blue hour.
    case dusk
    /// Stars, moon, or lamps.
    case night
}
