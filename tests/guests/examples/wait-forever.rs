//! Says so, and sleeps for an hour, with `n` MiB of memory.

guests::guest! {
    fn run(args) {
        let memory = vec![1u8; (args.n_or(0) as usize) << 20];
        std::hint::black_box(&memory);
        println!("asleep");
        std::thread::sleep(std::time::Duration::from_secs(3600));
        Ok("woke up".to_owned().into())
    }
}
