//! Finding out what has become of an effect.
//!
//! When the host ends after a tool has begun a request and before its answer was stored, nobody knows whether it has
//! happened. A request like GET or PUT is sent again; for others, the function of the plugin that is marked `#[reconcile]` is
//! asked. Without one, or if it does not know, the call ends and says so.
//!
//! ```
//! # #[portcullis_guest::plugin(name = "demo", description = "Demo.")]
//! # mod demo {
//! use portcullis_guest::http;
//! use portcullis_guest::reconcile::{Doubt, Effect, HttpResponse, Verdict};
//! # /// Books a place.
//! # #[tool]
//! # fn book(name: String) -> String { name }
//!
//! #[reconcile]
//! fn find_out(doubt: &Doubt) -> Verdict {
//!     let Effect::Http(request) = doubt.effect else { return Verdict::Unknown };
//!     match http::get(&request.url).send() {
//!         Ok(found) if found.status == 200 => Verdict::from(HttpResponse { status: 201, headers: vec![], body: found.body }),
//!         Ok(found) if found.status == 404 => Verdict::NotDone,
//!         _ => Verdict::Unknown,
//!     }
//! }
//! # }
//! # fn main() {}
//! ```
//!
//! It runs in an instance of its own for at most ten seconds, with what the plugin was granted, and can neither call tools
//! nor ask the client.

use serde::de::DeserializeOwned;

use crate::{Context, ToolResult};

pub use crate::bindings::reconcile::{AgentCall, Answer, Effect, HttpRequest, HttpResponse, Verdict};

/// An effect in doubt, and the call that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Doubt<'a> {
    /// The context of the call.
    pub ctx: &'a Context,
    /// The tool that was called.
    pub tool: &'a str,
    /// Its number among the steps of the call.
    pub step: &'a str,
    /// Such as `http.handle`.
    pub name: &'a str,
    /// What is known of it.
    pub effect: &'a Effect,
    arguments: &'a str,
}

impl<'a> Doubt<'a> {
    pub(crate) fn new(
        ctx: &'a Context,
        (tool, arguments): (&'a str, &'a str),
        (step, name): (&'a str, &'a str),
        effect: &'a Effect,
    ) -> Self {
        Self { ctx, tool, step, name, effect, arguments }
    }

    /// The arguments of the tool.
    ///
    /// # Errors
    /// When they are not a `T`.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.arguments)
    }
}

impl From<HttpResponse> for Verdict {
    fn from(response: HttpResponse) -> Self {
        Self::Done(Answer::Http(response))
    }
}

impl From<ToolResult> for Verdict {
    fn from(result: ToolResult) -> Self {
        Self::Done(Answer::AgentTool(result))
    }
}
