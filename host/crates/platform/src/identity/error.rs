//! Why a request is not authenticated, and how the server answers it.

use super::protected_resource::ProtectedResource;
use std::borrow::Cow;

/// Why a request is not authenticated. The reasons can be put into a quoted text of a header safely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthError {
    Missing,
    /// The credential is not valid, for this reason.
    Invalid(Cow<'static, str>),
    /// The token is valid but lacks a required scope.
    Scope,
    /// The issuer's keys are not available at the moment.
    Unavailable,
}

impl AuthError {
    /// The HTTP status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            AuthError::Missing | AuthError::Invalid(_) => 401,
            AuthError::Scope => 403,
            AuthError::Unavailable => 503,
        }
    }

    /// The `WWW-Authenticate` header of the answer.
    pub fn challenge(&self, resource: Option<&ProtectedResource>) -> String {
        let parameters = resource.map(ProtectedResource::parameters);
        let error = match self {
            AuthError::Missing | AuthError::Unavailable => None,
            AuthError::Invalid(reason) => Some(format!("error=\"invalid_token\", error_description=\"{reason}\"")),
            AuthError::Scope => Some("error=\"insufficient_scope\"".to_owned()),
        };
        let all: Vec<String> = [error, parameters].into_iter().flatten().collect();
        if all.is_empty() { "Bearer realm=\"portcullis\"".to_owned() } else { format!("Bearer {}", all.join(", ")) }
    }
}

impl std::fmt::Display for AuthError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AuthError::Missing => {
                f.write_str("this server wants to know who you are: send `Authorization: Bearer ...`")
            }
            AuthError::Invalid(reason) => write!(f, "the credential is not accepted: {reason}"),
            AuthError::Scope => f.write_str("the token lacks a scope that this server requires"),
            AuthError::Unavailable => f.write_str(
                "the token cannot be checked: the issuer's keys cannot be had at the moment; try again later",
            ),
        }
    }
}
