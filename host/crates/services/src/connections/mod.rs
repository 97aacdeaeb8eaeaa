//! Connected accounts: users consent in their browser, the host keeps the sealed credential, and plugins have requests
//! sent with it.
//!
//! A connection belongs to a principal. What is certain about the browser that connects it: it is the same browser from
//! "continue" to the end (by its cookie, with `state` bound to it), and it used an address that only the requester was
//! given. Over HTTP with API keys, it has also presented the requester's key, or its proxy has. Not certain: with OAuth
//! the browser presents nothing, so the page names the requester and the user has to notice; without any identity all
//! clients are one principal, and an account connected by one is everybody's.

mod accounts;
mod broker;
mod credential;
mod pages;
mod request;
mod seal;
mod settings;

pub use broker::{BrokerError, CALLBACK_PATH, CONNECT_PATH, ConnectPageError, ConnectionBroker};
pub use pages::{ConnectPurpose, FlowError};
pub use settings::ConnectionSettings;
