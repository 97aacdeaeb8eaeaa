//! Files and folders that other users of this machine must not use: keys, private folders, atomic replacement.

mod folder;
mod key_file;
mod replace;

pub use folder::create_private_folder;
pub use key_file::{read_key_file, read_or_create_key};
pub use replace::replace_file;
