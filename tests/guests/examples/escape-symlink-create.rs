//! Makes links out of its directory and goes through them.

use guests::wasip2::filesystem::types::PathFlags;
use guests::{Attempts, raw};

guests::manifest!(
    r#"{"name":"escape-symlink-create","version":"0.1.0","description":"","requests":{"filesystem":"write"}}"#
);

guests::guest! {
    fn run(args) {
        let mut attempts = Attempts::default();
        let Some(work) = raw::granted() else { return Err(guests::failed("no directory is granted")) };
        // That a link comes into being would be bad enough, but only going through it is an escape.
        let _ = work.symlink_at("../outside", "made-relative");
        let _ = work.symlink_at("/", "made-absolute");
        let _ = work.link_at(PathFlags::SYMLINK_FOLLOW, "relative-link", work, "made-hard");
        let _ = work.rename_at("folder-link", work, "moved-link");
        attempts.read("/work/made-relative/secret.txt");
        attempts.read("/work/made-absolute/etc/passwd");
        attempts.read("/work/made-hard");
        attempts.read("/work/moved-link/secret.txt");
        attempts.note("a link to outside", work.link_at(PathFlags::empty(), "../outside/secret.txt", work, "made-link"));
        attempts.note("a link from outside", work.link_at(PathFlags::empty(), "inside.txt", work, "../outside/made"));
        attempts.note("a move to outside", work.rename_at("inside.txt", work, "../outside/moved"));
        attempts.note("a move from outside", work.rename_at("../outside/secret.txt", work, "moved.txt"));
        attempts.note("a link outside", work.symlink_at("secret.txt", "../outside/made-symlink"));
        attempts.outcome()
    }
}
