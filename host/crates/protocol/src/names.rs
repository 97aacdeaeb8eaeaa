//! Names of the `dev.portcullis` extensions on the wire; `wit/extensions` documents them.

/// The prefix of the keys of `_meta` that only the host itself writes.
pub const OWN_META_PREFIX: &str = "dev.portcullis/";

// Extensions.

/// The protocol's own extension for calls that go on after their request. A request that declares it may get a task as its
/// response.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A client that declares it receives chunks as `partial_result` notifications.
pub const PARTIAL_RESULTS: &str = "dev.portcullis/partial-results";
/// A client that declares it shows the remedies of denials only to people, not to models. Only such a client gets them.
pub const REMEDIES: &str = "dev.portcullis/remedies";
/// The extension for reverse calls. Also the key in `_meta` for the data that a request brings for them.
pub const CLIENT_TOOLS: &str = "dev.portcullis/client-tools";
pub const STEERING: &str = "dev.portcullis/steering";

// Requests.

/// Sent by the client: sends a message to a running call.
pub const STEER_METHOD: &str = "dev.portcullis/steer";
/// Sent by the client: opens a channel for reverse calls.
pub const REVERSE_LISTEN_METHOD: &str = "dev.portcullis/reverse/listen";
/// Sent by the client: answers a reverse call.
pub const REVERSE_RESPOND_METHOD: &str = "dev.portcullis/reverse/respond";
/// Sent by the server: a reverse call (2025-11-25).
pub const REVERSE_CALL_METHOD: &str = "dev.portcullis/tools/call";

// Notifications of the server.

pub const PARTIAL_RESULT_NOTIFICATION: &str = "notifications/dev.portcullis/partial_result";
/// The prefix of the names of all notifications on a channel.
pub const REVERSE_NOTIFICATION_PREFIX: &str = "notifications/dev.portcullis/reverse_";
pub const REVERSE_LISTENING_NOTIFICATION: &str = "notifications/dev.portcullis/reverse_listening";
pub const REVERSE_CALL_NOTIFICATION: &str = "notifications/dev.portcullis/reverse_call";
pub const REVERSE_CANCELLED_NOTIFICATION: &str = "notifications/dev.portcullis/reverse_cancelled";

// Keys of `_meta` in requests.

/// Echoed in each chunk of the request.
pub const PARTIAL_RESULT_TOKEN_META: &str = "dev.portcullis/partialResultToken";
/// Chosen by the client; echoed on everything that belongs to the request.
pub const CORRELATION_META: &str = "dev.portcullis/correlationId";
/// Chosen by the client, and the same for all repetitions of one intended call, which runs only once.
pub const IDEMPOTENCY_KEY_META: &str = "dev.portcullis/idempotencyKey";
/// Names the chain of calls that a request continues.
pub const CHAIN_META: &str = "dev.portcullis/chain";

// Keys of `_meta` in results and notifications.

/// The id of the call, by which it can be steered.
pub const CALL_META: &str = "dev.portcullis/call";
/// The id of the task that the call of a result goes on as.
pub const TASK_META: &str = "dev.portcullis/task";
/// Set on the response to a repetition, for which nothing was run.
pub const REPEATED_META: &str = "dev.portcullis/repeated";
/// Which plugin something comes from.
pub const SOURCE_META: &str = "dev.portcullis/source";
/// The tools that a forwarded chunk came through.
pub const CHUNK_ORIGIN_META: &str = "dev.portcullis/origin";
/// How many chunks a call emitted, and their hash.
pub const STREAM_META: &str = "dev.portcullis/stream";
/// What the call cost.
pub const USAGE_META: &str = "dev.portcullis/usage";
/// The typed error of a failed call.
pub const ERROR_META: &str = "dev.portcullis/error";
/// Marks a result that must not be passed on.
pub const PRIVATE_META: &str = "dev.portcullis/private";
/// Arguments that an approver changed.
pub const EDITED_META: &str = "dev.portcullis/edited";
