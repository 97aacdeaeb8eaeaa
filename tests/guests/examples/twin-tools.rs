//! Lists two tools of one name.

use guests::{Tool, run_tool};

guests::guest! {
    list = vec![run_tool(), Tool { description: "The other.".to_owned(), ..run_tool() }];
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
