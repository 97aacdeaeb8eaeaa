//! Offers resources and nothing else, not even tools.

wit_bindgen::generate!({
    path: "../../wit/v0.1",
    generate_all,
    inline: "package guests:only; world only { export portcullis:plugin/resources@0.1.0; }",
});

use exports::portcullis::plugin::resources::{Guest, ReadError, ResourceInfo, ResourceTemplate};
use portcullis::plugin::types::{CallContext, EmbeddedResource, ResourceBody};

struct Only;

impl Guest for Only {
    fn list_resources() -> Vec<ResourceInfo> {
        let (uri, name) = ("only://one".to_owned(), "one".to_owned());
        let info = ResourceInfo {
            uri,
            name,
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: vec![],
        };
        vec![info]
    }

    fn list_templates() -> Vec<ResourceTemplate> {
        vec![]
    }

    fn read_resource(_: CallContext, uri: String) -> Result<Vec<EmbeddedResource>, ReadError> {
        Ok(vec![EmbeddedResource { uri, mime_type: None, body: ResourceBody::Text("the only one".to_owned()) }])
    }
}

export!(Only);
