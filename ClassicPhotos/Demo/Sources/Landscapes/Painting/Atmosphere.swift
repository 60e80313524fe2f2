/// The colors of a time of day: sky, distance and light.
struct Atmosphere {
    var zenith: Light
    var middle: Light
    var horizon: Light
    /// The halo around the sun or moon.
    var glow: Light
    /// The color that distant objects fade into.
    var haze: Light
    /// The color of the nearest, darkest silhouettes.
    var near: Light
    var cloudLit: Light
    var cloudShade: Light
    /// The direct light on the ground, and the sky light in the shade.
    var sunlight: Light
    var ambient: Light

    private init(
        _ sky: (UInt32, UInt32, UInt32), glow: UInt32, haze: UInt32, near: UInt32,
        cloud: (UInt32, UInt32), light: UInt32, ambient: UInt32, power: Float = 1
    ) {
        zenith = Light(sky.0)
        middle = Light(sky.1)
        horizon = Light(sky.2)
        self.glow = Light(glow)
        self.haze = Light(haze)
        self.near = Light(near)
        cloudLit = Light(cloud.0)
        cloudShade = Light(cloud.1)
        sunlight = Light(light) * power
        self.ambient = Light(ambient)
    }

    /// Picks a palette for the time of day and shifts it slightly, so that no two pictures look the
    /// same.
    static func of(_ time: TimeOfDay, _ random: inout Random) -> Atmosphere {
        var chosen = random.pick(palettes(time))
        let warmth = random.between(-0.06, 0.06)
        let tint = Light(1 + warmth, 1 + random.between(-0.03, 0.03), 1 - warmth, 1)
        let depth = random.between(0.85, 1.2)
        for path in [\Atmosphere.zenith, \.middle, \.horizon, \.haze, \.glow, \.cloudLit] {
            chosen[keyPath: path] = (chosen[keyPath: path] * tint).saturated(depth)
        }
        return chosen
    }

    private static func palettes(_ time: TimeOfDay) -> [Atmosphere] {
        switch time {
        case .dawn: dawn
        case .morning: morning
        case .noon: noon
        case .overcast: overcast
        case .storm: storm
        case .goldenHour: golden
        case .sunset: sunset
        case .dusk: dusk
        case .night: night
        }
    }

    private static let dawn = [
        Atmosphere(
            (0x4B6A9B, 0xB79BB5, 0xF8CBA4), glow: 0xFFB27A, haze: 0xDDB9B5, near: 0x242640,
            cloud: (0xFFC9AE, 0x8C86A8), light: 0xFFC59A, ambient: 0x5A6488),
        Atmosphere(
            (0x5F93AC, 0xC9BEC8, 0xFBD5C4), glow: 0xFFC6A6, haze: 0xCFC2CE, near: 0x1F3038,
            cloud: (0xFFDCCB, 0x9AA3B8), light: 0xFFD2B4, ambient: 0x5C7080),
        Atmosphere(
            (0x6D78B4, 0xC79FC4, 0xFFC3B8), glow: 0xFF9F8C, haze: 0xD3A9C4, near: 0x2B2244,
            cloud: (0xFFBFBB, 0x8F7FB0), light: 0xFFBCA6, ambient: 0x625E90),
    ]

    private static let morning = [
        Atmosphere(
            (0x3A74B6, 0x86B2DC, 0xE2ECF0), glow: 0xFFF1CF, haze: 0xB9CFE0, near: 0x1D3026,
            cloud: (0xFFFFFA, 0xA9BACB), light: 0xFFEFD2, ambient: 0x6C86A4),
        Atmosphere(
            (0x5C9CC4, 0xA8D0DE, 0xF3F0DC), glow: 0xFFF0BE, haze: 0xCBDAD8, near: 0x23352A,
            cloud: (0xFFFCEC, 0xB2C0C4), light: 0xFFEBC0, ambient: 0x6F8C94),
    ]

    private static let noon = [
        Atmosphere(
            (0x1C5AAA, 0x5496D6, 0xBFDDF0), glow: 0xFFFFFF, haze: 0xA6C8E2, near: 0x16301E,
            cloud: (0xFFFFFF, 0x9DB2C8), light: 0xFFF8EA, ambient: 0x5E80AA),
        Atmosphere(
            (0x2078B8, 0x62B4DC, 0xCFEAEC), glow: 0xFFFFF0, haze: 0xB4D8DE, near: 0x12332C,
            cloud: (0xFFFFFF, 0xA6BFC8), light: 0xFFF6E0, ambient: 0x5A8EA4),
    ]

    private static let overcast = [
        Atmosphere(
            (0x8A99A5, 0xB5C0C8, 0xDDE1E1), glow: 0xEDEBE4, haze: 0xC1CBD0, near: 0x202B2B,
            cloud: (0xE6E9EA, 0x8E9BA5), light: 0xC4CACC, ambient: 0x8593A0, power: 0.7),
        Atmosphere(
            (0x9C9F96, 0xC3C4B8, 0xE6E2D2), glow: 0xF3ECD8, haze: 0xCDCBBC, near: 0x2B2C24,
            cloud: (0xEEEBDF, 0x98998E), light: 0xCFC9B8, ambient: 0x8C9088, power: 0.7),
    ]

    private static let storm = [
        Atmosphere(
            (0x2A3642, 0x55646F, 0xC4BC9F), glow: 0xF2DFA6, haze: 0x7D8A90, near: 0x10181A,
            cloud: (0xA5ADAE, 0x2F3B46), light: 0xF0DDA8, ambient: 0x47545E),
        Atmosphere(
            (0x26304A, 0x565E80, 0xD2A99C), glow: 0xFFC79E, haze: 0x80809A, near: 0x12131F,
            cloud: (0xB5A9B2, 0x2E3450), light: 0xFFC9A0, ambient: 0x4A4F6A),
    ]

    private static let golden = [
        Atmosphere(
            (0x5F82AC, 0xD9BE94, 0xFFD88E), glow: 0xFFB648, haze: 0xE6BD80, near: 0x2A2114,
            cloud: (0xFFE0A8, 0xA58D80), light: 0xFFC670, ambient: 0x6A7288, power: 1.15),
        Atmosphere(
            (0x7D9CB8, 0xE6CDA6, 0xFFE4B0), glow: 0xFFC878, haze: 0xE9CFA2, near: 0x2C2A18,
            cloud: (0xFFEBC6, 0xAC9C90), light: 0xFFD48C, ambient: 0x747E88, power: 1.1),
    ]

    private static let sunset = [
        Atmosphere(
            (0x2E3568, 0xA84C6C, 0xFF954E), glow: 0xFF6A2C, haze: 0xC86A66, near: 0x170F22,
            cloud: (0xFF8A5C, 0x503A66), light: 0xFF8A4E, ambient: 0x4A4270),
        Atmosphere(
            (0x1C4C6A, 0x8E8A8E, 0xFFA85C), glow: 0xFF8336, haze: 0xB27E6C, near: 0x0D1B26,
            cloud: (0xFFAA70, 0x3F5468), light: 0xFF9E58, ambient: 0x3E5468),
        Atmosphere(
            (0x3B3078, 0xC45A9C, 0xFFB48C), glow: 0xFF7A6A, haze: 0xC96C9C, near: 0x1A0F30,
            cloud: (0xFF92A0, 0x5A4288), light: 0xFF9A84, ambient: 0x54468A),
    ]

    private static let dusk = [
        Atmosphere(
            (0x14214C, 0x434F8C, 0xBC9DC2), glow: 0xE0ACB8, haze: 0x6B6A9E, near: 0x080C1E,
            cloud: (0x9C86B4, 0x2A3366), light: 0x8C86B8, ambient: 0x2C3766, power: 0.7),
        Atmosphere(
            (0x0F2E40, 0x2F6A78, 0xD2CBA0), glow: 0xF0CF96, haze: 0x5E8C8C, near: 0x04141A,
            cloud: (0xA9B49C, 0x214854), light: 0x9AA88E, ambient: 0x26505C, power: 0.7),
    ]

    private static let night = [
        Atmosphere(
            (0x050A1C, 0x0E2048, 0x2C4A78), glow: 0xC4D4F2, haze: 0x203A62, near: 0x02050D,
            cloud: (0x51688E, 0x0C1834), light: 0x7C98C8, ambient: 0x152448, power: 0.75),
        Atmosphere(
            (0x0C0820, 0x241A4A, 0x5A4078), glow: 0xDCCBF0, haze: 0x382C62, near: 0x05030E,
            cloud: (0x6E5C94, 0x150F30), light: 0x9486C4, ambient: 0x221C48, power: 0.75),
        Atmosphere(
            (0x03121C, 0x0A3040, 0x2C6668), glow: 0xC8E8DC, haze: 0x1C4A50, near: 0x010A0E,
            cloud: (0x4C7C80, 0x081F2A), light: 0x78B0AC, ambient: 0x103038, power: 0.75),
    ]
}
