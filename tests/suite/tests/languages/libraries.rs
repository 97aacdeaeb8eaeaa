//! Libraries of others inside of plugins, in each language that has some: those of `tests/libraries` that are marked `ci`.

use suite::guest_libraries::{Library, World, read};
use suite::paths;

/// The component with the libraries that the tests call, and these.
fn world(language: &str, libraries: &[Library]) -> World {
    let libraries: Vec<_> = libraries.iter().filter(|one| one.ci).collect();
    World::new(&paths::language(&format!("libraries-{language}")), &libraries)
}

fn check(language: &str) {
    let libraries = read(language);
    let called: Vec<_> = libraries.iter().filter(|one| one.ci).collect();
    world(language, &libraries).check(&called);
}

#[test]
fn crates() {
    check("rust");
}

#[test]
fn packages_of_python() {
    check("python");
}

/// Requests of `net/http` among them, which no transport of the plugin could send.
#[test]
fn modules_of_go() {
    check("go");
}
