// Crawls the sites that are named, or a small one that it serves itself, and prints what it found.

import OperationsFoundation

@main
struct Program {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let pages = arguments.compactMap { URL(string: $0) }
        guard pages.count == arguments.count, pages.allSatisfy({ $0.host != nil }) else {
            print("usage: crawler [http://…/]...")
            exit(2)
        }
        if !pages.isEmpty {
            report(await Crawler(from: pages, limit: 100).outcomes())
            return
        }

        let site = try DemoSite()
        let names = ["localhost", "127.0.0.1"]  // One site with two names: two hosts.
        let both = names.compactMap { URL(string: "http://\($0):\(site.port)/") }
        report(await Crawler(from: both, limit: 100).outcomes())
        await site.close()
    }

    private static func report(_ outcomes: [URL: Crawler.Outcome]) {
        var (found, repeated) = (0, 0)
        for (url, outcome) in outcomes.sorted(by: { $0.key.absoluteString < $1.key.absoluteString })
        {
            switch outcome {
            case .found(let attempts):
                found += 1
                repeated += attempts - 1
                print(url, attempts == 1 ? "" : "after \(attempts) attempts")
            case .failed(let error): print(url, error)
            }
        }
        print("\(found) pages, \(outcomes.count - found) failures, \(repeated) attempts repeated")
    }
}
