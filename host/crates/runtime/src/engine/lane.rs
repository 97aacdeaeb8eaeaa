//! The slow lane: where calls compute that have used up their first slice.
//!
//! What the host does for everybody, reading, answering and short calls, happens on the main runtime's threads, and whoever
//! computes for long there has the others wait for the end of its slice, hop by hop. So it goes on here: on threads of
//! their own, as many as there are processors, which the kernel lets stand back for the main ones. Nothing is wasted by
//! that when those have nothing to do.
//!
//! Turns go round by principal and then by plugin ([`Line`]), so that a plugin with many calls that compute gets no more
//! than its neighbour with one. A turn is held by a thread while it polls, never by a call: one that waits, is parked or
//! is given up by whoever waits for it holds nothing.

use super::line::Line;
use futures::future::BoxFuture;
use platform::clock::{Clock as _, SystemClock};
use policy::{PluginId, Principal};
use std::any::Any;
use std::cell::Cell;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::Handle;

/// CPU time of a turn: a tick's, or that of many short polls.
const TURN: Duration = Duration::from_millis(5);
/// How far the lane's threads stand back, as `nice` counts. Enough for the kernel to give a main thread that wakes up the
/// processor at once; more would have guests starve beside other programs of this user, of whose time they get a third.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;
/// How long the end of the program waits for the turns that are being taken.
const PATIENCE: Duration = Duration::from_secs(1);

/// One for the process, since what is shared is the machine's processors.
static PROCESS: OnceLock<Arc<Lane>> = OnceLock::new();

thread_local! {
    static HERE: Cell<bool> = const { Cell::new(false) };
    /// Whether a future that this thread polled last was found in line or at its turn.
    static COMPUTES: Cell<bool> = const { Cell::new(false) };
}

/// What became of a future that was polled.
pub enum Progress<T> {
    /// It is ready.
    Done(T),
    /// It waits for others; what it had to say to them is said.
    Rests,
    /// It goes on in the lane, and wakes whoever polled it when it rests or is ready.
    Computes,
}

/// Polls a future that may go on in the lane.
pub fn progress<F: Future + Unpin>(future: &mut F, cx: &mut Context<'_>) -> Progress<F::Output> {
    COMPUTES.set(false);
    match Pin::new(future).poll(cx) {
        Poll::Ready(value) => Progress::Done(value),
        Poll::Pending if COMPUTES.get() => Progress::Computes,
        Poll::Pending => Progress::Rests,
    }
}

/// On whose behalf something computes.
pub(super) type Who = (Principal, PluginId);

/// Threads, and tasks that wait for a turn on one of them.
#[derive(Default)]
pub(super) struct Lane {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    line: Line<Arc<dyn Turn>>,
    threads: usize,
    /// Turns that are being taken.
    taken: usize,
    closed: bool,
}

/// Something to be polled.
trait Turn: Send + Sync {
    fn take_turn(self: Arc<Self>);
}

/// Whether this is one of the lane's threads.
pub fn is_slow() -> bool {
    HERE.get()
}

/// Ends all computing for good, before the runtime goes that the tasks need.
pub fn close_lane() {
    if let Some(lane) = PROCESS.get() {
        lane.close();
    }
}

impl Lane {
    /// That of the process; none if it could not have a thread.
    pub(super) fn of_process() -> Option<Arc<Self>> {
        let lane = PROCESS.get_or_init(|| {
            let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
            Self::with_threads(processors)
        });
        let has_threads = lane.state().threads > 0;
        has_threads.then(|| lane.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_threads(threads: usize) -> Arc<Self> {
        let lane = Arc::new(Self::default());
        for _ in 0..threads {
            let working = lane.clone();
            match std::thread::Builder::new().name("guests".into()).spawn(move || working.work()) {
                Ok(_) => lane.state().threads += 1,
                Err(error) => tracing::warn!("no thread for guests that compute for long: {error}"),
            }
        }
        lane
    }

    fn work(&self) {
        HERE.set(true);
        stand_back();
        while let Some(task) = self.next() {
            // A panic while a task is polled is its caller's; one while it is dropped is nobody's, and the log has it.
            let _ = catch_unwind(AssertUnwindSafe(|| task.take_turn()));
            self.state().taken -= 1;
            if self.state().closed {
                self.changed.notify_all();
            }
        }
    }

    /// Waits for somebody in line. None when the lane is closed.
    fn next(&self) -> Option<Arc<dyn Turn>> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some((_, _, task)) = state.line.next(|_| true, |_, _| true) {
                state.taken += 1;
                return Some(task);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn join(&self, (principal, plugin): &Who, task: Arc<dyn Turn>) {
        self.state().line.join(principal, plugin, task);
        self.changed.notify_one();
    }

    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        self.changed.notify_all();
        // Tasks are not dropped under the lock.
        let waiting = std::mem::take(&mut state.line);
        let ended = self.changed.wait_timeout_while(state, PATIENCE, |state| state.taken > 0);
        drop(ended);
        drop(waiting);
    }

    /// Goes on with a future here until it is ready or the result is dropped. The future belongs to this moment's runtime.
    pub(super) fn run<T: Send + 'static>(self: Arc<Self>, who: Who, future: BoxFuture<'static, T>) -> Running<T> {
        let stage = Mutex::new((Stage::InLine(future), None));
        let task = Arc::new(Task { lane: self, who, runtime: Handle::current(), stage });
        task.lane.join(&task.who, task.clone());
        Running(task)
    }
}

/// Lets the main threads go first. Elsewhere than on Linux a priority is a process's, and nobody stands back.
fn stand_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!("guests that compute for long have the priority of all others: {error}");
    }
}

/// A future that is polled in turns.
struct Task<T> {
    lane: Arc<Lane>,
    who: Who,
    runtime: Handle,
    /// And whoever waits for its end.
    stage: Mutex<(Stage<T>, Option<Waker>)>,
}

enum Stage<T> {
    /// Waits for its turn.
    InLine(BoxFuture<'static, T>),
    /// Has its turn; whether it was woken meanwhile.
    Polled { woken: bool },
    /// Waits to be woken.
    Waits(BoxFuture<'static, T>),
    /// Is ready, or has panicked.
    Ended(Result<T, Box<dyn Any + Send>>),
    /// Nobody waits for it any more.
    Gone,
}

impl<T> Task<T> {
    fn stage(&self) -> MutexGuard<'_, (Stage<T>, Option<Waker>)> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Task<T> {
    /// What becomes of a future that is not ready: it comes back if its turn goes on.
    fn pending(self: &Arc<Self>, future: BoxFuture<'static, T>, is_over: bool) -> Option<BoxFuture<'static, T>> {
        let mut stage = self.stage();
        match stage.0 {
            Stage::Polled { woken: true } if !is_over => {
                stage.0 = Stage::Polled { woken: false };
                return Some(future);
            }
            Stage::Polled { woken: true } => {
                stage.0 = Stage::InLine(future);
                drop(stage);
                self.lane.join(&self.who, self.clone());
            }
            Stage::Polled { woken: false } => {
                stage.0 = Stage::Waits(future);
                let waker = stage.1.take();
                drop(stage);
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            Stage::InLine(_) | Stage::Waits(_) | Stage::Ended(_) | Stage::Gone => {
                // Dropped where nobody else waits for the lock.
                drop(stage);
                drop(future);
            }
        }
        None
    }

    fn ended(&self, result: Result<T, Box<dyn Any + Send>>) {
        let mut stage = self.stage();
        let (ended, waker) = match stage.0 {
            Stage::Gone => (Stage::Gone, None),
            _ => (Stage::Ended(result), stage.1.take()),
        };
        stage.0 = ended;
        drop(stage);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Send + 'static> Turn for Task<T> {
    fn take_turn(self: Arc<Self>) {
        let mut future = {
            let mut stage = self.stage();
            match std::mem::replace(&mut stage.0, Stage::Polled { woken: false }) {
                Stage::InLine(future) => future,
                other => return stage.0 = other,
            }
        };
        let _runtime = self.runtime.enter();
        let waker = Waker::from(self.clone());
        let began = SystemClock.cpu();
        loop {
            let poll = || future.as_mut().poll(&mut Context::from_waker(&waker));
            match catch_unwind(AssertUnwindSafe(poll)) {
                Ok(Poll::Ready(value)) => return self.ended(Ok(value)),
                Err(panic) => return self.ended(Err(panic)),
                Ok(Poll::Pending) => {
                    let is_over = SystemClock.cpu().saturating_sub(began) >= TURN;
                    let Some(goes_on) = self.pending(future, is_over) else { return };
                    future = goes_on;
                }
            }
        }
    }
}

impl<T: Send + 'static> Wake for Task<T> {
    fn wake(self: Arc<Self>) {
        let mut stage = self.stage();
        match std::mem::replace(&mut stage.0, Stage::Gone) {
            Stage::Waits(future) => {
                stage.0 = Stage::InLine(future);
                drop(stage);
                self.lane.join(&self.who, self.clone());
            }
            Stage::Polled { .. } => stage.0 = Stage::Polled { woken: true },
            other => stage.0 = other,
        }
    }
}

/// The end of a future in the lane. Dropped, it drops the future; while that is polled, at the end of the poll.
pub(super) struct Running<T>(Arc<Task<T>>);

impl<T> Future for Running<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut stage = self.0.stage();
        match std::mem::replace(&mut stage.0, Stage::Gone) {
            Stage::Ended(Ok(value)) => Poll::Ready(value),
            Stage::Ended(Err(panic)) => {
                drop(stage);
                resume_unwind(panic)
            }
            other => {
                COMPUTES.set(matches!(other, Stage::InLine(_) | Stage::Polled { .. }));
                *stage = (other, Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        let left = std::mem::replace(&mut *self.0.stage(), (Stage::Gone, None));
        drop(left);
    }
}

#[cfg(test)]
mod tests;
