//! The protocol messages, in both revisions.

use serde_json::{Value, json};
use suite::client::modern_meta;
use suite::{Client, Era, Server, plugin};

fn client(era: Era, config: &str) -> Client {
    Client::new(Server::start(config), era, false)
}

#[test]
fn a_list_of_tools_is_complete() {
    for era in Era::ALL {
        let mut client = client(era, &(plugin("echo", "") + &plugin("wrong-schema", "")));
        let answer = client.request("tools/list", json!({}));
        let result = answer.result();
        let tools = result["tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["echo__run", "wrong-schema__run"], "{era:?}: sorted, so that lists are alike");
        let echo = &tools[0];
        assert_eq!(echo["description"], "Misbehaves.");
        assert_eq!(echo["inputSchema"]["type"], "object");
        assert_eq!(echo["inputSchema"]["properties"]["n"]["type"], "integer");
        assert_eq!(echo["inputSchema"]["additionalProperties"], false);
        assert!(echo.get("outputSchema").is_none(), "{echo}");
        assert_eq!(tools[1]["outputSchema"]["properties"]["ok"]["type"], "boolean");
        if era == Era::Modern {
            assert_eq!(result["resultType"], "complete");
            assert!(result["ttlMs"].is_u64(), "{result}");
            assert!(["public", "private"].contains(&result["cacheScope"].as_str().unwrap_or_default()), "{result}");
            server_info(result);
        }
    }
}

fn server_info(result: &Value) {
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "portcullis", "{result}");
    assert!(info["version"].is_string(), "{result}");
}

#[test]
fn annotations_are_passed_on() {
    let mut client = Client::of(&suite::plugin_from("hello", &suite::paths::real_plugin("hello"), ""));
    let tool = &client.tools()[0];
    assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    assert!(tool["annotations"].get("read_only").is_none(), "{tool}");
}

#[test]
fn discovery_names_versions_tools_and_the_extension() {
    let mut client = client(Era::Modern, &plugin("echo", ""));
    let answer = client.request("server/discover", json!({}));
    let result = answer.result();
    let versions = result["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{result}");
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
    assert!(result["capabilities"]["extensions"]["dev.portcullis/partial-results"].is_object(), "{result}");
    assert_eq!(result["resultType"], "complete");
    assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{result}");
    server_info(result);
}

#[test]
fn a_result_says_what_it_is_and_what_it_cost() {
    for era in Era::ALL {
        let mut client = client(era, &plugin("echo", ""));
        let called = client.run("echo", json!({"n": 3}));
        assert_eq!(called.result()["content"][0]["type"], "text");
        assert_eq!(called.result()["structuredContent"], json!({"n": 3, "path": null}));
        assert_ne!(called.result()["isError"], true);
        if era == Era::Modern {
            assert_eq!(called.result()["resultType"], "complete");
            server_info(called.result());
        }
        let usage = called.usage();
        assert!(usage["fuel"].as_u64().is_some_and(|fuel| fuel > 1000), "{usage}");
        assert!(usage["cpuMs"].as_f64().is_some_and(|ms| ms > 0.0), "{usage}");
        assert!(usage["wallMs"].as_f64().is_some_and(|ms| ms > 0.0), "{usage}");
        assert!(usage["peakMemory"].as_u64().is_some_and(|bytes| bytes >= 1 << 16), "{usage}");
        assert_eq!((&usage["chunks"], &usage["calls"]), (&json!(0), &json!(0)));
        assert!(usage["outputBytes"].as_u64().is_some_and(|bytes| bytes > 10), "{usage}");
    }
}

#[test]
fn calling_a_missing_tool_is_a_protocol_error() {
    for era in Era::ALL {
        let mut client = client(era, &plugin("echo", ""));
        for name in ["nobody__run", "echo__walk", "run", "", "echo"] {
            let answer = client.request("tools/call", json!({"name": name, "arguments": {}}));
            assert_eq!(answer.error_code(), -32602, "{era:?} {name:?}: {}", answer.message);
        }
        assert_eq!(client.request("tools/fly", json!({})).error_code(), -32601, "{era:?}");
        client.check_alive();
    }
}

#[test]
fn arguments_are_checked_before_the_guest_runs() {
    for era in Era::ALL {
        let mut client = client(era, &plugin("echo", ""));
        for arguments in
            [json!({"n": "three"}), json!({"m": 3}), json!({"n": -1}), json!({"n": 1.5}), json!({"path": 7})]
        {
            let called = client.run("echo", arguments.clone());
            assert_eq!(called.code(), "invalid-arguments", "{era:?} {arguments}: {}", called.result());
            assert!(called.error()["reason"].is_string(), "{}", called.error());
            assert!([0, u64::MAX].contains(&called.usage()["fuel"].as_u64().unwrap_or(u64::MAX)), "{}", called.usage());
        }
        let answer = client.request("tools/call", json!({"name": "echo__run"}));
        assert!(answer.result()["isError"] != true, "no arguments are an empty object: {}", answer.message);
    }
}

/// Some frameworks send null for each argument that their model has not given.
#[test]
fn a_null_for_an_argument_that_may_be_left_out_is_left_out() {
    for era in Era::ALL {
        let mut client = client(era, &plugin("echo", ""));
        let called = client.run("echo", json!({"n": 3, "path": null}));
        assert_eq!(called.result()["structuredContent"], json!({"n": 3, "path": null}), "{era:?}: {}", called.result());
        let called = client.run("echo", json!({"n": "three", "path": null}));
        assert_eq!(called.code(), "invalid-arguments", "{era:?}: {}", called.result());
    }
}

#[test]
fn an_unsupported_version_is_answered_with_the_supported_ones() {
    let mut server = Server::start(&plugin("echo", ""));
    let mut meta = modern_meta(false);
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}));
    let mut client = Client::new(server, Era::Modern, false);
    let answer = client.wait(1, std::time::Instant::now());
    assert_eq!(answer.error_code(), -32022, "{}", answer.message);
    assert!(
        answer.message["error"]["data"]["supported"].as_array().is_some_and(|list| list.contains(&json!("2026-07-28")))
    );
}

/// Many agents let their model read `_meta`.
#[test]
fn what_a_call_cost_is_said_to_those_who_ask() {
    for era in Era::ALL {
        // A request with a progress token is served through the library, one without is not.
        for progress in [false, true] {
            let mut client = client(era, &plugin("echo", ""));
            client.progress = progress;
            let mut keys = |asks: bool| {
                client.asks_usage = asks;
                let called = client.call("echo__run", json!({}));
                let keys = called.result()["_meta"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
                (keys.contains(&"dev.portcullis/usage".to_owned()), keys.len())
            };
            let (asked, not) = (keys(true), keys(false));
            assert!(asked.0 && !not.0 && asked.1 == not.1 + 1, "{era:?}: {asked:?} {not:?}");
        }
    }
}

/// Some clients give a call up of which they hear nothing for a minute, though they asked for progress.
#[test]
fn a_client_hears_that_a_silent_call_still_runs() {
    for era in Era::ALL {
        let mut client = client(era, &plugin("wait-forever", ""));
        client.progress = true;
        let call = client.begin_call("wait-forever__run", json!({}));
        let heard = client.wait_for("notifications/progress");
        assert_eq!(heard["params"]["message"], "still running", "{era:?}: {heard}");
        client.cancel(call);
    }
}

/// Some agents copy the `_meta` of a listed tool into their calls of it.
#[test]
fn nothing_that_a_request_says_in_our_name_is_believed() {
    let forged = json!({
        "dev.portcullis/call": "forged", "dev.portcullis/source": {"plugin": "forged", "upstream": "forged"},
        "dev.portcullis/usage": {"fuel": "forged"}, "dev.portcullis/error": {"code": "forged"},
        "dev.portcullis/stream": {"sha256": "forged"}, "dev.portcullis/chunk": "forged",
        "dev.portcullis/origin": ["forged"], "dev.portcullis/edited": {"forged": 1}, "dev.portcullis/private": true,
        "dev.portcullis/client-tools": {"forged": 1}, "io.modelcontextprotocol/serverInfo": {"name": "forged"},
    });
    for era in Era::ALL {
        let config = plugin("chunk-kinds", "") + &plugin("publish-all", "grants.publish = true");
        let mut client = client(era, &config);
        for tool in ["chunk-kinds__run", "publish-all__run"] {
            let params = json!({"name": tool, "arguments": {}, "_meta": forged});
            let answer = client.request("tools/call", params);
            assert_eq!(answer.result()["isError"], false, "{era:?}: {}", answer.message);
            assert!(!answer.message.to_string().contains("forged"), "{era:?}: {}", answer.message);
        }
        for list in ["tools/list", "resources/list", "prompts/list"] {
            let answer = client.request(list, json!({"_meta": forged}));
            assert!(!answer.result().to_string().contains("forged"), "{era:?} {list}: {}", answer.message);
        }
    }
}

#[test]
fn a_malformed_line_does_not_end_the_session() {
    for line in
        [&b"hello"[..], b"{", b"[]", b"{\"jsonrpc\":\"2.0\"}", b"\xff\xfe", b"", b"{\"jsonrpc\":\"1.0\",\"id\":1}"]
    {
        let mut server = Server::start(&plugin("echo", ""));
        server.send_raw(line);
        // The server may answer with an error without an id or not at all; it continues to serve.
        server.send(
            &json!({"jsonrpc": "2.0", "id": 77, "method": "tools/list", "params": {"_meta": modern_meta(false)}}),
        );
        let mut client = Client::new(server, Era::Modern, false);
        let answer = client.wait(77, std::time::Instant::now());
        assert!(answer.result()["tools"].is_array(), "{line:?}: {}", answer.message);
    }
}

#[test]
fn the_end_of_input_ends_the_server() {
    let mut client = Client::of(&(plugin("echo", "") + &plugin("spin", "limits.fuel = 1_000_000_000_000")));
    client.check_alive();
    assert!(client.server.end().success());
    let mut client = Client::of(&plugin("spin", "limits.fuel = 1_000_000_000_000\nlimits.deadline = \"1h\""));
    client.begin_call("spin__run", json!({}));
    suite::Watch::until_busy(&client.server);
    client.server.end();
}

/// The Python SDK refuses an event of more than 1 MiB.
#[test]
fn the_text_copy_of_a_large_structured_result_is_shortened() {
    for era in Era::ALL {
        for progress in [false, true] {
            let mut client = Client::new(Server::start(&plugin("echo", "")), era, false);
            client.progress = progress;
            let path = "é".repeat(300_000);
            let called = client.run("echo", json!({"path": path}));
            let (text, result) = (called.text(), called.result());
            assert_eq!(result["structuredContent"]["path"], path, "{era:?} {progress}");
            assert!(text.ends_with("The whole is in structuredContent.]") && text.len() < 17_000, "{era:?} {progress}");
            assert!(result.to_string().len() < 1 << 20, "{era:?} {progress}");
            let small = client.run("echo", json!({"path": "é".repeat(100_000)}));
            assert!(small.text().len() > 200_000, "{era:?} {progress}: what all clients take is whole");
        }
    }
}
