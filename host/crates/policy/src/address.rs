//! Addresses that plugins may be connected to. Names are resolved by the host, and every answer is looked at here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To a host of the public internet.
    Public,
    /// Into a private network or to this machine: only where an operator names the host and says so.
    Private(&'static str),
    /// To nobody whom a plugin may ever reach: metadata services, groups, reserved space.
    Never(&'static str),
}

impl Reach {
    /// Of this address. An IPv6 address that carries an IPv4 address leads where that leads, unless it leads to worse.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => match embedded(address) {
                // Tunnels and translators to private networks are nobody's intention.
                Some((how, inner)) => match of_v4(inner) {
                    // Its prefix is a network's own, and may be no public one.
                    Self::Public if how == "ISATAP" => of_v6(address),
                    Self::Public => Self::Public,
                    Self::Private(what) if how == "mapped" => Self::Private(what),
                    Self::Private(_) | Self::Never(_) => Self::Never("an address inside another"),
                },
                None => of_v6(address),
            },
        }
    }
}

/// IANA special-purpose registry, IPv4.
fn of_v4(address: Ipv4Addr) -> Reach {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, ..) => Reach::Private("this machine"),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => Reach::Private("a private network"),
        (100, 64..=127, _) if address.octets() != [100, 100, 100, 200] => Reach::Private("a carrier's network"),
        (100, 100, 100) => Reach::Never("a metadata service"),
        (0, ..) => Reach::Never("this network"),
        (169, 254, _) => Reach::Never("link-local, where metadata services are"),
        (192, 0, 0) | (192, 0, 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => Reach::Never("reserved"),
        (198, 18..=19, _) => Reach::Never("for benchmarks"),
        (224..=239, ..) => Reach::Never("a group"),
        (240.., ..) => Reach::Never("reserved"),
        _ => Reach::Public,
    }
}

/// The same, IPv6; addresses that carry another are dealt with before.
fn of_v6(address: Ipv6Addr) -> Reach {
    let [a, b, ..] = address.segments();
    match a {
        _ if address == Ipv6Addr::LOCALHOST => Reach::Private("this machine"),
        _ if address == Ipv6Addr::UNSPECIFIED => Reach::Never("no address"),
        // The metadata service of one large cloud lives in private space.
        0xfd00 if b == 0x0ec2 => Reach::Never("a metadata service"),
        0xfc00..=0xfdff => Reach::Private("a private network"),
        0xfe80..=0xfebf => Reach::Never("link-local"),
        0xfec0..=0xfeff => Reach::Never("site-local, which is no more"),
        0xff00.. => Reach::Never("a group"),
        0x2001 if b < 0x0200 => Reach::Never("reserved"),
        0x2001 if b == 0x0db8 => Reach::Never("for documentation"),
        0x3fff if b < 0x1000 => Reach::Never("for documentation"),
        0x2000..=0x3fff => Reach::Public,
        _ => Reach::Never("not of the internet"),
    }
}

/// The IPv4 address inside an IPv6 address, by every scheme that puts one there.
fn embedded(address: Ipv6Addr) -> Option<(&'static str, Ipv4Addr)> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(("mapped", v4(high, low))),
        // Compatible; `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => Some(("compatible", v4(high, low))),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(("translated", v4(high, low))),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(("NAT64", v4(high, low))),
        // Of a local translator: which bits are the address is its own choice.
        [0x64, 0xff9b, 1, ..] => Some(("NAT64", Ipv4Addr::UNSPECIFIED)),
        [0x2002, high, low, ..] => Some(("6to4", v4(high, low))),
        // The client's address is inverted in the end, the server's is plain; neither is anybody's intention.
        [0x2001, 0, ..] => Some(("Teredo", Ipv4Addr::UNSPECIFIED)),
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(("ISATAP", v4(high, low))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(text: &str) -> Reach {
        Reach::of(text.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_public() {
        for public in
            ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1", "::ffff:1.1.1.1"]
        {
            assert_eq!(reach(public), Reach::Public, "{public}");
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
            assert!(matches!(reach(private), Reach::Private(_)), "{private}");
        }
    }

    #[test]
    fn the_rest_is_out_of_reach() {
        for never in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "100.100.100.200",
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
            assert!(matches!(reach(never), Reach::Never(_)), "{never}: {:?}", reach(never));
        }
    }
}
