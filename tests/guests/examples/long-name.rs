//! Lists a tool whose name is longer than a name may be.

use guests::{Tool, run_tool};

guests::guest! {
    list = vec![Tool { name: "r".repeat(65), ..run_tool() }];
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
