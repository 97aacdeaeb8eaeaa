//! Migrates TypeScript and JavaScript to ES modules, in a copy.
//!
//! Shows work that takes long on files: [`run`] reads a folder that it cannot change, computes without a thought for other
//! calls, since the host slices its time, asks in the middle, and writes to a directory of its own. Nothing is written
//! before everything was read, so a call that is cancelled until then leaves nothing behind.

mod names;
mod rewrite;
mod run;
#[cfg(test)]
mod tests;
mod tokens;

#[portcullis_guest::plugin(requests(filesystem = "read", scratch, client(form)))]
mod migrate {
    use portcullis_guest::ToolError;

    use crate::run::{self, CommonJs, Summary};

    /// Migrates a small TypeScript or JavaScript code base to ES modules.
    ///
    /// Relative imports get the extension that Node.js needs. The files that change are written to another folder, under the
    /// names that they have; the code itself is left as it is. Skips `node_modules`, folders with a dot, and links.
    #[tool(
        title = "Migrate to ES modules",
        read_only = false,
        destructive = false,
        idempotent,
        open_world = false,
        execution = "may-run-long"
    )]
    fn migrate(
        /// Folder with the code.
        #[arg(default = "/src".to_owned())]
        path: String,
        /// Folder for the files that change. Files that it has under their names are replaced.
        #[arg(default = "/scratch/migrated".to_owned())]
        into: String,
        /// What becomes of `require`.
        #[arg(default)]
        commonjs: CommonJs,
    ) -> Result<Summary, ToolError> {
        run::migrate(&path, &into, commonjs)
    }
}
