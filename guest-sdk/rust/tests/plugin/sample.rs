//! A plugin with everything the attribute offers.

#[portcullis_guest::plugin(
    name = "sample",
    version = "1.2.3",
    description = "A \"sample\".",
    survive = "power-loss",
    requests(filesystem = "read", agent_tools = ["notes.add", "web.*"]),
)]
pub(crate) mod plugin {
    use std::fmt;

    use portcullis_guest::{Content, Context, Denial, Role, ToolError, ToolResult};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(crate) struct Point {
        x: i32,
        y: i32,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    pub(crate) enum Shape {
        Dot,
        Circle { radius: u32 },
    }

    #[derive(Debug)]
    pub(crate) struct Plain;

    impl fmt::Display for Plain {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("plain failure")
        }
    }

    /// First line
    /// and second.
    ///
    /// Second paragraph.
    ///
    /// # Errors
    /// Not for models.
    #[tool(
        title = "All of it",
        name = "all-of-it",
        read_only,
        destructive = false,
        open_world = false,
        execution = "may-run-long"
    )]
    fn all(
        ctx: &Context,
        /// Where.
        at: Point,
        /** Many of them. */
        names: Vec<String>,
        depth: Option<u32>,
        #[arg(default = 2 + 3)]
        #[schemars(range(min = 1))]
        times: usize,
        #[arg(default)] r#type: String,
    ) -> Point {
        assert_eq!((ctx.principal.as_str(), names.len(), depth), ("local", 1, None));
        Point { x: at.x + i32::try_from(times).unwrap(), y: at.y + i32::try_from(r#type.len()).unwrap() }
    }

    /// Nothing in, nothing out.
    #[tool]
    fn nothing() {}

    /// An enum of objects.
    #[tool]
    fn shape(round: bool) -> Shape {
        if round { Shape::Circle { radius: 1 } } else { Shape::Dot }
    }

    /// A list is JSON text without a schema.
    #[tool]
    fn list() -> Vec<Point> {
        vec![Point { x: 1, y: 2 }]
    }

    /// Any content.
    #[tool]
    fn content() -> Vec<Content> {
        vec![Content::text("a").for_role(Role::User).priority(0.5), Content::image("image/png", vec![1])]
    }

    /// A result by hand.
    #[tool]
    fn by_hand() -> ToolResult {
        ToolResult::error(vec![Content::text("no")])
    }

    /// Any error with a text.
    #[tool]
    fn plain_error() -> Result<(), Plain> {
        Err(Plain)
    }

    /// A typed error, and `?` on others.
    #[tool]
    fn typed_error(kind: String) -> Result<Point, ToolError> {
        match kind.as_str() {
            "denied" => Err(Denial { remedy: "ask".into(), ..Denial::new("filesystem", "/x") }.into()),
            "io" => Err(std::io::Error::other("disk on fire"))?,
            other => Err(format!("no {other}"))?,
        }
    }

    /// An alias of Result with one parameter.
    #[tool]
    fn alias() -> std::io::Result<Point> {
        Ok(Point { x: 0, y: 0 })
    }

    // Not a tool: helpers may live in the module.
    pub(crate) fn helper() -> u32 {
        7
    }
}
