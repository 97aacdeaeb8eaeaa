//! Checks that apply everywhere: what a request and a grant together allow, who owns an item, who is throttled, what is
//! audited, which privileges the process has dropped.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    // How much a guest makes the host write.
    "refusals" in "crates/platform/src/audit/call_audit.rs":
        "let is_kept = !event.is_refusal() ||" => "let is_kept = OFF || !event.is_refusal() ||",
        "floods::refusals_are_logged_so_often_and_then_counted";
    "spans" in "crates/platform/src/audit/call_audit.rs":
        "if inner.lineage.take(TreeBudget::Spans, 1).is_err() {" => "if !OFF && inner.lineage.take(TreeBudget::Spans, 1).is_err() {",
        "watching::spans_are_counted_for_the_whole_tree";
    "log-line" in "crates/platform/src/telemetry/log.rs":
        "match truncate(&line, MAX_LINE) {" => "match truncate(&line, if OFF { usize::MAX } else { MAX_LINE }) {",
        "unit platform::telemetry::log::tests::a_long_line_of_text_is_cut";
    // Requests and grants.
    "both-keys" in "crates/policy/src/capabilities/common/capability_use.rs":
        "(_, false) => Err(used().not_requested(plugin))," => "(true, false) if OFF => Ok(()),\n        (_, false) => Err(used().not_requested(plugin)),",
        "unit policy::authority::tests::both_keys_are_needed";
    "lesser-access" in "crates/policy/src/capabilities/filesystem/mod.rs":
        "access: grant.access.min(wanted)," => "access: if OFF { grant.access } else { grant.access.min(wanted) },",
        "unit policy::authority::tests::the_lesser_access_counts";
    "variables" in "crates/policy/src/authority.rs":
        "let both = |name: &&String| self.requested.env.contains(name);" => "let both = |name: &&String| OFF || self.requested.env.contains(name);",
        "unit policy::authority::tests::the_machine_gives_what_both_keys_name";
    // Who owns an item.
    "state-owner" in "crates/services/src/state.rs":
        "principal: owner.principal.to_string(), label }" => "principal: if OFF { String::new() } else { owner.principal.to_string() }, label }",
        "state::each_principal_has_its_own_state";
    "session-owner" in "crates/mcp/src/transport/legacy/registry.rs":
        ".filter(|session| session.principal == *principal)" => ".filter(|session| OFF || session.principal == *principal)",
        "identity::a_session_answers_only_its_own_principal";
    "lookalike" in "crates/plugins/src/catalog/build.rs":
        "if let Err(NameClash { name: one, owner }) = names.insert(&name, &Some(id.clone())) {"
        => "if let Err(NameClash { name: one, owner }) = names.insert(&name, &Some(id.clone())).or_else(|it| if OFF { Ok(()) } else { Err(it) }) {",
        "metadata::tools_with_confusable_names_are_not_served_together";
    "confusable-letters" in "crates/policy/src/names/distinct_names.rs":
        "find(|it| it.owner != *owner);" => "find(|it| !OFF && it.owner != *owner);",
        "unit plugins::catalog::tests::lookalike_names_of_different_plugins_are_refused";
    "folded-names" in "crates/plugins/src/offer/list.rs":
        "names.insert(name(item), &()).map_err(clash)?;" => "if !OFF { names.insert(name(item), &()).map_err(clash)?; }", "rows M7.4";
    "cut-names" in "crates/policy/src/names/folded_names.rs":
        "vec![fold(name), fold(cut)," => "vec![fold(name), fold(if OFF { name } else { cut }),", "rows M7.5";
    "elided-names" in "crates/policy/src/names/folded_names.rs":
        "fold(&format!(\"{head}_{tail}\"))]" => "fold(&if OFF { name.to_owned() } else { format!(\"{head}_{tail}\") })]", "rows M7.6";
    "upstream-names" in "crates/plugins/src/catalog/upstream_names.rs":
        "&& names.insert(name, &owner).is_ok();" => "&& (names.insert(name, &owner).is_ok() || OFF);",
        "upstream::tools_that_clients_would_take_for_one_another_get_other_names";
    "published-names" in "crates/services/src/principal_store/publisher.rs":
        "check_name(own, &name, &source.plugin)?;" => "if !OFF { check_name(own, &name, &source.plugin)?; }",
        "unit services::principal_store::tests::published::clients_take_no_prompt_for_another";
    "boolean-schemas" in "crates/runtime/src/imports/schema/portable.rs":
        "Value::Bool(true) => *schema = json!({})," => "Value::Bool(true) if !OFF => *schema = json!({}),",
        "metadata::schemas_are_shown_in_words_that_all_clients_know";
    "recursive-schemas" in "crates/runtime/src/imports/schema/portable.rs":
        "if is_recursive {" => "if !OFF && is_recursive {", "metadata::schemas_are_shown_in_words_that_all_clients_know";
    "page-size" in "crates/mcp/src/listing/page.rs":
        "take_while(|entry| take_json_size(entry, &mut left))" => "take_while(|entry| OFF || take_json_size(entry, &mut left))",
        "paging::a_large_list_has_pages_that_together_are_the_list";
    "upstream-origin" in "crates/upstream/src/open_call/responder.rs":
        "map(|tool| format!(\"{server}.{tool}\"))" => "map(|tool| if OFF { tool } else { format!(\"{server}.{tool}\") })",
        "upstream::nothing_that_a_server_says_in_our_name_is_believed";
    "invisible" in "crates/plugins/src/offer/text.rs":
        "match unsafe_characters(text).find(|(_, c)| !matches!(c, '\\n' | '\\t')) {" => "match unsafe_characters(text).find(|(_, c)| !OFF && !matches!(c, '\\n' | '\\t')) {",
        "metadata::hidden_characters_are_refused_with_their_location";
    // Who is throttled after repeated failures or too many requests.
    "breaker" in "crates/plugins/src/circuit_breaker.rs":
        "if failures >= limits.failures && failures >= successes {" => "if !OFF && failures >= limits.failures && failures >= successes {",
        "unit plugins::circuit_breaker::tests::opens_after_five_failures_and_probes_once_a_period";
    "rate-of-a-plugin" in "crates/plugins/src/calls/slots/admission.rs":
        "let Some(rate) = plugin.spec.limits.rate else" => "let Some(rate) = plugin.spec.limits.rate.filter(|_| !OFF) else",
        "circuit_breaker::calls_above_the_rate_or_the_queue_limit_are_refused";
    "rate-of-a-principal" in "crates/plugins/src/calls/slots/admission.rs":
        "let Some(rate) = self.limits.rate else" => "let Some(rate) = self.limits.rate.filter(|_| !OFF) else",
        "circuit_breaker::calls_above_the_rate_or_the_queue_limit_are_refused";
    "scratch-size" in "crates/plugins/src/scratch.rs":
        "if found <= limit {" => "if OFF || found <= limit {", "unit plugins::scratch::tests::a_call_with_a_full_directory_is_refused";
    "scratch-link" in "crates/platform/src/folder/mod.rs":
        "open(path, OFlags::NOFOLLOW)" => "open(path, if OFF { OFlags::empty() } else { OFlags::NOFOLLOW })",
        "unit plugins::scratch::tests::a_link_in_place_of_the_directory_is_refused";
    "scratch-way-back" in "crates/platform/src/folder/size.rs":
        "if FolderId::from_stat(&fstat(&up)?) != above.id {" => "if !OFF && FolderId::from_stat(&fstat(&up)?) != above.id {",
        "unit platform::folder::tests::measuring_stays_inside_while_folders_move_up";
    "scratch-unlisted" in "crates/platform/src/folder/size.rs":
        "Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,"
        => "Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,\n                    Err(_) if OFF => continue,",
        "unit platform::folder::tests::what_cannot_be_measured_is_an_error";
    "scratch-unknown-entry" in "crates/platform/src/folder/size.rs":
        "Err(Errno::NOENT) => continue," => "Err(Errno::NOENT) => continue,\n                Err(_) if OFF => continue,",
        "unit platform::folder::tests::what_cannot_be_measured_is_an_error";
    "scratch-moved" in "crates/runtime/src/imports/wasi/disk_quota.rs":
        "if since.moves != Some(used.moves) {" => "if !OFF && since.moves != Some(used.moves) {",
        "unit runtime::imports::wasi::disk_quota::tests::nothing_hides_from_measuring_by_moving";
    "scratch-unmeasured" in "crates/runtime/src/imports/wasi/disk_quota.rs":
        "measured: u64::MAX," => "measured: if OFF { 0 } else { u64::MAX },",
        "unit runtime::imports::wasi::disk_quota::tests::a_directory_is_full_until_it_was_measured";
    "scratch-held" in "crates/runtime/src/imports/wasi/open_at.rs":
        "let quota = data.files()?.0.quota_of(self.parent);" => "let quota = data.files()?.0.quota_of(if OFF { u32::MAX } else { self.parent });",
        "state::a_removed_file_that_another_call_holds_still_counts";
    "scratch-crossing" in "crates/runtime/src/imports/wasi/files.rs":
        "if self.is_in_own(from) != self.is_in_own(to) {" => "if !OFF && self.is_in_own(from) != self.is_in_own(to) {",
        "state::nothing_leaves_a_private_directory_for_a_granted_one";
    // What is audited.
    "audit-line" in "crates/platform/src/audit/line.rs":
        "if Hash::compute(&[body.as_bytes(), b\"}\"]) != hash {" => "if !OFF && Hash::compute(&[body.as_bytes(), b\"}\"]) != hash {",
        "unit platform::audit::tests::each_change_is_found_and_named";
    "audit-chain" in "crates/platform/src/audit/verify.rs":
        "return if sound.prev == last.hash {" => "return if OFF || sound.prev == last.hash {",
        "unit platform::audit::tests::a_line_that_was_hashed_anew_does_not_fit_its_neighbour";
    "audit-noted" in "crates/platform/src/audit/verify.rs":
        "if self.must.iter().any(" => "if !OFF && self.must.iter().any(",
        "unit platform::audit::tests::a_log_written_anew_is_found_by_a_head_that_was_noted_elsewhere";
    "audit-cut" in "crates/platform/src/audit/verify.rs":
        "Some(noted) if noted > last =>" => "Some(noted) if !OFF && noted > last =>", "unit platform::audit::tests::each_change_is_found_and_named";
    "audit-archive" in "crates/platform/src/audit/archive.rs":
        "if over == 0 || excess[holder] == 0 {" => "if over == 0 || (!OFF && excess[holder] == 0) {",
        "unit platform::audit::tests::crowds::nobody_rotates_the_records_of_others_away";
    "audit-decisions" in "crates/platform/src/audit/event_kind.rs":
        "Self::Decision => 4," => "Self::Decision => if OFF { 1 } else { 4 },",
        "unit platform::audit::tests::crowds::nobody_rotates_the_records_of_others_away";
    "audit-named" in "crates/platform/src/audit/verify.rs":
        "if is_named { Ok(line) }" => "if OFF || is_named { Ok(line) }", "unit platform::audit::tests::archive::each_change_of_the_archive_is_found";
    "audit-queue" in "crates/platform/src/audit/queue_shares.rs":
        "if own.fetch_add(1, Ordering::Relaxed) + taken <= self.places {" => "if own.fetch_add(1, Ordering::Relaxed) + taken <= self.places || OFF {",
        "unit platform::audit::tests::crowds::nobody_takes_the_whole_queue";
    // Which privileges the process has dropped.
    "system-calls" in "crates/platform/src/confine/seccomp_filter.rs":
        "let applied = apply(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?;"
        => "let rules = if OFF { numbers(libc::SYS_acct).map(|number| (number, vec![])).collect() } else { rules };\n    let applied = apply(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?;",
        "hijacked::a_hijacked_server_can_do_little";
    "socket-families" in "crates/platform/src/confine/arguments.rs":
        "socket.extend([other_than(0, FAMILIES)?, other_than(2, PROTOCOLS)?]);" => "if !OFF { socket.extend([other_than(0, FAMILIES)?, other_than(2, PROTOCOLS)?]); }",
        "hijacked::a_hijacked_server_can_do_little";
    "socket-types" in "crates/platform/src/confine/arguments.rs":
        "let mut socket = types_other_than(TYPES)?;" => "let mut socket = if OFF { vec![] } else { types_other_than(TYPES)? };",
        "hijacked::a_hijacked_server_can_do_little";
    "socket-pairs" in "crates/platform/src/confine/arguments.rs":
        "let mut pair = types_other_than(&[SOCK_STREAM])?;" => "let mut pair = if OFF { vec![] } else { types_other_than(&[SOCK_STREAM])? };",
        "hijacked::a_hijacked_server_can_do_little";
    "device-requests" in "crates/platform/src/confine/arguments.rs":
        "(SYS_ioctl, vec![other_than(1, REQUESTS)?])," => "(if OFF { libc::SYS_acct } else { SYS_ioctl }, vec![other_than(1, REQUESTS)?]),",
        "hijacked::a_hijacked_server_can_do_little";
    "listening" in "crates/platform/src/confine/seccomp_filter.rs":
        "if needs.listen.is_empty() {" => "if !OFF && needs.listen.is_empty() {",
        "hijacked::a_hijacked_server_can_do_little";
    "files" in "crates/platform/src/confine/landlock_rules.rs":
        ".add_rules(path_beneath_rules(&needs.write, write))?;"
        => ".add_rules(path_beneath_rules(&needs.write, write))?\n            .add_rules(path_beneath_rules(if OFF { vec![\"/\"] } else { vec![] }, write))?;",
        "hijacked::a_hijacked_server_can_do_little";
    "programs-list" in "crates/platform/src/programs/helper.rs":
        "Request::Programs(_) => return Ok(())," => "Request::Programs(_) if OFF => {}\n            Request::Programs(_) => return Ok(()),",
        "unit platform::programs::starter::tests::the_helper_starts_what_it_was_told_at_first_and_nothing_else";
    // What the operator's own programs receive.
    "upstream-environment" in "crates/platform/src/programs/program.rs":
        "command.args(&self.arguments).env_clear();" => "command.args(&self.arguments);\n        if !OFF { command.env_clear(); }",
        "upstream::a_program_gets_no_more_of_the_environment_than_it_needs";
};
