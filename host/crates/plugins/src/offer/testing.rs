//! Small offers for tests.

use runtime::imports::{Execution, Icon, Offer, Prompt, PromptArgument, ResourceInfo, ResourceTemplate, Tool};

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

/// A small offer of everything.
pub(crate) fn offer() -> Offer {
    let mut read = tool("read");
    read.input_schema =
        r#"{"type":"object","properties":{"path":{"type":"string","enum":["a","b"]}},"required":["path"]}"#.into();
    Offer {
        tools: vec![read, tool("write")],
        resources: vec![resource("n:1")],
        templates: vec![template("n:{x}")],
        prompts: vec![prompt("plan", &["where", "when"])],
        completes: false,
    }
}

/// A change of an offer, with a name for messages.
pub(crate) type Mutation = (&'static str, Box<dyn Fn(&mut Offer)>);

/// One small change of [`offer`] each, in every part that people or models read.
pub(crate) fn mutations() -> Vec<Mutation> {
    let icon = |src: &str| Icon { src: src.into(), mime_type: None, sizes: vec![] };
    let schema = |offer: &mut Offer, from: &str, to: &str| {
        let text = offer.tools[0].input_schema.replace(from, to);
        assert_ne!(text, offer.tools[0].input_schema);
        offer.tools[0].input_schema = text;
    };
    vec![
        ("a space", Box::new(|o| o.tools[0].description.push(' '))),
        ("another name", Box::new(|o| o.tools[0].name = "read2".into())),
        ("a title", Box::new(|o| o.tools[0].title = Some("Read".into()))),
        ("an enum value", Box::new(move |o| schema(o, r#""b"]"#, r#""b","c"]"#))),
        ("an enum reordered", Box::new(move |o| schema(o, r#"["a","b"]"#, r#"["b","a"]"#))),
        ("required dropped", Box::new(move |o| schema(o, r#","required":["path"]"#, ""))),
        (
            "a title in the schema",
            Box::new(move |o| schema(o, r#""type":"string""#, r#""type":"string","title":"Now""#)),
        ),
        ("another key", Box::new(move |o| schema(o, r#"{"path":"#, r#"{"Path":"#))),
        ("an output schema", Box::new(|o| o.tools[0].output_schema = Some(r#"{"type":"object"}"#.into()))),
        ("a hint", Box::new(|o| o.tools[0].annotations.read_only = Some(true))),
        ("an icon", Box::new(move |o| o.tools[0].icons.push(icon("https://a.example/1.png")))),
        ("its execution", Box::new(|o| o.tools[0].execution = Execution::MayRunLong)),
        ("an added tool", Box::new(|o| o.tools.push(tool("delete")))),
        ("a removed tool", Box::new(|o| o.tools.truncate(1))),
        ("a resource's description", Box::new(|o| o.resources[0].description = Some("x".into()))),
        ("a template's name", Box::new(|o| o.templates[0].name = "other".into())),
        ("a prompt's argument", Box::new(|o| o.prompts[0].arguments[0].required = false)),
        ("arguments reordered", Box::new(|o| o.prompts[0].arguments.reverse())),
        ("completions", Box::new(|o| o.completes = true)),
    ]
}
