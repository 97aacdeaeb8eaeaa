//! Paths where a call has looked for files although nothing is granted to it there.

use platform::text::truncate;
use policy::Access;
use std::collections::BTreeMap;

/// Different paths of one call that are kept. Bounds what a guest makes the host hold.
const MAX_PATHS: usize = 32;
/// Bytes of a path that are kept.
const MAX_PATH: usize = 512;

/// Paths that a call has looked for outside of its directories.
#[derive(Debug, Default)]
pub struct UngrantedPaths(BTreeMap<String, Access>);

impl UngrantedPaths {
    /// Adds a path, if there is room. Returns whether it was not yet among those that are kept.
    pub(super) fn add(&mut self, path: &str, access: Access) -> bool {
        let path = truncate(path, MAX_PATH);
        if let Some(known) = self.0.get_mut(path) {
            *known = access.max(*known);
            return false;
        }
        if self.0.len() < MAX_PATHS {
            self.0.insert(path.to_owned(), access);
        }
        true
    }

    pub fn contains(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn iter(&self) -> impl Iterator<Item = (&str, Access)> {
        self.0.iter().map(|(path, access)| (path.as_str(), *access))
    }

    /// The paths without those that are below another one. Each has the highest access of itself and of those below it.
    pub fn topmost(&self) -> Vec<(&str, Access)> {
        let mut all: Vec<(&str, Access)> = Vec::new();
        for (path, access) in self.iter() {
            match all.iter_mut().find(|(above, _)| is_below(path, above)) {
                Some((_, most)) => *most = access.max(*most),
                None => all.push((path, access)),
            }
        }
        all
    }
}

pub(super) fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/') || above.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kept_once_and_bounded() {
        let mut paths = UngrantedPaths::default();
        assert!(paths.add("/a/b", Access::Read) && paths.add("/a", Access::Read) && paths.add("/ab", Access::Read));
        assert!(!paths.add("/a/b", Access::Write), "it is known");
        assert_eq!(paths.topmost(), [("/a", Access::Write), ("/ab", Access::Read)]);
        let long = "x".repeat(MAX_PATH);
        assert!(paths.add(&(long.clone() + "1"), Access::Read) && paths.contains(&long));
        for number in 0..100 {
            assert!(paths.add(&format!("/{number}"), Access::Read), "whoever fills it hides nothing behind it");
        }
        assert_eq!(paths.0.len(), MAX_PATHS);
    }
}
