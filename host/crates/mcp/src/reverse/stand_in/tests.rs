//! Invalid files, and the answers of models and users.

use super::tool::{ANSWER_TOOL, StandInTool};
use super::tools::{MAX_TOOLS, StandInTools};
use runtime::imports::{
    Abilities, Ability, AgentError, AgentResult, Consent, Content, Origin, Role, SampleAnswer, SampleContent, ToolUse,
};
use serde_json::{Value, json};

fn tool(output: Value) -> StandInTool {
    let mut tool = json!({ "name": "calendar.free", "description": "Free time.", "inputSchema": { "type": "object" } });
    if !output.is_null() {
        tool["outputSchema"] = output;
    }
    StandInTool::new(serde_json::from_value(tool).unwrap()).unwrap()
}

fn flat_schema() -> Value {
    json!({ "type": "object", "properties": { "hour": { "type": "integer" } }, "required": ["hour"] })
}

fn nested_schema() -> Value {
    json!({ "type": "object", "properties": { "at": { "type": "object" } }, "required": ["at"] })
}

fn model_answer(tool: &StandInTool, input: &str) -> Result<AgentResult, AgentError> {
    let tool_use = ToolUse { id: "1".into(), name: ANSWER_TOOL.into(), input: input.into() };
    let content = vec![SampleContent::Text("hm".into()), SampleContent::ToolUse(tool_use)];
    tool.parse_model_answer(SampleAnswer { role: Role::Assistant, content, model: "m".into(), stop_reason: None })
}

#[test]
fn invalid_files_are_refused() {
    let tool = |name: &str| json!({ "name": name, "description": "", "inputSchema": { "type": "object" } });
    let mut invalid = tool("invalid");
    invalid["outputSchema"] = json!({ "type": 7 });
    let many: Vec<Value> = (0..=MAX_TOOLS).map(|number| tool(&number.to_string())).collect();
    for (file, part) in [
        (json!({}), "list"),
        (json!([{ "name": "a" }]), "inputSchema"),
        (json!([tool("a"), tool("a")]), "two tools are named `a`"),
        (json!([tool("a b")]), "not a valid tool name"),
        (json!([invalid]), "outputSchema"),
        (json!(many), "more than 128"),
    ] {
        let error = StandInTools::parse(&file.to_string()).err().unwrap();
        assert!(error.contains(part), "{error}");
    }
    let tools = StandInTools::parse(&json!([tool("b"), tool("a")]).to_string()).unwrap();
    let form = Abilities { form: true, ..Abilities::default() };
    let both = form.with(Ability::SampleTools);
    assert_eq!(tools.tools(Abilities::default()).count(), 0);
    assert_eq!(tools.tools(form).map(|found| found.origin).collect::<Vec<_>>(), [Origin::User, Origin::User]);
    assert_eq!((tools.find("a", both), tools.find("c", both)), (Some(Origin::Model), None));
}

#[test]
fn a_model_must_answer_with_its_tool() {
    let plain = tool(Value::Null);
    let result = model_answer(&plain, r#"{"text":"at ten"}"#).unwrap();
    let expected = (vec![Content::text("at ten")], None, Origin::Model);
    assert_eq!((result.content, result.structured, result.origin), expected);
    assert!(matches!(model_answer(&plain, "{}"), Err(AgentError::Failed(_))));
    let structured = tool(nested_schema());
    assert_eq!(model_answer(&structured, r#"{"at":{}}"#).unwrap().structured.as_deref(), Some(r#"{"at":{}}"#));
    assert!(matches!(model_answer(&structured, r#"{"at":7}"#), Err(AgentError::Failed(_))));
    let empty = SampleAnswer { role: Role::Assistant, content: vec![], model: "m".into(), stop_reason: None };
    assert!(matches!(structured.parse_model_answer(empty), Err(AgentError::Failed(_))));
}

#[test]
fn a_user_fills_in_a_form() {
    let accept = |tool: &StandInTool, content: Value| tool.parse_user_answer(Consent::Accept, Some(content));
    let flat = tool(flat_schema());
    assert_eq!(accept(&flat, json!({ "hour": 10 })).unwrap().structured.as_deref(), Some(r#"{"hour":10}"#));
    assert!(matches!(accept(&flat, json!({ "hour": "ten" })), Err(AgentError::Failed(_))));
    assert!(matches!(flat.parse_user_answer(Consent::Decline, None), Err(AgentError::Declined(_))));
    let nested = tool(nested_schema());
    let result = accept(&nested, json!({ "text": "at ten" })).unwrap();
    assert_eq!((result.content, result.structured), (vec![Content::text("at ten")], None));
    let result = accept(&nested, json!({ "text": r#"{"at":{}}"# })).unwrap();
    assert_eq!((result.structured.as_deref(), result.origin), (Some(r#"{"at":{}}"#), Origin::User));
}
