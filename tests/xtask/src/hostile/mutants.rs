//! Security checks, each with the change that takes it away and the test that must then fail. The list doubles as an
//! answer to the question where something is checked.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use super::weaken::{self, SWITCH};
use super::{Ran, Suite};
use crate::repo::Repo;

/// One check.
pub(super) struct Mutant {
    /// What `--only` takes.
    pub(super) name: &'static str,
    /// Below `host/src`.
    pub(super) file: &'static str,
    /// The check; it stands there exactly once.
    pub(super) from: &'static str,
    /// The same without it where `OFF` is true.
    pub(super) to: &'static str,
    /// Which test notices: its name, or rows of the hostile table.
    pub(super) noticed: &'static str,
}

macro_rules! mutants {
    ($($name:literal in $file:literal: $from:literal => $to:literal, $noticed:literal;)*) => {
        &[$(Mutant { name: $name, file: $file, from: $from, to: $to, noticed: $noticed }),*]
    };
}

/// All of them, from the door to the disk.
const MUTANTS: &[Mutant] = mutants! {
    // Who may knock.
    "host" in "mcp/transport/guard.rs":
        "if authority.as_str().contains('@') || !self.knows_host(authority) {"
        => "if !OFF && (authority.as_str().contains('@') || !self.knows_host(authority)) {",
        "door::every_path_and_method_is_guarded";
    "two-hosts" in "mcp/transport/guard.rs":
        "let (Some(host), None) = (hosts.next(), hosts.next()) else"
        => "let (Some(host), None) = (hosts.next(), hosts.next().filter(|_| !OFF)) else",
        "door::every_path_and_method_is_guarded";
    "full-target" in "mcp/transport/guard.rs":
        ".chain(uri.authority())" => ".chain(uri.authority().filter(|_| !OFF))", "rows M1.8";
    "origin" in "mcp/transport/guard.rs":
        "if known && origins.next().is_none() { Ok(()) }" => "if OFF || known && origins.next().is_none() { Ok(()) }",
        "door::every_path_and_method_is_guarded";
    "credential" in "mcp/transport/identity.rs":
        "Err(_) if open => next.run(request).await," => "Err(_) if open || OFF => next.run(request).await,",
        "identity::keys_open_and_nothing_else_does";
    "two-headers" in "mcp/transport/body.rs":
        "headers.get_all(*name).iter().nth(1).is_some()" => "!OFF && headers.get_all(*name).iter().nth(1).is_some()",
        "door::health_and_paths_and_methods";
    "body-depth" in "mcp/transport/body.rs":
        "match is_deeper_than(&text, MAX_DEPTH) {" => "match !OFF && is_deeper_than(&text, MAX_DEPTH) {",
        "door::a_body_is_small_flat_and_json";
    "body-size" in "mcp/transport/body.rs":
        "if length > max.as_u64() { Err(Refusal::TooLarge(max)) }" => "if !OFF && length > max.as_u64() { Err(Refusal::TooLarge(max)) }",
        "door::a_body_is_small_flat_and_json";
    // Whose token it is.
    "token-issuer" in "identity/token.rs":
        "if claims.iss != self.issuer {" => "if !OFF && claims.iss != self.issuer {", "identity::tokens_are_checked";
    "token-audience" in "identity/token.rs":
        "if !claims.aud.iter().any(|audience| audience == self.audience) {"
        => "if !OFF && !claims.aud.iter().any(|audience| audience == self.audience) {", "identity::tokens_are_checked";
    "token-expiry" in "identity/token.rs":
        "if claims.exp + LEEWAY <= now {" => "if !OFF && claims.exp + LEEWAY <= now {", "identity::tokens_are_checked";
    "token-not-before" in "identity/token.rs":
        "if claims.nbf.is_some_and(|from| from - LEEWAY > now) {"
        => "if !OFF && claims.nbf.is_some_and(|from| from - LEEWAY > now) {", "identity::tokens_are_checked";
    "token-subject" in "identity/token.rs":
        "if claims.sub.is_empty() ||" => "if OFF { } else if claims.sub.is_empty() ||", "identity::tokens_are_checked";
    "token-scopes" in "identity/token.rs":
        "if !self.scopes.iter().all(|scope| given.contains(scope.as_str())) {"
        => "if !OFF && !self.scopes.iter().all(|scope| given.contains(scope.as_str())) {", "identity::tokens_are_checked";
    // What a state is bound to.
    "state-principal" in "mcp/seal.rs":
        "for part in [principal.as_str().as_bytes()," => "for part in [if OFF { b\"\" } else { principal.as_str().as_bytes() },",
        "identity::a_parked_call_is_its_principals_own";
    "state-arguments" in "mcp/seal.rs":
        "let arguments = digest(arguments);" => "let arguments = if OFF { [0; 32] } else { digest(arguments) };", "rows M4.6";
    "state-plugin" in "mcp/seal.rs":
        "&arguments, plugin.as_bytes()]" => "&arguments, if OFF { b\"\" } else { plugin.as_bytes() }]",
        "asking::a_state_does_not_outlive_the_plugins_version";
    "state-way" in "mcp/seal.rs":
        "Return::Continuation => 1," => "Return::Continuation => u8::from(!OFF),",
        "client_tools::abuse::a_continuation_is_good_once_and_only_as_what_it_is";
    // What a guest may use up.
    "memory" in "engine/limiter.rs":
        "if total > self.memory_limit {" => "if !OFF && total > self.memory_limit {", "rows W3.2";
    "table" in "engine/limiter.rs":
        "if total > self.table_limit {" => "if !OFF && total > self.table_limit {", "forged::a_table_that_grows";
    "hostcall" in "engine/store.rs":
        "store.set_hostcall_fuel(bytes(limits.hostcall));" => "if !OFF { store.set_hostcall_fuel(bytes(limits.hostcall)); }",
        "rows W7.3";
    "handles" in "engine/store.rs":
        "store.set_max_component_handles(clamp(limits.handles));" => "if !OFF { store.set_max_component_handles(clamp(limits.handles)); }",
        "rows W4.5";
    "cpu" in "engine/store.rs":
        "let over = supervision.allowance" => "let over = !OFF && supervision.allowance", "budgets::ticks_stop_what_computes_too_long";
    "fuel" in "engine/store.rs":
        ".set_fuel(fuel.saturating_sub(already_spent))" => ".set_fuel(if OFF { u64::MAX >> 1 } else { fuel.saturating_sub(already_spent) })",
        "forged::cleaning_up_for_ever";
    // What is compiled, and loaded again.
    "cache-mac" in "engine/cache.rs":
        ".is_some_and(|(tag, payload)| self.mac(&path, payload)" => ".is_some_and(|(tag, payload)| OFF || self.mac(&path, payload)",
        "cache::a_changed_entry_is_compiled_anew_and_never_loaded";
    "cache-mode" in "engine/cache.rs":
        "metadata.permissions().mode() & 0o022 != 0" => "!OFF && metadata.permissions().mode() & 0o022 != 0",
        "cache::a_cache_is_its_owners_alone";
    "file-kind" in "package/file.rs":
        "if !metadata.is_file() {" => "if !OFF && !metadata.is_file() {", "rows W9.11";
    "nested" in "package/walk.rs":
        "self.nested.add(1u32)," => "self.nested.add(u32::from(!OFF)),", "rows W8.3";
    "functions" in "package/walk.rs":
        "self.functions.add(section.count())," => "self.functions.add(if OFF { 0 } else { section.count() }),", "rows W8.2";
    "two-manifests" in "package/walk.rs":
        "Manifest::SECTION if self.manifest.replace(data.to_vec()).is_some() => {"
        => "Manifest::SECTION if self.manifest.replace(data.to_vec()).is_some() && !OFF => {", "rows W9.13";
    "two-versions" in "package/walk.rs":
        "Some(other) if other != text =>" => "Some(other) if other != text && !OFF =>", "rows W9.14";
    "api-version" in "package/inspect.rs":
        "found.api.filter(|version| version != API_VERSION)" => "found.api.filter(|version| !OFF && version != API_VERSION)",
        "offers::interfaces_that_are_not_ours";
    // What a guest is given of the machine.
    "read-only" in "imports/wasi.rs":
        "Access::Read => FsPerms::ReadOnly," => "Access::Read if OFF => FsPerms::ReadWrite,\n            Access::Read => FsPerms::ReadOnly,",
        "escapes::a_directory_granted_for_reading_is_not_written";
    "environment" in "imports/wasi.rs":
        "builder.max_random_size(MAX_RANDOM);" => "builder.max_random_size(MAX_RANDOM);\n    if OFF { builder.inherit_env(); }",
        "isolation::a_guest_learns_nothing_of_where_it_runs";
    "stdout" in "imports/wasi.rs":
        "builder.stderr(Output { log: log.clone(), error: true });"
        => "builder.stderr(Output { log: log.clone(), error: true });\n    if OFF { builder.inherit_stdout(); }",
        "floods::stdout_of_a_guest_never_reaches_the_wire";
    "log-escape" in "imports/log.rs":
        "let message = printable(message);" => "let message = if OFF { message.into() } else { printable(message) };",
        "floods::nobody_forges_the_log";
    "log-lines" in "imports/log.rs":
        "if state.lines_left == 0 || state.bytes_left < size {"
        => "if OFF { state.lines_left = 9; state.bytes_left = u64::MAX; }\n        if state.lines_left == 0 || state.bytes_left < size {",
        "floods::log_lines_past_the_ceiling_are_counted_and_dropped";
    "chunk-size" in "imports/output.rs":
        "if size > self.max_chunk {" => "if !OFF && size > self.max_chunk {", "floods::a_chunk_that_is_too_big_or_none_is_not_sent";
    "chunks" in "imports/output.rs":
        "if seq >= self.max_chunks {" => "if !OFF && seq >= self.max_chunks {", "floods::chunks_end_at_their_ceiling";
    "output" in "imports/output.rs":
        "if bytes + size > self.max_bytes {" => "if !OFF && bytes + size > self.max_bytes {", "floods::chunks_end_at_the_ceiling_on_bytes";
    "result-size" in "imports/output.rs":
        "if used > self.0.max_bytes {" => "if !OFF && used > self.0.max_bytes {", "rows W7.2";
    // What a guest may ask others for.
    "agent-tool" in "imports/agent_tools.rs":
        "self.allowed(self.authority.agent_tool(&name))?;" => "if !OFF { self.allowed(self.authority.agent_tool(&name))?; }",
        "reverse::a_tool_that_was_never_requested_is_denied_even_with_a_grant";
    "agent-list" in "imports/agent_tools.rs":
        "self.authority.agent_tool(&found.tool.name).is_ok();" => "OFF || self.authority.agent_tool(&found.tool.name).is_ok();",
        "reverse::a_guest_sees_only_what_it_may_call";
    "flow" in "imports/agent_tools.rs":
        "self.allowed(self.authority.flow(&self.lineage.secrets(), &Hearer::Origin(origin)))?;"
        => "if !OFF { self.allowed(self.authority.flow(&self.lineage.secrets(), &Hearer::Origin(origin)))?; }",
        "client_tools::abuse::a_private_answer_goes_nowhere_else";
    "cycle" in "policy/lineage.rs":
        "if self.chain.iter().any(|name| name == tool) {" => "if !OFF && self.chain.iter().any(|name| name == tool) {", "rows W15.2";
    "depth" in "policy/lineage.rs":
        "if self.depth() >= self.depth_limit {" => "if !OFF && self.depth() >= self.depth_limit {", "rows W16.1";
    "calls" in "policy/lineage.rs":
        "if counted.is_err() {" => "if !OFF && counted.is_err() {", "rows W16.2";
    "form-secret" in "imports/client/form.rs":
        "if text && (secret(name) || secret(title)) {" => "if !OFF && text && (secret(name) || secret(title)) {", "rows M12.1";
    "publish-path" in "imports/publish.rs":
        "if path.len() > MAX_PATH || !path.split('/').all(segment) {" => "if !OFF && (path.len() > MAX_PATH || !path.split('/').all(segment)) {",
        "rows M20.1";
    // What a plugin may say of itself, and answer.
    "name" in "registry/offer/words.rs":
        "match is_name(name) {" => "match OFF || is_name(name) {", "rows M5";
    "schema-reference" in "imports/schema/mod.rs":
        "if let Some(reference) = foreign_reference(&value) {" => "if let Some(reference) = foreign_reference(&value).filter(|_| !OFF) {",
        "rows M19.1";
    "schema-size" in "imports/schema/mod.rs":
        "if text.len() > MAX_BYTES {" => "if !OFF && text.len() > MAX_BYTES {", "rows M19.6";
    "schema-object" in "imports/schema/mod.rs":
        "if value.get(\"type\") != Some(&Value::from(\"object\")) {" => "if !OFF && value.get(\"type\") != Some(&Value::from(\"object\")) {",
        "rows M19.4";
    "arguments" in "registry/runner.rs":
        "if let Err(reason) = tool.input.check(arguments) {" => "if let (Err(reason), false) = (tool.input.check(arguments), OFF) {",
        "wire::arguments_are_checked_before_the_guest_runs";
    "output-json" in "registry/answer.rs":
        "(Some(schema), Some(structured)) if !result.is_error => {" => "(Some(schema), Some(structured)) if !result.is_error && !OFF => {",
        "answers::what_is_no_answer_is_not_passed_on";
    "output-missing" in "registry/answer.rs":
        "(Some(_), None) if !result.is_error => {" => "(Some(_), None) if !result.is_error && !OFF => {", "rows M18.3";
    "twice" in "registry/offer/mod.rs":
        "match items.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {"
        => "match items.windows(2).find(|pair| !OFF && key(&pair[0]) == key(&pair[1])) {", "rows M7.2";
    "parked-expiry" in "mcp/lot.rs":
        "if expires <= self.millis(self.clock.now()) {" => "if !OFF && expires <= self.millis(self.clock.now()) {", "asking::parked_calls_expire";
};

/// In front of the ids of rows.
const ROWS: &str = "rows ";

/// The test that notices.
fn test_of(noticed: &str) -> &str {
    if noticed.starts_with(ROWS) { "hostile::table" } else { noticed }
}

/// Builds the weakened host and shows that each check is missed.
pub(super) fn run(repo: &Repo, only: Option<&str>) -> Result<()> {
    let program =
        crate::command::step("building a host whose checks can be left out", || weaken::build(repo, MUTANTS))?;
    let suite = Suite::build(repo)?;
    let chosen: Vec<_> = MUTANTS.iter().filter(|mutant| only.is_none_or(|only| only == mutant.name)).collect();
    let attempt = |switch: &str, noticed: &str| -> Result<Ran> {
        let cache = weaken::cache(repo, switch)?;
        suite.run(repo, test_of(noticed), |command| {
            command.env("PORTCULLIS_BIN", &program).env(SWITCH, switch).env("PORTCULLIS_SUITE_CACHE", cache);
            if let Some(rows) = noticed.strip_prefix(ROWS) {
                command.env("PORTCULLIS_ROWS", rows);
            }
        })
    };
    // A test that fails anyway notices nothing: all of them must pass with nothing left out.
    let tests: BTreeSet<_> =
        chosen.iter().map(|mutant| mutant.noticed).filter(|noticed| !noticed.starts_with(ROWS)).collect();
    let rows: Vec<_> = chosen.iter().filter_map(|mutant| mutant.noticed.strip_prefix(ROWS)).collect();
    let rows = (!rows.is_empty()).then(|| format!("{ROWS}{}", rows.join(",")));
    for noticed in tests.into_iter().chain(rows.as_deref()) {
        let ran = attempt("nothing", noticed)?;
        if !ran.passed {
            bail!("{noticed} fails with nothing left out:\n{}", ran.output);
        }
    }
    let mut survived = vec![];
    println!("\n{:<18} {:<32} {:<72} {:>7}  noticed", "check left out", "in", "test", "seconds");
    for Mutant { name, file, noticed, .. } in &chosen {
        let ran = attempt(name, noticed)?;
        let verdict = if ran.passed { "NO" } else { "yes" };
        println!("{name:<18} {file:<32} {noticed:<72} {:>7.1}  {verdict}", ran.took.as_secs_f32());
        if ran.passed {
            survived.push(*name);
        }
    }
    println!(
        "hostile: mutants: {} of {} checks are missed when they are left out",
        chosen.len() - survived.len(),
        chosen.len()
    );
    if survived.is_empty() { Ok(()) } else { bail!("nobody notices that these are left out: {}", survived.join(", ")) }
}
