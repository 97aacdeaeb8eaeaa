//! Computes for ever before anything was called: in a constructor, which runs while the component is instantiated.

extern "C" fn start() {
    let mut turns = 0u64;
    loop {
        turns = std::hint::black_box(turns.wrapping_add(1));
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

guests::guest! {
    fn run(args) {
        Ok(format!("constructed, {args:?}").into())
    }
}
