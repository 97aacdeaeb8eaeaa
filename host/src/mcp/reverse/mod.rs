//! Reverse calls over the wire: plugins call tools that live with the client.

pub(super) mod live;
