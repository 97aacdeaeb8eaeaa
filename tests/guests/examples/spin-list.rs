//! Computes for ever when asked for its tools.

use guests::run_tool;

guests::guest! {
    list = {
        let mut tools = vec![run_tool()];
        while std::hint::black_box(tools.len()) > 0 {
            tools.truncate(1);
        }
        tools
    };
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
