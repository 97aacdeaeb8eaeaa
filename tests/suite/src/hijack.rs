//! What an attacker would do who runs code of their own in a process of the host: any system call. The process is real,
//! and nothing in it helps; it is held as a debugger would hold it. On x86-64 only, like the registers named here.

use nix::errno::Errno;
use nix::libc::{c_long, user_regs_struct};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// Bytes of the instruction that calls the system.
const SYSCALL: u16 = 0x050f;

/// The first thread of a process, stopped where it waits in the kernel. It goes on when this is dropped.
pub struct Hijacked {
    thread: Pid,
    before: user_regs_struct,
    /// Below its stack: where arguments are put.
    room: u64,
}

/// How a system call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was carried out, and this is what it returned.
    Done(u64),
    /// It was refused.
    Refused(Errno),
    /// The process was ended for it.
    Ended(Signal),
}

impl Hijacked {
    /// None if this user may not: a process that is not dumpable is out of reach of all but administrators.
    pub fn take(process: u32) -> Option<Self> {
        let thread = Pid::from_raw(process.try_into().expect("a process id"));
        let waiting = || match ptrace::attach(thread) {
            Err(Errno::EPERM) => Some(None),
            attached => {
                attached.expect("attaching");
                let stopped = waitpid(thread, None).expect("waiting for a thread to stop");
                assert!(matches!(stopped, WaitStatus::Stopped(..)), "{stopped:?}");
                let before = ptrace::getregs(thread).expect("registers");
                let code = ptrace::read(thread, (before.rip - 2) as *mut _).expect("its code");
                if code as u16 != SYSCALL || before.orig_rax == u64::MAX {
                    ptrace::detach(thread, None).expect("detaching");
                    return None;
                }
                Some(Some(Self { thread, before, room: (before.rsp - 4096) & !15 }))
            }
        };
        crate::eventually(crate::PATIENCE, waiting).expect("a thread that waits in the kernel")
    }

    /// Puts bytes into its memory, `at` bytes into the room for them; where that is.
    pub fn put(&mut self, at: u64, bytes: &[u8]) -> u64 {
        let address = self.room + at;
        for (word, chunk) in bytes.chunks(8).enumerate() {
            let mut whole = [0; 8];
            whole[..chunk.len()].copy_from_slice(chunk);
            let to = (address + 8 * word as u64) as *mut _;
            ptrace::write(self.thread, to, c_long::from_le_bytes(whole)).expect("writing into its memory");
        }
        address
    }

    /// Has it make a system call.
    pub fn call(&mut self, number: c_long, arguments: &[u64]) -> Outcome {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or(0);
        let registers = user_regs_struct {
            rip: self.before.rip - 2,
            rax: number as u64,
            // It is in no call that the kernel would begin again.
            orig_rax: u64::MAX,
            rdi: argument(0),
            rsi: argument(1),
            rdx: argument(2),
            r10: argument(3),
            r8: argument(4),
            r9: argument(5),
            ..self.before
        };
        ptrace::setregs(self.thread, registers).expect("setting registers");
        let mut signal = None;
        loop {
            ptrace::step(self.thread, None).expect("one step");
            match waitpid(self.thread, None).expect("waiting for the step") {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => break,
                // First the stop for the signal, then its end.
                WaitStatus::Stopped(_, Signal::SIGSYS) => signal = Some(Signal::SIGSYS),
                WaitStatus::Stopped(..) => {}
                WaitStatus::Signaled(_, by, _) => return Outcome::Ended(signal.unwrap_or(by)),
                other => panic!("{other:?}"),
            }
        }
        let result = ptrace::getregs(self.thread).expect("registers").rax as i64;
        match result {
            -4095..0 => Outcome::Refused(Errno::from_raw(-result as i32)),
            good => Outcome::Done(good as u64),
        }
    }
}

impl Drop for Hijacked {
    fn drop(&mut self) {
        // The call that it was in, once more.
        let again =
            user_regs_struct { rip: self.before.rip - 2, rax: self.before.orig_rax, orig_rax: u64::MAX, ..self.before };
        // It may have ended.
        let _ = ptrace::setregs(self.thread, again);
        let _ = ptrace::detach(self.thread, None);
    }
}
