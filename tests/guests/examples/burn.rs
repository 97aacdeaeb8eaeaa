//! Does `n` turns of work and says what fuel is left.

guests::guest! {
    fn run(args) {
        for turn in 0..args.n_or(1_000_000) {
            std::hint::black_box(turn);
        }
        Ok(format!("fuel left: {:?}", guests::meter::fuel_left()).into())
    }
}
