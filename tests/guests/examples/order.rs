//! Takes orders: each is one line at the end of `/work/orders`, so one can count what was done. `how` says what comes with it:
//! `wait MS` after the line, `ask` before it, `gate` before it or `held` after it until there is the file `/work/gate`, `large BYTES` of
//! result, `fail`, `invalid`, `spin`, or `chunk MS` with a chunk after that time. The tool `only` is called as a task only.

use guests::client::{self, Form, FormAnswer};
use guests::{CallContext, Execution, Guest, Outcome, Tool, ToolError, failed, output, text};
use std::io::Write as _;
use std::time::Duration;

guests::manifest!(
    r#"{"name":"order","version":"0.1.0","description":"","requests":{"filesystem":"write","client":{"form":true}}}"#
);

const SCHEMA: &str =
    r#"{"type":"object","properties":{"order_id":{},"how":{"type":"string"}},"additionalProperties":false}"#;
const OK: &str = r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;
const ORDERS: &str = "/work/orders";

struct Order;

impl Guest for Order {
    fn list_tools() -> Vec<Tool> {
        let tool = |name: &str, execution| Tool { input_schema: SCHEMA.into(), execution, ..guests::tool(name, None) };
        vec![tool("buy", Execution::Inline), tool("only", Execution::TaskOnly), tool("sell", Execution::Inline)]
    }

    fn call_tool(context: CallContext, _: String, arguments: String) -> Outcome {
        let given: serde_json::Value = serde_json::from_str(&arguments).map_err(failed)?;
        let how = given["how"].as_str().unwrap_or_default();
        let (how, number) = how.split_once(' ').unwrap_or((how, "0"));
        let number: usize = number.parse().map_err(failed)?;
        let wait = || std::thread::sleep(Duration::from_millis(number as u64));
        if how == "ask" {
            let form = Form { message: "Really?".into(), schema: OK.into() };
            match client::elicit_form(Some("ok"), &form).map_err(|error| failed(format!("{error:?}")))? {
                FormAnswer::Accepted(_) => {}
                FormAnswer::Declined | FormAnswer::Cancelled => return Err(failed("declined")),
            }
        }
        let hold = || {
            while !std::path::Path::new("/work/gate").exists() {
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        if how == "gate" {
            hold();
        }
        let key = context.idempotency_key.unwrap_or_else(|| "none".into());
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(ORDERS).map_err(failed)?;
        file.write_all(format!("{key}\n").as_bytes()).map_err(failed)?;
        match how {
            "wait" => wait(),
            "held" => hold(),
            "chunk" => {
                wait();
                output::emit(&[text("a chunk")]).map_err(|error| failed(format!("{error:?}")))?;
            }
            "spin" => loop {
                std::hint::spin_loop();
            },
            "fail" => return Err(failed("told to fail")),
            "invalid" => return Err(ToolError::InvalidArguments("told so".into())),
            _ => {}
        }
        let orders = std::fs::read_to_string(ORDERS).map_err(failed)?.lines().count();
        let large = if how == "large" { "x".repeat(number) } else { String::new() };
        Ok(format!("order {orders} under {key}{large}").into())
    }
}

guests::bindings::export!(Order with_types_in guests::bindings);
