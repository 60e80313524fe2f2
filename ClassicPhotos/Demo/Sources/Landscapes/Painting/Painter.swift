import Foundation

/// Paints one scene; each subject is an extension in `Scenes/`.
struct Painter {
    let canvas: Canvas
    let time: TimeOfDay
    var atmosphere: Atmosphere
    let noise: Noise
    var random: Random
    var film = Film()

    init(canvas: Canvas, time: TimeOfDay, seed: UInt64) {
        self.canvas = canvas
        self.time = time
        random = Random(seed: seed)
        noise = Noise(seed: UInt32(truncatingIfNeeded: random.next()))
        atmosphere = Atmosphere.of(time, &random)
        film.vignette = random.between(0.16, 0.36)
        film.contrast = random.between(0.3, 0.5)
        film.grain = random.between(1.4, 2.6)
    }

    mutating func paint(_ subject: Subject) {
        switch subject {
        case .ridges: paintRidges()
        case .alps: paintAlps()
        case .seascape: paintSeascape()
        case .dunes: paintDunes()
        case .city: paintCity()
        case .forest: paintForest()
        case .lake: paintLake()
        case .fields: paintFields()
        case .aurora: paintAurora()
        case .canyon: paintCanyon()
        case .shore: paintShore()
        case .lights: paintLights()
        case .cloudSea: paintCloudSea()
        case .stars: paintStars()
        case .wood: paintWood()
        case .balloons: paintBalloons()
        case .winter: paintWinter()
        }
    }

    var width: Float { canvas.frameWidth }
    var height: Float { canvas.frameHeight }

    /// The position of the sun above a horizon at this time of day, in units; often outside the
    /// frame.
    mutating func sunPlace(horizon: Float) -> SIMD2<Float> {
        let x =
            width * (random.chance(0.5) ? random.between(0.14, 0.42) : random.between(0.58, 0.86))
        return switch time {
        case .dawn, .sunset: SIMD2(x, horizon - random.between(0.01, 0.09) * height)
        case .goldenHour: SIMD2(x, horizon - random.between(0.12, 0.26) * height)
        case .morning: SIMD2(x, horizon - random.between(0.3, 0.6) * height)
        case .noon: SIMD2(x, -random.between(0.1, 0.4))
        case .overcast: SIMD2(x, horizon - random.between(0.3, 0.7) * height)
        case .storm: SIMD2(x, horizon - random.between(0.05, 0.2) * height)
        case .dusk: SIMD2(x, horizon + random.between(0, 0.05))
        case .night: SIMD2(x, horizon - random.between(0.25, 0.7) * height)
        }
    }

    /// A sky for this time of day; scenes adjust it before painting.
    mutating func sky(horizon: Float) -> Sky {
        var sky = Sky(atmosphere: atmosphere, horizon: horizon, sun: sunPlace(horizon: horizon))
        sky.cloudScale = random.between(0.8, 1.4)
        sky.cover = random.between(0.3, 0.6)
        switch time {
        case .dawn, .sunset, .goldenHour:
            sky.sunRadius = random.between(0.016, 0.034)
            sky.haloStrength = random.between(0.7, 1.1)
            sky.clouds = random.pick([.cirrus, .cirrus, .banks, .cumulus, .none])
        case .morning, .noon:
            sky.sunRadius = 0
            sky.haloStrength = random.between(0.3, 0.6)
            sky.clouds = random.pick([.cumulus, .cumulus, .cirrus, .banks])
        case .overcast:
            sky.sunRadius = 0
            sky.haloStrength = 0.25
            sky.clouds = .cover
        case .storm:
            sky.sunRadius = 0
            sky.haloStrength = 0.6
            sky.clouds = .cover
        case .dusk:
            sky.sunRadius = 0
            sky.haloStrength = 0.7
            sky.clouds = random.pick([.cirrus, .banks, .none])
        case .night:
            sky.sunRadius = 0
            sky.haloStrength = 0.22
        }
        return sky
    }

    /// The direction of the sun for land that is lit from one side; -1 left, 1 right.
    mutating func sideLight(_ side: Float) -> SIMD3<Float> {
        let rise: Float =
            switch time {
            case .noon: random.between(0.7, 1)
            case .morning: random.between(0.42, 0.6)
            case .goldenHour: random.between(0.26, 0.36)
            case .dawn, .sunset: random.between(0.2, 0.27)
            case .overcast, .storm: 0.8
            case .dusk, .night: 0.5
            }
        let sun = SIMD3(side * random.between(0.75, 1), rise, random.between(-0.3, 0.25))
        return sun / (sun * sun).sum().squareRoot()
    }
}
