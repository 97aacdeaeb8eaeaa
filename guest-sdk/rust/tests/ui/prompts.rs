//! Prompts that clients could not offer.

#[portcullis_guest::plugin]
mod plugin {
    #[prompt]
    fn undescribed() -> String {}

    /// A dot.
    #[prompt(name = "a.b")]
    fn dotted() -> String {}

    /// One.
    #[prompt]
    fn one() -> String {}

    /// One again.
    #[prompt(name = "one")]
    fn two() -> String {}

    /// Options of tools.
    #[prompt(read_only)]
    fn hint() -> String {}

    /// A default.
    #[prompt]
    fn default(#[arg(default = 1)] text: String) -> String {}

    /// Completions are not for tools.
    #[tool]
    fn complete(#[arg(complete = ["a"])] text: String) -> String {}
}

fn main() {}
