//! A plugin without tools.

#[portcullis_guest::plugin]
mod plugin {
    pub fn greet() {}
}

fn main() {}
