//! Results and errors that cannot be sent.

#[portcullis_guest::plugin]
mod plugin {
    pub struct Opaque;

    /// Results must be writable as JSON.
    #[tool]
    fn result() -> Opaque {
        Opaque
    }

    /// Errors must have a text.
    #[tool]
    fn error() -> Result<String, Opaque> {
        Err(Opaque)
    }
}

fn main() {}
