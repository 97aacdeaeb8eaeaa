//! The closure that answers requests, and what was sent to it.

use std::cell::RefCell;
use std::rc::Rc;

use crate::host_types::http::{HttpError, Response};

/// One request that was sent to another server.
#[derive(Clone, Debug, PartialEq)]
pub struct SentHttp {
    /// The method, such as `GET`.
    pub method: String,
    /// The URL as the plugin wrote it.
    pub url: String,
    /// Names and values; secrets appear by name.
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
