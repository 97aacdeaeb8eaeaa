//! Starts the programs that the operator names, with pipes to them.
//!
//! A program inherits the restrictions of the process that starts it. So a server that is confined has them started by a small process
//! that was there before: the server keeps its restrictions, and the programs have the rights of the user. Which programs these are is
//! told before the server can be made to do anything else; later it only says when.

mod helper;
mod program;
mod starter;
mod wire;

pub use helper::{HELPER_COMMAND, run_helper};
pub use program::Program;
pub use starter::{ProgramLife, ProgramStarter, StartedProgram};
