//! Sends a chunk before its tool is reached: in a constructor.

use guests::{output, text};

extern "C" fn start() {
    let _ = output::emit(&[text("early")]);
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

guests::guest! {
    fn run(args) {
        let _ = args;
        Ok("done".to_owned().into())
    }
}
