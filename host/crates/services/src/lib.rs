//! What stands behind the imports of a guest: implementations of the traits of `runtime::imports`.

pub mod connections;
pub mod egress;
pub mod model;
pub mod shelf;
pub mod state;
