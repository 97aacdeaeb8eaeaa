//! A function as a tool: its name, its schemas and its description.

use super::docs::Docs;
use super::function::PlainFunction;
use super::schema::{Direction, SchemaWriter};
use super::types::Ty;
use crate::imports::{Execution, Tool, ToolAnnotations, check_schema_extent};
use serde_json::Value;

/// The member of a structured result under which a value stands that is no object by itself.
pub(super) const RESULT: &str = "result";

/// The name of the tool. Names of WIT have letters, digits and `-`, as those of tools may.
pub(super) fn name(interface: Option<&str>, function: &str) -> String {
    interface.map_or_else(|| function.to_owned(), |interface| format!("{interface}-{function}"))
}

/// Added to the descriptions of a component that seems to keep something in its memory.
const FRESH_MEMORY: &str = "Each call begins with fresh memory: what an earlier call has set there is gone.";

/// `keeps_state` is whether the component has functions that are called for what they change.
pub(super) fn describe(
    name: &str,
    function: &PlainFunction,
    text: Option<&str>,
    keeps_state: bool,
    docs: Docs<'_>,
) -> Tool {
    let mut description = text.map_or_else(|| format!("The function `{}`.", function.full_name()), str::to_owned);
    if keeps_state {
        description = format!("{description}\n\n{FRESH_MEMORY}");
    }
    Tool {
        name: name.to_owned(),
        title: None,
        description,
        input_schema: input_schema(function, docs).to_string(),
        output_schema: output_schema(function, docs).map(|schema| schema.to_string()),
        annotations: ToolAnnotations::default(),
        execution: Execution::Inline,
        icons: vec![],
    }
}

/// Checks that the schemas are not too large; the error is the end of a sentence about the function.
pub(super) fn check_schemas(function: &PlainFunction) -> Result<(), String> {
    let check = |which: &str, schema: &Value| {
        let refused = |error| format!("would have an {which} schema that is refused: {error}");
        check_schema_extent(schema, schema.to_string().len()).map_err(refused)
    };
    check("input", &input_schema(function, Docs::none()))?;
    output_schema(function, Docs::none()).map_or(Ok(()), |schema| check("output", &schema))
}

fn input_schema(function: &PlainFunction, docs: Docs<'_>) -> Value {
    let writer = SchemaWriter { side: Direction::Input, docs };
    writer.object(function.params.iter().map(|(name, ty)| (name.as_str(), ty)))
}

fn output_schema(function: &PlainFunction, docs: Docs<'_>) -> Option<Value> {
    let writer = SchemaWriter { side: Direction::Output, docs };
    Some(match function.ok.as_ref()? {
        record @ Ty::Record(_) => writer.schema(record),
        other => writer.object(std::iter::once((RESULT, other))),
    })
}
