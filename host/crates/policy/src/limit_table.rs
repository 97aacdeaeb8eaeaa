//! The table of all limits of calls: the scope of each, and what it bounds. `host/docs/limits.md` is generated from it.

use super::{
    BreakerLimits, FuelLimits, HttpGrant, HttpPattern, IdempotencyLimits, Limits, ParkedCallLimits, PrincipalLimits,
    SampleGrant, ScratchGrant, StateGrant, TaskLimits, TreeBudget,
};
use std::fmt::Write as _;
use std::time::Duration;

/// What a limit applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitScope {
    /// An amount that is used up. A call shares it with all calls below it.
    Tree,
    /// An amount that one call has in use at a moment, or uses in one step.
    Call,
    /// An amount for all calls of a plugin, or for all calls of a plugin for one principal.
    Plugin,
    /// An amount for the whole host, or one principal's share of it.
    Host,
    /// A choice, not an amount.
    Setting,
}

impl LimitScope {
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Call => "call",
            Self::Plugin => "plugin",
            Self::Host => "host",
            Self::Setting => "setting",
        }
    }
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRow {
    /// The key in the configuration.
    pub key: &'static str,
    pub default: String,
    pub scope: LimitScope,
    pub bounds: &'static str,
}

fn row(key: &'static str, default: impl ToString, scope: LimitScope, bounds: &'static str) -> LimitRow {
    LimitRow { key, default: default.to_string(), scope, bounds }
}

fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

/// All limits. The structs are destructured without `..`, so that a new field needs a row.
pub fn limit_table() -> Vec<LimitRow> {
    [of_calls(), of_grants(), fixed(), of_host()].concat()
}

#[rustfmt::skip]
fn of_calls() -> Vec<LimitRow> {
    use LimitScope::{Call, Plugin, Setting, Tree};
    let Limits {
        metering, fuel, cpu, extensions, memory, deadline: _, output, chunk, chunks, overflow, survive, calls, depth, parallel, call_arguments,
        call_results, reverse_call_wait, questions, answer_timeout, file_growth, open_files, log, log_lines, handles,
        table_elements, hostcall, concurrent, queue, rate, breaker,
    } = Limits::default();
    let BreakerLimits { failures, within, open, at_most } = breaker;
    let deadlines = format!("{}, {}", time(Limits::default().deadline()), time(Limits::default().task_deadline()));
    vec![
        row("limits.metering", format!("{metering:?}").to_lowercase(), Setting, "which of `fuel` and `cpu` counts"),
        row("limits.fuel", fuel, Tree, "computing; concurrent calls get equal shares"),
        row("limits.cpu", time(cpu), Tree, "computing, under `metering = \"ticks\"`; likewise"),
        row("limits.extensions", extensions, Tree, "how often the user of a task may add as much again"),
        row("limits.deadline", deadlines, Tree, "time; paused while the client is asked. A task has the second whose tool says that it may run long"),
        row("limits.output", output, Tree, "chunks of the call, and those of called tools that it passes on, and its result"),
        row("limits.chunks", chunks, Tree, "number of these chunks"),
        row("limits.calls", calls, Tree, "reverse calls; and, counted apart, requests to connected accounts"),
        row("limits.depth", depth, Tree, "calls within calls"),
        row("limits.call-arguments", call_arguments, Tree, "arguments of reverse calls"),
        row("limits.call-results", call_results, Tree, "results of reverse calls"),
        row("limits.reverse-call-wait", time(reverse_call_wait), Tree, "waiting for the client's tools"),
        row("limits.questions", questions, Tree, "questions, repeated ones included"),
        row("limits.file-growth", file_growth, Tree, "growth of files in granted directories"),
        row("limits.log", log, Tree, "bytes of log"),
        row("limits.log-lines", log_lines, Tree, "lines of log"),
        row("limits.parallel", parallel, Tree, "calls that run at once at one depth; concurrent calls get equal shares, at least one each"),
        row("limits.memory", memory, Call, "linear memory of its instances"),
        row("limits.table-elements", table_elements, Call, "table elements of its instances"),
        row("limits.handles", handles, Call, "handles to what the host holds for it"),
        row("limits.open-files", open_files, Call, "open files; all calls of a principal have a ceiling, too"),
        row("limits.hostcall", hostcall, Call, "one transfer between guest and host"),
        row("limits.chunk", chunk, Call, "one chunk"),
        row("limits.answer-timeout", time(answer_timeout), Call, "waiting for one answer"),
        row("limits.overflow", format!("{overflow:?}").to_lowercase(), Setting, "who gives way to a slow reader"),
        row("limits.survive", survive.map_or("none".to_owned(), |survive| format!("{survive:?}")), Setting, "what the steps of its tasks survive; none: as its manifest or `server.tasks.survive` says"),
        row("limits.concurrent", concurrent, Plugin, "calls of clients that run at once"),
        row("limits.queue", queue, Plugin, "calls of clients that wait for that"),
        row("limits.rate", rate.map_or("none".to_owned(), |rate| rate.to_string()), Plugin, "calls in a time"),
        row("limits.breaker.failures", failures, Plugin, "failures before the circuit opens"),
        row("limits.breaker.within", time(within), Plugin, "the time in which they count"),
        row("limits.breaker.open", time(open), Plugin, "how long it stays open at first"),
        row("limits.breaker.at-most", time(at_most), Plugin, "how long it stays open at last"),
    ]
}

#[rustfmt::skip]
fn of_grants() -> Vec<LimitRow> {
    use LimitScope::{Call, Plugin, Tree};
    let SampleGrant { calls, tokens, fallback: _ } = SampleGrant::default();
    let StateGrant { size: state, keys, private: _ } = StateGrant::default();
    let ScratchGrant { guest: _, size: scratch } = ScratchGrant::default();
    let mut rows = vec![
        row("grants.client.sample.calls", calls, Tree, "requests to a model"),
        row("grants.client.sample.tokens", tokens, Tree, "sum of their `max-tokens`"),
    ];
    let any: Result<HttpPattern, _> = "GET https://example.com/".parse();
    if let Ok(HttpGrant { allow: _, private: _, requests, body, timeout, redirects }) = any.map(HttpGrant::new) {
        rows.extend([
            row("grants.http.requests", requests, Tree, "requests to other servers, redirects included"),
            row("grants.http.body", body, Call, "the body of one request, and of its response"),
            row("grants.http.timeout", time(timeout), Call, "one request, within the deadline"),
            row("grants.http.redirects", redirects, Call, "redirects of one request"),
        ]);
    }
    rows.extend([
        row("grants.state.size", state, Plugin, "what it keeps for one principal"),
        row("grants.state.keys", keys, Plugin, "number of these values"),
        row("grants.scratch.size", scratch, Plugin, "its own directory"),
    ]);
    rows
}

/// The limits that no setting changes.
#[rustfmt::skip]
fn fixed() -> Vec<LimitRow> {
    let fixed = |budget: TreeBudget| budget.limit(&Limits::default());
    vec![
        row("records of refusals", fixed(TreeBudget::Refusals), LimitScope::Tree, "audit records and log lines of what was refused; further ones are counted"),
        row("spans", fixed(TreeBudget::Spans), LimitScope::Tree, "spans besides those of the calls themselves; further ones are counted"),
    ]
}

#[rustfmt::skip]
fn of_host() -> Vec<LimitRow> {
    use LimitScope::Host;
    let PrincipalLimits { concurrent, queue, rate } = PrincipalLimits::default();
    let ParkedCallLimits { calls, per_principal, memory, stored: _ } = ParkedCallLimits::default();
    let TaskLimits { inline: _, kept, per_principal: tasks_of_one, size, result, run, keep, survive: _ } = TaskLimits::default();
    let IdempotencyLimits { keep: keys_kept, kept: keys, per_principal: keys_of_one, result: key_result, size: keys_size } = IdempotencyLimits::default();
    let FuelLimits { per_day, per_principal: fuel_of_one } = FuelLimits::default();
    let units = |limit: Option<u64>| limit.map_or("none".to_owned(), |limit| limit.to_string());
    vec![
        row("server.fuel.per-day", units(per_day), Host, "computing of all calls in a day"),
        row("server.fuel.per-principal", units(fuel_of_one), Host, "computing of one principal's calls in a day"),
        row("server.per-principal.concurrent", concurrent, Host, "running calls of one principal"),
        row("server.per-principal.queue", queue, Host, "its calls that wait for that"),
        row("server.per-principal.rate", rate.map_or("none".to_owned(), |rate| rate.to_string()), Host, "its calls in a time"),
        row("server.parked.calls", calls, Host, "calls that wait for their clients"),
        row("server.parked.per-principal", per_principal, Host, "those of one principal"),
        row("server.parked.memory", memory, Host, "their memory"),
        row("server.tasks.kept", kept, Host, "tasks, ended ones too"),
        row("server.tasks.per-principal", tasks_of_one, Host, "those of one principal"),
        row("server.tasks.size", size, Host, "what they take in the store; one principal has its part of it"),
        row("server.tasks.result", result, Host, "the result of one task"),
        row("server.tasks.run", time(run), Host, "how long one may take"),
        row("server.tasks.keep", time(keep), Host, "how long it is kept after it has ended"),
        row("server.idempotency.keep", time(keys_kept), Host, "how long an idempotency key is kept after its call has ended"),
        row("server.idempotency.kept", keys, Host, "keys"),
        row("server.idempotency.per-principal", keys_of_one, Host, "those of one principal"),
        row("server.idempotency.result", key_result, Host, "the result that is kept of one call"),
        row("server.idempotency.size", keys_size, Host, "what all of them take in the store"),
    ]
}

/// The text of `host/docs/limits.md`.
pub fn limits_page() -> String {
    let mut page = String::from(
        "# Limits\n\n\
         This page is made from `policy/limit_table`; a test compares it and names the command that writes it.\n\n\
         | of | means |\n|---|---|\n\
         | tree | What is used up. A call has it together with all calls below it, at any depth: it pays from its own budget and from those of all its callers, so a tool that is called gets the lesser of its own limit and what its callers have left. What a grant allows is compared with what the whole tree has used. |\n\
         | call | A ceiling of one call at one moment, or of one step. Of a tree, at most `limits.parallel` calls run at each depth down to `limits.depth`, so a tree holds at most that many times as much. |\n\
         | plugin | All calls of a plugin together; state and rates of circuits for one principal. |\n\
         | host | The whole host, or the share of one principal. |\n\
         | setting | A choice, no amount. |\n\n\
         | limit | default | of | bounds |\n|---|---|---|---|\n",
    );
    for LimitRow { key, default, scope, bounds } in limit_table() {
        // Cannot fail: writing to a `String` always succeeds.
        let _ = writeln!(page, "| `{key}` | {default} | {} | {bounds} |", scope.name());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");

    #[test]
    fn the_page_is_as_the_table_says() {
        let written = fs::read_to_string(PAGE).unwrap_or_default();
        let hint = "write it with `cargo test --workspace --lib limit_table -- --ignored`";
        assert_eq!(written, limits_page(), "host/docs/limits.md is out of date: {hint}");
    }

    #[test]
    #[ignore = "writes host/docs/limits.md"]
    fn write_the_page() {
        fs::write(PAGE, limits_page()).unwrap();
    }

    #[test]
    fn keys_are_unique() {
        let rows = limit_table();
        let keys: std::collections::BTreeSet<_> = rows.iter().map(|row| row.key).collect();
        assert_eq!(keys.len(), rows.len());
    }
}
