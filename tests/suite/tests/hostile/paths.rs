//! 120 ways to spell a way out of a granted directory. `{out}` stands for the absolute path of the tree outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// `..`, alone and after existing folders, missing names and files.
const DOTS: [&str; 24] = [
    "..",
    "../",
    "../.",
    "./..",
    "../..",
    "../outside",
    "../outside/",
    "../outside/secret.txt",
    "./../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "sub/deep/../../../outside/secret.txt",
    "sub/./../../outside/secret.txt",
    "sub//../..//outside/secret.txt",
    "a/../../outside/secret.txt",
    "missing/../../outside/secret.txt",
    "inside.txt/../../outside/secret.txt",
    "../work/../outside/secret.txt",
    "../work-evil/secret.txt",
    "../../../../../../../../../../etc/passwd",
    "../../../../../../../../../../proc/self/environ",
    "sub/../..",
    "sub/deep/../../..",
    "../work",
    "../new.txt",
];

/// Absolute paths.
const ABSOLUTE: [&str; 14] = [
    "/",
    "//",
    "/etc/passwd",
    "//etc/passwd",
    "///etc//passwd",
    "/../etc/passwd",
    "/work/../outside/secret.txt",
    "/work",
    "{out}/secret.txt",
    "/{out}/secret.txt",
    "{out}",
    "{out}/",
    "{out}/new.txt",
    "/tmp",
];

/// Process and device files of the kernel.
const KERNEL: [&str; 12] = [
    "/proc/self/fd",
    "/proc/self/fd/0",
    "/proc/self/cwd/secret.txt",
    "/proc/self/cwd",
    "/proc/self/environ",
    "/proc/self/exe",
    "/proc/1/root",
    "/dev/fd/0",
    "/dev/stdin",
    "/dev/zero",
    "/sys/kernel",
    "proc/self/fd",
];

/// Existing symbolic links, and paths through them.
const LINKS: [&str; 30] = [
    "abs-file",
    "rel-file",
    "abs-dir",
    "rel-dir",
    "chain",
    "chain-dir",
    "dangling",
    "abs-dangling",
    "self-loop",
    "loop-a",
    "dot-link",
    "root-link",
    "proc-link",
    "proc-root",
    "evil-link",
    "etc-link",
    "slash-link",
    "slow-link",
    "abs-dir/secret.txt",
    "rel-dir/secret.txt",
    "chain-dir/secret.txt",
    "dot-link/outside/secret.txt",
    "root-link/etc/passwd",
    "proc-link/0",
    "proc-root/etc/passwd",
    "evil-link/secret.txt",
    "etc-link/passwd",
    "slash-link/secret.txt",
    "slow-link/secret.txt",
    "sub/up/outside/secret.txt",
];

/// The same links with trailing slashes and dots (GHSA-vqjp, GHSA-m9f7).
const SLASHES: [&str; 16] = [
    "rel-file/",
    "abs-file/",
    "chain/",
    "dangling/",
    "abs-dangling/",
    "rel-dir/",
    "abs-dir/",
    "rel-dir//",
    "rel-dir/.",
    "rel-dir/./",
    "abs-dir/.",
    "rel-dir/..",
    "abs-dir/..",
    "rel-dir/../outside/secret.txt",
    "rel-file/.",
    "dot-link/",
];

/// Paths through links to files that do not exist yet.
const NEW: [&str; 6] = [
    "rel-dir/new.txt",
    "abs-dir/new.txt",
    "dot-link/new.txt",
    "root-link/tmp/portcullis-escape",
    "dangling/new.txt",
    "sub/deep/out/new.txt",
];

/// Invalid names, and names that look like others.
const STRANGE: [&str; 15] = [
    "",
    ".",
    "\0",
    "inside.txt\0",
    "inside.txt\0/../../outside/secret.txt",
    "../outside\0/secret.txt",
    "\u{ff0e}\u{ff0e}/outside/secret.txt",
    "\u{2025}/outside/secret.txt",
    "..\u{2215}outside\u{2215}secret.txt",
    "..%2foutside%2fsecret.txt",
    "%2e%2e/outside/secret.txt",
    "..\\outside\\secret.txt",
    "\u{202e}txt.terces/edistuo/..",
    "..\u{200b}/outside/secret.txt",
    "REL-DIR/SECRET.TXT",
];

/// All paths, deepest first: operations on a link come after those on paths through it.
pub(super) fn all(outside: &Path) -> Vec<String> {
    let out = outside.display().to_string();
    let short = [&DOTS[..], &ABSOLUTE, &KERNEL, &LINKS, &SLASHES, &NEW, &STRANGE].concat();
    let mut paths: Vec<_> = short.iter().map(|path| path.replace("{out}", &out)).collect();
    paths.extend(["x".repeat(4_096), "x/".repeat(2_048), "../".repeat(1_365) + "etc/passwd"]);
    paths.sort_by_key(|path| std::cmp::Reverse(path.split('/').filter(|part| !part.is_empty()).count()));
    paths
}

/// Recreates the granted tree that these paths expect.
pub(super) fn fill(work: &Path, outside: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(work)? {
        let path = entry?.path();
        match path.is_dir() && !path.is_symlink() {
            true => fs::remove_dir_all(path)?,
            false => fs::remove_file(path)?,
        }
    }
    fs::create_dir_all(work.join("sub/deep"))?;
    fs::write(work.join("inside.txt"), "inside")?;
    let out = outside.display().to_string();
    for (link, target) in [
        ("abs-file", &*format!("{out}/secret.txt")),
        ("rel-file", "../outside/secret.txt"),
        ("abs-dir", &out),
        ("rel-dir", "../outside"),
        ("chain", "rel-file"),
        ("chain-dir", "rel-dir"),
        ("dangling", "../outside/new.txt"),
        ("abs-dangling", &format!("{out}/new.txt")),
        ("self-loop", "self-loop"),
        ("loop-a", "loop-b"),
        ("loop-b", "loop-a"),
        ("dot-link", ".."),
        ("root-link", "/"),
        ("proc-link", "/proc/self/fd"),
        ("proc-root", "/proc/self/root"),
        ("evil-link", "../work-evil"),
        ("etc-link", "/etc"),
        ("slash-link", "../outside/"),
        ("slow-link", "sub/.././../outside"),
        ("sub/up", "../.."),
        ("sub/deep/out", "../../../outside"),
    ] {
        symlink(target, work.join(link))?;
    }
    Ok(())
}
