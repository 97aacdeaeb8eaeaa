//! Tools that do not say what they do.

#[portcullis_guest::plugin]
mod plugin {
    #[tool]
    fn undescribed() {}

    /// # Errors
    /// Only a heading.
    #[tool]
    fn headings_are_for_readers_of_the_code() {}
}

fn main() {}
