//! Components that know nothing of this host: their exported functions are tools, and so is a `program`. `types` reads the
//! types of a function, `schema` describes them, `read` and `write` convert values.

mod bounds;
mod bytes;
mod call;
mod docs;
mod function;
mod functions;
mod memory;
mod program;
mod read;
mod resources;
mod schema;
#[cfg(test)]
mod tests;
mod tool;
mod types;
mod write;

pub(super) use functions::Functions;
pub(super) use memory::json_size;
