import OperationsTestSupport
import Testing

@testable import PhotoPipeline

@Suite(.ownThreads) struct NetworkAddressTests {
    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
        "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "223.255.255.255", "2606:4700::1111", "2a00:1450:4001:80b::200e", "2001:200::1",
        "2620:4f:8000::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        "2a00:1450::5efe:8.8.8.8",
    ])
    func publicAddressesHaveNoSpecialPurpose(text: String) throws {
        #expect(try #require(NetworkAddress(text)).specialPurpose == nil)
    }

    @Test(arguments: [
        ("0.0.0.0", "unspecified"), ("0.255.255.255", "unspecified"), ("10.0.0.1", "private"),
        ("10.255.255.255", "private"), ("100.64.0.0", "provider"), ("100.127.255.255", "provider"),
        ("127.0.0.1", "loopback"), ("127.255.255.255", "loopback"),
        ("169.254.169.254", "link-local"),
        ("172.16.0.0", "private"), ("172.31.255.255", "private"), ("192.0.0.9", "reserved"),
        ("192.0.2.1", "documentation"), ("192.88.99.1", "reserved"), ("192.168.0.1", "private"),
        ("198.18.0.1", "benchmarks"), ("198.19.255.255", "benchmarks"),
        ("198.51.100.7", "documentation"), ("203.0.113.7", "documentation"),
        ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"), ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"), ("::", "unspecified"), ("::1", "loopback"),
        ("::2", "reserved"), ("::127.0.0.1", "reserved"), ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.1.2.3", "private"), ("::ffff:0:8.8.8.8", "reserved"),
        ("64:ff9b::192.168.1.1", "private"), ("64:ff9b:1::8.8.8.8", "translation"),
        ("100::1", "reserved"), ("2001::1", "Teredo"), ("2001:2::1", "reserved"),
        ("2001:10::1", "reserved"), ("2001:db8::1", "documentation"),
        ("2002:7f00:1::1", "loopback"),
        ("2002:a00:1::1", "private"), ("3fff::1", "documentation"),
        ("3fff:fff::1", "documentation"),
        ("4000::1", "reserved"), ("fc00::1", "private"), ("fd12:3456::1", "private"),
        ("fe80::1", "link-local"), ("febf::1", "link-local"), ("fec0::1", "private"),
        ("ff02::1", "multicast"), ("2a00:1450::5efe:192.168.0.1", "private"),
        ("2a00:1450::200:5efe:127.0.0.1", "loopback"),
    ])
    func otherAddressesHaveSpecialPurpose(text: String, word: String) throws {
        let specialPurpose = try #require(NetworkAddress(text)).specialPurpose
        #expect(specialPurpose?.contains(word) == true, "\(specialPurpose ?? "public")")
    }

    @Test func addressesRoundTripAsText() {
        for text in ["192.168.1.20", "::1", "2a00:1450:4001:80b::200e", "255.0.0.1"] {
            #expect(NetworkAddress(text)?.description == text)
        }
        for text in ["", "127.1", "1.2.3.4.5", "[::1]", "host", "1.2.3.4 "] {
            #expect(NetworkAddress(text) == nil, "\(text)")
        }
    }

    // MARK: Allowed hosts

    @Test func allowedHostsAreParsedAndNormalized() {
        let texts = [
            "nas.local": "nas.local", "NAS.local.:80": "nas.local:80", "192.168.1.5": "192.168.1.5",
            "192.168.1.5:8080": "192.168.1.5:8080", "[::1]:8080": "[::1]:8080", "[::1]": "[::1]",
            "::1": "[::1]", "127.1": "127.1", "bücher.example": "bücher.example",
        ]
        for (text, written) in texts {
            #expect(AllowedHost(text)?.description == written, "\(text)")
        }
    }

    @Test(arguments: [
        "", ":80", "host:", "host:0", "host:65536", "host:+80", "host:http", "http://host",
        "user@host", "host/path", "a b", "*", "[::1", "[host]:80", "[::1]80", "::zz", "10.0.0.0/8",
        "host..", ".host", "a..b", ".", "..",
    ])
    func invalidHostsAreRejected(text: String) {
        #expect(AllowedHost(text) == nil)
    }

    @Test func hostsAreComparedBySpelling() throws {
        let any = try #require(AllowedHost("NAS.local"))
        #expect(
            any.matches(host: "nas.LOCAL.", port: 80) && any.matches(host: "nas.local", port: 81))
        #expect(!any.matches(host: "nas.local.evil", port: 80))
        let one = try #require(AllowedHost("[::1]:8080"))
        #expect(one.matches(host: "::1", port: 8_080) && one.matches(host: "[::1]", port: 8_080))
        #expect(!one.matches(host: "::1", port: 80))
    }
}
