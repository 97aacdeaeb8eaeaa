//! Takes a request apart, asks several sources at once, reroutes what fails and puts the answers together.
//!
//! Shows reverse calls in parallel: sources are found by the names of their tools, whether they are components of this
//! host, servers behind it or tools of the client; what they say meanwhile is passed on with where it comes from.

mod parts;
mod report;
mod run;
mod sources;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(agent_tools = ["*.*search"]))]
mod orchestrator {
    use std::time::Duration;

    use portcullis_guest::ToolError;

    use crate::report::Report;
    use crate::run;

    /// Answers a request of several parts from several sources at once. A source that fails is replaced by another one.
    #[tool(title = "Research from several sources", read_only, open_world = true, execution = "may-run-long")]
    fn investigate(
        /// What to find out; parts are lines, or end with `;` or `?`.
        #[schemars(length(min = 1, max = 8_000))]
        request: String,
        /// Tools to ask, by name; `*` stands for any characters.
        #[arg(default = vec!["*search".to_owned()])]
        #[schemars(length(min = 1, max = 16))]
        sources: Vec<String>,
        /// How long one source may take for one part, in seconds.
        #[arg(default = 30)]
        #[schemars(range(min = 1, max = 600))]
        patience: u32,
    ) -> Result<Report, ToolError> {
        run::investigate(&request, &sources, Duration::from_secs(patience.into()))
    }
}
