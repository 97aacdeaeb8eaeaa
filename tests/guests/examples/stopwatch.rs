//! Looks how finely the clocks let it time itself.

use guests::structured;
use guests::wasip2::clocks::{monotonic_clock, wall_clock};

/// What divides all of a clock's readings, in nanoseconds.
fn unit(read: impl Fn() -> u64) -> u64 {
    (0..20_000).fold(0, |unit, _| common(unit, read()))
}

fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

guests::guest! {
    fn run(args) {
        let wall = || {
            let now = wall_clock::now();
            now.seconds * 1_000_000_000 + u64::from(now.nanoseconds)
        };
        let units = [unit(monotonic_clock::now), unit(wall)];
        let told = [monotonic_clock::resolution(), u64::from(wall_clock::resolution().nanoseconds)];
        structured(format!(r#"{{"units":{units:?},"told":{told:?}}}"#))
    }
}
