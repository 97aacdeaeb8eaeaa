//! Keeps notes as Markdown files. Meant for the agent's side, where other plugins call it back.

mod date;
mod note;
mod store;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(filesystem = "write"))]
mod notes {
    use portcullis_guest::ToolError;

    use crate::note::Note;
    use crate::store::{self, Found, Saved};

    /// Saves a note.
    ///
    /// Notes are never overwritten: a second note of the same title gets a file of its own.
    #[tool(title = "Add a note", destructive = false, open_world = false)]
    fn add(
        /// What it is about, in a line.
        #[schemars(length(min = 1, max = 200))]
        title: String,
        /// The note, in Markdown.
        text: String,
        /// Words to find it by.
        #[arg(default)]
        tags: Vec<String>,
    ) -> Result<Saved, ToolError> {
        store::add(&Note::new(&title, &text, &tags)?)
    }

    /// Finds notes that contain every word of the query in their title, tags or text; newest first.
    #[tool(title = "Search the notes", read_only, idempotent, open_world = false)]
    fn search(
        /// Words to look for, in any case; nothing finds all notes.
        query: String,
        /// At most this many.
        #[arg(default = 20)]
        #[schemars(range(min = 1, max = 100))]
        limit: usize,
    ) -> Result<Found, ToolError> {
        store::search(&query, limit)
    }
}
