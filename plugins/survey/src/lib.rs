//! Surveys a source tree: languages, lines, largest files and open TODOs, folder by folder.

mod languages;
mod measure;
mod note;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod text;
mod tree;

#[portcullis_guest::plugin(requests(filesystem = "read", agent_tools = ["notes.add"]))]
mod survey {
    use portcullis_guest::ToolError;

    use crate::report::Report;
    use crate::run;

    /// Surveys a source tree: languages, lines, largest files and open TODOs.
    ///
    /// Sends one chunk per folder while it works, and saves a summary with the agent's `notes.add` when it may. Skips
    /// `.git`, `target` and `node_modules`, links, binary files and files over 4 MiB.
    #[tool(
        title = "Survey a source tree",
        read_only = false,
        destructive = false,
        open_world = false,
        execution = "may-run-long"
    )]
    fn survey(
        /// Folder to survey.
        #[arg(default = "/src".to_owned())]
        path: String,
        /// Whether to save a summary as a note.
        #[arg(default = true)]
        note: bool,
    ) -> Result<Report, ToolError> {
        run::survey(&path, note)
    }
}
