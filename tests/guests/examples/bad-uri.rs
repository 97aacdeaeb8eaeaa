//! Offers a resource in the host's own name.

wit_bindgen::generate!({
    path: "../../wit/v0.1",
    generate_all,
    inline: "package guests:bad; world bad { export portcullis:plugin/resources@0.1.0; }",
});

use exports::portcullis::plugin::resources::{Guest, ReadError, ResourceInfo, ResourceTemplate};
use portcullis::plugin::types::{CallContext, EmbeddedResource};

struct Bad;

impl Guest for Bad {
    fn list_resources() -> Vec<ResourceInfo> {
        let (uri, name) = ("portcullis://published/other/secrets".to_owned(), "secrets".to_owned());
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

    fn read_resource(_: CallContext, _: String) -> Result<Vec<EmbeddedResource>, ReadError> {
        Err(ReadError::NotFound)
    }
}

export!(Bad);
