//! Lists a tool whose arguments are not an object.

use guests::{Tool, run_tool};

guests::guest! {
    list = vec![Tool { input_schema: r#"{"type":"string"}"#.to_owned(), ..run_tool() }];
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
