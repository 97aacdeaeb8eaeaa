//! Sends one chunk of a megabyte and says what it was told.

use guests::{output, text};

guests::guest! {
    fn run(args) {
        Ok(format!("{:?}", output::emit(&[text("x".repeat(1 << 20))])).into())
    }
}
