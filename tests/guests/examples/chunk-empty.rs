//! Sends chunks that are none: no content, a priority of 7, an audio without a media type.

use guests::bindings::portcullis::plugin::types::{Blob, ContentAnnotations};
use guests::{Content, ContentData, output};

guests::guest! {
    fn run(args) {
        let loud = ContentAnnotations { audience: vec![], priority: Some(7.0), last_modified: None };
        let wrong = Content { data: ContentData::Text("x".into()), annotations: Some(loud) };
        let silent = Content { data: ContentData::Audio(Blob { mime_type: String::new(), data: vec![1] }), annotations: None };
        let told = [output::emit(&[]), output::emit(&[wrong]), output::emit(&[silent])];
        Ok(told.map(|outcome| format!("{outcome:?}")).join("; ").into())
    }
}
