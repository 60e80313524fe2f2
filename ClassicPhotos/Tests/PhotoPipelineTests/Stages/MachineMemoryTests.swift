import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

@Suite struct MachineMemoryTests {
    private func limit(_ files: [String: String]) -> Int? {
        MachineMemory.groupLimit { files[$0] }
    }

    @Test func leastLimitOfTheGroupsCounts() {
        let groups = "/sys/fs/cgroup"
        #expect(
            limit([
                "/proc/self/cgroup": "0::/system.slice/photos.service\n",
                "\(groups)/system.slice/photos.service/memory.max": "max\n",
                "\(groups)/system.slice/memory.max": "1048576\n",
                "\(groups)/memory.max": "4194304\n",
            ]) == 1_048_576)
        // A container that sees its own group as the root.
        #expect(limit(["/proc/self/cgroup": "0::/\n", "\(groups)/memory.max": "512\n"]) == 512)
        // Version 1, whose path is that of the host.
        #expect(
            limit([
                "/proc/self/cgroup": "4:memory:/docker/ab\n3:cpu,cpuacct:/\n0::/\n",
                "\(groups)/memory/memory.limit_in_bytes": "1024\n",
            ]) == 1_024)
    }

    @Test func noLimitIsNoNumber() {
        #expect(limit([:]) == nil)
        #expect(limit(["/proc/self/cgroup": "nonsense\n0::/\n"]) == nil)
        #expect(MachineMemory.available > 64 << 20)
    }
}
