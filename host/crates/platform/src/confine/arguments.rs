//! System calls that are refused because of their arguments: sockets of families that a server does not use, and requests to
//! devices. Arguments that the kernel reads as 32 bits are compared as 32 bits, because it ignores the upper bits.

use super::settings::ConfineSettings;
use super::syscalls::NAME_SPACES;
use libc::{
    AF_BLUETOOTH, AF_CAN, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_UNIX, AF_VSOCK, FIOCLEX, FIONBIO, FIONREAD,
    IPPROTO_IP, IPPROTO_TCP, IPPROTO_UDP, SOCK_DGRAM, SOCK_STREAM, SYS_clone, SYS_ioctl, SYS_socket, SYS_socketpair,
    TCGETS, TIOCLINUX, TIOCSTI, c_int, c_long,
};
use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// Socket families that a server needs to serve, to send requests and to look up names. Local sockets would lead to other
/// services of the machine. `getaddrinfo` works without them, and without a list of the machine's addresses.
const FAMILIES: &[c_int] = &[AF_INET, AF_INET6];
/// Socket families that programs of a user need. The others, such as the one for the kernel's cryptography, are rarely used,
/// and users have become administrators through bugs in them.
const PROGRAM_FAMILIES: &[c_int] = &[AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_CAN, AF_BLUETOOTH, AF_VSOCK];
/// Types without raw sockets. Protocol 0 is the default protocol of a type.
const TYPES: &[c_int] = &[SOCK_STREAM, SOCK_DGRAM];
const PROTOCOLS: &[c_int] = &[IPPROTO_IP, IPPROTO_TCP, IPPROTO_UDP];
/// The bits of a socket's type that are not flags.
const TYPE_MASK: c_int = 0xf;

/// `ioctl` requests that a server needs: flags and unread bytes of descriptors, whether one is a terminal, and which pages a
/// guest has written.
const REQUESTS: &[c_int] =
    &[FIOCLEX as c_int, FIONBIO as c_int, FIONREAD as c_int, TCGETS as c_int, TCGETS2 as c_int, PAGEMAP_SCAN as c_int];
const TCGETS2: u32 = 0x802c_542a;
const PAGEMAP_SCAN: u32 = 0xc060_6610;
/// Requests that insert input into a terminal, as if its user had typed it. No program needs them.
const TYPING: &[c_int] = &[TIOCSTI as c_int, TIOCLINUX as c_int];

/// A system call, with rules for its arguments: a call that matches one of the rules is refused.
pub(super) type RefusedArguments = (c_long, Vec<SeccompRule>);

/// What a server does not need. If it starts programs, only what no program needs.
pub(super) fn refused(needs: &ConfineSettings) -> Result<Vec<RefusedArguments>, BackendError> {
    if needs.programs {
        return Ok(vec![
            (SYS_socket, vec![other_than(0, PROGRAM_FAMILIES)?]),
            (SYS_ioctl, TYPING.iter().map(|request| rule(1, SeccompCmpOp::Eq, *request)).collect::<Result<_, _>>()?),
        ]);
    }
    let flag = |flag: &c_int| rule(0, SeccompCmpOp::MaskedEq(*flag as u64), *flag);
    let mut socket = types_other_than(TYPES)?;
    socket.extend([other_than(0, FAMILIES)?, other_than(2, PROTOCOLS)?]);
    // Only stream sockets stay connected as a pair: a datagram socket of a pair could send to any other socket.
    let mut pair = types_other_than(&[SOCK_STREAM])?;
    pair.push(other_than(0, &[AF_UNIX])?);
    Ok(vec![
        (SYS_clone, NAME_SPACES.iter().map(flag).collect::<Result<_, _>>()?),
        (SYS_socket, socket),
        (SYS_socketpair, pair),
        (SYS_ioctl, vec![other_than(1, REQUESTS)?]),
    ])
}

/// A rule that matches if the argument is none of these.
fn other_than(argument: u8, allowed: &[c_int]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(
        allowed.iter().map(|value| condition(argument, SeccompCmpOp::Ne, *value)).collect::<Result<_, _>>()?,
    )
}

/// Rules that match if the type of a socket is none of these, whatever its flags are.
fn types_other_than(allowed: &[c_int]) -> Result<Vec<SeccompRule>, BackendError> {
    let others = (0..=TYPE_MASK).filter(|kind| !allowed.contains(kind));
    others.map(|kind| rule(1, SeccompCmpOp::MaskedEq(TYPE_MASK as u64), kind)).collect()
}

fn rule(argument: u8, operator: SeccompCmpOp, value: c_int) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![condition(argument, operator, value)?])
}

fn condition(argument: u8, operator: SeccompCmpOp, value: c_int) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(value as u32))
}
