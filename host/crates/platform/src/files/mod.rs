//! Files and folders that other users of this machine must not use: keys, private folders, atomic replacement, and the number
//! of this process among those that use a folder.

mod folder;
mod key_file;
mod owner;
mod process_slot;
mod replace;

use std::path::Path;

pub use folder::create_private_folder;
pub use key_file::{read_key_file, read_or_create_key};
pub use owner::{check_access, check_owner};
pub use process_slot::ProcessSlot;
pub use replace::{UNFINISHED, replace_cached_file, replace_file};

/// The folder of a file. For a name without a folder it is the current one.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
