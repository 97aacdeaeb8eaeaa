//! Checks of client requests: who may connect, whose token it is, what a returned state is bound to.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    "other-machines" in "crates/platform/src/identity/settings.rs":
        "if self.authenticates() || self.anonymous ||" => "if OFF || self.authenticates() || self.anonymous ||",
        "unit platform::identity::settings::tests::other_machines_are_served_only_if_somebody_checks_who_calls";
    "servers-hints" in "crates/agent/src/rules/decide.rs":
        "read_only && (is_own || trust_hints)" => "read_only && (OFF || is_own || trust_hints)",
        "unit agent::rules::tests::what_other_servers_say_of_their_tools_counts_only_if_the_rule_says_so";
    // How long a server may go on.
    "rounds-timeout" in "crates/upstream/src/calls/rounds.rs":
        "() = call.timeout.reached(deadline) =>" => "() = call.timeout.reached(deadline), if !OFF =>",
        "upstream::rounds_do_not_renew_the_timeout_of_a_call";
    "reverse-time" in "crates/upstream/src/open_call/reverse_calls.rs":
        "limit.saturating_sub(self.serving.elapsed())" => "(if OFF { limit } else { limit.saturating_sub(self.serving.elapsed()) })",
        "unit upstream::open_call::reverse_calls::tests::the_time_of_reverse_calls_is_not_renewed";
    "reverse-ends" in "crates/upstream/src/open_call/reverse_calls.rs":
        "self.scope.caller_ends.map_or(own," => "self.scope.caller_ends.filter(|_| !OFF).map_or(own,",
        "unit upstream::open_call::reverse_calls::tests::reverse_calls_end_with_the_call_that_made_the_open_call";
    "callers-time" in "crates/upstream/src/calls/rounds.rs":
        "                }\n                () = call.reverse_calls.caller_ended() =>"
        => "                }\n                () = call.reverse_calls.caller_ended(), if !OFF =>",
        "nested_budgets::an_upstream_call_ends_with_its_callers_time";
    "callers-fuel" in "crates/upstream/src/agent_tools.rs":
        "remarks.spent = used;" => "remarks.spent = if OFF { BudgetUsage::default() } else { used };",
        "nested_budgets::what_a_server_makes_run_here_is_paid_by_the_caller";
    "unpinned-hints" in "crates/upstream/src/agent_tools.rs":
        "if self.upstream.0.settings.definitions.is_none() {"
        => "if !OFF && self.upstream.0.settings.definitions.is_none() {",
        "code_mode::others::hints_of_a_server_count_only_if_its_definitions_are_pinned";
    "subscribed-bytes" in "crates/mcp/src/subscriptions/updates.rs":
        "if mine + bytes > MAX_BYTES {" => "if !OFF && mine + bytes > MAX_BYTES {",
        "unit mcp::subscriptions::updates::tests::what_sessions_are_subscribed_to_is_counted_by_principal";
    // Programs that a model wrote.
    "program-approval" in "crates/plugins/src/calls/tool_callers/approvals.rs":
        "self.rule.applies(hints.read_only, hints.destructive) &&" => "!OFF && self.rule.applies(hints.read_only, hints.destructive) &&",
        "code_mode::approvals::a_call_that_may_destroy_waits_for_its_user_in_the_middle_of_a_line";
    // A call that goes on too late for its own good would be done, and said not to be.
    "waits-count" in "crates/runtime/src/engine/pausable_clock.rs":
        "now.checked_sub(pauses.finished)" => "now.checked_sub(if OFF { Duration::ZERO } else { pauses.finished })",
        "slow_answers::an_answer_after_the_deadline_counts";
    "program-tools" in "crates/plugins/src/calls/tool_callers/programs.rs":
        "filter(|_| *plugin == self.plugin)" => "filter(|_| OFF || *plugin == self.plugin)",
        "code_mode::what_a_program_calls_may_call_no_more_than_before";
    "servers-chain" in "crates/plugins/src/calls/tool_callers/upstream.rs":
        "match lineage.descend(full_name.clone(), asked.argument_bytes()) {"
        => "match (if OFF { Ok(lineage.clone()) } else { lineage.descend(full_name.clone(), asked.argument_bytes()) }) {",
        "client_tools::chains::a_servers_tool_belongs_to_the_chain_too";
    // What a server's words cost.
    "lists-delay" in "crates/upstream/src/connection/reconnect.rs":
        "tokio::time::sleep(RELIST_DELAY)" => "tokio::time::sleep(if OFF { Duration::ZERO } else { RELIST_DELAY })",
        "upstream::floods::a_server_whose_tools_always_change_costs_little";
    "lists-log" in "crates/upstream/src/listed/problems.rs":
        "match self.told.len() < MAX_TOLD {" => "match OFF || self.told.len() < MAX_TOLD {",
        "unit upstream::listed::problems::tests::what_is_lost_comes_before_warnings_and_both_are_bounded";
    "questions-log" in "crates/upstream/src/open_call/open_calls.rs":
        "if self.reverse_calls.scope.lineage.take(TreeBudget::Refusals, 1).is_ok() {"
        => "if OFF || self.reverse_calls.scope.lineage.take(TreeBudget::Refusals, 1).is_ok() {",
        "upstream::floods::refused_questions_do_not_fill_the_log";
    "server-unread" in "crates/upstream/src/server_input/peer_account.rs":
        "if all > MAX_PENDING {" => "if !OFF && all > MAX_PENDING {",
        "unit upstream::server_input::peer_account::tests::a_server_that_reads_no_answers_is_disconnected";
    "cancelled-requests" in "crates/upstream/src/server_input/peer_account.rs":
        "if !is_counted {" => "if !OFF && !is_counted {",
        "unit upstream::server_input::peer_account::tests::answers_to_cancelled_requests_count_while_they_are_sent";
    "cancelled-counts" in "crates/upstream/src/server_input/peer_account.rs":
        "if self.ends_cancelled.load(Ordering::Relaxed) {" => "if OFF || self.ends_cancelled.load(Ordering::Relaxed) {",
        "unit upstream::server_input::peer_account::tests::cancelled_requests_count_where_they_are_answered_all_the_same";
    "message-weight" in "crates/upstream/src/transport/incoming.rs":
        "if memory > MAX_MEMORY {" => "if !OFF && memory > MAX_MEMORY {",
        "unit upstream::transport::incoming::tests::whoever_waits_for_an_unreadable_answer_is_told";
    "server-line" in "crates/upstream/src/transport/lines.rs":
        "if self.begun.len() + self.line.len() + taken > MAX_MESSAGE {"
        => "if !OFF && self.begun.len() + self.line.len() + taken > MAX_MESSAGE {",
        "unit upstream::transport::lines::tests::a_message_that_is_too_long_ends_the_connection";
    "checked-tools" in "crates/upstream/src/connection/pages.rs":
        "|| checked > MAX_CHECKED" => "|| !OFF && checked > MAX_CHECKED",
        "unit upstream::connection::pages::tests::entries_count_whether_they_are_used_or_not";
    "open-calls" in "crates/upstream/src/open_call/open_calls.rs":
        "if own >= MAX_OPEN - calls.len() {" => "if !OFF && own >= MAX_OPEN - calls.len() {",
        "unit upstream::open_call::open_calls::tests::a_principal_has_as_many_open_calls_as_are_left_for_others";
    "queued-chunks" in "crates/upstream/src/open_call/queued_chunks.rs":
        "Semaphore::new(MAX_OF_CALL)" => "Semaphore::new(if OFF { 1 << 30 } else { MAX_OF_CALL })",
        "unit upstream::open_call::queued_chunks::tests::what_slow_readers_have_not_read_is_bounded";
    "ended-tasks" in "crates/mcp/src/tasks/records/table.rs":
        "able.max_by_key(" => "able.filter(|_| !OFF).max_by_key(",
        "unit mcp::tasks::records::table::tests::ended_tasks_make_room_those_of_whoever_has_the_most_first";
    "budget-shares" in "crates/policy/src/limits/shared_budget.rs":
        "left.fuel = left.fuel.map(|fuel| fuel - fuel / 2);" => "left.fuel = left.fuel.map(|fuel| if OFF { fuel } else { fuel - fuel / 2 });",
        "unit policy::limits::shared_budget::tests::concurrent_calls_share_and_nothing_is_refilled";
    // Who keeps others out.
    "eviction" in "crates/mcp/src/transport/connections/connection_table.rs":
        "            self.evict();" => "            if !OFF { self.evict(); }", "crowded::others_are_served_beside_every_crowd";
    "eviction-of-one" in "crates/mcp/src/transport/connections/connection_table.rs":
        "self.table.ended.notify_waiters();" => "if OFF { self.table.ended.notify_one() } else { self.table.ended.notify_waiters() };",
        "unit mcp::transport::connections::connection_table::tests::an_end_that_nobody_waited_for_closes_no_further_connection";
    "served-stay" in "crates/mcp/src/transport/connections/connection_table.rs":
        "if current.0 != ConnectionPhase::Serving {" => "if OFF || current.0 != ConnectionPhase::Serving {",
        "unit mcp::transport::connections::connection_table::tests::nobody_who_is_served_is_closed";
    "crowd-first" in "crates/mcp/src/transport/connections/connection_table.rs":
        "((Reverse(of_network), is_young" => "((Reverse(if OFF { 0 } else { of_network }), is_young",
        "unit mcp::transport::connections::connection_table::tests::whoever_has_the_most_connections_loses_one_first";
    "streams-of-one" in "crates/mcp/src/transport/connections/serving_shares.rs":
        "if own.connections >= self.limit.connections {" => "if !OFF && own.connections >= self.limit.connections {",
        "unit mcp::transport::connections::serving_shares::tests::one_has_its_share_and_others_theirs";
    "requests-of-one" in "crates/mcp/src/transport/connections/serving_shares.rs":
        "if own.bytes > 0 && bytes" => "if !OFF && own.bytes > 0 && bytes",
        "unit mcp::transport::connections::serving_shares::tests::one_has_its_share_and_others_theirs";
    "requests-of-gone" in "crates/mcp/src/transport/mcp_endpoint.rs":
        "parts.extensions.insert(Arc::new(held));" => "if !OFF { parts.extensions.insert(Arc::new(held)); }",
        "crowded::large_requests_of_clients_that_are_gone_count";
    "message-memory" in "crates/mcp/src/transport/connections/connection_table.rs":
        "while self.memory.is_exceeded() {" => "while !OFF && self.memory.is_exceeded() {",
        "unit mcp::transport::connections::connection_table::tests::slow_clients_are_closed_when_messages_fill_the_memory";
    "small-values" in "crates/protocol/src/json_text.rs":
        "b',' | b'[' => VALUE," => "_ if OFF => 0, b',' | b'[' => VALUE,",
        "unit protocol::json_text::tests::small_values_count_with_what_they_take";
    "unread-part" in "crates/mcp/src/transport/connections/message_memory.rs":
        "self.all.min(self.unread.saturating_add(self.largest))" => "if OFF { self.unread } else { self.all.min(self.unread.saturating_add(self.largest)) }",
        "unit mcp::transport::connections::message_memory::tests::what_connections_hold_beyond_a_little_is_counted_together";
    // Who may connect.
    "host" in "crates/mcp/src/transport/request/guard.rs":
        "if authority.as_str().contains('@') || !self.knows_host(authority) {"
        => "if !OFF && (authority.as_str().contains('@') || !self.knows_host(authority)) {",
        "http_guard::every_path_and_method_is_guarded";
    "two-hosts" in "crates/mcp/src/transport/request/guard.rs":
        "let (Some(host), None) = (hosts.next(), hosts.next()) else"
        => "let (Some(host), None) = (hosts.next(), hosts.next().filter(|_| !OFF)) else",
        "http_guard::every_path_and_method_is_guarded";
    "full-target" in "crates/mcp/src/transport/request/guard.rs":
        ".chain(uri.authority())" => ".chain(uri.authority().filter(|_| !OFF))", "rows M1.8";
    "origin" in "crates/mcp/src/transport/request/guard.rs":
        "if known && origins.next().is_none() { Ok(()) }" => "if OFF || known && origins.next().is_none() { Ok(()) }",
        "http_guard::every_path_and_method_is_guarded";
    "credential" in "crates/mcp/src/transport/request/identity.rs":
        "Err(_) if public => next.run(request).await," => "Err(_) if public || OFF => next.run(request).await,",
        "identity::only_valid_api_keys_are_accepted";
    "two-headers" in "crates/mcp/src/transport/request/body.rs":
        "headers.get_all(*name).iter().nth(1).is_some()" => "!OFF && headers.get_all(*name).iter().nth(1).is_some()",
        "http_guard::health_checks_answer_and_other_paths_and_methods_are_refused";
    "body-depth" in "crates/mcp/src/transport/request/body.rs":
        "match is_deeper_than(&text, MAX_DEPTH) {" => "match !OFF && is_deeper_than(&text, MAX_DEPTH) {",
        "http_guard::a_body_must_be_json_within_the_size_and_depth_limits";
    "body-size" in "crates/mcp/src/transport/request/body.rs":
        "match length > max.as_u64() {" => "match !OFF && length > max.as_u64() {",
        "http_guard::a_body_must_be_json_within_the_size_and_depth_limits";
    // Who speaks over stdio.
    "line-length" in "crates/mcp/src/transport/stdio/lines.rs":
        "if self.skipping.is_some() || buffer.len() > MAX_LINE {" => "if !OFF && (self.skipping.is_some() || buffer.len() > MAX_LINE) {",
        "unit mcp::transport::stdio::lines::tests::a_line_that_is_too_long_is_skipped_and_the_next_one_is_read";
    "line-memory" in "crates/mcp/src/transport/stdio/connection.rs":
        "if bytes <= MAX_HELD && (id.is_none() || !self.memory.is_exceeded()) {"
        => "if OFF || bytes <= MAX_HELD && (id.is_none() || !self.memory.is_exceeded()) {",
        "tables::large_messages_over_stdio_are_weighed_before_they_are_parsed";
    "unread-answers" in "crates/mcp/src/transport/stdio/outgoing.rs":
        "self.unwritten.load(Ordering::Relaxed) > MAX_WAITING" => "!OFF && self.unwritten.load(Ordering::Relaxed) > MAX_WAITING",
        "direct_calls::stdio::answers_that_nobody_reads_do_not_fill_the_memory";
    "direct-session" in "crates/mcp/src/transport/stdio/running.rs":
        "self.style == Style::Stateless &&" => "(OFF || self.style == Style::Stateless) &&",
        "direct_calls::stdio::nothing_goes_past_rmcp_in_a_session";
    "direct-cancel" in "crates/mcp/src/transport/stdio/running.rs":
        "self.direct.remove(id).inspect(|direct| direct.end.cancel());"
        => "self.direct.remove(id).filter(|_| !OFF).inspect(|direct| direct.end.cancel());",
        "direct_calls::stdio::a_cancelled_call_is_recorded_with_its_cost_and_not_answered";
    // Whose token it is.
    "token-issuer" in "crates/platform/src/identity/token.rs":
        "if claims.iss != self.issuer {" => "if !OFF && claims.iss != self.issuer {", "identity::tokens_are_checked";
    "token-audience" in "crates/platform/src/identity/token.rs":
        "if came.iter().any(|name| wanted.contains(name)) {"
        => "if OFF || came.iter().any(|name| wanted.contains(name)) {", "identity::tokens_are_checked";
    "token-expiry" in "crates/platform/src/identity/token.rs":
        "if claims.exp + LEEWAY <= now {" => "if !OFF && claims.exp + LEEWAY <= now {", "identity::tokens_are_checked";
    "token-not-before" in "crates/platform/src/identity/token.rs":
        "if claims.nbf.is_some_and(|from| from - LEEWAY > now) {"
        => "if !OFF && claims.nbf.is_some_and(|from| from - LEEWAY > now) {", "identity::tokens_are_checked";
    "token-subject" in "crates/platform/src/identity/token.rs":
        "if claims.sub.is_empty() ||" => "if OFF { } else if claims.sub.is_empty() ||", "identity::tokens_are_checked";
    "token-scopes" in "crates/platform/src/identity/token.rs":
        "if !self.scopes.iter().all(|scope| given.contains(scope.as_str())) {"
        => "if !OFF && !self.scopes.iter().all(|scope| given.contains(scope.as_str())) {", "identity::tokens_are_checked";
    // What a returned state is bound to.
    "state-principal" in "crates/mcp/src/calls/seal.rs":
        "[principal.as_str().as_bytes()," => "[if OFF { b\"\" } else { principal.as_str().as_bytes() },",
        "identity::a_parked_call_is_resumed_only_by_its_own_principal";
    "state-arguments" in "crates/mcp/src/calls/seal.rs":
        "let arguments = digest(arguments);" => "let arguments = if OFF { [0; 32] } else { digest(arguments) };", "rows M4.6";
    "state-plugin" in "crates/mcp/src/calls/seal.rs":
        "&arguments, plugin.as_bytes()]" => "&arguments, if OFF { b\"\" } else { plugin.as_bytes() }]",
        "asking::a_state_is_invalid_after_the_plugin_changes";
    "state-way" in "crates/mcp/src/calls/seal.rs":
        "ResumeToken::Continuation => 1," => "ResumeToken::Continuation => u8::from(!OFF),",
        "client_tools::abuse::a_continuation_works_once_and_only_for_its_own_call";
    "waiting-outdated" in "crates/runtime/src/journal/snapshot.rs":
        "State::Kept(outdated) => outdated().shared()," => "State::Kept(_) if OFF => return None, State::Kept(outdated) => outdated().shared(),",
        "unit runtime::journal::snapshot_tests::an_effect_waits_until_what_was_kept_is_removed";
    "waiting-plugin" in "crates/mcp/src/resumable_stream.rs":
        "if self.binding != binding {" => "if !OFF && self.binding != binding {",
        "unit mcp::resumable_stream::tests::another_version_of_a_plugin_does_not_go_on";
    "account-login" in "crates/mcp/src/transport/account_pages/routes.rs":
        "Ok(principal) if principal == *expected =>" => "Ok(principal) if OFF || principal == *expected =>",
        "connections::login::nobody_is_led_to_connect_his_account_for_somebody_else";
    "server-claims" in "crates/plugins/src/catalog/resource_owner.rs":
        "if uri.starts_with(HOST) {" => "if !OFF && uri.starts_with(HOST) {",
        "unit plugins::catalog::resource_owner::tests::an_address_leads_to_its_server_alone";
};
