//! Small offers for tests.

use runtime::imports::{Execution, Prompt, PromptArgument, ResourceInfo, ResourceTemplate, Tool};

pub(crate) fn tool(name: &str) -> Tool {
    Tool {
        name: name.into(),
        title: None,
        description: "Does it.".into(),
        input_schema: r#"{"type":"object"}"#.into(),
        output_schema: None,
        annotations: Default::default(),
        execution: Execution::Inline,
        icons: vec![],
    }
}

pub(crate) fn resource(uri: &str) -> ResourceInfo {
    ResourceInfo {
        uri: uri.into(),
        name: "it".into(),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        annotations: None,
        icons: vec![],
    }
}

pub(crate) fn template(uri: &str) -> ResourceTemplate {
    ResourceTemplate {
        uri_template: uri.into(),
        name: "it".into(),
        title: None,
        description: None,
        mime_type: None,
        annotations: None,
        icons: vec![],
    }
}

/// A prompt with these required arguments.
pub(crate) fn prompt(name: &str, arguments: &[&str]) -> Prompt {
    let argument =
        |name: &&str| PromptArgument { name: (*name).into(), title: None, description: None, required: true };
    Prompt {
        name: name.into(),
        title: None,
        description: None,
        arguments: arguments.iter().map(argument).collect(),
        icons: vec![],
    }
}
