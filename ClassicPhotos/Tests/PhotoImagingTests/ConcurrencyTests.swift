import Foundation
import OperationsTestSupport
import PhotoImaging
import Synchronization
import Testing

@Suite(.ownThreads) struct ConcurrencyTests {
    /// Runs `body` on eight threads at the same time and waits for all of them.
    private func onEightThreads(_ body: @escaping @Sendable (Int) -> Void) {
        let group = DispatchGroup()
        for number in 0..<8 {
            group.enter()
            Thread {
                body(number)
                group.leave()
            }.start()
        }
        group.wait()
    }

    @Test func validAndBrokenPicturesDoNotInterfere() throws {
        let good = try ImageFormat.always.map { try Pictures.file($0) }
        let expected = try good.map { try ImageEngine.decode($0).pixels() }
        let bad = good.map { Array($0.prefix($0.count / 2)) } + [Array("<html>".utf8), []]
        let failures = Mutex<[String]>([])
        onEightThreads { number in
            for round in 0..<30 {
                let which = (number + round) % good.count
                if (try? ImageEngine.decode(good[which]).pixels()) != expected[which] {
                    failures.withLock { $0.append("picture \(which) has wrong pixels") }
                }
                let broken = bad[(number + round) % bad.count]
                if (try? ImageEngine.decode(broken)) != nil {
                    failures.withLock { $0.append("a broken file was decoded") }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
    }

    /// Code that libvips compiles and frees on several threads crashed some of these calls.
    @Test func manyPicturesAreShrunkAtTheSameTime() throws {
        let file = try Pictures.file(.webp)
        let box = PixelSize(width: 40, height: 40)
        let expected = try ImageEngine.decode(file, fitting: box).pixels()
        let differing = Mutex(0)
        onEightThreads { _ in
            for _ in 0..<600 {
                let pixels = try? ImageEngine.decode(file, fitting: box).pixels()
                if pixels != expected { differing.withLock { $0 += 1 } }
            }
        }
        #expect(differing.withLock { $0 } == 0)
    }

    @Test func threadsCanShareOneBitmap() throws {
        let picture = try Pictures.colorful(width: 300, height: 200)
        let filters: [ImageFilter] = [.sepia(), .tiltShift(), .vignette()]
        let expected = try ImageEngine.encode(
            ImageEngine.apply(filters, to: picture), as: .png
        ).bytes
        let differing = Mutex(0)
        onEightThreads { _ in
            for _ in 0..<10 {
                let result = try? ImageEngine.apply(filters, to: picture)
                let file = result.flatMap { try? ImageEngine.encode($0, as: .png).bytes }
                if file != expected { differing.withLock { $0 += 1 } }
            }
        }
        #expect(differing.withLock { $0 } == 0)
    }

    @Test func cancellationDoesNotAffectOtherCalls() throws {
        let file = try Pictures.file(.jpeg, width: 1200, height: 900)
        let expected = try ImageEngine.decode(file).pixels()
        let failures = Mutex<[String]>([])
        onEightThreads { number in
            for _ in 0..<6 {
                let cancellation = ImagingCancellation()
                if number.isMultiple(of: 2) { cancellation.cancel() }
                do throws(ImagingError) {
                    let pixels = try ImageEngine.decode(file, cancellation: cancellation).pixels()
                    if pixels != expected { failures.withLock { $0.append("wrong pixels") } }
                    if cancellation.isCancelled { failures.withLock { $0.append("not stopped") } }
                } catch {
                    let isRight = error == .cancelled && number.isMultiple(of: 2)
                    if !isRight { failures.withLock { $0.append(error.description) } }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
    }
}
