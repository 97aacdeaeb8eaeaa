//! Plugins: from the bytes of a component to tools that can be called, and the calls themselves.

pub mod calls;
pub mod catalog;
mod circuit_breaker;
pub mod components;
pub mod fuel_budgets;
pub mod install;
pub mod loading;
pub mod offer;
pub mod package;
mod scratch;
