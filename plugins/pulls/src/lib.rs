//! Lists the pull requests of its user's own GitHub account, private ones too.
//!
//! Shows how a plugin uses an account that it never sees: [`list`] asks its user to connect the account, on a page of the
//! host's and outside the client and its model, and then sends a request that the host adds the credential to. Whoever
//! has connected it before is not asked.

mod list;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(client(url), connections = ["github"]))]
mod pulls {
    use portcullis_guest::ToolError;

    use crate::list;

    /// Lists the titles of the user's pull requests on GitHub, also of those that only the user may see.
    #[tool(title = "Your pull requests", read_only, idempotent, open_world)]
    fn list_private_prs() -> Result<String, ToolError> {
        list::titles()
    }
}
