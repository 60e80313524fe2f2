import OperationsTestSupport
import PhotoTestSupport
import Testing

@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

@Suite(.ownThreads) struct LocalFileTests {
    /// The contents of a file that a search in the folder "in" has found; nil if it is refused.
    private func content(_ name: String, in scratch: URL) throws -> [UInt8]? {
        let root = try #require(LocalPath(scratch)?.resolved).appending("in".utf8)
        return try? LocalFiles.bytes(
            of: LocalFile(root.appending(name.utf8), in: root), named: name)
    }

    private func withFiles(_ body: (URL) throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let manager = FileManager.default
            for name in ["in/a", "in/sub/deep/b", "outside/a", "in-sibling/a"] {
                let file = folder.appending(path: name)
                try manager.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(name.utf8).write(to: file)
            }
            try body(folder)
        }
    }

    private func link(_ name: String, to target: String, in folder: URL) throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.appending(path: name).systemPath, withDestinationPath: target)
    }

    @Test func filesBelowFolderAreRead() async throws {
        try await withFiles { (folder: URL) throws in
            #expect(try content("a", in: folder) == Array("in/a".utf8))
            #expect(try content("sub/deep/b", in: folder) == Array("in/sub/deep/b".utf8))
            #expect(try content("gone", in: folder) == nil)
            #expect(try content("a/b", in: folder) == nil)
        }
    }

    @Test func linksInsideFolderAreFollowed() async throws {
        try await withFiles { (folder: URL) throws in
            try link("in/file", to: "sub/deep/b", in: folder)
            try link("in/folder", to: "sub", in: folder)
            try link(
                "in/sub/absolute", to: folder.appending(path: "in/a").systemPath, in: folder)
            for (name, target) in [
                ("file", "in/sub/deep/b"), ("folder/deep/b", "in/sub/deep/b"),
                ("sub/absolute", "in/a"),
            ] {
                #expect(try content(name, in: folder) == Array(target.utf8))
                let root = try #require(LocalPath(folder)?.resolved).appending("in".utf8)
                let file = LocalFile(root.appending(name.utf8), in: root)
                #expect(LocalFiles.status(of: file)?.byteCount == target.utf8.count)
            }
        }
    }

    @Test(arguments: [
        ("l", "../outside/a", "l"), ("l", "/etc/passwd", "l"), ("l", "../outside", "l/a"),
        ("l", "sub/../../outside/a", "l"), ("l", "../in-sibling/a", "l"), ("l", "l", "l"),
        ("l", "/proc/self/root/etc/passwd", "l"), ("sub/l", "../../outside", "sub/l/a"),
    ])
    func linksOutOfFolderAreRefused(name: String, target: String, path: String) async throws {
        try await withFiles { (folder: URL) throws in
            try link("in/\(name)", to: target, in: folder)
            #expect(try content(path, in: folder) == nil)
            let root = try #require(LocalPath(folder)?.resolved).appending("in".utf8)
            // Neither do the size and the time of such a file become known.
            #expect(LocalFiles.status(of: LocalFile(root.appending(path.utf8), in: root)) == nil)
        }
    }

    @Test(arguments: ["../outside/a", "sub/../../outside/a", ".."])
    func pathsOutOfFolderAreRefused(path: String) async throws {
        try await withFiles { (folder: URL) throws in #expect(try content(path, in: folder) == nil)
        }
    }

    /// A person may name any file.
    @Test func fileWithoutFolderFollowsLinks() async throws {
        try await withFiles { (folder: URL) throws in
            try link("in/l", to: "../outside/a", in: folder)
            let path = try #require(LocalPath(folder)).appending("in/l".utf8)
            #expect(try LocalFiles.bytes(of: path, named: "l") == Array("outside/a".utf8))
        }
    }

    @Test func pipesAndFoldersAreNotRead() async throws {
        try await withFiles { (folder: URL) throws in
            let path = try #require(LocalPath(folder)?.resolved).appending("in/pipe".utf8)
            #expect(path.withCString { mkfifo($0, 0o600) } == 0)
            for name in ["pipe", "sub"] {
                let root = try #require(path.folder)
                for parent in [nil, root] {
                    let file = LocalFile(root.appending(name.utf8), in: parent)
                    let error = #expect(throws: PhotoSourceError.self) {
                        try LocalFiles.bytes(of: file, named: name)
                    }
                    #expect(error?.problem == "it is not a regular file")
                }
            }
        }
    }
}
