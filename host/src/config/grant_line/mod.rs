//! Grants in the form of one line of TOML, as denials print them, added to or removed from a text that a person wrote.
//! Comments, order and layout stay.
//!
//! Lists are sets. Entries are equal if their text or their identity is equal (see [`entry`]).

mod add;
mod entry;
mod line;
mod remove;

pub use line::GrantLine;

#[cfg(test)]
mod tests;
