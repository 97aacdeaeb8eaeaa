//! A component without a function that could be a tool: what it gives would be gone with the call.

wit_bindgen::generate!({ inline: "package someone:other; interface things { resource thing { constructor(); } make: func() -> thing; } world other { export things; }" });

use exports::someone::other::things::{Guest, GuestThing, Thing};

struct Other;

impl GuestThing for Other {
    fn new() -> Self {
        Self
    }
}

impl Guest for Other {
    type Thing = Self;

    fn make() -> Thing {
        Thing::new(Self)
    }
}

export!(Other);
