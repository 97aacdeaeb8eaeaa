//! The host's own processes when an attacker runs code in them: the sandbox leaves the server few system calls and the
//! compile worker none of use.

use crate::confined::status;
use nix::errno::Errno;
use nix::libc::{self as sys, c_long};
use nix::sys::signal::Signal;
use serde_json::json;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use suite::hijack::{Hijacked, Outcome};
use suite::{Client, Home, eventually, paths, plugin};

/// A confined worker that waits for a component.
fn worker() -> Child {
    let mut command = Command::new(paths::binary());
    command.args(["compile-worker", "fuel"]).env_clear();
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let waits = || {
        let (id, waits) = (child.id(), fs::read_to_string(format!("/proc/{}/syscall", child.id())).ok()?);
        (status(id, id, "Seccomp") == "2" && waits.starts_with("0 0x0 ")).then_some(())
    };
    assert!(eventually(suite::PATIENCE, waits).is_some(), "the worker does not wait for its input");
    child
}

const HERE: u64 = sys::AT_FDCWD as u64;

/// Name, number and arguments of a system call; optionally the index of a pointer argument and the bytes it points to.
type Attempt = (&'static str, c_long, Vec<u64>, Option<(usize, Vec<u8>)>);

/// The bits above an argument of 32 bits. The kernel ignores them, so a filter has to.
const ABOVE: u64 = 1 << 32;
/// The bit that marks calls of the x32 interface.
const X32: c_long = 0x4000_0000;

/// Sockets of families, types and protocols that lead elsewhere than a server serves or sends to.
fn foreign_sockets() -> Vec<Attempt> {
    let socket = |name, family: i32, kind: i32, protocol: i32| -> Attempt {
        (name, sys::SYS_socket, vec![family as u64, kind as u64, protocol as u64], None)
    };
    vec![
        socket("a local socket", sys::AF_UNIX, sys::SOCK_STREAM | sys::SOCK_CLOEXEC, 0),
        ("a local socket by other bits", sys::SYS_socket, vec![sys::AF_UNIX as u64 | ABOVE, 1 | ABOVE, 0], None),
        ("a local socket of x32", X32 | sys::SYS_socket, vec![sys::AF_UNIX as u64, 1, 0], None),
        (
            "a pair that sends anywhere",
            sys::SYS_socketpair,
            vec![sys::AF_UNIX as u64, sys::SOCK_DGRAM as u64, 0, 0],
            None,
        ),
        socket("the kernel's cryptography", sys::AF_ALG, sys::SOCK_SEQPACKET, 0),
        socket("the virtual machine's host", sys::AF_VSOCK, sys::SOCK_STREAM, 0),
        socket("the kernel's tables", sys::AF_NETLINK, sys::SOCK_RAW, sys::NETLINK_ROUTE),
        socket("packets", sys::AF_PACKET, sys::SOCK_RAW, 0),
        socket("raw addresses", sys::AF_INET, sys::SOCK_RAW, sys::IPPROTO_ICMP),
        socket("echo requests", sys::AF_INET, sys::SOCK_DGRAM, sys::IPPROTO_ICMP),
        socket("another transport", sys::AF_INET6, sys::SOCK_STREAM, sys::IPPROTO_MPTCP),
    ]
}

/// Requests to the terminal and to other devices.
fn foreign_requests() -> Vec<Attempt> {
    let request =
        |name, call: c_long, request: u64| -> Attempt { (name, call, vec![0, request, 0], Some((2, path("x")))) };
    vec![
        request("TIOCSTI", sys::SYS_ioctl, sys::TIOCSTI),
        request("TIOCSTI by other bits", sys::SYS_ioctl, sys::TIOCSTI | ABOVE),
        request("TIOCSTI of x32", X32 | 514, sys::TIOCSTI),
        request("TIOCLINUX", sys::SYS_ioctl, sys::TIOCLINUX),
    ]
}

fn make(process: &mut Hijacked, (_, number, arguments, text): &Attempt) -> Outcome {
    let mut arguments = arguments.clone();
    if let Some((at, text)) = text {
        arguments[*at] = process.put(0, text);
    }
    process.call(*number, &arguments)
}

fn path(text: impl AsRef<str>) -> Vec<u8> {
    [text.as_ref().as_bytes(), &[0]].concat()
}

/// The `sockaddr_in` of 127.0.0.1 and this port.
fn address(port: u16) -> Vec<u8> {
    [&(sys::AF_INET as u16).to_le_bytes()[..], &port.to_be_bytes(), &[127, 0, 0, 1], &[0; 8]].concat()
}

#[test]
fn a_hijacked_worker_can_do_nothing() {
    let home = Home::new();
    let victim = home.write("victim.txt", "here");
    let me = u64::from(std::process::id());
    let attempts: Vec<Attempt> = vec![
        ("open", sys::SYS_open, vec![0, 0], Some((0, path("/etc/passwd")))),
        ("openat", sys::SYS_openat, vec![HERE, 0, 0], Some((1, path("/etc/passwd")))),
        ("unlink", sys::SYS_unlink, vec![0], Some((0, path(victim.display().to_string())))),
        ("mkdirat", sys::SYS_mkdirat, vec![HERE, 0, 0o700], Some((1, path(format!("{}.d", victim.display()))))),
        ("memfd_create", sys::SYS_memfd_create, vec![0, 0], Some((0, path("code")))),
        ("socket", sys::SYS_socket, vec![sys::AF_INET as u64, sys::SOCK_STREAM as u64, 0], None),
        ("connect", sys::SYS_connect, vec![1, 0, 16], Some((1, address(80)))),
        ("bind", sys::SYS_bind, vec![1, 0, 16], Some((1, address(0)))),
        ("execve", sys::SYS_execve, vec![0, 0, 0], Some((0, path("/bin/sh")))),
        ("fork", sys::SYS_fork, vec![], None),
        ("vfork", sys::SYS_vfork, vec![], None),
        ("clone", sys::SYS_clone, vec![sys::SIGCHLD as u64, 0, 0, 0, 0], None),
        ("clone3", sys::SYS_clone3, vec![0, 88], Some((0, vec![0; 88]))),
        ("ptrace", sys::SYS_ptrace, vec![sys::PTRACE_ATTACH as u64, me], None),
        ("process_vm_writev", sys::SYS_process_vm_writev, vec![me, 0, 0, 0, 0, 0], None),
        ("pidfd_open", sys::SYS_pidfd_open, vec![me, 0], None),
        ("kill", sys::SYS_kill, vec![me, sys::SIGWINCH as u64], None),
        ("tgkill", sys::SYS_tgkill, vec![me, me, sys::SIGWINCH as u64], None),
        ("prlimit64", sys::SYS_prlimit64, vec![me, sys::RLIMIT_NOFILE as u64, 0, 0], None),
        ("bpf", sys::SYS_bpf, vec![0, 0, 0], None),
        ("userfaultfd", sys::SYS_userfaultfd, vec![0], None),
        ("io_uring_setup", sys::SYS_io_uring_setup, vec![1, 0], Some((1, vec![0; 120]))),
        ("perf_event_open", sys::SYS_perf_event_open, vec![0, 0, u64::MAX, u64::MAX, 0], None),
        ("mount", sys::SYS_mount, vec![0, 0, 0, 0, 0], None),
        ("unshare", sys::SYS_unshare, vec![sys::CLONE_NEWUSER as u64], None),
        ("setuid", sys::SYS_setuid, vec![0], None),
        ("keyctl", sys::SYS_keyctl, vec![0, 0], None),
        ("ioctl", sys::SYS_ioctl, vec![0, sys::TIOCSTI, 0], Some((2, path("x")))),
        ("mmap of code", sys::SYS_mmap, vec![0, 4096, 7, 0x22, u64::MAX, 0], None),
        ("mprotect of code", sys::SYS_mprotect, vec![0, 4096, 5], None),
    ];
    for attempt in &attempts {
        let mut child = worker();
        let outcome = make(&mut Hijacked::take(child.id()).expect("a child may be traced"), attempt);
        assert_eq!(outcome, Outcome::Ended(Signal::SIGSYS), "{}", attempt.0);
        // `Hijacked` has reaped the child already, so this may fail.
        let _ = child.wait();
    }
    // The attack itself works: a system call that compiling needs is allowed.
    let mut child = worker();
    let mut hijacked = Hijacked::take(child.id()).unwrap();
    assert_eq!(hijacked.call(sys::SYS_getpid, &[]), Outcome::Done(child.id().into()));
    drop(hijacked);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(1), "it goes on, and nothing is no component");
    assert_eq!(fs::read(victim).unwrap(), b"here");
    println!("hostile: hijacked compile worker: {0} of {0} system calls ended it", attempts.len());
}

#[test]
fn a_hijacked_server_can_do_little() {
    can_do_little(&plugin("echo", ""));
}

/// Others start them for it, so that it keeps its restrictions.
#[test]
fn a_hijacked_server_with_programs_can_do_as_little() {
    can_do_little(&(plugin("echo", "") + "[upstream.other]\ncommand = [\"/bin/sleep\", \"60\"]\ntimeout = \"1s\"\n"));
}

fn can_do_little(config: &str) {
    // The server may read the folder of its configuration, so the files it must not reach lie elsewhere.
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.txt");
    fs::write(&secret, "secret").unwrap();
    let at = |name: &str| path(outside.path().join(name).display().to_string());
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let mut client = Client::of(config);
    client.server.wait_for_log("ready");
    let Some(mut server) = Hijacked::take(client.server.id()) else {
        return println!("hostile: hijacked server: skipped: only an administrator can try");
    };
    let me = u64::from(std::process::id());
    let own = client.server.home.path().join("portcullis.toml").display().to_string();
    let mut attempts: Vec<Attempt> = vec![
        ("read a file", sys::SYS_openat, vec![HERE, 0, 0], Some((1, at("secret.txt")))),
        ("read a home", sys::SYS_openat, vec![HERE, 0, sys::O_DIRECTORY as u64], Some((1, path("/home")))),
        ("write a file", sys::SYS_openat, vec![HERE, 0, sys::O_WRONLY as u64], Some((1, at("secret.txt")))),
        ("change its rights", sys::SYS_openat, vec![HERE, 0, sys::O_WRONLY as u64], Some((1, path(own)))),
        ("make a file", sys::SYS_openat, vec![HERE, 0, 0o101, 0o600], Some((1, at("new.txt")))),
        ("remove a file", sys::SYS_unlink, vec![0], Some((0, at("secret.txt")))),
        ("make a folder", sys::SYS_mkdir, vec![0, 0o700], Some((0, at("new")))),
        ("empty a file", sys::SYS_truncate, vec![0, 0], Some((0, at("secret.txt")))),
        ("run a program", sys::SYS_execve, vec![0, 0, 0], Some((0, path("/bin/sh")))),
        ("ptrace", sys::SYS_ptrace, vec![sys::PTRACE_ATTACH as u64, me], None),
        ("process_vm_readv", sys::SYS_process_vm_readv, vec![me, 0, 0, 0, 0, 0], None),
        ("kill", sys::SYS_kill, vec![me, sys::SIGWINCH as u64], None),
        ("bpf", sys::SYS_bpf, vec![0, 0, 0], None),
        ("userfaultfd", sys::SYS_userfaultfd, vec![0], None),
        ("perf_event_open", sys::SYS_perf_event_open, vec![0, 0, u64::MAX, u64::MAX, 0], None),
        ("io_uring_setup", sys::SYS_io_uring_setup, vec![1, 0], Some((1, vec![0; 120]))),
        ("mount", sys::SYS_mount, vec![0, 0, 0, 0, 0], None),
        ("unshare", sys::SYS_unshare, vec![sys::CLONE_NEWUSER as u64], None),
        ("clone into a name space", sys::SYS_clone, vec![(sys::CLONE_NEWUSER | sys::SIGCHLD) as u64, 0], None),
        ("clone3", sys::SYS_clone3, vec![0, 88], Some((0, vec![0; 88]))),
        ("setns", sys::SYS_setns, vec![0, 0], None),
        ("chroot", sys::SYS_chroot, vec![0], Some((0, path("/")))),
        ("keyctl", sys::SYS_keyctl, vec![0, 0xffff_fffd, 0], None),
        ("init_module", sys::SYS_init_module, vec![0, 0, 0], None),
        ("kexec_load", sys::SYS_kexec_load, vec![0, 0, 0, 0], None),
        ("personality", sys::SYS_personality, vec![0], None),
        ("listen without an address", sys::SYS_listen, vec![0, 1], None),
        ("take a terminal", sys::SYS_ioctl, vec![0, sys::TIOCSCTTY, 1], None),
    ];
    attempts.extend(foreign_sockets());
    attempts.extend(foreign_requests());
    let mut done = vec![];
    for attempt in &attempts {
        let outcome = make(&mut server, attempt);
        let refused = matches!(outcome, Outcome::Refused(Errno::EPERM | Errno::EACCES));
        // ENOSYS for clone3 makes the C library fall back to clone.
        let absent = attempt.0 == "clone3" && outcome == Outcome::Refused(Errno::ENOSYS);
        if !refused && !absent {
            done.push((attempt.0, outcome));
        }
    }
    assert!(done.is_empty(), "not refused: {done:?}");
    // Of all families and types, only those that a server uses are left.
    let (inet, inet6) = (sys::AF_INET as u64, sys::AF_INET6 as u64);
    let mut left = vec![];
    for (family, kind) in (0..64).flat_map(|family| (0..16).map(move |kind| (family, kind))) {
        match server.call(sys::SYS_socket, &[family, kind, 0]) {
            Outcome::Refused(Errno::EPERM) => {}
            Outcome::Done(socket) => {
                assert_eq!(server.call(sys::SYS_close, &[socket]), Outcome::Done(0));
                left.push((family, kind));
            }
            other => panic!("family {family}, type {kind}: {other:?}"),
        }
    }
    assert_eq!(left, [(inet, 1), (inet, 2), (inet6, 1), (inet6, 2)]);
    // Listening on another port takes two system calls.
    let socket = server.call(sys::SYS_socket, &[sys::AF_INET as u64, sys::SOCK_STREAM as u64, 0]);
    let Outcome::Done(socket) = socket else { panic!("{socket:?}") };
    let place = server.put(0, &address(free));
    assert_eq!(server.call(sys::SYS_bind, &[socket, place, 16]), Outcome::Refused(Errno::EACCES));
    assert_eq!(server.call(sys::SYS_close, &[socket]), Outcome::Done(0));
    drop(server);
    client.check_alive();
    client.run("echo", json!({})).good();
    let left: Vec<_> = fs::read_dir(outside.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!((left, fs::read(secret).unwrap()), (vec!["secret.txt".into()], b"secret".to_vec()));
    println!("hostile: hijacked server: {0} of {0} system calls refused", attempts.len() + 1);
}
