//! The plugin `polyglot` in Rust, as ../README.md specifies it: the reference that plugins in other languages must equal.

mod asking;
mod doubt;
mod files;
mod leaving;
mod long;
mod outside;
mod sampling;
mod shapes;

#[portcullis_guest::plugin(requests(
    agent_tools = ["echo.run", "echo.missing", "failing.run", "notes.add"],
    client(form, url, sample, roots),
    connections = ["service"],
    env = ["POLYGLOT"],
    events = ["polyglot.*"],
    filesystem = "write",
    http = ["GET,POST http://localhost:8444/"],
    publish,
    state,
))]
mod polyglot {
    use portcullis_guest::completion::Typed;
    use portcullis_guest::reconcile::{Doubt, Verdict};
    use portcullis_guest::{Content, Context, Json, PromptMessage, ToolError, ToolResult, log, output, progress};

    use crate::files::Deed;
    use crate::leaving::Trace;
    use crate::outside::{Action, Fetched};
    use crate::shapes::{Failure, Measured, Point, Style, Weights, Word};
    use crate::{asking, doubt, files, leaving, long, outside, sampling, shapes};

    /// Greets somebody.
    #[tool(title = "Greet", read_only, idempotent, open_world = false)]
    fn greet(
        /// Whom to greet.
        #[schemars(length(min = 1, max = 40))]
        name: String,
        /// How often.
        #[arg(default = 1)]
        #[schemars(range(min = 1, max = 3))]
        times: i64,
        /// How it sounds.
        #[arg(default = Style::Plain)]
        style: Style,
        /// What comes before the name.
        title: Option<String>,
    ) -> String {
        shapes::greeting(&name, times, style, title.as_deref())
    }

    /// Measures points.
    #[tool(read_only)]
    fn measure(
        /// At least one.
        #[schemars(length(min = 1))]
        points: Vec<Point>,
        /// Weights by name.
        weights: Weights,
        /// The unit.
        #[arg(default = 0.5)]
        #[schemars(range(min = 0.25))]
        scale: f64,
        /// Whether to name the first point.
        #[arg(default)]
        named: bool,
    ) -> Measured {
        shapes::measure(points, &weights, scale, named)
    }

    /// Returns content of every kind.
    #[tool]
    fn contents() -> Vec<Content> {
        shapes::contents()
    }

    /// Says what the call is told of itself.
    #[tool]
    fn context(ctx: &Context) -> String {
        let mark = ctx.correlation_id.as_deref().unwrap_or("nothing");
        let key = ctx.idempotency_key.as_deref().unwrap_or("nothing");
        format!("{}, {mark}, {key}, {}", ctx.principal, ctx.deadline_ms > 0)
    }

    /// Sends parts while it runs.
    #[tool]
    fn stream(
        /// How many.
        #[schemars(range(min = 1, max = 9))]
        count: i64,
    ) -> Result<String, ToolError> {
        let mut last = 0;
        for part in 1..=count {
            log::info!("polyglot sends part {part}");
            last = output::emit(format!("part {part}"))?;
            progress::report_with(part as f64, Some(count as f64), format!("sent {part}"));
        }
        let aside = Content::text("for you alone").for_role(portcullis_guest::Role::User).priority(0.5);
        let both = output::emit_all([aside, Content::text("the end")])?;
        Ok(format!("{last} {both}"))
    }

    /// Fails in the way that is asked for.
    #[tool]
    fn fail(how: Failure) -> Result<ToolResult, ToolError> {
        shapes::fail(how)
    }

    /// Takes an order.
    #[tool]
    fn order() -> Result<String, ToolError> {
        asking::order()
    }

    /// Asks for a yes.
    #[tool(destructive)]
    fn confirm() -> Result<String, ToolError> {
        asking::confirm()
    }

    /// Asks the model.
    #[tool]
    fn complete(question: String) -> Result<String, ToolError> {
        asking::complete(question)
    }

    /// Calls a tool of the agent.
    #[tool]
    fn delegate(
        tool: String,
        path: Option<String>,
        /// A number, or what the tool refuses.
        n: Option<String>,
    ) -> Result<String, ToolError> {
        outside::delegate(&tool, path, n)
    }

    /// Keeps values.
    #[tool]
    fn keep(action: Action, key: String, value: Option<String>) -> Result<String, ToolError> {
        outside::keep(action, &key, value)
    }

    /// Fetches a page.
    #[tool(open_world)]
    fn fetch(path: String, body: Option<String>) -> Result<Fetched, ToolError> {
        outside::fetch(&path, body)
    }

    /// Marches as it is told.
    #[tool(execution = "task-only")]
    fn march(#[schemars(range(min = 1, max = 9))] steps: i64) -> Result<String, ToolError> {
        long::march(steps)
    }

    /// Listens for a moment.
    #[tool]
    fn listen() -> String {
        long::listen()
    }

    /// Calls tools of the agent at once.
    #[tool]
    fn gather(tools: Vec<String>) -> String {
        outside::gather(tools)
    }

    /// Explains a word, with a tool for the model.
    #[tool]
    fn explain(word: String) -> Result<String, ToolError> {
        sampling::explain(word)
    }

    /// Asks several questions at once.
    #[tool]
    fn interview() -> Result<String, ToolError> {
        asking::interview()
    }

    /// Asks to open a page.
    #[tool]
    fn visit() -> Result<String, ToolError> {
        asking::visit()
    }

    /// Uses an account.
    #[tool]
    fn account(path: String, body: Option<String>) -> Result<String, ToolError> {
        outside::account(&path, body)
    }

    /// Leaves something behind.
    #[tool]
    fn leave(action: Trace, path: String, text: Option<String>) -> Result<String, ToolError> {
        leaving::leave(action, &path, text.unwrap_or_default())
    }

    /// Announces an event.
    #[tool]
    fn announce(
        name: String,
        text: String,
        /// Announced only once.
        key: Option<String>,
    ) -> Result<String, ToolError> {
        leaving::announce(&name, &text, key.as_deref())
    }

    /// Says whether anything is left.
    #[tool]
    fn budget() -> String {
        long::budget()
    }

    /// Uses files.
    #[tool]
    fn files(action: Deed, path: String, text: Option<String>) -> Result<String, ToolError> {
        files::files(action, &path, text.unwrap_or_default())
    }

    /// Reads a variable.
    #[tool]
    fn variable(name: String) -> String {
        std::env::var(name).unwrap_or_else(|_| "nothing".into())
    }

    /// Reserves a place.
    #[tool(execution = "may-run-long")]
    fn reserve(name: String) -> Result<String, ToolError> {
        doubt::reserve(&name)
    }

    #[reconcile]
    fn find_out(doubt: &Doubt<'_>) -> Verdict {
        doubt::find_out(doubt)
    }

    /// What this plugin is.
    #[resource(uri = "polyglot://about", mime_type = "text/plain")]
    fn about() -> &'static str {
        "One plugin, many languages."
    }

    /// A word.
    #[resource_template(uri_template = "polyglot://word/{word}", mime_type = "application/json")]
    fn word(#[arg(complete = ["alpha", "Alps", "beta"])] word: String) -> Result<Option<Json<Word>>, ToolError> {
        shapes::word(word)
    }

    /// Reviews code.
    #[prompt(title = "Review")]
    fn review(
        /// Such as `rust`.
        #[arg(complete = ["go", "python", "ruby", "rust"])]
        language: String,
        #[arg(complete = focuses)] focus: Option<String>,
    ) -> Vec<PromptMessage> {
        let focus = focus.unwrap_or_else(|| "everything".into());
        vec![
            PromptMessage::user(format!("Review this {language}, above all {focus}.")),
            PromptMessage::assistant("Show it to me."),
        ]
    }

    fn focuses(typed: &Typed<'_>) -> Vec<String> {
        match typed.other("language") {
            Some("rust") => typed.matching(["borrowing", "speed"]),
            _ => typed.matching(["speed", "style"]),
        }
    }
}
