//! Keeps a server connected, and reads its lists.

pub(crate) mod client_events;
pub(crate) mod items;
pub(crate) mod pages;
pub(crate) mod reconnect;
pub(crate) mod shared;
pub(crate) mod subscription;
pub(crate) mod tools;
