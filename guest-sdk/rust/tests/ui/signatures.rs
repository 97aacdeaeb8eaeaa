//! Functions that are not plain.

#[portcullis_guest::plugin]
mod plugin {
    /// Generic.
    #[tool]
    fn generic<T>(value: T) {}

    /// Async.
    #[tool]
    async fn waits() {}

    /// Method.
    #[tool]
    fn method(&self) {}
}

fn main() {}
