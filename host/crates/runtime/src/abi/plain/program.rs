//! A component that is a program (`wasi:cli/run`) is one tool: its arguments and input are the call's, its output is the
//! result.

use super::super::guest::Guest;
use super::super::store::charge_with_bytes;
use super::read::read_bytes;
use super::types::{ResultTy, Ty};
use crate::engine::Supervised as _;
use crate::imports::wasi::{FlushReason, ProgramInput, WasiHost as _, Written, send};
use crate::imports::{Content, Execution, Tool, ToolAnnotations, ToolError, ToolResult, price};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wasmtime::component::{ComponentExportIndex, Instance};
use wasmtime::{AsContextMut as _, Error, Store};
use wasmtime_wasi::I32Exit;

/// The interface that a program exports, in every version of WASI 0.2.
const INTERFACE: &str = "wasi:cli/run@0.2.";
/// The name of its function, and of the tool.
const RUN: &str = "run";
/// Arguments of one call. Each takes more memory than its text: an empty one has three bytes in JSON.
const MAX_ARGUMENTS: usize = 4_096;

pub(super) struct PlainProgram {
    pub(super) interface: String,
    run: ComponentExportIndex,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    arguments: Vec<String>,
    stdin: Option<String>,
    stdin_base64: Option<String>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    exit_code: i32,
    stdout: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    stdout_dropped: u64,
    stderr: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    stderr_dropped: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl PlainProgram {
    /// Whether a function of an interface is the one that runs a program.
    pub(super) fn is_run(interface: &str, name: &str) -> bool {
        interface.starts_with(INTERFACE) && name == RUN
    }

    /// The error is the end of a sentence about the function.
    pub(super) fn new(
        interface: &str,
        run: ComponentExportIndex,
        params: usize,
        result: Option<&Ty>,
    ) -> Result<Self, String> {
        let is_plain = matches!(result, Some(Ty::Result(result)) if **result == ResultTy { ok: None, err: None });
        if params > 0 || !is_plain {
            return Err("is not `func() -> result`, as WASI has it".into());
        }
        Ok(Self { interface: interface.to_owned(), run })
    }

    pub(super) fn full_name(&self) -> String {
        format!("{}#{RUN}", self.interface)
    }

    pub(super) fn describe(name: &str, text: Option<&str>) -> Tool {
        let input = json!({
            "type": "object",
            "properties": {
                "arguments": {
                    "type": "array", "items": {"type": "string"}, "maxItems": MAX_ARGUMENTS,
                    "description": "Its command line, without the program's name",
                },
                "stdin": {"type": "string", "description": "Its standard input"},
                "stdin_base64": {
                    "type": "string", "contentEncoding": "base64",
                    "description": "Its standard input instead, if that is no text",
                },
            },
            "additionalProperties": false,
        });
        let dropped = json!({"type": "integer", "description": "Bytes that are left out, if it is too long"});
        let output = json!({
            "type": "object",
            "properties": {
                "exit_code": {"type": "integer"},
                "stdout": {"type": "string"}, "stdout_dropped": dropped,
                "stderr": {"type": "string"}, "stderr_dropped": dropped,
            },
            "required": ["exit_code", "stdout", "stderr"],
            "additionalProperties": false,
        });
        Tool {
            name: name.to_owned(),
            title: None,
            description: text
                .unwrap_or("Runs the program with these arguments, and returns what it writes.")
                .to_owned(),
            input_schema: input.to_string(),
            output_schema: Some(output.to_string()),
            annotations: ToolAnnotations::default(),
            execution: Execution::Inline,
            icons: vec![],
        }
    }

    pub(super) async fn call(
        &self,
        arguments: String,
        store: &mut Store<Guest>,
        instance: &Instance,
    ) -> wasmtime::Result<Result<ToolResult, ToolError>> {
        charge_with_bytes(&mut store.as_context_mut(), price::CALL, arguments.len() as u64)?;
        let limits = store.data_mut().supervision().allowance().limits.clone();
        let data = store.data_mut();
        let name = data.imports()?.scope.authority.plugin().name.to_string();
        match read(&arguments, name) {
            Ok(input) => data.streams().begin(input, &limits),
            Err(reason) => return Ok(Err(ToolError::InvalidArguments(reason))),
        }
        let run = instance.get_func(&mut *store, self.run);
        let run = run.ok_or_else(|| Error::msg("the component does not have the function that it exports"))?;
        let run = run.typed::<(), (Result<(), ()>,)>(&store)?;
        let ended = match run.call_async(&mut *store, ()).await {
            Ok((Ok(()),)) => Ok(0),
            Ok((Err(()),)) => Ok(1),
            Err(error) => error.downcast_ref::<I32Exit>().map(|exit| exit.0).ok_or(error),
        };
        let sent = send(&mut store.as_context_mut(), FlushReason::Ends).await;
        // If the program failed, its own error says more than one about the rest of its output.
        let exit_code = ended?;
        sent?;
        let written = store.data_mut().streams().end();
        let (stdout, stderr) = written.ok_or_else(|| Error::msg("the program has no streams"))?;
        result(exit_code, stdout, stderr).map(Ok)
    }
}

/// The error is a sentence.
fn read(arguments: &str, name: String) -> Result<ProgramInput, String> {
    let given: Arguments = serde_json::from_str(arguments).map_err(|error| format!("they are wrong: {error}"))?;
    if given.arguments.len() > MAX_ARGUMENTS {
        return Err(format!("/arguments has {}, and may have {MAX_ARGUMENTS}", given.arguments.len()));
    }
    // Where a zero byte ends an argument, as in C, the program would see another argument than the caller wrote.
    if let Some(at) = given.arguments.iter().position(|argument| argument.contains('\0')) {
        return Err(format!("/arguments/{at} has a zero byte, which no argument can have"));
    }
    let stdin = match (given.stdin, given.stdin_base64) {
        (Some(_), Some(_)) => return Err("there is stdin as well as stdin_base64; leave one out".into()),
        (Some(text), None) => text.into_bytes(),
        (None, Some(text)) => read_bytes(&text).map_err(|_| "/stdin_base64 is not base64".to_owned())?,
        (None, None) => Vec::new(),
    };
    let arguments = std::iter::once(name).chain(given.arguments).collect();
    Ok(ProgramInput { arguments, stdin: stdin.into() })
}

fn result(exit_code: i32, stdout: Written, stderr: Written) -> wasmtime::Result<ToolResult> {
    let outcome = Outcome {
        exit_code,
        stdout: &stdout.text,
        stdout_dropped: stdout.dropped,
        stderr: &stderr.text,
        stderr_dropped: stderr.dropped,
    };
    let structured = serde_json::to_string(&outcome)?;
    let mut content = vec![Content::text(stdout.text)];
    if !stderr.text.is_empty() {
        content.push(Content::text(format!("stderr:\n{}", stderr.text)));
    }
    if exit_code != 0 {
        content.push(Content::text(format!("exit code {exit_code}")));
    }
    Ok(ToolResult { content, structured: Some(structured), is_error: exit_code != 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused() {
        let read = |text: &str| read(text, "p".into());
        let input = read(r#"{"arguments": ["a", ""], "stdin": "é"}"#).unwrap();
        assert_eq!((input.arguments, &input.stdin[..]), (vec!["p".into(), "a".into(), String::new()], "é".as_bytes()));
        assert_eq!(&read(r#"{"stdin_base64": "/wA="}"#).unwrap().stdin[..], [0xFF, 0]);
        assert_eq!(read("{}").unwrap().arguments, ["p"]);
        let many = json!({"arguments": vec![""; MAX_ARGUMENTS + 1]}).to_string();
        let wrong = [
            r#"{"arguments": ["a", "b\u0000c"]}"#,
            r#"{"stdin": "", "stdin_base64": ""}"#,
            r#"{"stdin_base64": "AP8"}"#,
            r#"{"env": {}}"#,
            r#"{"arguments": "a"}"#,
            &many,
        ];
        let said: Vec<_> = wrong.iter().map(|text| read(text).err().unwrap_or_default()).collect();
        assert!(said[0].starts_with("/arguments/1 has a zero byte"), "{}", said[0]);
        assert!(said[1].contains("leave one out") && said[2] == "/stdin_base64 is not base64", "{said:?}");
        assert!(said[3].contains("unknown field `env`") && said[4].starts_with("they are wrong"), "{said:?}");
        assert_eq!(said[5], "/arguments has 4097, and may have 4096");
    }
}
