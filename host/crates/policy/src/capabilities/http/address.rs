//! Which addresses plugins may connect to. The host resolves names, and each resolved address is checked here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressClass {
    Public,
    /// A private network or this machine. Plugins reach it only if the operator allows it for a named host.
    Private(&'static str),
    /// No plugin may ever reach it: metadata services, multicast, reserved space.
    Forbidden(&'static str),
}

impl AddressClass {
    /// Classifies an address. An IPv6 address that embeds an IPv4 address gets the class of the IPv4 address or a stricter
    /// one.
    pub fn from_ip(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => match embedded(address) {
                // Nobody uses a tunnel or a translator to reach a private network on purpose.
                Some((how, inner)) => match of_v4(inner) {
                    // An ISATAP address keeps the prefix of its own network, which may not be public.
                    Self::Public if how == "ISATAP" => of_v6(address),
                    Self::Public => Self::Public,
                    Self::Private(what) if how == "mapped" => Self::Private(what),
                    Self::Private(_) | Self::Forbidden(_) => Self::Forbidden("an address inside another"),
                },
                None => of_v6(address),
            },
        }
    }
}

/// Follows the IANA special-purpose address registry for IPv4.
fn of_v4(address: Ipv4Addr) -> AddressClass {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, ..) => AddressClass::Private("this machine"),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => AddressClass::Private("a private network"),
        (100, 64..=127, _) if address.octets() != [100, 100, 100, 200] => AddressClass::Private("a carrier's network"),
        (100, 100, 100) => AddressClass::Forbidden("a metadata service"),
        (168, 63, 129) if address.octets() == [168, 63, 129, 16] => AddressClass::Forbidden("a metadata service"),
        (0, ..) => AddressClass::Forbidden("this network"),
        (169, 254, _) => AddressClass::Forbidden("link-local, where metadata services are"),
        (192, 0, 0) | (192, 0, 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => {
            AddressClass::Forbidden("reserved")
        }
        (198, 18..=19, _) => AddressClass::Forbidden("for benchmarks"),
        (224..=239, ..) => AddressClass::Forbidden("a group"),
        (240.., ..) => AddressClass::Forbidden("reserved"),
        _ => AddressClass::Public,
    }
}

/// Follows the IANA special-purpose address registry for IPv6. Addresses that embed an IPv4 address are handled before this.
fn of_v6(address: Ipv6Addr) -> AddressClass {
    let [a, b, ..] = address.segments();
    match a {
        _ if address == Ipv6Addr::LOCALHOST => AddressClass::Private("this machine"),
        _ if address == Ipv6Addr::UNSPECIFIED => AddressClass::Forbidden("no address"),
        // These lie in private address space: the metadata services of AWS, Oracle, Scaleway, Linode, Alibaba and Google.
        0xfd00 if matches!(b, 0x0ec2 | 0x00c1 | 0x0042 | 0xa9fe | 0x0100) => {
            AddressClass::Forbidden("a metadata service")
        }
        0xfd20 if b == 0x00ce => AddressClass::Forbidden("a metadata service"),
        0xfc00..=0xfdff => AddressClass::Private("a private network"),
        0xfe80..=0xfebf => AddressClass::Forbidden("link-local"),
        0xfec0..=0xfeff => AddressClass::Forbidden("site-local, which is no more"),
        0xff00.. => AddressClass::Forbidden("a group"),
        0x2001 if b < 0x0200 => AddressClass::Forbidden("reserved"),
        0x2001 if b == 0x0db8 => AddressClass::Forbidden("for documentation"),
        0x3fff if b < 0x1000 => AddressClass::Forbidden("for documentation"),
        0x2000..=0x3fff => AddressClass::Public,
        _ => AddressClass::Forbidden("not of the internet"),
    }
}

/// The IPv4 address that is embedded in an IPv6 address, with the name of the scheme that embeds it.
fn embedded(address: Ipv6Addr) -> Option<(&'static str, Ipv4Addr)> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(("mapped", v4(high, low))),
        // IPv4-compatible, except `::` and `::1`.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => Some(("compatible", v4(high, low))),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(("translated", v4(high, low))),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(("NAT64", v4(high, low))),
        // The operator of a local translator chooses which bits hold the address, so it is not known here.
        [0x64, 0xff9b, 1, ..] => Some(("NAT64", Ipv4Addr::UNSPECIFIED)),
        [0x2002, high, low, ..] => Some(("6to4", v4(high, low))),
        // Teredo embeds two addresses, the client's one inverted. Nobody reaches either of them on purpose.
        [0x2001, 0, ..] => Some(("Teredo", Ipv4Addr::UNSPECIFIED)),
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(("ISATAP", v4(high, low))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(text: &str) -> AddressClass {
        AddressClass::from_ip(text.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_public() {
        for public in [
            "1.1.1.1",
            "93.184.216.34",
            "168.63.129.17",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a00::1",
            "::ffff:1.1.1.1",
        ] {
            assert_eq!(reach(public), AddressClass::Public, "{public}");
        }
    }

    #[test]
    fn private_ones_need_a_word() {
        for private in [
            "127.0.0.1",
            "127.255.0.9",
            "10.0.0.1",
            "172.16.9.9",
            "192.168.1.1",
            "100.64.0.1",
            "::1",
            "fd12::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(matches!(reach(private), AddressClass::Private(_)), "{private}");
        }
    }

    #[test]
    fn the_rest_is_out_of_reach() {
        for never in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "::ffff:168.63.129.16",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
            "fd00:a9fe:a9fe::1",
            "fd00:100::100:200",
            "::ffff:169.254.169.254",
            "::7f00:1",
            "::ffff:0:7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:db8::1",
            "2606:4700::5efe:7f00:1",
            "fe80::5efe:101:101",
            "100::1",
            "5f00::1",
        ] {
            assert!(matches!(reach(never), AddressClass::Forbidden(_)), "{never}: {:?}", reach(never));
        }
    }
}
