//! Traps.

guests::guest! {
    fn run(args) {
        core::arch::wasm32::unreachable()
    }
}
