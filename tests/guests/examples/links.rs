//! Answers with a link to wherever it is told.

use guests::bindings::portcullis::plugin::types::ResourceLink;
use guests::{Content, ContentData, ToolResult};

guests::guest! {
    fn run(args) {
        let (title, description, mime_type, size) = (None, None, None, None);
        let link = ResourceLink { uri: args.path_or(""), name: "a".into(), title, description, mime_type, size };
        let content = vec![Content { data: ContentData::ResourceLink(link), annotations: None }];
        Ok(ToolResult { content, structured: None, is_error: false })
    }
}
