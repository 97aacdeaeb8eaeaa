//! Misspelt options.

#[portcullis_guest::plugin(nmae = "x")]
mod plugin_option {}

#[portcullis_guest::plugin(survive = "crash")]
mod survives_anyway {}

#[portcullis_guest::plugin]
mod tool_options {
    /// Unknown.
    #[tool(readonly)]
    fn unknown() {}

    /// Not a kind of execution.
    #[tool(execution = "slow")]
    fn slow() {}
}

fn main() {}
