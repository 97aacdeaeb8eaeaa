//! Authentication: by API key, by OAuth token, or none.
//!
//! It turns an `Authorization` header into a [`Principal`](policy::Principal) or an [`AuthError`]. Clients are not locked out
//! after failures: keys have 256 random bits and signatures cannot be guessed, and a lock-out by address would let one client
//! behind a proxy lock out all others.

mod authenticator;
mod error;
mod jwks;
mod keys;
mod protected_resource;
mod settings;
mod token;

pub use authenticator::{Authenticator, IdentityError};
pub use error::AuthError;
pub use keys::{KeysError, NewKey};
pub use protected_resource::ProtectedResource;
pub use settings::{AuthSettings, LoginSettings, OAuthSettings};
