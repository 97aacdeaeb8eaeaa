//! Implementations of the traits of `runtime::imports`: what guests reach beyond the host.

pub mod connections;
pub mod egress;
pub mod model;
pub mod plugin_data;
pub mod principal_store;
pub mod state;
