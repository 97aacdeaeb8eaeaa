//! Lane `ask`: tools that nobody implements and the operator has described. The client's model, or else its user,
//! answers in their place.
//!
//! The call becomes a question like any other: the client shows and reviews it, and it counts against the same budget.

#[cfg(test)]
mod tests;
mod tool;
mod tools;

pub use tools::StandInTools;
