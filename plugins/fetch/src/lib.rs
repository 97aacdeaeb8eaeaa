//! Fetches pages of the web as text.
//!
//! Shows how a plugin asks other servers: it sends what it is asked for and judges nothing. Which servers it reaches, how
//! often, for how long and how much of them is the operator's grant; that a name does not lead into a private network is
//! the host's business.

mod page;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(http = ["GET,HEAD https://*"]))]
mod fetch {
    use portcullis_guest::ToolError;

    use crate::page;

    /// Fetches a page by its https URL and gives its text, without markup. Redirects are followed as far as the operator
    /// allows. `max_bytes` is how much of the page to read; 200,000 when it is left out.
    #[tool(title = "Fetch a page", read_only, idempotent, open_world)]
    fn get(url: String, max_bytes: Option<u32>) -> Result<String, ToolError> {
        page::text(&url, max_bytes)
    }
}
