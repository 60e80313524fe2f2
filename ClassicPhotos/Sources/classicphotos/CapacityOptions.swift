import ArgumentParser
import PhotoLibrary
import PhotoPipeline

/// The options that limit simultaneous work on pictures.
struct CapacityOptions: ParsableArguments {
    @Option(help: "The maximum number of pictures processed at a time; default: one per processor.")
    var jobs: Int?

    @Option(
        help: """
            The maximum memory for pictures, in megabytes; default: a quarter of the machine's \
            memory, but no more than 1024.
            """)
    var memory: Int?

    func validate() throws {
        if let memory, !(64...1_048_576).contains(memory) {
            throw ValidationError("--memory must be between 64 and 1048576 megabytes.")
        }
        if let jobs, !(1...256).contains(jobs) {
            throw ValidationError("--jobs must be between 1 and 256.")
        }
    }

    /// The capacity of this process.
    var pixels: PixelCapacity {
        guard memory != nil || jobs != nil else { return .shared }
        return PixelCapacity(processors: jobs, bytes: memory.map { $0 << 20 })
    }
}
