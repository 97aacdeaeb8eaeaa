//! Requests to forbidden addresses in every spelling, and how many of them connected. `xtask hostile` reads the figures.

use super::fake_network::{FakeNetwork, forbidden, get, ok, public, redirect, v6};
use platform::sync::Mutex;
use runtime::imports::HttpError;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Forbidden addresses.
const FORBIDDEN: &[[u8; 4]] = &[
    [127, 0, 0, 1],
    [127, 255, 255, 254],
    [10, 0, 0, 1],
    [10, 255, 0, 1],
    [172, 16, 0, 1],
    [172, 31, 255, 1],
    [192, 168, 0, 1],
    [192, 168, 255, 1],
    [169, 254, 169, 254],
    [169, 254, 0, 1],
    [169, 254, 170, 2],
    [100, 64, 0, 1],
    [100, 127, 255, 254],
    [100, 100, 100, 200],
    [168, 63, 129, 16],
    [0, 0, 0, 0],
    [0, 1, 2, 3],
    [192, 0, 0, 192],
    [192, 0, 2, 1],
    [198, 18, 0, 1],
    [198, 19, 255, 1],
    [198, 51, 100, 1],
    [203, 0, 113, 1],
    [224, 0, 0, 1],
    [239, 255, 255, 250],
    [240, 0, 0, 1],
    [255, 255, 255, 255],
];

const PUBLIC: &[[u8; 4]] =
    &[[93, 184, 216, 34], [1, 1, 1, 1], [8, 8, 8, 8], [172, 32, 0, 1], [100, 128, 0, 1], [11, 0, 0, 1]];

/// Numbers that look random and are the same in every run.
struct PseudoRandom(u64);

impl PseudoRandom {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

/// Every grant that could be thought to cover an address, none of them for private networks.
fn generous(extra: &[String]) -> String {
    let grant = |pattern: &str| format!("{{ allow = \"{pattern}\", redirects = 3, timeout = \"5s\" }}");
    let mut grants = vec![grant("http://*")];
    grants.extend(extra.iter().map(|host| grant(&format!("http://{host}"))));
    format!("http = [{}]", grants.join(", "))
}

/// An address inside an IPv6 address, by every scheme there is.
fn embedded(address: [u8; 4]) -> Vec<IpAddr> {
    let [a, b, c, d] = address;
    let (high, low) = (format!("{:x}", u16::from_be_bytes([a, b])), format!("{:x}", u16::from_be_bytes([c, d])));
    let forms = [
        format!("::ffff:{high}:{low}"),
        format!("::{high}:{low}"),
        format!("::ffff:0:{high}:{low}"),
        format!("64:ff9b::{high}:{low}"),
        format!("2002:{high}:{low}::1"),
        format!("64:ff9b:1::{high}:{low}"),
        format!("2001:0:{high}:{low}::1"),
        format!("fe80::5efe:{high}:{low}"),
    ];
    forms.iter().map(|form| v6(form)).collect()
}

fn literal(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// A part of an address, written in some radix.
fn number(random: &mut PseudoRandom, value: u32) -> String {
    let zeros = "0".repeat(random.roll(3));
    match random.roll(4) {
        0 => value.to_string(),
        1 => format!("0{zeros}{value:o}"),
        2 => format!("0x{zeros}{value:x}"),
        _ => format!("0X{zeros}{value:X}"),
    }
}

/// One of the countless spellings of an address.
fn spelling(random: &mut PseudoRandom, address: [u8; 4]) -> String {
    let [a, b, c, d] = address.map(u32::from);
    if random.roll(5) == 0 {
        let form = *random.pick(&embedded(address));
        let IpAddr::V6(form) = form else { unreachable!("all are IPv6") };
        let text = match random.roll(3) {
            0 => form.to_string(),
            1 => form.segments().map(|part| format!("{part:04x}")).join(":"),
            _ => form.segments().map(|part| format!("{part:X}")).join(":"),
        };
        return format!("[{text}]");
    }
    let parts = match random.roll(4) {
        0 => vec![a << 24 | b << 16 | c << 8 | d],
        1 => vec![a, b << 16 | c << 8 | d],
        2 => vec![a, b, c << 8 | d],
        _ => vec![a, b, c, d],
    };
    let dots = [".", ".", ".", "。", "．", "｡", "%2e", "%2E"];
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            let dot: &&str = random.pick(&dots);
            text.push_str(dot);
        }
        text.push_str(&number(random, *part));
    }
    let disguised = |c: char, how: usize| match (how, c.to_digit(10)) {
        (1, Some(digit)) => char::from_u32(0xff10 + digit).unwrap().to_string(),
        (2, Some(_)) => format!("%{:02x}", c as u32),
        (3, Some(digit)) => char::from_u32(0x1d7d8 + digit).unwrap().to_string(),
        _ => c.to_string(),
    };
    // Percent signs are left alone: what they encode would change.
    let how = random.roll(8);
    if how > 0 && how < 4 && !text.contains('%') {
        let seldom = random.roll(3);
        text = text.chars().map(|c| disguised(c, if random.roll(3) >= seldom { how } else { 0 })).collect();
    }
    match random.roll(30) {
        0 => format!("{text}."),
        1 => format!("user@{text}"),
        2 => format!("{text}:80"),
        _ => text,
    }
}

/// Host spellings that parsers have disagreed about.
fn tricks() -> Vec<String> {
    let written = [
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "0x7f000001",
        "017700000001",
        "[::1]",
        "[::]",
        "[::ffff:7f00:1]",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:7f00:1::]",
        "[::1%25lo]",
        "[fe80::1%25eth0]",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "loca%6chost",
        "user@allowed.example@169.254.169.254",
        "allowed.example@127.0.0.1",
        "allowed.example:80@127.0.0.1",
        "127.0.0.1#@allowed.example",
        "127.0.0.1\\@allowed.example",
        "allowed.example\\@127.0.0.1",
        "１２７.０.０.１",
        "⑯⑨.②⑤④.⑯⑨.②⑤④",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "127%2e0%2e0%2e1",
        "%31%32%37.0.0.1",
        "0",
        "0.0.0.0",
        "00.0.0.0",
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "0251.0376.0251.0376",
        "169.254.43518",
        "[fd00:ec2::254]",
        "[fd00:0ec2:0:0:0:0:0:254]",
        "100.100.100.200",
        "192.0.0.192",
        "metadata.internal",
        "metadata.internal.",
        "127.0.0.1.nip.example",
        "[::ffff:a9fe:a9fe]",
        "[::ffff:0:127.0.0.1]",
        "[::127.0.0.1]",
        "[ff02::1]",
        "[fec0::1]",
        "[fc00::1]",
        "[100::1]",
        "[2001:db8::1]",
        "[2001::1]",
        "[3fff::1]",
        "[5f00::1]",
    ];
    written.map(String::from).into()
}

/// Requests as they are, as redirects, and as names: nothing forbidden may be connected to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vectors() {
    // Names of tricks lead to where such names lead.
    let names = |name: &str, _: usize| match name.strip_prefix('n').and_then(|rest| rest.strip_suffix(".bad.example")) {
        Some(number) => bad().get(number.parse::<usize>().unwrap()).cloned().unwrap_or_default(),
        None if name.contains("local") || name.contains("nip") => vec![[127, 0, 0, 1].into()],
        None if name.contains("metadata") => vec![[169, 254, 169, 254].into()],
        None => vec![public()],
    };
    let location = Arc::new(Mutex::new(String::new()));
    let led = location.clone();
    let network = FakeNetwork::new(names, move |_| redirect(302, &led.lock())).await;
    let sender = network.sender();
    let exact: Vec<_> = FORBIDDEN.iter().map(|address| literal((*address).into())).collect();
    let exact: Vec<_> = exact.into_iter().chain(["[::1]".into(), "[::ffff:127.0.0.1]".into()]).collect();
    let grants = generous(&exact);
    let (mut tried, mut by_name) = (0, 0);
    for host in tricks() {
        let url = format!("http://{host}/");
        let direct = get(&sender, &network.call(&grants), &url).await;
        *location.lock() = url.clone();
        // A header is ASCII: what is not cannot be in a Location.
        let led = url.is_ascii().then_some(get(&sender, &network.call(&grants), "http://good.example/").await);
        tried += 1 + usize::from(led.is_some());
        for answer in [Some(direct), led].into_iter().flatten() {
            assert!(!matches!(answer, Ok((200, ..))), "{url}: {answer:?}");
        }
    }
    for number in 0..bad().len() {
        let url = format!("http://n{number}.bad.example/");
        assert_eq!(get(&sender, &network.call(&grants), &url).await, Err(HttpError::Denied), "{:?}", bad()[number]);
        by_name += 1;
    }
    let wrong: Vec<_> = network.reached.lock().iter().filter(|reached| forbidden(reached.ip())).copied().collect();
    assert!(wrong.is_empty() && network.sink_connections() == 0, "{wrong:?}");
    assert!(tried + by_name >= 200, "only {} vectors", tried + by_name);
    eprintln!("hostile: egress: {} vectors, 0 connections to forbidden addresses", tried + by_name);
}

/// Name server answers that each contain a forbidden address.
fn bad() -> Vec<Vec<IpAddr>> {
    let plain = FORBIDDEN.iter().map(|address| vec![IpAddr::from(*address)]);
    let mixed = FORBIDDEN.iter().map(|address| vec![public(), IpAddr::from(*address)]);
    let inside = FORBIDDEN.iter().take(10).flat_map(|address| embedded(*address)).map(|address| vec![address]);
    let other = [
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
        "ff02::1",
        "2001:db8::1",
        "fec0::1",
    ];
    plain.chain(mixed).chain(inside).chain(other.map(|address| vec![v6(address)])).collect()
}

/// A resolver whose answers flip from one look-up to the next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rebinding() {
    const ATTEMPTS: usize = 5_000;
    // What the resolver says at its n-th look-up.
    fn answers_at(n: usize) -> Vec<IpAddr> {
        let mut random = PseudoRandom(n as u64 * 7 + 1);
        let good = |random: &mut PseudoRandom| IpAddr::from(*random.pick(PUBLIC));
        let evil = |random: &mut PseudoRandom| match random.roll(3) {
            0 => {
                let inner = *random.pick(FORBIDDEN);
                *random.pick(&embedded(inner))
            }
            _ => IpAddr::from(*random.pick(FORBIDDEN)),
        };
        match n % 4 {
            0 => vec![good(&mut random)],
            1 => vec![evil(&mut random)],
            2 => vec![good(&mut random), good(&mut random), evil(&mut random)],
            _ => vec![evil(&mut random), good(&mut random)],
        }
    }
    let network = FakeNetwork::new(|_, n| answers_at(n), |_| ok("")).await;
    let sender = network.sender();
    let grants = generous(&[]);
    let mut answered = 0;
    for n in 0..ATTEMPTS {
        assert_eq!(network.lookups.load(Ordering::SeqCst), n, "one look-up for each request");
        let answer = get(&sender, &network.call(&grants), "http://flips.example/").await;
        let answers = answers_at(n);
        match answers.iter().any(|address| forbidden(*address)) {
            true => assert_eq!(answer, Err(HttpError::Denied), "{answers:?}"),
            false => {
                assert_eq!(answer.unwrap().0, 200);
                answered += 1;
                let reached = network.reached.lock().last().unwrap().ip();
                assert!(answers.contains(&reached), "{reached}: {answers:?}");
            }
        }
    }
    assert!(network.sink_connections() == 0 && answered == ATTEMPTS / 4 && network.reached.lock().len() == answered);
    eprintln!(
        "hostile: egress: {ATTEMPTS} rebinding attempts, 0 connections to forbidden addresses, {answered} answered"
    );
}

/// Spellings of addresses, each held against the address that was really connected to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spellings() {
    const SPELLINGS: usize = 10_000;
    let network = FakeNetwork::new(|_, _| vec![[127, 0, 0, 1].into()], |_| ok("")).await;
    let sender = network.sender();
    let mut random = PseudoRandom(1);
    let (mut passed, mut refused) = (0, 0);
    for _ in 0..SPELLINGS {
        let public = random.roll(8) == 0;
        let address = *random.pick(if public { PUBLIC } else { FORBIDDEN });
        let spelled = spelling(&mut random, address);
        let meant: Vec<IpAddr> = [IpAddr::from(address)].into_iter().chain(embedded(address)).collect();
        let exact: Vec<_> = meant.iter().map(|address| literal(*address)).collect();
        let before = network.reached.lock().len();
        let answer = get(&sender, &network.call(&generous(&exact)), &format!("http://{spelled}/")).await;
        let reached = network.reached.lock()[before..].to_vec();
        match (&answer, reached.as_slice()) {
            (Ok((200, ..)), [one]) => {
                assert!(public && meant.contains(&one.ip()) && !forbidden(one.ip()), "{spelled} reached {one}");
                passed += 1;
            }
            (Err(HttpError::Denied | HttpError::Request(_)), []) => refused += 1,
            other => panic!("{spelled}: {other:?}"),
        }
        // A public address in the usual spelling is not refused.
        let plain = spelled.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !spelled.ends_with('.');
        assert!(!(public && plain) || answer.is_ok(), "{spelled}: {answer:?}");
    }
    assert!(network.sink_connections() == 0 && passed > 500, "{passed} passed");
    eprintln!(
        "hostile: egress: {SPELLINGS} spellings, 0 connections to forbidden addresses, {passed} public ones answered, {refused} refused"
    );
}

/// Ordinary requests pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn legitimate() {
    let names = |name: &str, _: usize| match name {
        "six.example" => vec![v6("2606:2800:220:1:248:1893:25c8:1946"), public()],
        "mapped.example" => vec![v6("::ffff:93.184.216.34")],
        _ => vec![public(), [1, 1, 1, 1].into()],
    };
    let network =
        FakeNetwork::new(names, |head| if head.contains(" /old") { redirect(301, "/new") } else { ok("fine") }).await;
    let sender = network.sender();
    let hosts = [
        "a.example",
        "A.Example",
        "six.example",
        "mapped.example",
        "bücher.example",
        "xn--bcher-kva.example",
        "under_score.example",
        "1.2.3.4.example",
        "127.0.0.1.example",
        "93.184.216.34",
    ];
    let paths = ["", "/", "/old", "/a%20b?q=1&r=%2f", "/a/./b/../c#part"];
    let grants = generous(&["93.184.216.34".into()]);
    let mut passed = 0;
    for host in hosts {
        for path in paths {
            let url = format!("http://{host}{path}");
            let answer = get(&sender, &network.call(&grants), &url).await;
            assert!(matches!(&answer, Ok((200, _, body)) if body == "fine"), "{url}: {answer:?}");
            passed += 1;
        }
    }
    assert!(passed == 50 && network.sink_connections() == 0);
    let addresses = network.reached.lock().iter().map(|address| address.ip()).collect::<Vec<_>>();
    assert!(addresses.iter().all(|address| !forbidden(*address)));
    assert!(
        addresses.contains(&v6("2606:2800:220:1:248:1893:25c8:1946"))
            && addresses.contains(&IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34)))
    );
    eprintln!("hostile: egress: {passed} legitimate requests, {passed} answered");
}
