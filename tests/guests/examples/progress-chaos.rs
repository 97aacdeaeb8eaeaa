//! Reports progress that goes back, is no number, or has no end.

guests::guest! {
    fn run(args) {
        for done in [1.0, 0.5, f64::NAN, f64::INFINITY, 2.0, -1.0, 2.0, 3.0] {
            guests::progress::report(done, Some(3.0), None);
            // Slower than any limit on how often a client is told.
            std::thread::sleep(std::time::Duration::from_millis(150));
        }
        Ok("reported".to_owned().into())
    }
}
