//! Lists a tool whose schema is to be fetched from somewhere.

use guests::{Tool, run_tool};

guests::guest! {
    list = vec![Tool { input_schema: r#"{"type":"object","$ref":"http://127.0.0.1:9/schema.json"}"#.to_owned(), ..run_tool() }];
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
