//! What a call used of its sandbox, so that the plugin's author learns which requests of the manifest are not needed.

/// Functions of `wasi:filesystem` that ask for a path. Other functions need an opened file, or are called for each directory
/// when a program begins, whether it uses files or not.
const LOOKS: [&str; 5] = [
    "filesystem.open-at",
    "filesystem.read-directory",
    "filesystem.stat-at",
    "filesystem.readlink-at",
    "filesystem.metadata-hash-at",
];

/// What was asked for, allowed or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SandboxUses {
    /// A path in a granted directory.
    pub files: bool,
    /// A change in a granted directory.
    pub changes: bool,
    /// A path in the plugin's own directory.
    pub scratch: bool,
    /// The environment. The host does not see which of its variables the guest then reads.
    pub environment: bool,
}

impl SandboxUses {
    /// A step that asks something of a descriptor, which may be in the plugin's own directory.
    pub(super) fn look(&mut self, import: &str, in_own: bool) {
        if LOOKS.contains(&import) {
            self.scratch |= in_own;
            self.files |= !in_own;
        }
    }

    /// A change in a directory.
    pub(super) fn change(&mut self, in_own: bool) {
        self.scratch |= in_own;
        self.files |= !in_own;
        self.changes |= !in_own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_only_begins_uses_nothing() {
        let mut uses = SandboxUses::default();
        for import in ["filesystem.get-type", "filesystem.get-flags", "filesystem.stat"] {
            uses.look(import, false);
        }
        assert_eq!(uses, SandboxUses::default());
        uses.look("filesystem.open-at", true);
        assert_eq!(uses, SandboxUses { scratch: true, ..SandboxUses::default() });
        uses.change(false);
        assert!(uses.files && uses.changes && !uses.environment);
    }
}
