//! Refuses paths outside of all directories of a guest: those of its directory `/`, in which nothing is granted.

use super::files::WasiHost;
use super::ungranted_paths::is_below;
use super::ungranted_root::{PATH, is_root};
use policy::Access;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, ErrorCode};

/// Paths that libraries look for wherever they run, with everything below them. Some are places where componentize-py had the
/// modules of a Python plugin: `python`, `world`, `bundled` and numbers. Imports and tracebacks look there.
const LOOKED_FOR_BY_LIBRARIES: [&str; 26] = [
    "0",
    "1",
    "2",
    "bundled",
    "dev",
    "etc/apache",
    "etc/apache2",
    "etc/gitconfig",
    "etc/hosts",
    "etc/httpd",
    "etc/localtime",
    "etc/mime.types",
    "etc/nsswitch.conf",
    "etc/resolv.conf",
    "etc/services",
    "etc/ssl",
    "etc/timezone",
    "etc/zoneinfo",
    "proc",
    "python",
    "usr/lib/zoneinfo",
    "usr/local/etc",
    "usr/share/lib/zoneinfo",
    "usr/share/locale",
    "usr/share/zoneinfo",
    "world",
];

/// Many libraries check whether there is a folder for temporary files, but can do without: Python's keeps such files in memory.
const TEMPORARY: &str = "tmp";

/// The refusal of a path about which a guest only asks what is there; otherwise like `refuse`.
pub(super) fn refuse_look<T: WasiHost>(data: &mut T, directory: u32, path: &str) -> Option<ErrorCode> {
    // Only looking is answered like this. Opening the folder, or a file in it, is refused.
    if path == TEMPORARY && has_root(data, directory) {
        return Some(ErrorCode::NoEntry);
    }
    refuse(data, directory, path, Access::Read)
}

/// The refusal of a path of the directory `/`, which is outside of all that the guest is granted; none for a path of another
/// directory. The path is recorded if the guest's call has begun. `path` is relative to the directory, as the guest passed it.
pub(super) fn refuse<T: WasiHost>(data: &mut T, directory: u32, path: &str, access: Access) -> Option<ErrorCode> {
    if !has_root(data, directory) {
        return None;
    }
    if access == Access::Read && is_looked_for_by_libraries(path) {
        return Some(ErrorCode::NoEntry);
    }
    let full = format!("{PATH}{}", if path == "." { "" } else { path });
    data.record_ungranted_path(&full, access);
    // The same code as for a link that leads out of a granted directory.
    Some(ErrorCode::NotPermitted)
}

/// Whether the descriptor with this number is the directory `/` in which nothing is granted.
pub(super) fn has_root<T: WasiHost>(data: &mut T, descriptor: u32) -> bool {
    data.filesystem().table.get(&Resource::<Descriptor>::new_borrow(descriptor)).is_ok_and(is_root)
}

/// Whether libraries look for this path wherever they run, and can do without it. Many of them go on only if there is no such
/// file, and not if it is refused. Such a look says nothing about the program that uses the library.
fn is_looked_for_by_libraries(path: &str) -> bool {
    // No library uses such a path, and it may lead anywhere.
    if path.split('/').any(|part| part == "..") {
        return false;
    }
    // A file of settings in the directory that a library takes for its user's home.
    let is_setting = path.starts_with('.') && path.len() > 1 && !path.contains('/');
    is_setting || LOOKED_FOR_BY_LIBRARIES.iter().any(|known| path == *known || is_below(path, known))
}
