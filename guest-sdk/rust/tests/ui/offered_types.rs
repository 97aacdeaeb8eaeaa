//! Results and parameters that resources and prompts cannot have.

#[portcullis_guest::plugin]
mod plugin {
    pub struct Opaque;

    /// Bodies are texts or bytes.
    #[resource(uri = "test://opaque")]
    fn resource() -> Opaque {
        Opaque
    }

    /// Messages are texts or content.
    #[prompt]
    fn prompt() -> Opaque {
        Opaque
    }

    /// Arguments are texts.
    #[prompt]
    fn argument(number: u32) -> String {
        number.to_string()
    }

    /// Suggestions are texts.
    #[prompt]
    fn completion(#[arg(complete = suggest)] text: String) -> String {
        text
    }

    fn suggest(_: &portcullis_guest::completion::Typed<'_>) -> Opaque {
        Opaque
    }
}

fn main() {}
