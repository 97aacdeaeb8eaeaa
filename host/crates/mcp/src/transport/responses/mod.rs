//! What is sent back over HTTP: JSON, events, and errors under the id of their request.

pub(super) mod accept;
pub(super) mod error_body;
pub(super) mod large_answer;
pub(super) mod refusal;
pub(super) mod response;
pub(super) mod sent_text;
