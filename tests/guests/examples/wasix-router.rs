//! A component of `wasix:mcp@25.6.18`: tools, resources, prompts, and content that is not what it says.

wit_bindgen::generate!({
    path: "dialects/wasix-mcp.wit",
    inline: r#"
        package acme:router;
        world routing {
            export wasix:mcp/router@25.6.18;
        }
    "#,
    generate_all,
});

use exports::wasix::mcp::router::*;

struct Router;

impl Guest for Router {
    fn name() -> String {
        "router".into()
    }

    fn title() -> Option<String> {
        None
    }

    fn instructions() -> String {
        String::new()
    }

    fn describe_server() -> ServerDescription {
        let capabilities = ServerCapabilities { prompts: None, resources: None, tools: None, completions: None };
        let name = Self::name();
        ServerDescription { name, title: None, capabilities, resources: None, resource_metadata: None, meta: None }
    }

    fn list_tools() -> Vec<Tool> {
        let tool = |name: &str| Tool {
            name: name.into(),
            title: Some("A tool".into()),
            description: format!("It is {name}."),
            input_schema: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.into(),
            output_schema: (name == "double")
                .then(|| r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#.into()),
            annotations: Some(ToolAnnotations {
                read_only: Some(true),
                destructive: Some(false),
                streaming: None,
                experimental: None,
            }),
            meta: None,
        };
        ["double", "kinds", "fail", "refuse", "ask", "bad-bytes", "bad-priority", "spin"].map(tool).into()
    }

    fn call_tool(tool_name: String, arguments: String) -> Result<Response, ToolError> {
        let given: serde_json::Value =
            serde_json::from_str(&arguments).map_err(|error| ToolError::SchemaError(error.to_string()))?;
        let text = |text: &str| ContentBlock::Text(TextContent { text: text.into(), annotations: None });
        let image = |data: &str| {
            ContentBlock::Image(ImageContent { data: data.into(), mime_type: "image/png".into(), annotations: None })
        };
        match tool_name.as_str() {
            "double" => {
                let n = given["n"].as_i64().unwrap_or_default() * 2;
                let report = |progress, message: &str| ProgressNotification {
                    progress: Some(progress),
                    message: Some(message.into()),
                    annotations: None,
                };
                Ok(Response::Completed(ToolResult {
                    structured_content: Some(format!(r#"{{"n":{n}}}"#)),
                    progress: Some(vec![report(0.5, "half"), report(f32::NAN, "never"), report(1.0, "done")]),
                    ..result(vec![text(&n.to_string())])
                }))
            }
            "kinds" => {
                let embedded = |mime_type: Option<&str>, data: &str| {
                    ContentBlock::EmbeddedResource(EmbeddedResource {
                        uri: "acme:2".into(),
                        title: None,
                        description: None,
                        mime_type: mime_type.map(str::to_owned),
                        data: data.into(),
                        annotations: None,
                    })
                };
                let link = ResourceLinkContent {
                    uri: "acme:1".into(),
                    title: None,
                    description: None,
                    mime_type: None,
                    annotations: Some(Annotations {
                        audience: Some(vec![Role::Assistant]),
                        priority: Some(0.5),
                        timestamp: None,
                    }),
                };
                let content = vec![
                    image("AQL/"),
                    ContentBlock::ResourceLink(link),
                    embedded(None, "words"),
                    embedded(Some("application/pdf"), "AQI="),
                ];
                Ok(Response::Completed(result(content)))
            }
            "fail" => {
                Ok(Response::Completed(ToolResult { is_error: Some(true), ..result(vec![text("it was not to be")]) }))
            }
            "refuse" => Err(ToolError::InvalidParameters("not these".into())),
            "ask" => Ok(Response::Elicit(ElicitationRequest {
                title: None,
                message: "How many?".into(),
                schema: "{}".into(),
                annotations: None,
                meta: None,
            })),
            "bad-bytes" => Ok(Response::Completed(result(vec![image("not base64")]))),
            "bad-priority" => {
                let annotations = Annotations { audience: None, priority: Some(f32::NAN), timestamp: None };
                let block = TextContent { text: "a".into(), annotations: Some(annotations) };
                Ok(Response::Completed(result(vec![ContentBlock::Text(block)])))
            }
            "spin" => loop {
                std::hint::black_box(0);
            },
            _ => Err(ToolError::NotFound("there is none".into())),
        }
    }

    fn list_resources() -> Vec<McpResource> {
        let resource = |name: &str| McpResource {
            uri: format!("router:{name}"),
            name: name.into(),
            title: None,
            description: None,
            mime_type: "text/plain".into(),
            annotations: None,
        };
        ["text", "bytes", "lost"].map(resource).into()
    }

    fn read_resource(uri: String) -> Result<ReadResourceResult, ResourceError> {
        let mime_type = Some("text/plain".into());
        let contents = match uri.as_str() {
            "router:text" => ResourceContents::Text(TextResourceContents { uri, mime_type, text: "words".into() }),
            "router:bytes" => ResourceContents::Blob(BlobResourceContents { uri, mime_type, blob: "AP8=".into() }),
            _ => return Err(ResourceError::NotFound("lost".into())),
        };
        Ok(ReadResourceResult { contents: vec![contents] })
    }

    fn list_prompts() -> Vec<Prompt> {
        let argument = PromptArgument { name: "who".into(), description: None, required: Some(true) };
        vec![Prompt { name: "greet".into(), description: Some("Greets.".into()), arguments: Some(vec![argument]) }]
    }

    fn get_prompt(_: String) -> Result<GetPromptResult, PromptError> {
        let content = PromptMessageContent::Text(TextContent { text: "Hello!".into(), annotations: None });
        let messages = vec![PromptMessage { role: PromptMessageRole::Assistant, content }];
        Ok(GetPromptResult { description: None, messages })
    }

    fn complete(_: CompletionRequest) -> Result<CompletionResponse, CompletionError> {
        Err(CompletionError::NotFound("none".into()))
    }
}

fn result(content: Vec<ContentBlock>) -> ToolResult {
    ToolResult { content, structured_content: None, progress: None, meta: None, is_error: None }
}

export!(Router);
