//! Writes a million lines to the log.

use guests::log;

guests::guest! {
    fn run(args) {
        for number in 0..args.n_or(1_000_000) {
            log::write(log::Level::Info, &format!("flood {number}"));
        }
        Ok("logged".to_owned().into())
    }
}
