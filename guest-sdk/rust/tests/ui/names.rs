//! Names that clients refuse or cannot tell apart.

#[portcullis_guest::plugin]
mod plugin {
    /// One.
    #[tool]
    fn greet() {}

    /// The same name again.
    #[tool(name = "greet")]
    fn greet_again() {}

    /// A character that clients refuse.
    #[tool(name = "say.hello")]
    fn dotted() {}

    /// Too long.
    #[tool]
    fn a_name_that_goes_on_and_on_until_it_has_more_characters_than_clients_take() {}
}

fn main() {}
