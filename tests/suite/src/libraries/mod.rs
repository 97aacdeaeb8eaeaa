//! MCP client libraries on the calls of the journey, without an agent or a model: what each gives to the program that uses
//! it is what a model would read.

mod library;
mod session;

pub use library::Library;
pub use session::calls;

use crate::journey::{Table, travel_all as all};

/// Takes these libraries through the calls of the journey over both transports.
pub fn travel_all(libraries: &[Library]) -> Table {
    let named: Vec<_> =
        libraries.iter().map(|library| (format!("{} {}", library.name, library.version()), *library)).collect();
    all("library", &named, calls)
}
