//! What a server sends is counted, and its text is made safe to show.

pub(crate) mod line_rate;
pub(crate) mod peer_account;
pub(crate) mod text;
