//! Seccomp: which system calls a process can make.

use super::arguments;
use super::settings::ConfineSettings;
use super::status::ConfineError;
use super::syscalls::{COMPILING, KEY_RING, MACHINE, ONLY_HERE, OTHERS};
use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses system calls that a server does not need, with `EPERM`. If it starts programs, refuses only those that no program
/// needs. Returns the number of refused calls.
pub(super) fn refuse(needs: &ConfineSettings) -> Result<Option<usize>, ConfineError> {
    let mut refused: Vec<c_long> = MACHINE.to_vec();
    if !needs.programs {
        refused.extend_from_slice(OTHERS);
        refused.extend_from_slice(ONLY_HERE);
        if !needs.keyring {
            refused.extend_from_slice(KEY_RING);
        }
        // A socket without an address would listen on any free port, and no rule of Landlock can refuse that.
        if needs.listen.is_empty() {
            refused.push(libc::SYS_listen);
        }
    }
    let mut rules: Rules = refused.iter().flat_map(|call| numbers(*call)).map(|number| (number, vec![])).collect();
    let mut number = refused.len();
    for (call, refused) in arguments::refused(needs).map_err(wrong)? {
        rules.extend(numbers(call).map(|number| (number, refused.clone())));
        number += 1;
    }
    if !needs.programs {
        // The flags of `clone3` are in memory, where a filter cannot read them. Callers that get `ENOSYS` use `clone` instead.
        let hidden = numbers(libc::SYS_clone3).map(|number| (number, vec![])).collect();
        if !apply(hidden, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))? {
            return Ok(None);
        }
        number += 1;
    }
    let applied = apply(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?;
    Ok(applied.then_some(number))
}

/// Allows the system calls that compiling needs; any other ends the process. Returns the number of allowed calls.
pub(super) fn allow_compiling() -> Result<Option<usize>, ConfineError> {
    let mut rules: Rules = COMPILING.iter().map(|call| (*call, vec![])).collect();
    let own = u64::from(std::process::id());
    let limited = [
        // Only memory that is not executable.
        (libc::SYS_mmap, rule(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0)),
        (libc::SYS_mprotect, rule(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0)),
        // Only to the limits of this process.
        (libc::SYS_prlimit64, rule(0, SeccompCmpOp::Eq, 0)),
        // `abort` uses it.
        (libc::SYS_tgkill, rule(0, SeccompCmpOp::Eq, own)),
    ];
    for (call, rule) in limited {
        rules.insert(call, vec![rule.map_err(wrong)?]);
    }
    let number = rules.len();
    Ok(apply(rules, SeccompAction::KillProcess, SeccompAction::Allow)?.then_some(number))
}

/// The bit that marks calls of the x32 interface, which a filter for x86-64 sees too.
#[cfg(target_arch = "x86_64")]
const X32: c_long = 0x4000_0000;

/// All numbers that this system call has.
#[cfg(target_arch = "x86_64")]
fn numbers(call: c_long) -> impl Iterator<Item = i64> {
    // Some calls have another number in x32.
    let own = match call {
        libc::SYS_ioctl => 514,
        libc::SYS_ptrace => 521,
        libc::SYS_kexec_load => 528,
        libc::SYS_vmsplice => 532,
        libc::SYS_move_pages => 533,
        libc::SYS_process_vm_readv => 539,
        libc::SYS_process_vm_writev => 540,
        same => same,
    };
    [call, X32 | own].into_iter()
}

/// All numbers that this system call has.
#[cfg(not(target_arch = "x86_64"))]
fn numbers(call: c_long) -> impl Iterator<Item = i64> {
    [call].into_iter()
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value)?])
}

fn wrong(error: impl std::fmt::Display) -> ConfineError {
    ConfineError(format!("seccomp: {error}"))
}

/// Applies a filter to all threads. Returns false if the kernel does not support filters.
fn apply(rules: Rules, others: SeccompAction, these: SeccompAction) -> Result<bool, ConfineError> {
    // Filters are supported on some processors only.
    let Ok(processor) = std::env::consts::ARCH.try_into() else { return Ok(false) };
    let filter = SeccompFilter::new(rules, others, these, processor).map_err(wrong)?;
    let program: BpfProgram = filter.try_into().map_err(wrong)?;
    match apply_filter_all_threads(&program) {
        Ok(()) => Ok(true),
        Err(seccompiler::Error::Seccomp(error) | seccompiler::Error::Prctl(error))
            if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) =>
        {
            Ok(false)
        }
        Err(error) => Err(wrong(error)),
    }
}
