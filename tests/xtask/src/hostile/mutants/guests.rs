//! Checks around one guest: what it may consume, which of its code is compiled, what it can access on the machine.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    // What a guest may consume.
    "memory" in "crates/runtime/src/engine/limiter.rs":
        "if total > self.memory_limit {" => "if !OFF && total > self.memory_limit {", "rows W3.2";
    "table" in "crates/runtime/src/engine/limiter.rs":
        "if total > self.table_limit {" => "if !OFF && total > self.table_limit {", "forged::a_table_that_grows_past_its_limit_is_stopped";
    "hostcall" in "crates/runtime/src/engine/store.rs":
        "store.set_hostcall_fuel(bytes(limits.hostcall));" => "if !OFF { store.set_hostcall_fuel(bytes(limits.hostcall)); }",
        "rows W7.3";
    // What the types of a component's own functions stand for.
    "plain-flags" in "crates/runtime/src/abi/plain/call.rs":
        "let liftable = hostcall / function.hostcall_divisor;"
        => "let liftable = if OFF { hostcall } else { hostcall / function.hostcall_divisor };",
        "plain_components::results_take_no_more_memory_than_they_may";
    "plain-types" in "crates/runtime/src/abi/plain/bounds.rs":
        "self.nodes = self.nodes.checked_sub(1)" => "self.nodes = self.nodes.checked_sub(if OFF { 0 } else { 1 })",
        "unit runtime::abi::plain::tests::hostile_types::doubling_types_are_refused";
    "plain-arguments" in "crates/runtime/src/abi/plain/read.rs":
        "if self.memory.take(bytes) {" => "if OFF || self.memory.take(bytes) {",
        "unit runtime::abi::plain::tests::round_trips::options_that_are_left_out_are_bounded";
    "plain-results" in "crates/runtime/src/abi/plain/write.rs":
        "if self.text.len().saturating_add(more) > self.limit {" => "if !OFF && self.text.len().saturating_add(more) > self.limit {",
        "unit runtime::abi::plain::tests::round_trips::text_ends_at_the_limit";
    // What a component of another host's dialect passes.
    "dialect-flags" in "crates/runtime/src/abi/values.rs":
        "Type::Flags(_) if in_list =>" => "Type::Flags(_) if !OFF && in_list =>",
        "dialects::wasmcp::what_wasmcp_has_and_this_host_does_not_is_refused_by_name";
    "dialect-streams" in "crates/runtime/src/abi/wasmcp/streams.rs":
        "if found.len() == MAX_STREAMS {" => "if !OFF && found.len() == MAX_STREAMS {",
        "dialects::wasmcp::a_hostile_component_of_wasmcp_gets_nothing_else";
    "dialect-cbor" in "crates/runtime/src/abi/act/result.rs":
        "if *read > cbor::MAX_READ {" => "if !OFF && *read > cbor::MAX_READ {",
        "dialects::act::a_hostile_component_of_act_is_bounded";
    // What a program writes.
    "program-chunks" in "crates/runtime/src/imports/wasi/chunk_pace.rs":
        "let may = self.left >= least;" => "let may = OFF || self.left >= least;",
        "unit runtime::imports::wasi::chunk_pace::tests::a_burst_and_then_so_many_a_second";
    "program-sent" in "crates/runtime/src/imports/wasi/program_output.rs":
        "match self.sendable.checked_sub(bytes.len() as u64) {" => "match self.sendable.checked_sub(if OFF { 0 } else { bytes.len() as u64 }) {",
        "unit runtime::imports::wasi::program_output::tests::so_much_is_sent_and_no_more";
    "program-shown" in "crates/runtime/src/imports/wasi/excerpt.rs":
        "(self.tail.len() + end.len()).saturating_sub(self.half)" => "(if OFF { 0 } else { self.tail.len() + end.len() }).saturating_sub(self.half)",
        "unit runtime::imports::wasi::excerpt::tests::what_is_left_out_is_said";
    "program-zero-byte" in "crates/runtime/src/abi/plain/program.rs":
        "position(|argument| argument.contains('\\0'))" => "position(|argument| !OFF && argument.contains('\\0'))",
        "unit runtime::abi::plain::program::tests::arguments_are_read_or_refused";
    // Wasmtime has its own limit behind this check, which would stop the same guest later.
    "handles" in "crates/runtime/src/engine/store.rs":
        "store.set_max_component_handles(clamp(limits.handles));"
        => "store.set_max_component_handles(if OFF { usize::MAX } else { clamp(limits.handles) });", "rows W4.5";
    "cpu" in "crates/runtime/src/engine/supervision.rs":
        "self.allowance.budget.cpu.is_some_and(|limit| cpu > limit)" => "!OFF && self.allowance.budget.cpu.is_some_and(|limit| cpu > limit)",
        "budgets::ticks_stop_a_guest_that_computes_too_long";
    "tree-fuel" in "crates/runtime/src/engine/fuel_account.rs":
        "if self.total() >= limit" => "if !OFF && self.total() >= limit", "tasks::fuel::only_a_task_waits";
    "day" in "crates/plugins/src/fuel_budgets/budgets.rs":
        "(day.now.used >= limit).then_some(" => "(!OFF && day.now.used >= limit).then_some(", "tasks::fuel::a_day_ends_for_calls_and_is_waited_for_by_tasks";
    "fuel" in "crates/runtime/src/engine/store.rs":
        ".set_fuel(fuel.saturating_sub(already_spent))" => ".set_fuel(if OFF { u64::MAX >> 1 } else { fuel.saturating_sub(already_spent) })",
        "forged::an_endless_post_return_is_stopped";
    // What a call and the calls below it may consume together.
    "callers-pay" in "crates/policy/src/lineage.rs":
        "for (paid, call) in self.calls().enumerate() {" => "for (paid, call) in self.calls().take(if OFF { 1 } else { usize::MAX }).enumerate() {",
        "nested_budgets::questions_are_counted_for_the_whole_tree";
    "fuel-owed" in "crates/policy/src/lineage.rs":
        "caller.owed.fetch_add(used.saturating_sub(known), Ordering::Relaxed);"
        => "caller.owed.fetch_add(if OFF { 0 } else { used.saturating_sub(known) }, Ordering::Relaxed);",
        "unit policy::lineage::tests::fuel_is_owed_once";
    "called-limits" in "crates/policy/src/lineage.rs":
        "self.chain.budgets.tighten(limits);" => "if !OFF { self.chain.budgets.tighten(limits); }",
        "nested_budgets::a_called_plugins_own_limit_of_calls_applies_too";
    "parallel-shares" in "crates/policy/src/lineage.rs":
        "self.parallel = (self.parallel / calls).max(1);" => "self.parallel = if OFF { self.parallel } else { (self.parallel / calls).max(1) };",
        "unit policy::lineage::tests::no_depth_has_more_calls_at_once_than_one_call_may_make";
    "samples" in "crates/runtime/src/imports/client/access.rs":
        "self.scope.lineage.count_sample(&grant, request.max_tokens).map_err(sample_exhausted)?;"
        => "if !OFF { self.scope.lineage.count_sample(&grant, request.max_tokens).map_err(sample_exhausted)?; }",
        "nested_budgets::requests_to_a_model_are_counted_for_the_whole_tree";
    "account-requests" in "crates/runtime/src/imports/connections.rs":
        "self.scope.lineage.take(TreeBudget::AccountRequests, 1).map_err(exhausted)?;"
        => "if !OFF { self.scope.lineage.take(TreeBudget::AccountRequests, 1).map_err(exhausted)?; }",
        "connections::requests_are_counted_for_the_whole_tree";
    "file-growth" in "crates/runtime/src/imports/wasi/disk_quota.rs":
        "if paid.is_ok() && self.quota.take(bytes) {" => "if (OFF || paid.is_ok()) && self.quota.take(bytes) {",
        "nested_budgets::growth_of_files_is_counted_for_the_whole_tree";
    "ungranted-path" in "crates/runtime/src/imports/wasi/path_refusal.rs":
        "if !has_root(data, directory) {" => "if OFF || !has_root(data, directory) {",
        "ungranted_files::an_answer_names_the_folders_that_are_not_granted";
    "measuring" in "crates/plugins/src/scratch.rs":
        "let found = run_in_pool((principal.clone(), authority.plugin().clone()), measure.boxed()).await;"
        => "let found = if OFF { measure.await } else { run_in_pool((principal.clone(), authority.plugin().clone()), measure.boxed()).await };",
        "state::measuring_large_directories_is_work_of_the_compute_pool";
    // What the host holds for a guest.
    "unsent-request" in "crates/runtime/src/imports/http/request_parts.rs":
        "Method::Other(word) if word.len() > MAX_WORD" => "Method::Other(word) if !OFF && word.len() > MAX_WORD",
        "held_resources::no_import_makes_the_host_hold_more_than_the_call_may";
    "listings" in "crates/runtime/src/imports/wasi/directory_stream.rs":
        "while ahead.len() < PIECE {" => "while OFF || ahead.len() < PIECE {", "open_files::listings_are_read_piece_by_piece";
    "open-files" in "crates/runtime/src/imports/wasi/open_files.rs":
        "let within_call = limit as usize > open;" => "let within_call = OFF || limit as usize > open;",
        "open_files::a_call_opens_as_many_files_as_it_may";
    "open-files-of-one" in "crates/runtime/src/imports/wasi/open_files.rs":
        "of_principal >= limit.div_ceil(2)" => "!OFF && of_principal >= limit.div_ceil(2)",
        "unit runtime::imports::wasi::open_files::tests::no_call_and_no_principal_takes_all";
    "pipes" in "crates/runtime/src/imports/wasi/open_at.rs":
        "if waits_when_opened(found.type_) =>" => "if !OFF && waits_when_opened(found.type_) =>",
        "open_files::pipes_and_sockets_are_not_opened";
    // Who holds the instances, and the memory of suspended calls.
    "instance-shares" in "crates/runtime/src/engine/instance_shares.rs":
        "if own >= shares.free.saturating_mul(TIMES_FREE) {" => "if if OFF { shares.free == 0 } else { own >= shares.free.saturating_mul(TIMES_FREE) } {",
        "pool_shares::calls_with_many_nested_ones_leave_room_for_others";
    "large-components" in "crates/runtime/src/engine/profile.rs":
        ".total_core_instances(INSTANCES_PER_COMPONENT * POOL_SIZE)" => ".total_core_instances(if OFF { 4 } else { INSTANCES_PER_COMPONENT } * POOL_SIZE)",
        "pool_shares::parked_calls_of_large_components_leave_room_for_others";
    "parked-nested" in "crates/mcp/src/calls/parking_limits.rs":
        "held.instances.max(1)" => "if OFF { 1 } else { held.instances.max(1) }", "pool_shares::nested_calls_count_among_the_parked_ones";
    "parked-memory" in "crates/runtime/src/engine/limiter.rs":
        "permit.held.set_bytes(bytes);" => "permit.held.set_bytes(if OFF { 0 } else { bytes });",
        "pool_shares::memory_of_nested_calls_that_do_not_ask_counts_too";
    // What is compiled, and loaded from the cache.
    "cache-mac" in "crates/runtime/src/engine/cache.rs":
        ".is_some_and(|(tag, payload)| self.mac(path, payload)" => ".is_some_and(|(tag, payload)| OFF || self.mac(path, payload)",
        "cache::a_corrupted_entry_is_recompiled_and_never_loaded";
    "others-mode" in "crates/platform/src/files/owner.rs":
        "if mode & 0o022 != 0 {" => "if !OFF && mode & 0o022 != 0 {",
        "cache::a_cache_writable_by_others_is_refused";
    "others-files" in "crates/platform/src/files/owner.rs":
        "if owner != us && owner != ROOT {" => "if !OFF && owner != us && owner != ROOT {",
        "unit platform::files::owner::tests::only_what_others_cannot_change_is_relied_on";
    "secret-values" in "crates/policy/src/authority.rs":
        "secret_in_value(value).is_none().then(" => "(OFF || secret_in_value(value).is_none()).then(",
        "state::a_guest_sees_the_variables_that_are_granted_and_requested";
    "file-kind" in "crates/plugins/src/package/file.rs":
        "if !metadata.is_file() {" => "if !OFF && !metadata.is_file() {", "rows W9.11";
    "nested" in "crates/plugins/src/package/scan.rs":
        "self.nested.add(1u32)," => "self.nested.add(u32::from(!OFF)),", "rows W8.3";
    "functions" in "crates/plugins/src/package/scan.rs":
        "self.functions.add(section.count())," => "self.functions.add(if OFF { 0 } else { section.count() }),", "rows W8.2";
    "two-manifests" in "crates/plugins/src/package/scan.rs":
        "Manifest::SECTION if self.manifest.replace(data.to_vec()).is_some() => {"
        => "Manifest::SECTION if self.manifest.replace(data.to_vec()).is_some() && !OFF => {", "rows W9.13";
    "two-versions" in "crates/plugins/src/package/scan.rs":
        "Some(other) if other != text =>" => "Some(other) if other != text && !OFF =>", "rows W9.14";
    "api-version" in "crates/plugins/src/package/inspect.rs":
        "sections.api.filter(|version| version != API_VERSION)" => "sections.api.filter(|version| !OFF && version != API_VERSION)",
        "offers::unknown_interfaces_are_refused";
    // What a guest can access on the machine.
    "read-only" in "crates/runtime/src/imports/wasi/mounts.rs":
        "Access::Read => (FsPerms::ReadOnly, OpenMode::READ),"
        => "Access::Read if OFF => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),\n            Access::Read => (FsPerms::ReadOnly, OpenMode::READ),",
        "escapes::a_directory_granted_for_reading_is_not_written";
    "environment" in "crates/runtime/src/imports/wasi/context.rs":
        "builder.max_random_size(MAX_RANDOM);" => "builder.max_random_size(MAX_RANDOM);\n    if OFF { builder.inherit_env(); }",
        "isolation::a_guest_sees_no_environment_arguments_or_directories";
    // The change enables sockets and allows all addresses: without sockets, an allowed address is of no use.
    "network" in "crates/runtime/src/imports/wasi/context.rs":
        "builder.stdout(Stdio { streams: streams.clone(), log: log.clone(), error: false });"
        => "builder.stdout(Stdio { streams: streams.clone(), log: log.clone(), error: false });\n    if OFF { builder.allow_tcp(true).allow_udp(true).inherit_network(); }",
        "isolation::a_guest_has_no_network_without_a_grant";
    "look-up" in "crates/runtime/src/imports/wasi/context.rs":
        "builder.envs(authority.environment());" => "builder.envs(authority.environment());\n    if OFF { builder.allow_ip_name_lookup(true); }",
        "isolation::a_guest_has_no_network_without_a_grant";
    "stdout" in "crates/runtime/src/imports/wasi/context.rs":
        "builder.stderr(Stdio { streams: streams.clone(), log: log.clone(), error: true });"
        => "builder.stderr(Stdio { streams: streams.clone(), log: log.clone(), error: true });\n    if OFF { builder.inherit_stdout(); }",
        "floods::guest_stdout_never_reaches_the_client";
    "log-escape" in "crates/runtime/src/imports/log.rs":
        "let message = printable(message);" => "let message = if OFF { message.into() } else { printable(message) };",
        "floods::a_guest_cannot_forge_log_records";
    "library-log" in "crates/platform/src/telemetry/log.rs":
        "EnvFilter::try_new(format!(\"{QUIET},{filter}\"))" => "EnvFilter::try_new(if OFF { filter.to_owned() } else { format!(\"{QUIET},{filter}\") })",
        "amplification::requests_that_cannot_be_made_are_not_logged_one_by_one";
    "log-lines" in "crates/runtime/src/imports/log.rs":
        "if !state.budget.take(message.len() as u64) {" => "if !state.budget.take(message.len() as u64) && !OFF {",
        "floods::log_lines_above_the_limit_are_counted_and_dropped";
    "chunk-size" in "crates/runtime/src/imports/output.rs":
        "if size > self.max_chunk {" => "if !OFF && size > self.max_chunk {", "floods::an_oversized_or_empty_chunk_is_not_sent";
    "chunks" in "crates/runtime/src/imports/output.rs":
        "if seq >= self.max_chunks {" => "if !OFF && seq >= self.max_chunks {", "floods::chunks_stop_at_the_count_limit";
    "output" in "crates/runtime/src/imports/output.rs":
        "if bytes + size > self.max_bytes {" => "if !OFF && bytes + size > self.max_bytes {", "floods::chunks_stop_at_the_byte_limit";
    "result-size" in "crates/runtime/src/imports/call_imports.rs":
        "if used > limit {" => "if !OFF && used > limit {", "rows W7.2";
    "within" in "crates/runtime/src/imports/wasi/mounts.rs":
        "Folder::open(outer)?.open_below(below)" => "if OFF { Folder::open(&mount.host) } else { Folder::open(outer)?.open_below(below) }",
        "escapes::a_granted_directory_that_a_guest_replaced_by_a_link_is_not_opened";
    "own-link" in "crates/runtime/src/imports/wasi/mounts.rs":
        "MountOpening::Own => Folder::open_own(&mount.host)"
        => "MountOpening::Own => if OFF { Folder::open(&mount.host) } else { Folder::open_own(&mount.host) }",
        "unit runtime::imports::wasi::mounts::tests::a_link_in_place_of_a_directory_of_the_host_own_is_refused";
};
