//! To which call something belongs, and how many may be open.

use super::*;
use crate::api::call::CallerScope;
use crate::api::offer::ToolOffer;
use crate::open_call::queued_chunks::ChunkRoom;
use crate::open_call::responder::ClientResponder;
use crate::open_call::reverse_calls::ReverseCallScope;
use platform::clock::{Clock, SystemClock};
use policy::{Budget, Limits, Lineage, Principal};
use runtime::engine::HeldResources;
use runtime::engine::PausableClock;
use runtime::imports::{NoClient, NoSink};

fn open_calls() -> Arc<OpenCalls> {
    OpenCalls::new(mpsc::channel(1).0, LineRate::new(Arc::new(SystemClock), "far", "messages"))
}

fn opened(calls: &Arc<OpenCalls>, task: &str, correlation: Option<&str>) -> Result<OpenCallGuard, usize> {
    opened_by("local", calls, task, correlation)
}

fn opened_by(
    principal: &str,
    calls: &Arc<OpenCalls>,
    task: &str,
    correlation: Option<&str>,
) -> Result<OpenCallGuard, usize> {
    let (limits, clock) = (Limits::default(), Arc::new(SystemClock));
    let (lineage, budget) = (Lineage::root("far.run", &limits), Budget::root(&limits, clock.now()));
    let pausable_clock = PausableClock::new(clock.clone());
    let caller_scope = CallerScope {
        lineage: lineage.clone(),
        budget,
        pausable_clock: pausable_clock.clone(),
        held: HeldResources::default(),
        principal: Principal::local(),
        client: Arc::new(NoClient),
        sink: Arc::new(NoSink),
        answer_timeout: std::time::Duration::from_secs(1),
        chain: None,
        links: Default::default(),
    };
    let responder = Responder::Client(ClientResponder::new(&caller_scope, &ChunkRoom::default()).0);
    let agent = Arc::new(plugins::calls::NoTools);
    let scope = ReverseCallScope {
        lineage,
        budget,
        caller_ends: None,
        pausable_clock,
        held: HeldResources::default(),
        principal: Principal::from_source("key", principal),
        agent,
    };
    let requester = Requester { server: "far".into(), plugin: None, task: task.into() };
    let reverse_calls = ReverseCalls::new(ToolOffer::none(), scope);
    calls.open(requester, responder, reverse_calls, correlation.map(str::to_owned))
}

#[test]
fn a_request_that_matches_two_calls_belongs_to_none() {
    let calls = open_calls();
    assert!(calls.find(None, None, None).is_none(), "nothing is open");
    let one = opened(&calls, "one", Some("trip")).unwrap();
    let task = |found: Option<Arc<OpenCall>>| found.map(|call| call.requester.task.clone());
    assert_eq!(task(calls.find(None, None, None)).as_deref(), Some("one"));
    assert_eq!(task(calls.find(None, None, Some("other"))), None);
    let two = opened(&calls, "two", Some("trip")).unwrap();
    assert_eq!(task(calls.find(None, None, None)), None);
    assert_eq!(task(calls.find(None, None, Some("trip"))), None, "two calls have this correlation ID");
    let id = RequestId::Number(7);
    two.call().ids().request = Some(id.clone());
    two.call().read_call_id(&serde_json::json!({ CALL_META: "c-2" }));
    assert_eq!(task(calls.find(Some(&id), None, None)).as_deref(), Some("two"));
    assert_eq!(task(calls.find(Some(&RequestId::Number(8)), None, None)), None);
    assert_eq!(task(calls.find(None, Some("c-2"), None)).as_deref(), Some("two"));
    drop(two);
    assert_eq!(task(calls.find(None, None, None)).as_deref(), Some("one"));
    drop(one);
    assert!(calls.all().is_empty());
}

#[test]
fn a_principal_has_as_many_open_calls_as_are_left_for_others() {
    let calls = open_calls();
    let all_of = |principal: &str| {
        std::iter::from_fn(|| opened_by(principal, &calls, "x", None).ok()).take(2 * MAX_OPEN).collect::<Vec<_>>()
    };
    let (ann, bob, eve) = (all_of("ann"), all_of("bob"), all_of("eve"));
    assert_eq!([ann.len(), bob.len(), eve.len()], [MAX_OPEN / 2, MAX_OPEN / 4, MAX_OPEN / 8]);
    assert_eq!(opened_by("ann", &calls, "x", None).err(), Some(MAX_OPEN / 2));
    drop(ann);
    assert!(opened_by("bob", &calls, "x", None).is_ok());
    let many: Vec<_> = (0..2 * MAX_OPEN).filter_map(|at| opened_by(&at.to_string(), &calls, "x", None).ok()).collect();
    assert_eq!(calls.all().len(), MAX_OPEN, "{}", many.len());
}
