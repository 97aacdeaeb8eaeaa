//! Lists a tool whose name has a space in it.

use guests::{Tool, run_tool};

guests::guest! {
    list = vec![Tool { name: "run away".to_owned(), ..run_tool() }];
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
