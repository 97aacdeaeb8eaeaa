//! Parameters that no schema can be made of.

#[portcullis_guest::plugin]
mod plugin {
    use portcullis_guest::Context;

    /// A pattern.
    #[tool]
    fn pattern((a, b): (u32, u32)) {}

    /// A reference.
    #[tool]
    fn borrowed(text: &str) {}

    /// Any type.
    #[tool]
    fn any(text: impl ToString) {}

    /// The context in second place.
    #[tool]
    fn late(text: String, ctx: &Context) {}

    /// A misspelt option.
    #[tool]
    fn misspelt(#[arg(defualt = 1)] number: u32) {}
}

fn main() {}
