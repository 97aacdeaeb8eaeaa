//! Writes a book chapter by chapter, and listens while it writes.
//!
//! Shows chunks and steering: each part of the book is a chunk as soon as it is written, notes meant for the user alone
//! come in between, and what the user says meanwhile counts from the next chapter on. The result is the whole book, for
//! whoever did not follow.

mod chapter;
mod pace;
#[cfg(test)]
mod tests;
mod write;

#[portcullis_guest::plugin(requests(agent_tools = ["pace.next"]))]
mod book {
    use std::time::Duration;

    use portcullis_guest::ToolError;

    use crate::pace::Pace;
    use crate::write;

    /// Writes a book. Say what it should be like while it is being written.
    #[tool(title = "Write a book", read_only, idempotent = false, open_world = false, execution = "may-run-long")]
    fn generate_book(
        /// What it is about.
        #[schemars(length(min = 1, max = 200))]
        topic: String,
        /// How many chapters.
        #[arg(default = 5)]
        #[schemars(range(min = 1, max = 50))]
        chapters: u32,
        /// Milliseconds to think before each chapter.
        #[arg(default)]
        #[schemars(range(min = 0, max = 10_000))]
        slow: u64,
    ) -> Result<String, ToolError> {
        write::book(&topic, chapters, &Pace::new(Duration::from_millis(slow)))
    }
}
