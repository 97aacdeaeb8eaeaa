//! Components of other hosts' dialects run unchanged: tools, resources, prompts, messages to the client, and what is refused.

mod act;
mod sessions;
mod wasix;
mod wasmcp;

use suite::{Home, paths, portcullis};

/// `portcullis check` refuses the guest with a reason that contains these words.
fn refused(guest: &str, words: &[&str]) {
    let ran = portcullis(&Home::new(), &["check", &paths::guest(guest).display().to_string()]);
    for word in words {
        assert!(ran.refused().contains(word), "it does not say {word:?}: {}", ran.stderr);
    }
}

/// `portcullis check` says which dialect the guest speaks.
fn speaks(guest: &str, dialect: &str) {
    let file = paths::guest(guest).display().to_string();
    let ran = portcullis(&Home::new(), &["check", &file]);
    assert!(ran.good().contains(dialect), "{}", ran.stdout);
    let json = portcullis(&Home::new(), &["check", "--json", &file]);
    let said: serde_json::Value = serde_json::from_str(json.good()).unwrap();
    assert_eq!(said["dialect"], dialect, "{said}");
}
