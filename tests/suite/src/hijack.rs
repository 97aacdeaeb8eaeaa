//! Makes system calls in a process of the host, like an attacker who runs their own code there. The process is real and
//! does not cooperate; it is controlled with ptrace. Only for x86-64, like the registers named here.

use nix::errno::Errno;
use nix::libc::{c_long, user_regs_struct};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// The bytes of the `syscall` instruction.
const SYSCALL: u16 = 0x050f;

/// The first thread of a process, stopped while it waits in the kernel. Dropping this resumes it.
pub struct Hijacked {
    thread: Pid,
    before: user_regs_struct,
    /// Memory below its stack for arguments.
    room: u64,
}

/// The outcome of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded and returned this value.
    Done(u64),
    /// It failed with this error.
    Refused(Errno),
    /// This signal killed the process.
    Ended(Signal),
}

impl Hijacked {
    /// Returns `None` without permission: only administrators can trace a process that is not dumpable.
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

    /// Writes bytes into its memory, at offset `at` of the memory for arguments. Returns their address.
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

    /// Makes a system call in the process.
    pub fn call(&mut self, number: c_long, arguments: &[u64]) -> Outcome {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or(0);
        let registers = user_regs_struct {
            rip: self.before.rip - 2,
            rax: number as u64,
            // The kernel must not restart the interrupted system call.
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
                // The stop for the signal comes first, then the end of the process.
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
        // Restarts the system call that was interrupted.
        let again =
            user_regs_struct { rip: self.before.rip - 2, rax: self.before.orig_rax, orig_rax: u64::MAX, ..self.before };
        // The process may have ended.
        let _ = ptrace::setregs(self.thread, again);
        let _ = ptrace::detach(self.thread, None);
    }
}
