//! A body of which each part is put into words when it is sent: a heavy one in the slow lane, since it would delay
//! everybody whom the main threads answer.

use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use futures::{FutureExt as _, StreamExt as _, stream};
use runtime::engine::Heavy;

/// The same response; what is in memory as a whole has its words already.
pub(super) fn weighed(response: Response, heavy: Heavy) -> Response {
    response.map(|body| match body.size_hint().exact() {
        Some(_) => body,
        None => Body::from_stream(stream::unfold((body.into_data_stream(), heavy), async |(mut body, heavy)| {
            let next = async move { (body.next().await, body) };
            let (part, body) = heavy.run(next.boxed()).await;
            part.map(|part| (part, (body, heavy)))
        })),
    })
}
