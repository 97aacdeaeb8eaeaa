//! Has a picture for its tool that a client would run. The suite writes other places over it.

use guests::bindings::portcullis::plugin::types::Icon;
use guests::{Tool, run_tool};

guests::guest! {
    list = {
        let src = "javascript:alert(document.cookie)".to_owned();
        vec![Tool { icons: vec![Icon { src, mime_type: None, sizes: vec![] }], ..run_tool() }]
    };
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
