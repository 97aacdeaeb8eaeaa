//! When a tool is left alone and when it is tried, by a clock in hand.

use super::*;
use platform::clock::{Clock, SystemClock};

struct Bench {
    breaker: Breaker,
    limits: BreakerLimits,
    now: Instant,
}

fn circuit(called: &str, principal: &'static str, by: Option<&str>) -> Circuit {
    Circuit { called: called.into(), principal: principal.into(), by: by.map(Into::into) }
}

const BROKE: Outcome = Outcome::Broke("trap");

impl Bench {
    fn new() -> Self {
        Self { breaker: Breaker::default(), limits: BreakerLimits::default(), now: SystemClock.now() }
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// One call; whether it was let through, and for how long the tool is left alone because of it.
    fn call(&self, circuit: &Circuit, outcome: Outcome) -> Result<Option<u64>, LeftAlone> {
        let looked = self.breaker.look(circuit, self.now);
        let entered = self.breaker.enter(circuit, self.now);
        assert_eq!(looked.is_ok(), entered.is_ok());
        let opened = self.breaker.end(circuit, entered?, outcome, &self.limits, self.now);
        Ok(opened.map(|length| length.as_secs()))
    }
}

#[test]
fn opens_after_five_and_tries_once_a_period() {
    let (mut bench, bad) = (Bench::new(), circuit("run", "ann", None));
    for _ in 0..4 {
        assert_eq!(bench.call(&bad, BROKE), Ok(None));
    }
    assert_eq!(bench.call(&bad, BROKE), Ok(Some(30)));
    for (length, next) in [(30, 60), (60, 120), (120, 240), (240, 480), (480, 600), (600, 600)] {
        bench.pass(length - 1);
        let refused = bench.call(&bad, BROKE).unwrap_err();
        assert_eq!((refused.cause, refused.retry_after), ("trap", Duration::from_secs(1)));
        bench.pass(1);
        let tries = bench.breaker.enter(&bad, bench.now).unwrap();
        assert!(tries.tries);
        // While it is tried, nobody else gets through.
        assert!((0..1_000).all(|_| bench.breaker.enter(&bad, bench.now).is_err()));
        let opened = bench.breaker.end(&bad, tries, BROKE, &bench.limits, bench.now);
        assert_eq!(opened, Some(Duration::from_secs(next)));
    }
    bench.pass(600);
    assert_eq!(bench.call(&bad, Outcome::Well), Ok(None));
    assert!(!bench.breaker.troubled.load(Ordering::Relaxed) && bench.breaker.circuits().is_empty());
    // As if nothing had been.
    assert!((0..4).all(|_| bench.call(&bad, BROKE) == Ok(None)));
    assert_eq!(bench.call(&bad, BROKE), Ok(Some(30)));
}

#[test]
fn others_are_let_through_all_the_time() {
    let bench = Bench::new();
    let bad = circuit("run", "ann", None);
    while bench.call(&bad, BROKE) != Ok(Some(30)) {}
    assert!(bench.call(&bad, BROKE).is_err());
    let others =
        [circuit("stop", "ann", None), circuit("run", "bob", None), circuit("run", "ann", Some("plugins.a.run"))];
    for other in &others {
        assert!((0..1_000).all(|_| bench.call(other, Outcome::Well) == Ok(None)), "{other:?}");
    }
    let open = bench.breaker.open(bench.now);
    assert_eq!(open, [(bad, Duration::from_secs(30))]);
}

#[test]
fn what_goes_well_more_often_than_not_stays_open_to_all() {
    let (mut bench, tool) = (Bench::new(), circuit("run", "ann", None));
    for _ in 0..10_000 {
        assert_eq!(bench.call(&tool, BROKE), Ok(None));
        assert_eq!(bench.call(&tool, Outcome::Well), Ok(None));
        assert_eq!(bench.call(&tool, Outcome::Well), Ok(None));
        bench.pass(1);
    }
    // However well it went before, it is noticed within one window.
    let broken = (0..100).position(|_| {
        bench.pass(1);
        bench.call(&tool, BROKE).unwrap().is_some()
    });
    assert!(broken.is_some_and(|after| after <= 30), "{broken:?}");
    // Half of the calls hang.
    let (bench, tool) = (Bench::new(), circuit("run", "bob", None));
    let mut turn = 0;
    while bench.call(&tool, if turn % 2 == 0 { BROKE } else { Outcome::Well }) != Ok(Some(30)) {
        turn += 1;
    }
    assert_eq!(turn, 8, "the fifth failure");
}

#[test]
fn old_failures_are_forgotten() {
    let (mut bench, tool) = (Bench::new(), circuit("run", "ann", None));
    for _ in 0..100 {
        assert_eq!(bench.call(&tool, BROKE), Ok(None));
        bench.pass(8);
    }
    bench.pass(30);
    assert_eq!(bench.call(&tool, Outcome::Well), Ok(None));
    assert!(bench.breaker.circuits().is_empty());
}

#[test]
fn what_is_not_the_tools_doing_changes_nothing() {
    let (mut bench, tool) = (Bench::new(), circuit("run", "ann", None));
    assert!((0..100).all(|_| bench.call(&tool, Outcome::Unknown) == Ok(None)));
    while bench.call(&tool, BROKE) != Ok(Some(30)) {}
    bench.pass(30);
    assert_eq!(bench.call(&tool, Outcome::Unknown), Ok(Some(30)), "as long again, not longer");
    assert!(bench.call(&tool, Outcome::Well).is_err(), "one in each period");
    bench.pass(30);
    // One that began before and ends now is not the one that tries.
    let tries = bench.breaker.enter(&tool, bench.now).unwrap();
    let late = bench.breaker.end(&tool, Pass { tries: false }, Outcome::Well, &bench.limits, bench.now);
    assert_eq!((late, bench.breaker.enter(&tool, bench.now).is_err()), (None, true));
    assert_eq!(bench.breaker.end(&tool, tries, Outcome::Well, &bench.limits, bench.now), None);
    assert_eq!(bench.call(&tool, Outcome::Well), Ok(None));
}

#[test]
fn it_can_be_off_and_is_bounded() {
    let mut bench = Bench::new();
    for n in 0..2 * MAX_TROUBLED {
        let _ = bench.call(&circuit(&n.to_string(), "ann", None), BROKE);
        bench.now += Duration::from_millis(1);
    }
    assert_eq!(bench.breaker.circuits().len(), MAX_TROUBLED);
    bench.limits.failures = 0;
    let off = circuit("off", "ann", None);
    assert!((0..100).all(|_| bench.call(&off, BROKE) == Ok(None)));
}

#[test]
fn who_had_little_left_has_not_shown_that_the_tool_is_bad() {
    let limits = Limits::default();
    let of = |error| outcome::<()>(&Err(error), &limits);
    assert_eq!(of(CallError::FuelExhausted { limit: limits.fuel, used: 0 }), Outcome::Broke("fuel-exhausted"));
    assert_eq!(of(CallError::FuelExhausted { limit: limits.fuel - 1, used: 0 }), Outcome::Unknown);
    assert_eq!(of(CallError::DeadlineExceeded { limit: limits.deadline }), Outcome::Broke("deadline-exceeded"));
    assert_eq!(of(CallError::DeadlineExceeded { limit: limits.deadline / 2 }), Outcome::Unknown);
    assert_eq!(of(CallError::Cancelled), Outcome::Unknown);
    assert_eq!(outcome(&Ok(()), &limits), Outcome::Well);
}
