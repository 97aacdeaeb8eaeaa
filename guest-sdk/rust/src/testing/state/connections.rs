//! The accounts that are granted, and what was sent with them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::bindings::portcullis::plugin::connections::Response;
use crate::host_types::connections::ConnectionError;

/// One request that was sent with an account.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The connection's name.
    pub connection: String,
    /// The method, such as `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

pub(crate) type Server = Rc<RefCell<dyn FnMut(&Sent) -> Result<Response, ConnectionError>>>;

#[derive(Default)]
pub(crate) struct Accounts {
    pub(crate) servers: BTreeMap<String, Server>,
    pub(crate) disconnected: Vec<String>,
    pub(crate) sent: Vec<Sent>,
}
