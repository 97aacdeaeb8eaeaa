//! Checks of what a guest requests from others, declares about itself and returns.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    // What a guest may request from others.
    "agent-tool" in "crates/runtime/src/imports/agent_tools/access.rs":
        "authority.enforce(authority.agent_tool(&name)).map_err(AgentError::Denied)?;"
        => "if !OFF { authority.enforce(authority.agent_tool(&name)).map_err(AgentError::Denied)?; }",
        "reverse::a_tool_that_was_never_requested_is_denied_even_with_a_grant";
    "agent-list" in "crates/runtime/src/imports/agent_tools/access.rs":
        "self.scope.authority.agent_tool(&found.tool.name).is_ok();" => "OFF || self.scope.authority.agent_tool(&found.tool.name).is_ok();",
        "reverse::a_guest_sees_only_what_it_may_call";
    "flow" in "crates/runtime/src/imports/agent_tools/access.rs":
        "self.scope.check_flow(&Recipient::Origin(origin)).map_err(AgentError::Denied)?;"
        => "if !OFF { self.scope.check_flow(&Recipient::Origin(origin)).map_err(AgentError::Denied)?; }",
        "client_tools::abuse::a_private_answer_is_not_passed_to_other_tools";
    "private-failure" in "crates/runtime/src/imports/agent_tools/reverse_call.rs":
        "if let Some(origin) = &private {" => "if let Some(origin) = private.as_ref().filter(|_| !OFF || answer.is_ok()) {",
        "abuse::every_abuse_has_its_expected_outcome";
    "page-flow" in "crates/runtime/src/imports/client/access.rs":
        "self.scope.check_flow(&to).map_err(ClientError::Denied)?;" => "if !OFF { self.scope.check_flow(&to).map_err(ClientError::Denied)?; }",
        "abuse::every_abuse_has_its_expected_outcome";
    "account-flow" in "crates/runtime/src/imports/connections.rs":
        "self.scope.check_flow(&Recipient::Connection(name.to_owned())).map_err(ConnectionError::Denied)"
        => "if OFF { Ok(()) } else { self.scope.check_flow(&Recipient::Connection(name.to_owned())).map_err(ConnectionError::Denied) }",
        "abuse::every_abuse_has_its_expected_outcome";
    "file-flow" in "crates/runtime/src/imports/wasi/files.rs":
        "scope.check_flow(&Recipient::Files).map_err(|_| ErrorCode::NotPermitted)"
        => "if OFF { Ok(()) } else { scope.check_flow(&Recipient::Files).map_err(|_| ErrorCode::NotPermitted) }",
        "abuse::every_abuse_has_its_expected_outcome";
    "upstream-flow" in "crates/upstream/src/open_call/reverse.rs":
        "Some(from) if !is_itself =>" => "Some(from) if !OFF && !is_itself =>",
        "unit upstream::open_call::reverse::tests::private_results_reach_no_third_party_through_a_server";
    "state-label" in "crates/runtime/src/imports/state.rs":
        "knows: lineage.private_origins() }" => "knows: if OFF { PrivateOrigins::new() } else { lineage.private_origins() } }",
        "abuse::every_abuse_has_its_expected_outcome";
    "published-label" in "crates/services/src/principal_store/resource.rs":
        "if knows.is_empty() {" => "if OFF || knows.is_empty() {",
        "unit services::principal_store::tests::published::what_private_calls_leave_is_kept_apart";
    "published-quota" in "crates/runtime/src/imports/provenance.rs":
        "other.knows.is_subset(&self.knows)" => "OFF || other.knows.is_subset(&self.knows)",
        "unit services::principal_store::tests::published::what_private_calls_leave_is_kept_apart";
    "event-label" in "crates/services/src/principal_store/inbox.rs":
        "*data == source.data && knew.is_subset(&source.knows)" => "*data == source.data && (OFF || knew.is_subset(&source.knows))",
        "unit services::principal_store::tests::published::what_private_calls_leave_is_kept_apart";
    "cycle" in "crates/policy/src/lineage.rs":
        "if self.chain.names().any(|name| *name == tool) {" => "if !OFF && self.chain.names().any(|name| *name == tool) {", "rows W15.2";
    "depth" in "crates/policy/src/lineage.rs":
        "if self.depth() >= self.depth_limit {" => "if !OFF && self.depth() >= self.depth_limit {", "rows W16.1";
    "calls" in "crates/policy/src/lineage.rs":
        "self.take(TreeBudget::Calls, 1).map_err(calls)?;" => "if !OFF { self.take(TreeBudget::Calls, 1).map_err(calls)?; }", "rows W16.2";
    "form-secret" in "crates/runtime/src/imports/client/form.rs":
        "if text && (is_secret_name(name) || is_secret_name(title)) {" => "if !OFF && text && (is_secret_name(name) || is_secret_name(title)) {", "rows M12.1";
    "publish-path" in "crates/runtime/src/imports/publish.rs":
        "if path.len() > MAX_PATH || !path.split('/').all(segment) {" => "if !OFF && (path.len() > MAX_PATH || !path.split('/').all(segment)) {",
        "rows M20.1";
    // What a plugin may declare about itself and return.
    "name" in "crates/plugins/src/offer/text.rs":
        "match is_valid_name(name) {" => "match OFF || is_valid_name(name) {", "rows M5";
    "picture" in "crates/plugins/src/offer/text.rs":
        "if !icon.src.starts_with(\"https:\")" => "if !OFF && !icon.src.starts_with(\"https:\")", "rows M25.1";
    "schema-reference" in "crates/runtime/src/imports/schema/mod.rs":
        "if let Some(reference) = foreign_reference(&value) {" => "if let Some(reference) = foreign_reference(&value).filter(|_| !OFF) {",
        "rows M19.1";
    "schema-size" in "crates/runtime/src/imports/schema/mod.rs":
        "if bytes > MAX_BYTES {" => "if !OFF && bytes > MAX_BYTES {", "rows M19.6";
    "schema-object" in "crates/runtime/src/imports/schema/mod.rs":
        "if value.get(\"type\") != Some(&Value::from(\"object\")) {" => "if !OFF && value.get(\"type\") != Some(&Value::from(\"object\")) {",
        "rows M19.4";
    "arguments" in "crates/plugins/src/calls/runner.rs":
        "&& let Err(reason) = arguments.change(|value| tool.accept(value))" => "&& !OFF && let Err(reason) = arguments.change(|value| tool.accept(value))",
        "wire::arguments_are_checked_before_the_guest_runs";
    "output-json" in "crates/plugins/src/calls/answers/answer_check.rs":
        "Some(structured) if !result.is_error => {" => "Some(structured) if !result.is_error && !OFF => {",
        "answers::an_invalid_answer_is_not_passed_on";
    "output-missing" in "crates/plugins/src/calls/answers/answer_check.rs":
        "None if !result.is_error && tool.tool.output_schema.is_some() => {"
        => "None if !result.is_error && !OFF && tool.tool.output_schema.is_some() => {", "rows M18.3";
    "twice" in "crates/plugins/src/offer/list.rs":
        "match items.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {"
        => "match items.windows(2).find(|pair| !OFF && key(&pair[0]) == key(&pair[1])) {", "rows M7.2";
    "parked-expiry" in "crates/mcp/src/calls/parking_store.rs":
        "if expires <= self.millis(self.clock.now()) {" => "if !OFF && expires <= self.millis(self.clock.now()) {", "asking::parked_calls_expire";
};
