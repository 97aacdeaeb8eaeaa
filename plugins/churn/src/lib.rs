//! Counts churn from a table, by the definition and for the quarter that its user approved.
//!
//! Shows people and a model deciding before anything happens: the model suggests, the user edits the suggestion in a
//! form, sees the query itself, approves it, and only then is the table opened. Every answer stays where it was given, in
//! a local variable, however many rounds follow. Without a model the user fills in an empty form; without a user nothing
//! is read. The report stays behind as a resource.

mod customers;
mod definition;
mod generate;
mod quarter;
mod query;
mod report;
mod review;
mod suggestion;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(filesystem = "read", client(form, sample), publish))]
mod churn {
    use portcullis_guest::{Content, ToolError};

    use crate::generate;

    /// Answers a question about churn with a report, once its user has approved what is counted and for when.
    #[tool(title = "Churn report", read_only = false, destructive = false, idempotent, open_world = false)]
    fn generate_report(
        /// The question, such as "churn last quarter".
        #[schemars(length(min = 1, max = 500))]
        question: String,
    ) -> Result<Vec<Content>, ToolError> {
        generate::report(&question)
    }
}
