//! A good citizen: sends a chunk of every kind of content, for users, for the assistant, for both.

use guests::bindings::portcullis::plugin::types::{
    Blob, ContentAnnotations, EmbeddedResource, ResourceBody, ResourceLink, Role,
};
use guests::{Content, ContentData, output, text};

fn piece(data: ContentData, audience: &[Role], priority: Option<f64>) -> Content {
    Content {
        data,
        annotations: Some(ContentAnnotations { audience: audience.to_vec(), priority, last_modified: None }),
    }
}

guests::guest! {
    fn run(args) {
        let png = Blob { mime_type: "image/png".into(), data: b"\x89PNG\r\n\x1a\n".to_vec() };
        let wav = Blob { mime_type: "audio/wav".into(), data: b"RIFF\0\xff".to_vec() };
        let link = ResourceLink {
            uri: "file:///a".into(), name: "a".into(), title: None, description: None, mime_type: None, size: Some(1),
        };
        let embedded = |body| EmbeddedResource { uri: "file:///b".into(), mime_type: Some("text/csv".into()), body };
        let chunks = [
            vec![piece(ContentData::Text("für dich: {\"a\":1}\n".into()), &[Role::User], Some(0.7))],
            vec![piece(ContentData::Image(png), &[Role::User, Role::Assistant], Some(1.0))],
            vec![piece(ContentData::Audio(wav), &[], None)],
            vec![piece(ContentData::ResourceLink(link), &[Role::Assistant; 3], None)],
            vec![
                piece(ContentData::Resource(embedded(ResourceBody::Text("a,b".into()))), &[Role::Assistant], None),
                piece(ContentData::Resource(embedded(ResourceBody::Blob(vec![0, 255]))), &[], None),
                text(""),
            ],
        ];
        for chunk in &chunks {
            output::emit(chunk).map_err(|error| guests::failed(format!("{error:?}")))?;
        }
        Ok(format!("{} chunks", chunks.len()).into())
    }
}
