//! Serializes large responses in the compute pool, because on a main thread they would delay all other requests.
//!
//! rmcp serializes inside its service, or when the parts of a body are read. The code that has called the guest marks the
//! response as large in the request's [`LargeAnswer`]; from then on the rest of the response is made in the pool.

use crate::request_context::LargeAnswer;
use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use runtime::engine::run_in_pool;
use std::future::poll_fn;
use std::task::Poll;

/// Does the work, and moves it to the compute pool once the response is known to be large.
pub(in crate::transport) async fn serialize<T: Send + 'static>(
    answer: &LargeAnswer,
    mut work: BoxFuture<'static, T>,
) -> T {
    let small = poll_fn(|cx| match answer.owner() {
        Some(_) => Poll::Ready(None),
        None => work.as_mut().poll(cx).map(Some),
    });
    match small.await {
        Some(done) => done,
        None => match answer.owner() {
            Some(owner) => run_in_pool(owner.clone(), work).await,
            None => work.await,
        },
    }
}

/// Returns the same response, with parts that are serialized when they are read.
pub(in crate::transport) fn serialize_body(answer: LargeAnswer, response: Response) -> Response {
    response.map(|body| match body.size_hint().exact() {
        // The body is in memory as a whole.
        Some(_) => body,
        None => Body::from_stream(stream::unfold((body.into_data_stream(), answer), async |(mut body, answer)| {
            let next = async move { (body.next().await, body) };
            let (part, body) = serialize(&answer, next.boxed()).await;
            part.map(|part| (part, (body, answer)))
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{PluginId, Side};
    use runtime::engine::is_compute_thread;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn the_rest_moves_to_the_pool_once_the_answer_is_known_to_be_large() {
        let answer = LargeAnswer::default();
        let (send, receive) = oneshot::channel();
        let work = async { (is_compute_thread(), receive.await, is_compute_thread()) };
        let says = async {
            tokio::task::yield_now().await;
            answer.set(("ann".into(), PluginId { side: Side::Server, name: "p".into() }));
            send.send(7).unwrap();
        };
        let (worked, ()) = futures::join!(serialize(&answer, work.boxed()), says);
        assert_eq!(worked, (false, Ok(7), true));
        assert!(serialize(&answer, async { is_compute_thread() }.boxed()).await, "the next part begins there");
        assert!(!serialize(&LargeAnswer::default(), async { is_compute_thread() }.boxed()).await);
    }
}
