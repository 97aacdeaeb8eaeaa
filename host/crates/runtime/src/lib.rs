//! Runs guests: the engine, what they may ask of the host, and the bindings between the two.

pub mod abi;
pub mod engine;
pub mod imports;
pub mod journal;
