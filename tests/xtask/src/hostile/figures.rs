//! The promises about attacks, in numbers. A test prints each figure in a line `hostile: NAME: ...`, which is compared
//! here with its bound. A test that passes without printing its line does not count.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::programs::Place::{self, Dropped, Random, Suite, Unit, Xtask};
use super::programs::{Programs, Ran};
use crate::repo::Repo;

/// The bound on the first number of a line.
#[derive(Debug, Clone, Copy)]
enum Bound {
    /// This many or more; where the line says "of", all of them.
    Least(u64),
    /// This many or fewer.
    Most(u64),
    /// No bound here: the test itself checks the number.
    Said,
}
use Bound::{Least, Most, Said};

struct Figure {
    /// The name for `--only`.
    name: &'static str,
    wanted: &'static str,
    bound: Bound,
    place: Place,
    test: &'static str,
    /// How the test's line begins, after `hostile: `. For a command: how the line ends, or empty if only its success
    /// counts.
    line: &'static str,
}

macro_rules! figures {
    ($($name:literal, $wanted:literal, $bound:expr, $place:ident $test:literal, $line:literal;)*) => {
        &[$(Figure { name: $name, wanted: $wanted, bound: $bound, place: $place, test: $test, line: $line }),*]
    };
}

/// All figures, in the order of the table.
const FIGURES: &[Figure] = figures! {
    "threats", "47, all whole", Least(47), Suite "hostile::matrix::every_threat_is_covered", "threats";
    "rows", ">= 100, each exactly", Least(100), Suite "hostile::table", "rows";
    "control", "p99 <= 250 ms", Most(250), Suite "hostile::table", "control";
    "memory", "<= 8192 KiB left", Most(8192), Suite "hostile::table", "memory";
    "canaries", "0 told", Most(0), Suite "hostile::table", "secrets";
    "reverse", ">= 100, each exactly", Least(100), Suite "abuse::every_abuse_has_its_expected_outcome", "reverse";
    "imports", "all denied or inert", Least(1), Suite "imports::every_import_is_denied_or_inert", "import audit";
    "crash-points", ">= 40, nothing lost", Least(40), Suite "tasks::crash::a_host_that_ends_at_any_change_loses_nothing_and_does_nothing_twice", "crash points";
    "crash-saves", ">= 40, nothing lost", Least(40), Suite "tasks::crash::a_call_that_saves_loses_nothing_and_does_nothing_twice", "crash points";
    "kills", "50, nothing lost", Least(50), Suite "tasks::crash::a_host_that_is_killed_again_and_again_under_load_loses_nothing_and_does_nothing_twice", "kills";
    "held", "<= 128 MiB", Most(128), Suite "held_resources::no_import_makes_the_host_hold_more_than_the_call_may", "held";
    "open-files", "<= 64", Most(64), Suite "open_files::a_call_opens_as_many_files_as_it_may", "open files";
    "names", "<= 32768 KiB kept", Most(32_768), Suite "tables::nothing_is_kept_of_names", "names";
    "handshakes", "<= 32768 KiB kept", Most(32_768), Suite "tables::nothing_is_kept_of_handshakes", "handshakes";
    "sessions", "<= 32768 KiB held", Most(32_768), Suite "tables::abandoned_sessions_leave_the_others_alone", "sessions";
    "line", "<= 8192 KiB kept", Most(8_192), Suite "tables::a_line_of_100_mib_is_not_kept", "line";
    "large-requests", "<= 256 MiB", Most(256), Suite "tables::large_messages_over_stdio_are_weighed_before_they_are_parsed", "large requests";
    "empty-strings", "<= 32 MiB", Most(32), Suite "amplification::four_million_empty_strings_are_refused", "empty strings";
    "fields", "<= 32 MiB", Most(32), Suite "amplification::forty_thousand_fields_are_refused_both_ways", "fields";
    "bodies", "<= 32 MiB", Most(32), Suite "amplification::a_gigabyte_is_streamed_or_refused", "bodies";
    "unmade", "<= 300 lines", Most(300), Suite "amplification::requests_that_cannot_be_made_are_not_logged_one_by_one", "unmade requests";
    "log", "<= 6144 KiB", Most(6_144), Suite "floods::refusals_are_logged_so_often_and_then_counted", "log";
    "nested", ">= 20, each attacked", Least(20), Suite "nested_budgets::each_budget_of_the_tree_is_attacked", "nested budgets";
    "nested-log", "<= 256", Most(256), Suite "nested_budgets::refusals_are_recorded_so_often_for_the_whole_tree", "nested refusals";
    "nested-fuel", ">= 100 %", Least(100), Suite "nested_budgets::what_a_server_makes_run_here_is_paid_by_the_caller", "nested fuel";
    "nested-time", "<= 5000 ms", Most(5_000), Suite "nested_budgets::an_upstream_call_ends_with_its_callers_time", "nested time";
    "nested-spans", "<= 260", Most(260), Suite "watching::spans_are_counted_for_the_whole_tree", "nested spans";
    "trees", "10000, all paid", Least(10_000), Dropped "trees::who_calls_pays_however_the_calls_below_end", "trees";
    "moments", ">= 600, nothing left", Least(600), Dropped "moments::scenarios_that_are_given_up_after_any_poll_leave_nothing", "moments";
    "panics", "56 of 56 alone", Least(56), Dropped "panics::a_panic_of_the_host_fails_one_call_only", "panics";
    "crowds", "80 of 80", Least(80), Suite "crowded::others_are_served_beside_every_crowd", "crowds";
    "connections", "<= 32 of 256", Most(32), Suite "crowded::requests_of_guests_leave_descriptors_for_the_host", "connections";
    "malformed", "20000, 0 faults", Least(20_000), Suite "mangled::mangled_components_never_crash_the_host", "malformed components";
    "bombs", ">= 24, all bounded", Least(24), Suite "bombs::every_bomb_is_refused_or_killed_while_a_server_runs", "bombs";
    "ten-thousand", "p99 <= 250 ms", Most(250), Suite "crowded::ten_thousand_hostile_connections_delay_nobody", "ten thousand";
    "streams", "others served", Said, Suite "crowded::the_streams_of_one_user_leave_room_for_others", "streams";
    "unfinished", "<= 68 of 220", Most(68), Suite "crowded::large_messages_do_not_fill_the_memory", "unfinished requests";
    "unread", "<= 68 of 220", Most(68), Suite "crowded::large_messages_do_not_fill_the_memory", "unread answers";
    "gone", "<= 17 of 40", Most(17), Suite "crowded::large_requests_of_clients_that_are_gone_count", "gone";
    "lists", "<= 300 lines", Most(300), Suite "upstream::floods::a_server_whose_tools_always_change_costs_little", "lists";
    "questions", "<= 256 lines", Most(256), Suite "upstream::floods::refused_questions_do_not_fill_the_log", "questions";
    "edges-stdio", ">= 140, all right", Least(140), Suite "message_edges::over_stdio_each_is_answered_under_its_id", "edges over stdio";
    "edges-http", ">= 120, all right", Least(120), Suite "message_edges::over_http_each_is_answered_under_its_id", "edges over HTTP";
    "server-floods", "<= 64 MiB", Most(64), Suite "upstream::floods::nothing_that_a_server_repeats_for_ever_takes_much_or_stops_others", "server floods";
    "client-floods", "<= 64 MiB", Most(64), Suite "client_floods::nothing_that_a_client_repeats_takes_much_or_stops_others", "client floods";
    "session-floods", "<= 64 MiB", Most(64), Suite "client_floods::nothing_that_a_session_repeats_takes_much_or_stops_others", "session floods";
    "stdio-floods", "<= 64 MiB", Most(64), Suite "client_floods::nothing_that_a_client_repeats_over_stdio_and_does_not_read_takes_much", "stdio floods";
    "schemas", "others served", Said, Suite "upstream::floods::tools_that_are_left_out_are_counted", "schemas";
    "given-back", "<= 40 MiB kept", Most(40), Suite "large_answers::memory_of_large_answers_is_given_back", "memory";
    "measuring", "<= 32 threads", Most(32), Suite "state::measuring_large_directories_is_work_of_the_compute_pool", "measuring";
    "large-components", "others served", Least(240), Suite "pool_shares::parked_calls_of_large_components_leave_room_for_others", "large components";
    "nested-calls", "others served", Said, Suite "pool_shares::calls_with_many_nested_ones_leave_room_for_others", "nested calls";
    "parked-memory", "within its limit", Said, Suite "pool_shares::memory_of_nested_calls_that_do_not_ask_counts_too", "parked memory";
    "private", "100000 programs, 0 tell", Least(100_000), Random "no_program_tells_a_private_input", "programs";
    "files", "120 paths x 12, all held", Least(1_440), Suite "hostile::files::no_path_leads_out", "files";
    "race", "0 escapes", Most(0), Suite "hostile::files::no_race_leads_out", "race";
    "scratch", "<= 256 KiB", Most(256), Suite "state::a_removed_file_that_another_call_holds_still_counts", "scratch";
    "paths", ">= 35, below no prefix", Least(35), Unit "policy::capabilities::http::request_path::tests::what_servers_could_read_otherwise_is_below_no_prefix", "paths";
    "ssrf", ">= 200, 0 connections", Least(200), Unit "services::egress::tests::hostile_addresses::vectors", "egress";
    "rebinding", "5000, 0 connections", Least(5_000), Unit "services::egress::tests::hostile_addresses::rebinding", "egress";
    "spellings", "10000, 0 connections", Least(10_000), Unit "services::egress::tests::hostile_addresses::spellings", "egress";
    "legitimate", "50, all answered", Least(50), Unit "services::egress::tests::hostile_addresses::legitimate", "egress";
    "registries", ">= 40, all refused", Least(40), Suite "registries::lies::invalid_registry_answers_are_refused_and_leave_no_files", "registries";
    "debian", "3 exchanges", Least(3), Suite "registries::pushed::the_debian_docker_registry_is_supported", "docker-registry";
    "signatures", ">= 30, all refused", Least(30), Suite "registries::signed::untrusted_or_invalid_signatures_are_refused", "signatures";
    "components", ">= 15, all refused", Least(15), Suite "tampering::components_that_were_tampered_with_are_refused", "components";
    "locks", ">= 15, all refused", Least(15), Suite "tampering::lock_files_that_were_tampered_with_are_refused", "locks";
    "upgrades", ">= 25, all told apart", Least(25), Unit "plugins::install::compare::tests::updates_are_installed_staged_or_refused", "upgrades";
    "mutations", ">= 12, all held back", Least(12), Unit "plugins::install::compare::tests::each_mutation_of_the_definitions_is_held_back", "mutations";
    "instructions", ">= 95 % marked", Least(95), Unit "plugins::offer::suspicion::tests::instructions_are_marked_and_ordinary_lines_are_not", "instructions";
    "audit", ">= 10, all found", Least(10), Suite "audit::changed_records_are_found_and_named", "audit";
    "rotation", "24, all kept", Least(24), Unit "platform::audit::tests::crowds::nobody_rotates_the_records_of_others_away", "rotation";
    "rotated", "2, both kept", Least(2), Suite "audit::nobody_rotates_the_denial_of_another_away", "rotated";
    "queue", "100, all kept", Least(100), Unit "platform::audit::tests::crowds::nobody_takes_the_whole_queue", "queue";
    "neighbours", "p99 <= 2x + 10 ms, best", Said, Suite "neighbours::a_bad_plugin_does_not_delay_its_neighbours", "neighbours: alone -> beside";
    "crowd", "p50 <= 2x, best", Said, Suite "neighbours::a_computing_neighbour_gets_its_share_beside_a_crowd", "neighbours: computing";
    "worker", ">= 30, all end it", Least(30), Suite "hijacked::a_hijacked_worker_can_do_nothing", "hijacked compile worker";
    "server", ">= 44, all refused", Least(44), Suite "hijacked::a_hijacked_server_can_do_little", "hijacked server";
    "mutants", ">= 60, all noticed", Least(60), Xtask "hostile --mutants", "removals noticed";
    "fuzz", "every target passes", Said, Xtask "fuzz", "";
};

/// Figures of tests that do something very often. Without `PORTCULLIS_FIGURES`, they do a tenth of it.
pub(super) const SOAKS: [&str; 11] = [
    "malformed",
    "names",
    "handshakes",
    "sessions",
    "rows",
    "bodies",
    "crash-points",
    "crash-saves",
    "kills",
    "trees",
    "private",
];

/// The prefix of the tests' secrets, which must never be disclosed.
const CANARY: &str = "canary-";

/// Runs the chosen figures, or all, and prints the table. Returns it in Markdown.
pub(super) fn run(repo: &Repo, only: &[String]) -> Result<String> {
    let names: Vec<_> = FIGURES.iter().map(|figure| figure.name).collect();
    if let Some(name) = only.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("no figure is called {name}; there are {}", names.join(", "));
    }
    let chosen: Vec<_> =
        FIGURES.iter().filter(|it| only.is_empty() || only.iter().any(|name| name == it.name)).collect();
    let programs = Programs::build(repo, &chosen.iter().map(|figure| figure.place).collect::<Vec<_>>())?;
    let (mut known, mut missed, mut skipped) = (BTreeMap::<_, Option<Ran>>::new(), vec![], vec![]);
    let began = Instant::now();
    println!("\n{:<12} {:<24} {:<100} {:>7}  verdict", "figure", "wanted", "got", "seconds");
    let mut page = "| figure | wanted | got | seconds |\n|---|---|---|--:|\n".to_owned();
    let mut row = |name: &str, wanted: &str, got: &str, took: Duration, verdict: Verdict| {
        let verdict = verdict.word();
        println!("{name:<12} {wanted:<24} {got:<100} {:>7.1}  {verdict}", took.as_secs_f32());
        let _ = writeln!(page, "| {name} | {wanted} | {got} | {:.0} |", took.as_secs_f32());
    };
    for figure in &chosen {
        // Some figures come from the same test.
        let key = (figure.place, figure.test);
        let first = !known.contains_key(&key);
        if first {
            known.insert(key, programs.run(repo, figure.place, figure.test, |_| {})?);
        }
        let ran = known[&key].as_ref();
        let (got, verdict) = judged(figure, ran.map(|ran| (ran.passed, &*ran.output)));
        let took = ran.filter(|_| first).map(|ran| ran.took).unwrap_or_default();
        row(figure.name, figure.wanted, &got, took, verdict);
        if verdict == Verdict::Skipped {
            skipped.push(figure.name);
        }
        if verdict == Verdict::Fail {
            missed.push(figure.name);
            if let Some(ran) = ran.filter(|ran| first && !ran.passed) {
                eprintln!("{}", ran.output);
            }
        }
    }
    let (got, good) = told(known.values().flatten().map(|ran| &*ran.output));
    row("output", "0 told", &got, Duration::ZERO, Verdict::of(good));
    if !good {
        missed.push("output");
    }
    let number = chosen.len() + 1;
    let passed = number - missed.len() - skipped.len();
    println!("{passed} of {number} figures, in {} s", began.elapsed().as_secs());
    if !skipped.is_empty() {
        println!("not tried on this machine: {}", skipped.join(", "));
    }
    if missed.is_empty() { Ok(page) } else { bail!("not as it must be: {}", missed.join(", ")) }
}

/// Counts the tests' secrets in everything that the tests printed.
fn told<'a>(outputs: impl Iterator<Item = &'a str>) -> (String, bool) {
    let (mut hits, mut size, mut tests) = (0, 0, 0);
    for output in outputs {
        hits += output.to_ascii_lowercase().matches(CANARY).count();
        (size, tests) = (size + output.len(), tests + 1);
    }
    (format!("{hits} secrets in {} KiB that {tests} tests printed", size >> 10), hits == 0)
}

/// Whether a figure is as it must be. A test that cannot run on this machine is neither good nor bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Fail,
    Skipped,
}

impl Verdict {
    fn of(good: bool) -> Self {
        if good { Self::Pass } else { Self::Fail }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Skipped => "skipped",
        }
    }
}

/// The result of a figure, from whether its test passed and what it printed; none: it was not run.
fn judged(figure: &Figure, ran: Option<(bool, &str)>) -> (String, Verdict) {
    let fail = |why: String| (why, Verdict::Fail);
    let Some((passed, output)) = ran else { return fail(format!("not run: there is no test {}", figure.test)) };
    let start = format!("hostile: {}: ", figure.line);
    let said = match figure.place {
        // The test harness may write before it on the same line.
        Suite | Unit | Random | Dropped => {
            output.lines().find_map(|line| line.split_once(&start).map(|(_, said)| said))
        }
        Xtask => output.lines().rfind(|line| line.ends_with(figure.line)),
    };
    match said {
        Some(_) if passed && figure.line.is_empty() => ("passes".to_owned(), Verdict::Pass),
        Some(said) if passed && said.starts_with("skipped: ") => (said.to_owned(), Verdict::Skipped),
        Some(said) if passed => (said.to_owned(), Verdict::of(holds(figure.bound, said))),
        Some(said) => fail(format!("its test fails: {said}")),
        None if passed => fail("not run: its test says nothing".to_owned()),
        None => fail("its test fails".to_owned()),
    }
}

/// Whether the first number of a line is within its bound.
fn holds(bound: Bound, said: &str) -> bool {
    if matches!(bound, Said) {
        return !said.is_empty();
    }
    let mut words = said.split(' ');
    let mut number = || words.next().and_then(|word| word.trim_end_matches(',').parse::<f64>().ok());
    let first = number();
    let all = if words.next() == Some("of") { words.next().and_then(|word| word.parse().ok()) } else { first };
    match (bound, first) {
        (_, None) | (Said, _) => false,
        (Least(least), Some(first)) => first >= least as f64 && Some(first) == all,
        (Most(most), Some(first)) => first <= most as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_figure_is_held_against_what_it_must_be() {
        let bound = |bound, said| holds(bound, said);
        assert!(bound(Least(24), "24 of 24 refused") && bound(Least(24), "30 refused") && bound(Least(0), "0 of 0"));
        assert!(
            !bound(Least(24), "23 of 24 refused") && !bound(Least(24), "24 of 30 refused") && !bound(Least(24), "")
        );
        assert!(bound(Most(0), "0 of 12 found") && !bound(Most(0), "1 of 12 found"));
        assert!(bound(Most(2), "1.34 times") && !bound(Most(2), "2.01 times") && !bound(Most(2), "no number"));
    }

    #[test]
    fn what_did_not_run_is_missed() {
        let figure = FIGURES.iter().find(|figure| figure.name == "files").unwrap();
        let good = "test x ... hostile: files: 1440 of 1440 pairs";
        assert_eq!(judged(figure, Some((true, good))), ("1440 of 1440 pairs".to_owned(), Verdict::Pass));
        for ran in [None, Some((true, "")), Some((false, "")), Some((false, good)), Some((true, "hostile: race: 1440"))]
        {
            assert_eq!(judged(figure, ran).1, Verdict::Fail, "{ran:?}");
        }
        let skipped = "hostile: files: skipped: there is no disk";
        assert_eq!(judged(figure, Some((true, skipped))), ("skipped: there is no disk".to_owned(), Verdict::Skipped));
        assert_eq!(judged(figure, Some((false, skipped))).1, Verdict::Fail);
    }

    #[test]
    fn a_secret_that_was_told_is_counted() {
        let told = |texts: &[&str]| told(texts.iter().copied());
        assert!(told(&["a", "canaries"]).1);
        assert_eq!(told(&["a", "x canary-1 CANARY-2"]), ("2 secrets in 0 KiB that 2 tests printed".to_owned(), false));
    }

    #[test]
    fn each_figure_has_a_name_of_its_own() {
        let names: BTreeSet<_> = FIGURES.iter().map(|figure| figure.name).collect();
        assert_eq!(names.len(), FIGURES.len());
    }
}
