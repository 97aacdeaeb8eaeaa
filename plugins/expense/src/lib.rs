//! Tells of policies that take effect, and submits receipts once.
//!
//! Shows events and effects: [`policies`] puts news into its user's inbox and asks nobody anything; what to do about it is
//! the client's business. [`submit`] lets the user pick receipts and does it once for each key, however often it is
//! called.

mod policies;
mod receipts;
mod submissions;
mod submit;
mod table;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(filesystem = "write", client(form), events = ["policy.*"]))]
mod expense {
    use portcullis_guest::{Context, ToolError};

    use crate::policies::{self, Checked};
    use crate::submit::{self, Outcome};

    /// Looks which policies take effect tomorrow, and tells of each once.
    #[tool(title = "Check the policies", read_only = false, destructive = false, idempotent, open_world = false)]
    fn check_policies(
        /// Today, such as 2026-11-30.
        #[schemars(regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))]
        now: String,
    ) -> Result<Checked, ToolError> {
        policies::check(&now)
    }

    /// Lets the user pick open receipts and submits them. Called again with the same key, it tells what was submitted then.
    #[tool(title = "Submit receipts", read_only = false, destructive = false, idempotent, open_world = false)]
    fn submit_receipts(
        ctx: &Context,
        /// A name for this submission, made by the caller: letters, digits and `-`.
        #[serde(rename = "idempotencyKey")]
        #[schemars(regex(pattern = r"^[A-Za-z0-9-]{1,64}$"))]
        key: String,
    ) -> Result<Outcome, ToolError> {
        submit::receipts(ctx, &key)
    }
}
