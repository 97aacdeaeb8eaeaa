//! A confirmation that nobody looks at.
#![deny(unused_must_use)]

use portcullis_guest::{ToolError, client};

fn forgets_the_answer() -> Result<(), ToolError> {
    client::confirm("Delete everything?").ask()?;
    Ok(())
}

fn forgets_to_ask() {
    client::confirm("Delete everything?");
}

fn main() {}
