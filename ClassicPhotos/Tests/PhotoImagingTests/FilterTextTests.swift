import Foundation
import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct FilterTextTests {
    @Test func bareNameUsesDefaults() throws {
        #expect(try ImageFilter("tilt-shift") == .tiltShift())
        #expect(try ImageFilter(" Sepia ") == .sepia())
    }

    @Test(arguments: [
        ("sepia=0.8", ImageFilter.sepia(intensity: 0.8)),
        ("sepia=intensity:0.25", .sepia(intensity: 0.25)),
        ("sepia-css=1", .sepiaCSS(amount: 1)),
        ("tilt-shift=0.4,0.1", .tiltShift(center: 0.4, band: 0.1)),
        ("tilt-shift= radius : 12 , center:0", .tiltShift(center: 0, radius: 12)),
    ])
    func textIsParsed(text: String, filter: ImageFilter) throws {
        #expect(try ImageFilter(text) == filter)
    }

    @Test(arguments: ImageFilter.Kind.allCases)
    func descriptionAndCodableRoundTrip(kind: ImageFilter.Kind) throws {
        for share in [0.0, 0.1, 1 / 3.0, 1] {
            let values = kind.definition.parameters.map { parameter in
                let width = parameter.range.upperBound - parameter.range.lowerBound
                return (parameter.name, parameter.range.lowerBound + share * width)
            }
            let filter = try ImageFilter(kind, Dictionary(uniqueKeysWithValues: values))
            #expect(try ImageFilter(filter.description) == filter)
            let data = try JSONEncoder().encode([filter])
            #expect(try JSONDecoder().decode([ImageFilter].self, from: data) == [filter])
        }
    }

    @Test(arguments: [
        ("sepai=0.8", ["sepai", "sepia", "tilt-shift"]),
        ("", ["Available filters"]),
        ("sepia=1.5", ["1.5", "0 to 1", "intensity"]),
        ("sepia=nan", ["nan", "0 to 1"]),
        ("sepia=much", ["much", "not a number", "0 to 1"]),
        ("sepia=", ["A value is missing", "intensity", "0 to 1"]),
        ("sepia=strength:1", ["strength", "intensity (0 to 1)"]),
        ("sepia=0.1,0.2", ["0.2", "too many", "intensity"]),
        ("sepia=0.1,intensity:0.2", ["twice", "intensity"]),
        ("tilt-shift=transition:0", ["transition", "0.01 to 1"]),
    ])
    func invalidTextThrowsAndNamesProblem(text: String, words: [String]) throws {
        let error = #expect(throws: ImagingError.self) { try ImageFilter(text) }
        for word in words { #expect(error?.description.contains(word) == true) }
    }

    @Test func invalidJSONThrowsDecodingError() {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ImageFilter].self, from: Data(#"["sepia=7"]"#.utf8))
        }
    }

    @Test func factoryDefaultsMatchDefinitions() throws {
        let factories: [ImageFilter] = [
            .sepia(), .sepiaCSS(), .monochrome(), .noir(), .tonal(), .chrome(), .fade(), .instant(),
            .process(), .transfer(), .vignette(), .tiltShift(), .blur(), .sharpen(),
        ]
        #expect(factories == (try ImageFilter.Kind.allCases.map { try ImageFilter($0) }))
    }

    @Test func factoriesClampValues() {
        #expect(ImageFilter.sepia(intensity: 7) == .sepia(intensity: 1))
        #expect(ImageFilter.sepia(intensity: -.infinity) == .sepia(intensity: 0))
        #expect(ImageFilter.sepia(intensity: .nan) == .sepia())
    }

    @Test func valuesAreReadByName() {
        let filter = ImageFilter.tiltShift(band: 0.3)
        #expect(filter[parameter: "band"] == 0.3)
        #expect(filter[parameter: "intensity"] == nil)
    }

    @Test func everyDefinitionIsDocumented() {
        for definition in FilterDefinition.all {
            #expect(!definition.summary.isEmpty && !definition.source.isEmpty)
            for parameter in definition.parameters {
                #expect(parameter.range.contains(parameter.defaultValue))
                #expect(!parameter.unit.isEmpty)
            }
        }
    }

    @Test func filtersInOneTextAreSeparatedByCommas() throws {
        #expect(try ImageFilter.chain("sepia=0.5") == [try ImageFilter("sepia=0.5")])
        #expect(
            try ImageFilter.chain("noir,tilt-shift=0.4,radius:12,sepia=0.5, vignette")
                == [
                    ImageFilter("noir"), ImageFilter("tilt-shift=0.4,radius:12"),
                    ImageFilter("sepia=0.5"), ImageFilter("vignette"),
                ])
        for text in ["", ",", "sepia,", "0.5", "radius:12", "noir,,sepia"] {
            #expect(throws: ImagingError.self, "\(text)") { try ImageFilter.chain(text) }
        }
    }
}
