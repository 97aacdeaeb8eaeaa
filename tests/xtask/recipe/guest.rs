//! Rolls one die with `n` sides.

use guests::bindings::portcullis::plugin::dice::{RollError, roll};
use guests::{ToolError, failed};

guests::manifest!(r#"{"name":"dice","version":"0.1.0","requests":{"dice":true}}"#);

guests::guest! {
    fn run(args) {
        match roll(args.n_or(6) as u32) {
            Ok(number) => Ok(number.to_string().into()),
            Err(RollError::Denied(denial)) => Err(ToolError::Denied(denial)),
            Err(RollError::Invalid(why)) => Err(failed(why)),
        }
    }
}
