//! A client library on the journey of `cargo xtask clients --libraries`, which takes more of them.

use suite::journey::{Outcome, STEPS, Transport};
use suite::libraries::{Library, calls};

#[test]
fn a_library_goes_through_the_journey() {
    let library = Library::SDK;
    for transport in Transport::ALL {
        for (outcome, step) in calls(library, transport).iter().zip(STEPS) {
            assert!(
                !matches!(outcome, Outcome::Wrong(_)),
                "{} over {}, {step}: {outcome:?}",
                library.name,
                transport.name()
            );
        }
    }
}
