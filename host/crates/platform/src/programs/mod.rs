//! Starts the programs that the operator names, with pipes between them and this process.
//!
//! A program inherits the restrictions of the process that starts it. So a confined server has its programs started by a small
//! process that was started before it was confined: the server keeps its restrictions, and the programs have the rights of the
//! user. The server sends the list of programs before it does anything that could be attacked. After that it can only choose
//! when one of them starts.

mod helper;
mod program;
mod starter;
mod wire;

pub use helper::{HELPER_COMMAND, run_helper};
pub use program::Program;
pub use starter::{ProgramLife, ProgramStarter, StartedProgram};
