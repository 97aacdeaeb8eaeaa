//! The connections of a listener: what each is doing, how many serve one principal, and how much memory their messages take.

pub(super) mod connection_table;
pub(super) mod counted_stream;
pub(super) mod http_connections;
pub(super) mod message_memory;
pub(super) mod repoll;
pub(super) mod serving_shares;
