//! Reports on a topic from a folder of texts, with key findings by the client's model.
//!
//! Shows sampling: a request with a cap and a purpose, the same with a tool that the plugin runs for the model, and a
//! report that is honest about having no summary when there is no model. A reviewer's no ends it without a report.

mod findings;
mod library;
mod lookup;
mod report;
mod run;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(filesystem = "read", client(sample)))]
mod research {
    use portcullis_guest::ToolError;

    use crate::run;

    /// Reports on a topic from the library: the passages about it, their sources, and key findings by the client's model.
    #[tool(title = "Research a topic", read_only, open_world = false, execution = "may-run-long")]
    fn research_agent(
        /// What to look for, in a few words.
        #[schemars(length(min = 1, max = 200))]
        topic: String,
        /// Whether the model may look up further words in the library.
        #[arg(default)]
        tools: bool,
    ) -> Result<String, ToolError> {
        run::research(&topic, tools)
    }
}
