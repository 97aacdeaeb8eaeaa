//! The body of an answer, noted as the guest reads it.

use super::notes::Notes;
use bytes::Bytes;
use platform::outbound::{Body, Frame, SizeHint};
use runtime::imports::{HttpBody, HttpError};
use std::pin::Pin;
use std::task::{Context, Poll};

pub(super) struct RecordedBody {
    body: HttpBody,
    line: String,
    at: Option<usize>,
    notes: Notes,
}

impl RecordedBody {
    pub(super) fn new(body: HttpBody, line: String, at: Option<usize>, notes: Notes) -> Self {
        Self { body, line, at, notes }
    }
}

impl Body for RecordedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.notes.body(self.at, data);
                }
            }
            // The call has ended, and nobody reads on.
            Poll::Ready(Some(Err(HttpError::Ended))) | Poll::Ready(None) | Poll::Pending => {}
            Poll::Ready(Some(Err(error))) => {
                self.notes
                    .obstacle(format!("the answer to `{}` broke off, which cannot be repeated: {error}", self.line));
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        if !self.body.is_end_stream() {
            self.notes.hint("it did not read an answer to its end; the transcript has what it read");
        }
    }
}
