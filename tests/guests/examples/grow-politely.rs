//! Takes memory page by page until it is refused, and says how many pages it has.

guests::guest! {
    fn run(args) {
        while core::arch::wasm32::memory_grow(0, 1) != usize::MAX {}
        Ok(core::arch::wasm32::memory_size(0).to_string().into())
    }
}
