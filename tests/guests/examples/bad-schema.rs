//! Lists a tool whose input schema is no schema.

use guests::{Tool, run_tool};

guests::guest! {
    list = vec![Tool { input_schema: r#"{"type":"object","properties":{"n":{"type":"whole number"}}}"#.to_owned(), ..run_tool() }];
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
