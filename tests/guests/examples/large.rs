//! Answers with as many MiB as it is asked for: text, a picture, or a structure of many small parts. Text and pictures come
//! after a chunk, so on a stream if somebody reads. A `copy` is a structure of 700 KiB with itself as text.

use guests::bindings::portcullis::plugin::types::Blob;
use guests::{Content, ContentData, ToolResult, output, text};

const PART: &str = r#"{"a":1}"#;

guests::guest! {
    fn run(args) {
        let bytes = (args.n_or(7) as usize) << 20;
        let kind = args.path_or("text");
        if kind == "text" || kind == "picture" {
            drop(output::emit(&[text("Here it comes.")]));
        }
        match kind.as_str() {
            "picture" => {
                let picture = Blob { mime_type: "image/png".into(), data: vec![7; bytes] };
                let content = Content { data: ContentData::Image(picture), annotations: None };
                Ok(ToolResult { content: vec![content], structured: None, is_error: false })
            }
            "structure" => {
                let mut parts = String::with_capacity(bytes + 64);
                parts.push_str(r#"{"parts":["#);
                while parts.len() < bytes {
                    parts.push_str(PART);
                    parts.push(',');
                }
                parts.push_str(PART);
                parts.push_str("]}");
                let content = vec![text("See the structure.")];
                Ok(ToolResult { content, structured: Some(parts), is_error: false })
            }
            "copy" => {
                let structured = format!(r#"{{"text":"{}"}}"#, "x".repeat(700 << 10));
                Ok(ToolResult { structured: Some(structured.clone()), ..structured.into() })
            }
            _ => Ok("x".repeat(bytes).into()),
        }
    }
}
