//! The smallest plugin: greets, and says again what it is told.

#[portcullis_guest::plugin]
mod hello {
    /// Greets somebody by name.
    #[tool(read_only, idempotent, open_world = false)]
    fn greet(
        /// Whom to greet.
        name: String,
    ) -> String {
        format!("Hello, {name}!")
    }

    /// Returns the text as it is.
    #[tool(read_only, idempotent, open_world = false)]
    fn echo(
        /// What to return.
        text: String,
    ) -> String {
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use portcullis_guest::testing;
    use serde_json::json;

    use crate::hello::PLUGIN;

    #[test]
    fn greets() {
        let result = testing::call(&PLUGIN, "greet", json!({ "name": "Ada" })).unwrap();
        assert_eq!(result.all_text(), "Hello, Ada!");
        assert_eq!(result.structured, None);
    }

    #[test]
    fn echoes_everything() {
        for text in ["", "a\nb", "\u{1F3F0} \"quoted\" \\ \u{0}"] {
            let result = testing::call(&PLUGIN, "echo", json!({ "text": text })).unwrap();
            assert_eq!(result.all_text(), text);
        }
    }
}
