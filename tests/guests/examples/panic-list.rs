//! Panics when asked for its tools.

use guests::{Tool, run_tool};

guests::guest! {
    list = {
        let tools: Vec<Tool> = Vec::new();
        assert!(tools.len() > 1, "no tools today, {}", run_tool().name);
        tools
    };
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
