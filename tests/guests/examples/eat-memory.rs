//! Asks for a gigabyte at once.

guests::guest! {
    fn run(args) {
        let megabytes = args.n_or(1024) as usize;
        let eaten = vec![1u8; megabytes << 20];
        Ok(format!("ate {} MiB", std::hint::black_box(&eaten).len() >> 20).into())
    }
}
