//! Checks around one guest: what it may use up, what of it is compiled, what it is given of the machine.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    // What a guest may use up.
    "memory" in "crates/runtime/src/engine/limiter.rs":
        "if total > self.memory_limit {" => "if !OFF && total > self.memory_limit {", "rows W3.2";
    "table" in "crates/runtime/src/engine/limiter.rs":
        "if total > self.table_limit {" => "if !OFF && total > self.table_limit {", "forged::a_table_that_grows";
    "hostcall" in "crates/runtime/src/engine/store.rs":
        "store.set_hostcall_fuel(bytes(limits.hostcall));" => "if !OFF { store.set_hostcall_fuel(bytes(limits.hostcall)); }",
        "rows W7.3";
    // Wasmtime has a limit of its own behind it, which would stop the same guest later.
    "handles" in "crates/runtime/src/engine/store.rs":
        "store.set_max_component_handles(clamp(limits.handles));"
        => "store.set_max_component_handles(if OFF { usize::MAX } else { clamp(limits.handles) });", "rows W4.5";
    "cpu" in "crates/runtime/src/engine/store.rs":
        "let over = supervision.allowance" => "let over = !OFF && supervision.allowance", "budgets::ticks_stop_what_computes_too_long";
    "fuel" in "crates/runtime/src/engine/store.rs":
        ".set_fuel(fuel.saturating_sub(already_spent))" => ".set_fuel(if OFF { u64::MAX >> 1 } else { fuel.saturating_sub(already_spent) })",
        "forged::cleaning_up_for_ever";
    // What is compiled, and loaded again.
    "cache-mac" in "crates/runtime/src/engine/cache.rs":
        ".is_some_and(|(tag, payload)| self.mac(&path, payload)" => ".is_some_and(|(tag, payload)| OFF || self.mac(&path, payload)",
        "cache::a_changed_entry_is_compiled_anew_and_never_loaded";
    "cache-mode" in "crates/runtime/src/engine/cache.rs":
        "metadata.permissions().mode() & 0o022 != 0" => "!OFF && metadata.permissions().mode() & 0o022 != 0",
        "cache::a_cache_is_its_owners_alone";
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
        "offers::interfaces_that_are_not_ours";
    // What a guest is given of the machine.
    "read-only" in "crates/runtime/src/imports/wasi/context.rs":
        "Access::Read => FsPerms::ReadOnly," => "Access::Read if OFF => FsPerms::ReadWrite,\n            Access::Read => FsPerms::ReadOnly,",
        "escapes::a_directory_granted_for_reading_is_not_written";
    "environment" in "crates/runtime/src/imports/wasi/context.rs":
        "builder.max_random_size(MAX_RANDOM);" => "builder.max_random_size(MAX_RANDOM);\n    if OFF { builder.inherit_env(); }",
        "isolation::a_guest_learns_nothing_of_where_it_runs";
    // Both of its doors: without the first, an address that is allowed is of no use.
    "network" in "crates/runtime/src/imports/wasi/context.rs":
        "builder.stdout(Stdio { log: log.clone(), error: false });"
        => "builder.stdout(Stdio { log: log.clone(), error: false });\n    if OFF { builder.allow_tcp(true).allow_udp(true).inherit_network(); }",
        "isolation::there_is_no_network";
    "look-up" in "crates/runtime/src/imports/wasi/context.rs":
        "builder.envs(authority.environment());" => "builder.envs(authority.environment());\n    if OFF { builder.allow_ip_name_lookup(true); }",
        "isolation::there_is_no_network";
    "stdout" in "crates/runtime/src/imports/wasi/context.rs":
        "builder.stderr(Stdio { log: log.clone(), error: true });"
        => "builder.stderr(Stdio { log: log.clone(), error: true });\n    if OFF { builder.inherit_stdout(); }",
        "floods::stdout_of_a_guest_never_reaches_the_wire";
    "log-escape" in "crates/runtime/src/imports/log.rs":
        "let message = printable(message);" => "let message = if OFF { message.into() } else { printable(message) };",
        "floods::nobody_forges_the_log";
    "log-lines" in "crates/runtime/src/imports/log.rs":
        "if state.lines_left == 0 || state.bytes_left < size {"
        => "if OFF { state.lines_left = 9; state.bytes_left = u64::MAX; }\n        if state.lines_left == 0 || state.bytes_left < size {",
        "floods::log_lines_past_the_ceiling_are_counted_and_dropped";
    "chunk-size" in "crates/runtime/src/imports/output.rs":
        "if size > self.max_chunk {" => "if !OFF && size > self.max_chunk {", "floods::a_chunk_that_is_too_big_or_none_is_not_sent";
    "chunks" in "crates/runtime/src/imports/output.rs":
        "if seq >= self.max_chunks {" => "if !OFF && seq >= self.max_chunks {", "floods::chunks_end_at_their_ceiling";
    "output" in "crates/runtime/src/imports/output.rs":
        "if bytes + size > self.max_bytes {" => "if !OFF && bytes + size > self.max_bytes {", "floods::chunks_end_at_the_ceiling_on_bytes";
    "result-size" in "crates/runtime/src/imports/output.rs":
        "if used > self.0.max_bytes {" => "if !OFF && used > self.0.max_bytes {", "rows W7.2";
};
