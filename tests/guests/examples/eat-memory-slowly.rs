//! Asks for memory in small pieces, for ever.

guests::guest! {
    fn run(args) {
        let mut eaten = Vec::new();
        loop {
            eaten.push(vec![1u8; 16 << 10]);
            std::hint::black_box(&eaten);
        }
    }
}
