//! Filesystem access without libc: libc resolves paths before the host sees them, which a hostile author would avoid.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};

/// The first granted directory. It is leaked on purpose: dropping it would also close libc's own handle.
pub fn granted() -> Option<&'static Descriptor> {
    let (directory, _) = get_directories().into_iter().next()?;
    Some(Box::leak(Box::new(directory)))
}

/// Reads a file, following a symbolic link or not.
pub fn read(path: &str, follow: bool) -> Result<String, String> {
    let flags = if follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() };
    let directory = granted().ok_or("no directory is granted")?;
    let file =
        directory.open_at(flags, path, OpenFlags::empty(), DescriptorFlags::READ).map_err(|code| code.to_string())?;
    let (bytes, _) = file.read(1 << 16, 0).map_err(|code| code.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lists a directory.
pub fn list(path: &str, follow: bool) -> Result<String, String> {
    let flags = if follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() };
    let directory = granted().ok_or("no directory is granted")?;
    let opened =
        directory.open_at(flags, path, OpenFlags::DIRECTORY, DescriptorFlags::READ).map_err(|code| code.to_string())?;
    let entries = opened.read_directory().map_err(|code| code.to_string())?;
    let mut names = vec![];
    while let Ok(Some(entry)) = entries.read_directory_entry() {
        names.push(entry.name);
    }
    Ok(names.join(", "))
}
