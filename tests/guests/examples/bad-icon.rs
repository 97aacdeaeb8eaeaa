//! Lists a tool with a picture that is a script.

use guests::bindings::portcullis::plugin::types::Icon;
use guests::{Tool, run_tool};

guests::guest! {
    list = vec![Tool {
        icons: vec![Icon { src: "javascript:alert(1)".to_owned(), mime_type: None, sizes: vec![] }],
        ..run_tool()
    }];
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
