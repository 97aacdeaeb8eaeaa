//! Granted directories that lie in others.

use super::{Access, Grants};
use std::path::{Component, Path, PathBuf};

/// Finds, for each granted directory, the outermost granted directory that contains it and that guests may write to.
///
/// A guest that may write there can replace the inner directory, or one on the way to it, by a link. So the host must not open
/// the inner one by its whole path: the link could lead anywhere. Paths are compared as they are written.
pub fn note_enclosing(grants: &mut [&mut Grants]) {
    let all = grants.iter().flat_map(|grants| &grants.filesystem);
    let mut writable: Vec<PathBuf> =
        all.filter(|grant| grant.access == Access::Write).map(|grant| grant.host.clone()).collect();
    writable.sort_by_key(|path| path.components().count());
    for grant in grants.iter_mut().flat_map(|grants| &mut grants.filesystem) {
        grant.within = writable.iter().find(|outer| is_inside(&grant.host, outer)).cloned();
    }
}

fn is_inside(path: &Path, outer: &Path) -> bool {
    path.strip_prefix(outer).is_ok_and(|rest| {
        rest.components().next().is_some() && rest.components().all(|part| matches!(part, Component::Normal(_)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_directory_is_opened_through_the_outermost_writable_one() {
        let parse = |text: &str| -> Grants { toml::from_str(text).unwrap() };
        let grant = |host: &str, access: &str| {
            parse(&format!("filesystem = [{{ host = '{host}', guest = '/g', access = '{access}' }}]"))
        };
        let mut all = [
            grant("/a", "read"),
            grant("/a/b", "write"),
            grant("/a/./b/c", "write"),
            grant("/a/b/c/d", "read"),
            grant("/a/b/../x", "write"),
            grant("/a/bc", "write"),
            grant("/a/b/", "read"),
        ];
        note_enclosing(&mut all.iter_mut().collect::<Vec<_>>());
        let within: Vec<_> = all.iter().map(|grants| grants.filesystem[0].within.as_deref()).collect();
        let b = Some(Path::new("/a/b"));
        assert_eq!(within, [None, None, b, b, None, None, None]);
    }
}
