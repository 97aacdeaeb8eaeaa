//! What is checked of a request over HTTP before its handler sees it.

pub(super) mod body;
pub(super) mod guard;
pub(super) mod identity;
pub(super) mod lifecycle;
pub(super) mod request_scope;
pub(super) mod task_route;
