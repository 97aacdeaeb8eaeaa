//! API keys of a server, created by the program itself.

use crate::cli::portcullis;
use crate::home::Home;
use std::fs;
use std::os::unix::fs::PermissionsExt;

impl Home {
    /// Writes `keys.toml` with an API key for each of these names. Returns the keys.
    pub fn keys<const N: usize>(&self, names: [&str; N]) -> [String; N] {
        let mut file = String::new();
        let keys = names.map(|name| {
            let made = portcullis(self, &["key", "new", name]);
            let lines: Vec<_> = made.good().lines().map(str::trim).collect();
            file += &format!("{}\n", lines[1]);
            lines[0].to_owned()
        });
        let path = self.write("keys.toml", &file);
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("hiding a file");
        keys
    }
}
