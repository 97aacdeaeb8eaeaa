//! When circuits open and close, with a simulated clock.

use super::*;
use platform::clock::{Clock, SystemClock};

struct Fixture {
    breaker: CircuitBreaker,
    limits: BreakerLimits,
    now: Instant,
}

fn circuit(target: &str, principal: &'static str, caller: Option<&str>) -> Circuit {
    Circuit {
        target: target.into(),
        principal: principal.into(),
        caller: caller.map(Into::into),
        knows: PrivateOrigins::new(),
    }
}

const FAILURE: BreakerOutcome = BreakerOutcome::Failure("trap");

impl Fixture {
    fn new() -> Self {
        Self { breaker: CircuitBreaker::default(), limits: BreakerLimits::default(), now: SystemClock.now() }
    }

    fn advance(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// Makes one call; returns for how long that opened the circuit, or why the call was refused.
    fn call(&self, circuit: &Circuit, outcome: BreakerOutcome) -> Result<Option<u64>, CircuitOpen> {
        let checked = self.breaker.check(circuit, self.now);
        let acquired = self.breaker.acquire(circuit, self.now);
        assert_eq!(checked.is_ok(), acquired.is_ok());
        let opened = self.breaker.record(circuit, acquired?, outcome, &self.limits, self.now);
        Ok(opened.map(|length| length.as_secs()))
    }
}

#[test]
fn opens_after_five_failures_and_probes_once_a_period() {
    let (mut fixture, bad) = (Fixture::new(), circuit("run", "ann", None));
    for _ in 0..4 {
        assert_eq!(fixture.call(&bad, FAILURE), Ok(None));
    }
    assert_eq!(fixture.call(&bad, FAILURE), Ok(Some(30)));
    for (length, next) in [(30, 60), (60, 120), (120, 240), (240, 480), (480, 600), (600, 600)] {
        fixture.advance(length - 1);
        let refused = fixture.call(&bad, FAILURE).unwrap_err();
        assert_eq!((refused.cause, refused.retry_after), ("trap", Duration::from_secs(1)));
        fixture.advance(1);
        let probe = fixture.breaker.acquire(&bad, fixture.now).unwrap();
        assert!(probe.is_probe);
        // No other call is permitted during the probe.
        assert!((0..1_000).all(|_| fixture.breaker.acquire(&bad, fixture.now).is_err()));
        let opened = fixture.breaker.record(&bad, probe, FAILURE, &fixture.limits, fixture.now);
        assert_eq!(opened, Some(Duration::from_secs(next)));
    }
    fixture.advance(600);
    assert_eq!(fixture.call(&bad, BreakerOutcome::Success), Ok(None));
    assert!(!fixture.breaker.has_circuits.load(Ordering::Relaxed) && fixture.breaker.circuits().is_empty());
    // The count starts again.
    assert!((0..4).all(|_| fixture.call(&bad, FAILURE) == Ok(None)));
    assert_eq!(fixture.call(&bad, FAILURE), Ok(Some(30)));
}

#[test]
fn other_circuits_stay_closed() {
    let fixture = Fixture::new();
    let bad = circuit("run", "ann", None);
    while fixture.call(&bad, FAILURE) != Ok(Some(30)) {}
    assert!(fixture.call(&bad, FAILURE).is_err());
    let others =
        [circuit("stop", "ann", None), circuit("run", "bob", None), circuit("run", "ann", Some("plugins.a.run"))];
    for other in &others {
        assert!((0..1_000).all(|_| fixture.call(other, BreakerOutcome::Success) == Ok(None)), "{other:?}");
    }
    let open = fixture.breaker.open_circuits(fixture.now);
    assert_eq!(open, [(bad, Duration::from_secs(30))]);
}

#[test]
fn a_tool_that_mostly_succeeds_stays_closed() {
    let (mut fixture, tool) = (Fixture::new(), circuit("run", "ann", None));
    for _ in 0..10_000 {
        assert_eq!(fixture.call(&tool, FAILURE), Ok(None));
        assert_eq!(fixture.call(&tool, BreakerOutcome::Success), Ok(None));
        assert_eq!(fixture.call(&tool, BreakerOutcome::Success), Ok(None));
        fixture.advance(1);
    }
    // However many calls succeeded before, failures are noticed within one window.
    let broken = (0..100).position(|_| {
        fixture.advance(1);
        fixture.call(&tool, FAILURE).unwrap().is_some()
    });
    assert!(broken.is_some_and(|after| after <= 30), "{broken:?}");
    // Half of the calls hang.
    let (fixture, tool) = (Fixture::new(), circuit("run", "bob", None));
    let mut turn = 0;
    while fixture.call(&tool, if turn % 2 == 0 { FAILURE } else { BreakerOutcome::Success }) != Ok(Some(30)) {
        turn += 1;
    }
    assert_eq!(turn, 8, "the fifth failure");
}

#[test]
fn old_failures_are_forgotten() {
    let (mut fixture, tool) = (Fixture::new(), circuit("run", "ann", None));
    for _ in 0..100 {
        assert_eq!(fixture.call(&tool, FAILURE), Ok(None));
        fixture.advance(8);
    }
    fixture.advance(30);
    assert_eq!(fixture.call(&tool, BreakerOutcome::Success), Ok(None));
    assert!(fixture.breaker.circuits().is_empty());
}

#[test]
fn unknown_outcomes_change_nothing() {
    let (mut fixture, tool) = (Fixture::new(), circuit("run", "ann", None));
    assert!((0..100).all(|_| fixture.call(&tool, BreakerOutcome::Unknown) == Ok(None)));
    while fixture.call(&tool, FAILURE) != Ok(Some(30)) {}
    fixture.advance(30);
    assert_eq!(fixture.call(&tool, BreakerOutcome::Unknown), Ok(Some(30)), "as long again, not longer");
    assert!(fixture.call(&tool, BreakerOutcome::Success).is_err(), "one in each period");
    fixture.advance(30);
    // A call that began before the circuit opened is not the probe.
    let probe = fixture.breaker.acquire(&tool, fixture.now).unwrap();
    let late = fixture.breaker.record(
        &tool,
        BreakerPermit { is_probe: false },
        BreakerOutcome::Success,
        &fixture.limits,
        fixture.now,
    );
    assert_eq!((late, fixture.breaker.acquire(&tool, fixture.now).is_err()), (None, true));
    assert_eq!(fixture.breaker.record(&tool, probe, BreakerOutcome::Success, &fixture.limits, fixture.now), None);
    assert_eq!(fixture.call(&tool, BreakerOutcome::Success), Ok(None));
}

#[test]
fn it_can_be_turned_off_and_its_memory_is_bounded() {
    let mut fixture = Fixture::new();
    for n in 0..2 * MAX_CIRCUITS {
        let _ = fixture.call(&circuit(&n.to_string(), "ann", None), FAILURE);
        fixture.now += Duration::from_millis(1);
    }
    assert_eq!(fixture.breaker.circuits().len(), MAX_CIRCUITS);
    fixture.limits.failures = 0;
    let off = circuit("off", "ann", None);
    assert!((0..100).all(|_| fixture.call(&off, FAILURE) == Ok(None)));
}

#[test]
fn exhausting_a_smaller_budget_than_the_tools_own_is_no_failure() {
    let limits = Limits::default();
    let outcome = |error| judge::<()>(&Err(error), &limits);
    assert_eq!(
        outcome(CallError::FuelExhausted { limit: limits.fuel, used: 0 }),
        BreakerOutcome::Failure("fuel-exhausted")
    );
    assert_eq!(outcome(CallError::FuelExhausted { limit: limits.fuel - 1, used: 0 }), BreakerOutcome::Unknown);
    assert_eq!(
        outcome(CallError::DeadlineExceeded { limit: limits.deadline() }),
        BreakerOutcome::Failure("deadline-exceeded")
    );
    assert_eq!(outcome(CallError::DeadlineExceeded { limit: limits.deadline() / 2 }), BreakerOutcome::Unknown);
    assert_eq!(outcome(CallError::Cancelled), BreakerOutcome::Unknown);
    assert_eq!(judge(&Ok(()), &limits), BreakerOutcome::Success);
}

#[test]
fn failures_of_nested_calls_that_have_seen_private_results_are_noticed_by_such_calls_only() {
    let (fixture, limits) = (Fixture::new(), Limits::default());
    let root = Lineage::root("plugins.p.run", &limits);
    let nested = root.descend("agent.run", 0).unwrap();
    let new = |lineage| Circuit::new("run".into(), Principal::local(), lineage);
    let (plain, of_client) = (new(&nested), new(&root));
    nested.mark_private(policy::Origin::Client);
    let private = new(&nested);
    for _ in 0..5 {
        fixture.call(&private, FAILURE).unwrap();
    }
    assert!(fixture.call(&private, FAILURE).is_err() && fixture.call(&plain, FAILURE).is_ok());
    // The client of the call may notice everything.
    assert_eq!(new(&root), of_client);
}
