//! A plugin that offers more than tools.

#[portcullis_guest::plugin(
    name = "offers",
    version = "0.1.0",
    description = "Offers.",
    requests(client(form, url, sample, roots), publish, events = ["policy.*"], connections = ["github"]),
)]
pub(crate) mod plugin {
    use portcullis_guest::completion::Typed;
    use portcullis_guest::{
        Completion, Content, Context, EmbeddedResource, Form, Json, PromptMessage, PromptResult, ReadError, ToolError,
        client,
    };
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::{Value, json};

    /// What is generated must not hide it.
    #[derive(Deserialize, JsonSchema)]
    pub(crate) struct Arguments {
        text: String,
    }

    /// Names that generated code could use.
    #[tool]
    fn describe(arguments: Arguments) -> String {
        call(arguments.text)
    }

    /// Likewise.
    #[tool]
    fn call(text: String) -> String {
        text
    }

    /// A text that never changes.
    #[resource(
        uri = "test://static-text",
        mime_type = "text/plain",
        title = "Text",
        size = 5,
        audience = "user",
        priority = 0.5
    )]
    fn read() -> &'static str {
        "hello"
    }

    /// Bytes that never change.
    #[resource(uri = "test://static-binary", name = "binary", mime_type = "image/png")]
    fn binary() -> Vec<u8> {
        vec![1, 2]
    }

    /// Who reads.
    #[resource(uri = "test://reader")]
    fn reader(ctx: &Context) -> Result<Vec<EmbeddedResource>, ToolError> {
        Ok(vec![EmbeddedResource::text("test://reader/name", &ctx.principal).mime_type("text/plain")])
    }

    /// Never there.
    #[resource(uri = "test://broken")]
    fn broken() -> Result<String, String> {
        Err("the disk is on fire".into())
    }

    /// Data by number.
    #[resource_template(uri_template = "test://template/{id}/data")]
    fn data(#[arg(complete = ["123", "124", "200"])] id: u32) -> Option<Json<Value>> {
        (id > 100).then(|| Json(json!({ "id": id })))
    }

    /// Pages by name, in another order.
    #[resource_template(uri_template = "test://{type}/{name}.html", mime_type = "text/html")]
    fn page(ctx: &Context, name: String, r#type: String) -> Result<String, ReadError> {
        if name == "secret" { Err(ReadError::NotFound) } else { Ok(format!("{type} {name} {}", ctx.id)) }
    }

    /// Greets.
    #[prompt]
    fn get() -> &'static str {
        "This is a simple prompt."
    }

    /// Takes arguments.
    #[prompt(name = "with-arguments", title = "With arguments")]
    fn arguments(
        ctx: &Context,
        /// The first.
        #[arg(title = "First", complete = suggest)]
        arg1: String,
        #[arg(complete = many)] arg2: Option<String>,
        #[arg(rename = "arg-3")] arg3: Option<String>,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        if arg1.is_empty() {
            return Err(ToolError::invalid("arg1 is empty"));
        }
        let text = format!("{} {arg1} {arg2:?} {arg3:?}", ctx.principal);
        Ok(vec![PromptMessage::user(Content::image("image/png", vec![1])), PromptMessage::assistant(text)])
    }

    #[derive(Form)]
    struct Wanted {
        context: String,
    }

    /// Asks first.
    #[prompt]
    fn asks() -> Result<PromptResult, ToolError> {
        let wanted = client::form::<Wanted>("Which context?").key("user_context").ask()?.or_stop()?;
        Ok(PromptResult { description: Some("Asked".into()), messages: vec![PromptMessage::user(wanted.context)] })
    }

    fn suggest(typed: &Typed<'_>) -> Result<Completion, ToolError> {
        match typed.value {
            "fail" => Err(ToolError::Cancelled),
            value => Ok(Completion { values: vec![format!("{value}!")], total: None, has_more: true }),
        }
    }

    fn many(typed: &Typed<'_>) -> Vec<String> {
        let start = typed.other("arg1").unwrap_or_default();
        (0..150).map(|number| format!("{start}{number}")).collect()
    }
}
