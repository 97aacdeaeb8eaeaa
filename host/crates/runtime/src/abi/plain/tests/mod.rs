//! Tests of the mapping between types, values and JSON.

mod components;
mod hostile_types;
mod random;
mod round_trips;
