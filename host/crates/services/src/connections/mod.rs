//! Connected accounts: users consent in their browser, the host keeps the sealed credential, and it sends requests for plugins
//! with that credential.
//!
//! A connection belongs to a principal. Two things are certain about the browser that connects it: it is the same browser from
//! "continue" to the end (by its cookie, with `state` bound to it), and it used an address that only the requester was given.
//! Over HTTP with authentication, its user has also proved to be the requester: by the API key, by a login at the issuer of the
//! tokens, or through a proxy that adds a credential. Without any identity, nothing more is certain: all clients are one
//! principal, and an account that one of them connects belongs to all.

mod accounts;
mod broker;
mod credential;
mod error;
mod login;
mod oauth_client;
mod pages;
mod request;
mod seal;
mod settings;

pub use broker::{CALLBACK_PATH, CONNECT_PATH, ConnectionBroker, OpenPage};
pub use error::{BrokerError, ConnectPageError};
pub use login::{LOGIN_PATH, LoggedIn};
pub use oauth_client::FlowAnswer;
pub use pages::{ConnectPurpose, PageError};
pub use settings::ConnectionSettings;
