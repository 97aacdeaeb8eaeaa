//! Work on a large value, such as checking or serializing an answer. Nothing can interrupt it, so it runs in the compute
//! pool from its beginning.

use super::compute_pool::{ComputePool, TaskOwner, is_compute_thread};
use futures::FutureExt as _;
use futures::future::BoxFuture;

/// Work on a value of this many bytes or more takes some milliseconds.
const LARGE: u64 = 256 << 10;

/// Whether work on so many bytes belongs in the compute pool.
pub fn is_large(bytes: u64) -> bool {
    bytes >= LARGE
}

/// Works on a value of so many bytes: in the compute pool if it is large, else on this thread.
pub async fn work_in_pool_if_large<T: Send + 'static>(
    bytes: u64,
    owner: impl FnOnce() -> TaskOwner,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if !is_large(bytes) || is_compute_thread() {
        return work();
    }
    run_in_pool(owner(), async move { work() }.boxed()).await
}

/// Runs work in the compute pool from its beginning.
pub async fn run_in_pool<T: Send + 'static>(owner: TaskOwner, work: BoxFuture<'static, T>) -> T {
    match ComputePool::global() {
        Some(pool) => pool.run(owner, work).await,
        None => work.await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{PluginId, Side};

    #[tokio::test]
    async fn only_large_values_go_to_the_pool_and_a_panic_is_passed_on() {
        let owner = || ("ann".into(), PluginId { side: Side::Server, name: "p".into() });
        assert!(!work_in_pool_if_large(LARGE - 1, owner, is_compute_thread).await);
        assert!(work_in_pool_if_large(LARGE, owner, is_compute_thread).await);
        let failing = work_in_pool_if_large(LARGE, owner, || panic!("of the work"));
        assert!(std::panic::AssertUnwindSafe(failing).catch_unwind().await.is_err());
        assert!(work_in_pool_if_large(LARGE, owner, is_compute_thread).await, "the pool goes on");
        let nested = async move { work_in_pool_if_large(LARGE, owner, is_compute_thread).await };
        assert!(run_in_pool(owner(), nested.boxed()).await);
    }
}
