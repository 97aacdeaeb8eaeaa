//! A future that the pool polls in turns.

use super::pool::{ComputePool, PoolTask, TaskOwner};
use futures::future::BoxFuture;
use platform::clock::{Clock as _, SystemClock};
use platform::sync::Mutex;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::Handle;

/// CPU time of a turn: one epoch tick, or many short polls.
pub(super) const TURN: Duration = Duration::from_millis(5);

thread_local! {
    /// Whether the last [`TaskHandle`] polled by this thread belongs to a task that is queued or running.
    static IS_COMPUTING: Cell<bool> = const { Cell::new(false) };
}

/// The result of [`poll_compute`].
pub enum ComputePoll<T> {
    Ready(T),
    /// It waits for something else, and has sent everything that it had to send.
    Waiting,
    /// It is running in the pool, and wakes its poller when it waits or is ready.
    Computing,
}

/// Polls a future that may be running in the compute pool.
pub fn poll_compute<F: Future + Unpin>(future: &mut F, cx: &mut Context<'_>) -> ComputePoll<F::Output> {
    IS_COMPUTING.set(false);
    match Pin::new(future).poll(cx) {
        Poll::Ready(value) => ComputePoll::Ready(value),
        Poll::Pending if IS_COMPUTING.get() => ComputePoll::Computing,
        Poll::Pending => ComputePoll::Waiting,
    }
}

struct Task<T> {
    pool: Arc<ComputePool>,
    owner: TaskOwner,
    runtime: Handle,
    /// The stage, and the waker of whoever awaits the task.
    stage: Mutex<(TaskStage<T>, Option<Waker>)>,
}

enum TaskStage<T> {
    Queued(BoxFuture<'static, T>),
    /// It is being polled. `woken`: it was woken after the poll began.
    Running {
        woken: bool,
    },
    /// Waits to be woken.
    Waiting(BoxFuture<'static, T>),
    /// Ready, or it has panicked.
    Finished(Result<T, Box<dyn Any + Send>>),
    /// The handle was dropped.
    Abandoned,
}

impl ComputePool {
    /// Polls a future in this pool until it is ready or the handle is dropped. Timers and sockets of the future use the
    /// current runtime.
    pub(in super::super) fn run<T: Send + 'static>(
        self: Arc<Self>,
        owner: TaskOwner,
        future: BoxFuture<'static, T>,
    ) -> TaskHandle<T> {
        let stage = Mutex::new((TaskStage::Queued(future), None));
        let task = Arc::new(Task { pool: self, owner, runtime: Handle::current(), stage });
        task.pool.enqueue(&task.owner, task.clone());
        TaskHandle(task)
    }
}

impl<T> Task<T> {
    fn stage(&self) -> MutexGuard<'_, (TaskStage<T>, Option<Waker>)> {
        self.stage.lock()
    }
}

impl<T: Send + 'static> Task<T> {
    /// Stores a pending future until it is woken or has its next turn. Returns it instead if it was woken and its turn is not
    /// over.
    fn put_away(self: &Arc<Self>, future: BoxFuture<'static, T>, is_turn_over: bool) -> Option<BoxFuture<'static, T>> {
        let mut stage = self.stage();
        match stage.0 {
            TaskStage::Running { woken: true } if !is_turn_over => {
                stage.0 = TaskStage::Running { woken: false };
                return Some(future);
            }
            TaskStage::Running { woken: true } => {
                stage.0 = TaskStage::Queued(future);
                drop(stage);
                self.pool.enqueue(&self.owner, self.clone());
            }
            TaskStage::Running { woken: false } => {
                stage.0 = TaskStage::Waiting(future);
                let waker = stage.1.take();
                drop(stage);
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            TaskStage::Queued(_) | TaskStage::Waiting(_) | TaskStage::Finished(_) | TaskStage::Abandoned => {
                // The future is dropped after the lock is released.
                drop(stage);
                drop(future);
            }
        }
        None
    }

    fn finish(&self, result: Result<T, Box<dyn Any + Send>>) {
        let mut stage = self.stage();
        let (finished, waker) = match stage.0 {
            TaskStage::Abandoned => (TaskStage::Abandoned, None),
            _ => (TaskStage::Finished(result), stage.1.take()),
        };
        stage.0 = finished;
        drop(stage);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Send + 'static> PoolTask for Task<T> {
    fn take_turn(self: Arc<Self>) {
        let mut future = {
            let mut stage = self.stage();
            match std::mem::replace(&mut stage.0, TaskStage::Running { woken: false }) {
                TaskStage::Queued(future) => future,
                other => return stage.0 = other,
            }
        };
        let _runtime = self.runtime.enter();
        let waker = Waker::from(self.clone());
        let turn_began = SystemClock.cpu();
        loop {
            let poll = || future.as_mut().poll(&mut Context::from_waker(&waker));
            match catch_unwind(AssertUnwindSafe(poll)) {
                Ok(Poll::Ready(value)) => return self.finish(Ok(value)),
                Err(panic) => return self.finish(Err(panic)),
                Ok(Poll::Pending) => {
                    let is_turn_over = SystemClock.cpu().saturating_sub(turn_began) >= TURN;
                    let Some(woken) = self.put_away(future, is_turn_over) else { return };
                    future = woken;
                }
            }
        }
    }
}

impl<T: Send + 'static> Wake for Task<T> {
    fn wake(self: Arc<Self>) {
        let mut stage = self.stage();
        match std::mem::replace(&mut stage.0, TaskStage::Abandoned) {
            TaskStage::Waiting(future) => {
                stage.0 = TaskStage::Queued(future);
                drop(stage);
                self.pool.enqueue(&self.owner, self.clone());
            }
            TaskStage::Running { .. } => stage.0 = TaskStage::Running { woken: true },
            other => stage.0 = other,
        }
    }
}

/// Awaits a task. Dropping it drops the task's future: at once, or at the end of the poll that is running.
pub(in super::super) struct TaskHandle<T>(Arc<Task<T>>);

impl<T> Future for TaskHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut stage = self.0.stage();
        match std::mem::replace(&mut stage.0, TaskStage::Abandoned) {
            TaskStage::Finished(Ok(value)) => Poll::Ready(value),
            TaskStage::Finished(Err(panic)) => {
                drop(stage);
                resume_unwind(panic)
            }
            other => {
                IS_COMPUTING.set(matches!(other, TaskStage::Queued(_) | TaskStage::Running { .. }));
                *stage = (other, Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for TaskHandle<T> {
    fn drop(&mut self) {
        let abandoned = std::mem::replace(&mut *self.0.stage(), (TaskStage::Abandoned, None));
        drop(abandoned);
    }
}
