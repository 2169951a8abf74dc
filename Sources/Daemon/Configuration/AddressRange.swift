import Glibc

/// A range of IP addresses, such as `10.0.0.0/8`.
struct AddressRange: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 16 bytes in network order.
    private var network: [UInt8]
    private var prefixBits: Int

    /// Reads an address with or without the length of its prefix; without one it is that address alone.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let bytes = Self.bytes(of: String(parts[0])) else { return nil }
        network = bytes
        prefixBits = bytes.count * 8
        guard parts.count == 2 else { return }
        guard parts[1].allSatisfy({ "0"..."9" ~= $0 }), let bits = Int(parts[1]), bits <= prefixBits
        else { return nil }
        prefixBits = bits
    }

    /// Whether an IPv4 or IPv6 address is in the range; an IPv4 address mapped into IPv6 counts as IPv4.
    func contains(_ address: String) -> Bool {
        guard var bytes = Self.bytes(of: address) else { return false }
        if bytes.count == 16, network.count == 4,
            bytes.prefix(12).elementsEqual(Array(repeating: 0, count: 10) + [0xFF, 0xFF])
        {
            bytes.removeFirst(12)
        }
        guard bytes.count == network.count else { return false }
        return (0..<prefixBits).allSatisfy { bit in
            let mask = UInt8(0x80) >> (bit % 8)
            return bytes[bit / 8] & mask == network[bit / 8] & mask
        }
    }

    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(network.count == 4 ? AF_INET : AF_INET6, network, &text, socklen_t(text.count))
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return "\(String(decoding: bytes, as: UTF8.self))/\(prefixBits)"
    }

    private static func bytes(of address: String) -> [UInt8]? {
        var four = [UInt8](repeating: 0, count: 4)
        if inet_pton(AF_INET, address, &four) == 1 { return four }
        var sixteen = [UInt8](repeating: 0, count: 16)
        return inet_pton(AF_INET6, address, &sixteen) == 1 ? sixteen : nil
    }
}
