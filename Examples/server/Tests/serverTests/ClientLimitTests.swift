import Operations
import OperationsTestKit
import Testing

@testable import server

struct ClientLimitTests {
    /// In an order of the scheduler's choice, and in no time.
    @Test func tenRequestsOfAClientBeginInASecond() async {
        await TestScheduler.test(schedules: 20) { scheduler in
            let requests = scheduler.makeQueue()
            let limit = ClientLimit(RateLimit(10, per: .seconds(1)), requests)
            let turns = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<25 {
                    group.addTask { (try? await limit.turn(of: "10.0.0.1")) != nil }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            // Ten at once, and another one in each tenth of a second. The tenth of these comes at
            // the moment of the deadline, and either may be first. The rest is refused.
            #expect((19...20).contains(turns))
            #expect(scheduler.clock.now.offset <= .seconds(1))
        }
    }
}
