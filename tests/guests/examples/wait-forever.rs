//! Sleeps for an hour.

guests::guest! {
    fn run(args) {
        std::thread::sleep(std::time::Duration::from_secs(3600));
        Ok("woke up".to_owned().into())
    }
}
