import OperationsTestSupport
import Testing

@testable import OperationsRuntime

/// Quotas of processor time, read from trees of files.
struct ControlGroupsTests {
    private static let unified =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
    private static let second =
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    private static let others = """
        22 1 0:21 / / rw - ext4 /dev/vda1 rw
        33 31 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory

        """

    private func quota(
        _ files: [String: String], without unreadable: Set<String> = []
    ) -> ControlGroups.Quota {
        var groups = ControlGroups { path in
            if unreadable.contains(path) { return .unreadable }
            return files[path].map { .content(Array($0.utf8)) } ?? .missing
        }
        return groups.quota()
    }

    @Test func theQuotaIsThatOfTheProcessesOwnGroup() {
        let files = [
            "/proc/self/cgroup": "0::/user.slice/app.scope\n",
            "/proc/self/mountinfo": Self.others + Self.unified,
            "/sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
            "/sys/fs/cgroup/user.slice/app.scope/cpu.max": "150000 100000\n",
        ]
        #expect(quota(files) == .processors(2), "rounded up")
    }

    @Test func theLeastQuotaOfAllGroupsAboveCounts() {
        var files = [
            "/proc/self/cgroup": "0::/a/b/c\n",
            "/proc/self/mountinfo": Self.unified,
            "/sys/fs/cgroup/a/cpu.max": "300000 100000\n",
            "/sys/fs/cgroup/a/b/cpu.max": "700000 100000\n",
            "/sys/fs/cgroup/a/b/c/cpu.max": "max 100000\n",
        ]
        #expect(quota(files) == .processors(3))
        files["/sys/fs/cgroup/cpu.max"] = "50000 100000\n"
        #expect(quota(files) == .processors(1))
    }

    @Test func containerMayShowItsGroupAsTheMountPoint() {
        let files = [
            "/proc/self/cgroup": "0::/docker/abc/job\n",
            "/proc/self/mountinfo":
                "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
            "/sys/fs/cgroup/cpu.max": "400000 100000\n",
            "/sys/fs/cgroup/job/cpu.max": "200000 100000\n",
        ]
        #expect(quota(files) == .processors(2))
        var outside = files
        outside["/proc/self/cgroup"] = "0::/docker/abcd\n"
        #expect(quota(outside) == .processors(4), "not shown, but what is above it is")
        outside["/proc/self/cgroup"] = "0::/../other\n"
        #expect(quota(outside) == .processors(4))
    }

    @Test func theFirstVersionHasQuotasToo() {
        let folder = "/sys/fs/cgroup/cpu,cpuacct/docker/abc"
        var files = [
            "/proc/self/cgroup": "11:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n",
            "/proc/self/mountinfo": Self.others + Self.second,
            "\(folder)/cpu.cfs_quota_us": "250000\n", "\(folder)/cpu.cfs_period_us": "100000\n",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        ]
        #expect(quota(files) == .processors(3))
        files["\(folder)/cpu.cfs_quota_us"] = "-1\n"
        #expect(quota(files) == .none)
    }

    @Test func withBothVersionsTheLeastQuotaCounts() {
        let files = [
            "/proc/self/cgroup": "3:cpu:/x\n0::/y\n",
            "/proc/self/mountinfo": """
            32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
            41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw

            """,
            "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "800000\n",
            "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
            "/sys/fs/cgroup/uni fied/y/cpu.max": "600000 100000\n",
        ]
        #expect(quota(files) == .processors(6))
    }

    @Test func whatCannotBeReadIsNotTakenForNoLimit() {
        let files = [
            "/proc/self/cgroup": "0::/a\n", "/proc/self/mountinfo": Self.unified,
            "/sys/fs/cgroup/a/cpu.max": "100000 100000\n",
        ]
        #expect(quota(files, without: ["/sys/fs/cgroup/a/cpu.max"]) == .unknown)
        #expect(quota(files) == .processors(1))
        let all = Set(files.keys).union(["/sys/fs/cgroup/cpu.max"])
        #expect(quota(files, without: all) == .unknown)
    }

    @Test func withoutProcTheRootOfTheContainerCounts() {
        #expect(quota([:]) == .none)
        #expect(quota(["/sys/fs/cgroup/cpu.max": "200000 100000"]) == .processors(2))
    }

    @Test func nonsenseIsNoQuota() {
        for text in [
            "", "max", "a b", "0 0", "-5 100000", "100000", "1 0", "99999999999999999999 1",
        ] {
            let files = [
                "/proc/self/cgroup": "0::/\nnonsense\n::\n",
                "/proc/self/mountinfo": Self.unified + "-\na - b\n",
                "/sys/fs/cgroup/cpu.max": text,
            ]
            #expect(quota(files) == .none, "\(text)")
        }
        let files = [
            "/proc/self/cgroup": "0::/", "/proc/self/mountinfo": Self.unified,
            "/sys/fs/cgroup/cpu.max": "\(Int.max) 1",
        ]
        #expect(quota(files) == .processors(.max))
    }

    @Test func thisProcessMayUseAProcessor() {
        var count = ProcessorCount()
        let number = count.count()
        #expect(number >= 1 && number <= machineProcessorCount)
        #expect(count.count() == number)
    }
}
