//! The server that answers, and what was sent to it.

use std::cell::RefCell;
use std::rc::Rc;

use crate::host_types::http::{HttpError, Response};

/// One request that was sent to another server.
#[derive(Clone, Debug, PartialEq)]
pub struct SentHttp {
    /// Such as `GET`.
    pub method: String,
    /// As the plugin wrote it.
    pub url: String,
    /// Names and values, secrets by name.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

type Server = Rc<RefCell<dyn FnMut(&SentHttp) -> Result<Response, HttpError>>>;

#[derive(Default)]
pub(crate) struct Servers {
    pub(crate) server: Option<Server>,
    pub(crate) sent: Vec<SentHttp>,
}
