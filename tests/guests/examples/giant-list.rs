//! Describes its tool in nine megabytes.

use guests::{Tool, run_tool};

guests::guest! {
    list = vec![Tool { description: "d".repeat(9 << 20), ..run_tool() }];
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
