//! Says something else of itself each time it is asked.

use guests::{Tool, run_tool};

guests::guest! {
    list = {
        let mood = guests::wasip2::random::random::get_random_u64();
        vec![Tool { description: format!("Misbehaves, today number {mood}."), ..run_tool() }]
    };
    fn run(args) {
        Ok(format!("{args:?}").into())
    }
}
