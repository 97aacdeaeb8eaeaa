//! Landlock: which files a process can reach, regardless of its user's rights, and which ports it can listen on.

use super::settings::ConfineSettings;
use super::status::ConfineError;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The requested version; an older kernel applies what it supports.
const VERSION: ABI = ABI::V6;

/// Files that every server reads: for name resolution, certificates, time zones and the number of processors.
const SYSTEM: &[&str] = &[
    "/etc",
    "/proc/self",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf",
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/usr/lib/ssl",
    "/usr/local/share/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/share/pki",
    "/usr/share/zoneinfo",
    "/var/lib/ca-certificates",
];
/// Devices that are harmless.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// Allows no files, no ports, and nothing outside this process. Returns the version in force, if any.
pub(super) fn allow_none() -> Result<Option<i32>, ConfineError> {
    let none = || {
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(VERSION))?;
        ruleset.handle_access(AccessNet::from_all(VERSION))?.scope(Scope::from_all(VERSION))?.create()?.restrict_self()
    };
    version(none())
}

/// Allows only what a server needs. Returns the version in force, if any.
pub(super) fn allow_only(needs: &ConfineSettings) -> Result<Option<i32>, ConfineError> {
    let mapped = mapped();
    let program = std::env::current_exe().map_err(|error| ConfineError(format!("no path of its own: {error}")))?;
    let loader = mapped.iter().filter(|path| is_loader(path)).cloned();
    let run: Vec<PathBuf> = loader.chain([program]).collect();
    let libraries = mapped.iter().filter_map(|path| path.parent().map(Path::to_owned)).collect::<BTreeSet<_>>();
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    // Without the right to execute, and without devices, sockets and pipes.
    let write = AccessFs::from_all(VERSION)
        & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::MakeFifo)
        & !BitFlags::from(AccessFs::IoctlDev);
    let only = || -> Result<RestrictionStatus, RulesetError> {
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(VERSION))?;
        // Connections are decided about for each request. Only the ports to listen on are known now.
        let ruleset = ruleset.handle_access(AccessNet::BindTcp)?.scope(Scope::from_all(VERSION))?.create()?;
        let ruleset = ruleset
            .add_rules(path_beneath_rules(SYSTEM, read))?
            .add_rules(path_beneath_rules(DEVICES, read | AccessFs::WriteFile))?
            .add_rules(path_beneath_rules(libraries, read))?
            .add_rules(path_beneath_rules(run, read | AccessFs::Execute))?
            .add_rules(path_beneath_rules(&needs.read, read))?
            .add_rules(path_beneath_rules(&needs.write, write))?;
        listening(ruleset, &needs.listen)?.restrict_self()
    };
    version(only())
}

fn listening(ruleset: RulesetCreated, ports: &[u16]) -> Result<RulesetCreated, RulesetError> {
    ruleset.add_rules(ports.iter().map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::BindTcp))))
}

fn version(done: Result<RestrictionStatus, RulesetError>) -> Result<Option<i32>, ConfineError> {
    match done.map_err(|error| ConfineError(format!("Landlock: {error}")))?.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => Ok(Some(kernel_abi.unwrap_or(effective_abi as i32))),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => Ok(None),
    }
}

/// The files that this process has mapped: its program, its libraries and their loader. A worker needs the same files.
fn mapped() -> BTreeSet<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(|line| Some(PathBuf::from(&line[line.find('/')?..]))).collect()
}

/// Whether this file is the dynamic loader.
fn is_loader(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.starts_with("ld-") || name.starts_with("ld.so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_it_is_made_of() {
        let (mapped, own) = (mapped(), std::env::current_exe().unwrap());
        assert!(mapped.contains(&own), "{mapped:?}");
        // A statically linked program has no loader.
        assert_eq!(mapped.len() > 1, mapped.iter().any(|path| is_loader(path)), "{mapped:?}");
        assert!(!is_loader(&own));
    }
}
