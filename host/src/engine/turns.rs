//! Turns on the processors. A call computes for a moment as soon as it can; from then on it waits for its turn like every
//! other call that computes for long, so that however many of them there are, they never crowd out those that are short.
//!
//! Turns go round as places do: by principal, then by plugin.

use super::cpu::CpuTime;
use super::fair::{Fair, Full, Held, Seeker};
use futures::future::BoxFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// CPU time before the first turn, and of each turn.
const TURN: Duration = Duration::from_millis(5);

/// A root call's seat in the line. The calls nested in it compute in its turns.
#[derive(Clone)]
pub struct Seat {
    turns: Fair,
    seeker: Arc<Seeker>,
}

impl Seat {
    /// In this line.
    pub fn new(turns: Fair, seeker: Seeker) -> Self {
        Self { turns, seeker: Arc::new(seeker) }
    }

    fn turn(&self) -> BoxFuture<'static, Result<Held, Full>> {
        let Self { turns, seeker } = self.clone();
        Box::pin(async move { turns.place(&seeker).await })
    }
}

/// A guest that computes in its turns only; one without a seat whenever it can.
pub(super) struct InTurn<F> {
    guest: F,
    cpu: CpuTime,
    seat: Option<Seat>,
    turn: Option<Held>,
    awaited: Option<BoxFuture<'static, Result<Held, Full>>>,
    /// CPU time at which its turn ends.
    until: Duration,
    yielded: Option<Arc<Yielded>>,
}

/// Tells a guest that has yielded, which has woken itself, from one that waits for something.
struct Yielded {
    woken: AtomicBool,
    task: Waker,
}

impl Wake for Yielded {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Relaxed);
        self.task.wake_by_ref();
    }
}

impl<F: Future + Unpin> InTurn<F> {
    pub(super) fn new(guest: F, cpu: CpuTime, seat: Option<Seat>) -> Self {
        Self { guest, cpu, seat, turn: None, awaited: None, until: TURN, yielded: None }
    }

    /// Polls within a turn, and ends the turn when it is over or not needed.
    fn poll_in_turn(&mut self, cx: &mut Context<'_>) -> Poll<F::Output> {
        let known = self.yielded.take().filter(|yielded| yielded.task.will_wake(cx.waker()));
        let yielded =
            known.unwrap_or_else(|| Arc::new(Yielded { woken: AtomicBool::new(false), task: cx.waker().clone() }));
        yielded.woken.store(false, Ordering::Relaxed);
        let polled = Pin::new(&mut self.guest).poll(&mut Context::from_waker(&Waker::from(yielded.clone())));
        if polled.is_ready() || !yielded.woken.load(Ordering::Relaxed) || self.cpu.total() >= self.until {
            self.turn = None;
        }
        self.yielded = Some(yielded);
        polled
    }
}

impl<F: Future + Unpin> Future for InTurn<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let Some(seat) = this.seat.as_ref().filter(|_| this.turn.is_some() || this.cpu.total() >= TURN) else {
            return Pin::new(&mut this.guest).poll(cx);
        };
        if this.turn.is_none() {
            let awaited = this.awaited.get_or_insert_with(|| seat.turn());
            let Poll::Ready(turn) = awaited.as_mut().poll(cx) else { return Poll::Pending };
            this.awaited = None;
            this.until = this.cpu.total() + TURN;
            // The line has no end that could be reached.
            this.turn = turn.ok();
        }
        this.poll_in_turn(cx)
    }
}
