//! Lists of system calls. Those that exist only on some processors are in separate lists.

use libc::*;

/// Calls that no user program needs: they change the machine itself, its modules, clocks and names. Refused to a server and to
/// all programs that it starts.
pub(super) const MACHINE: &[c_long] = &[
    SYS_acct,
    SYS_bpf,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_init_module,
    SYS_kexec_file_load,
    SYS_kexec_load,
    SYS_lookup_dcookie,
    SYS_nfsservctl,
    SYS_open_by_handle_at,
    SYS_perf_event_open,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_reboot,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_vhangup,
];

/// Calls that a server does not need: for other processes, namespaces, rights of other users, and rarely used parts of the
/// kernel.
pub(super) const OTHERS: &[c_long] = &[
    SYS_capset,
    SYS_chroot,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_mbind,
    SYS_migrate_pages,
    SYS_mknodat,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_move_pages,
    SYS_name_to_handle_at,
    SYS_open_tree,
    SYS_personality,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_ptrace,
    SYS_set_mempolicy,
    SYS_setfsgid,
    SYS_setfsuid,
    SYS_setgid,
    SYS_setgroups,
    SYS_setns,
    SYS_setregid,
    SYS_setresgid,
    SYS_setresuid,
    SYS_setreuid,
    SYS_setuid,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vmsplice,
];

/// Calls for the kernel's key ring, which only a server needs whose secrets are in it.
pub(super) const KEY_RING: &[c_long] = &[SYS_add_key, SYS_keyctl, SYS_request_key];

/// Calls that a server does not need and only x86-64 has.
#[cfg(target_arch = "x86_64")]
pub(super) const ONLY_HERE: &[c_long] = &[SYS_ioperm, SYS_iopl, SYS_mknod, SYS_modify_ldt, SYS_uselib];
/// Calls that a server does not need and only x86-64 has.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const ONLY_HERE: &[c_long] = &[];

/// Flags for new namespaces. Each of them gives access to kernel features that are meant for administrators.
pub(super) const NAME_SPACES: &[c_int] =
    &[CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS];

/// Calls that a compile worker may make. `seccomp_filter` adds some that are limited to certain arguments.
pub(super) const COMPILING: &[c_long] = &[
    SYS_brk,
    SYS_clock_gettime,
    SYS_close,
    SYS_exit,
    SYS_exit_group,
    SYS_futex,
    SYS_getpid,
    SYS_getrandom,
    SYS_gettid,
    SYS_madvise,
    SYS_mremap,
    SYS_munmap,
    SYS_read,
    SYS_restart_syscall,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_sigaltstack,
    SYS_write,
    SYS_writev,
];
