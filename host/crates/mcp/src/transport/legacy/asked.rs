//! Requests of the server that wait for the client's answers.
//!
//! rmcp numbers its requests anew in each process. The ids that a client sees are those of its session, whichever process
//! asks, so that an answer is never taken for one to another request.

use super::event_log::EventLog;
use super::message::EncodedMessage;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct AskedRequests(HashMap<i64, AskedRequest>);

struct AskedRequest {
    /// The token of its stream.
    stream: String,
    /// rmcp's id; none as long as only an earlier process has asked.
    served_as: Option<RequestId>,
    /// Once the request is sent: the message, and the number of the event that carries it.
    sent: Option<(ServerJsonRpcMessage, u32)>,
    /// An answer to a request of an earlier process, kept until rmcp asks the same in this process.
    early: Option<ClientJsonRpcMessage>,
}

impl AskedRequests {
    /// Records that an earlier process has asked under this id.
    pub(super) fn expect(&mut self, stream: &str, id: i64) {
        let asked = AskedRequest { stream: stream.to_owned(), served_as: None, sent: None, early: None };
        self.0.insert(id, asked);
    }

    /// Records that rmcp asks under `served_as`. If the answer is already there, returns it, and nothing needs to be sent.
    pub(super) fn ask(&mut self, stream: &str, id: i64, served_as: RequestId) -> Option<ClientJsonRpcMessage> {
        if let Some(answer) = self.0.get_mut(&id).and_then(|asked| asked.early.take()) {
            self.0.remove(&id);
            return Some(answer_to(answer, served_as));
        }
        let asked = AskedRequest { stream: stream.to_owned(), served_as: Some(served_as), sent: None, early: None };
        self.0.insert(id, asked);
        None
    }

    /// Records that the request is sent as this event.
    pub(super) fn sent(&mut self, id: i64, message: ServerJsonRpcMessage, number: u32) {
        if let Some(asked) = self.0.get_mut(&id) {
            asked.sent = Some((message, number));
        }
    }

    /// Forgets a request that rmcp withdraws. Returns the id under which the client knows it.
    pub(super) fn withdraw(&mut self, served_as: &RequestId) -> Option<i64> {
        let (id, _) = self.0.iter().find(|(_, asked)| asked.served_as.as_ref() == Some(served_as))?;
        let id = *id;
        self.0.remove(&id);
        Some(id)
    }

    /// Returns the client's answer with rmcp's id; none if nothing waits for it, or rmcp has not asked yet.
    pub(super) fn answer(&mut self, answer: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        let id = match &answer {
            ClientJsonRpcMessage::Response(response) => Some(&response.id),
            ClientJsonRpcMessage::Error(error) => error.id.as_ref(),
            ClientJsonRpcMessage::Request(_) | ClientJsonRpcMessage::Notification(_) => return Some(answer),
        };
        let RequestId::Number(id) = *id? else { return None };
        let asked = self.0.get_mut(&id)?;
        match asked.served_as.take() {
            Some(served_as) => {
                self.0.remove(&id);
                Some(answer_to(answer, served_as))
            }
            None => {
                asked.early.get_or_insert(answer);
                None
            }
        }
    }

    /// Sends again the requests that a client has read up to event `after` and not answered, because the process of the client
    /// that has read them may be gone. Clients recognize a request by its id.
    pub(super) fn ask_again(&mut self, log: &Arc<EventLog>, after: u32) {
        let mut open: Vec<_> = self.0.iter_mut().filter(|(_, asked)| asked.stream == log.token).collect();
        open.sort_unstable_by_key(|(id, _)| **id);
        for (message, number) in open.into_iter().filter_map(|(_, asked)| asked.sent.as_mut()) {
            if *number <= after
                && let Ok(again) = log.append(EncodedMessage::from(message.clone()), false)
            {
                *number = again;
            }
        }
    }

    /// Forgets the requests of a stream whose request has ended. Returns the ids of those that the client has not answered.
    pub(super) fn end(&mut self, stream: &str) -> Vec<i64> {
        let of_stream = self.0.extract_if(|_, asked| asked.stream == stream);
        let mut open: Vec<_> = of_stream.filter(|(_, asked)| asked.early.is_none()).map(|(id, _)| id).collect();
        open.sort_unstable();
        open
    }
}

fn answer_to(mut answer: ClientJsonRpcMessage, id: RequestId) -> ClientJsonRpcMessage {
    match &mut answer {
        ClientJsonRpcMessage::Response(response) => response.id = id,
        ClientJsonRpcMessage::Error(error) => error.id = Some(id),
        ClientJsonRpcMessage::Request(_) | ClientJsonRpcMessage::Notification(_) => {}
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{ClientResult, EmptyResult};

    fn answer(id: i64) -> ClientJsonRpcMessage {
        ClientJsonRpcMessage::response(ClientResult::EmptyResult(EmptyResult {}), RequestId::Number(id))
    }

    fn id(answer: Option<ClientJsonRpcMessage>) -> Option<i64> {
        match answer?.into_response()?.1 {
            RequestId::Number(id) => Some(id),
            RequestId::String(_) => None,
        }
    }

    #[test]
    fn an_answer_belongs_to_one_request_only() {
        let mut asked = AskedRequests::default();
        assert!(asked.ask("a", 70, RequestId::Number(0)).is_none());
        assert!(asked.ask("b", 71, RequestId::Number(1)).is_none());
        assert_eq!(id(asked.answer(answer(0))), None, "rmcp's own ids are unknown to clients");
        assert_eq!(id(asked.answer(answer(70))), Some(0));
        assert_eq!(id(asked.answer(answer(70))), None, "answered");
        assert_eq!(asked.withdraw(&RequestId::Number(1)), Some(71));
        assert_eq!((id(asked.answer(answer(71))), asked.withdraw(&RequestId::Number(1))), (None, None));
        assert!(asked.ask("a", 72, RequestId::Number(2)).is_none());
        assert!(asked.ask("a", 73, RequestId::Number(3)).is_none());
        assert!(asked.ask("b", 74, RequestId::Number(4)).is_none());
        assert_eq!(id(asked.answer(answer(73))), Some(3));
        assert_eq!(asked.end("a"), [72], "of its stream, and open");
        assert_eq!(id(asked.answer(answer(72))), None, "its stream has ended");
    }

    #[test]
    fn an_answer_to_an_earlier_process_waits_for_its_question() {
        let mut asked = AskedRequests::default();
        asked.expect("a", 5);
        asked.expect("a", 6);
        assert_eq!(id(asked.answer(answer(5))), None, "nobody has asked here yet");
        assert_eq!(id(asked.ask("a", 5, RequestId::Number(0))), Some(0));
        assert_eq!(id(asked.answer(answer(5))), None, "it is answered");
        assert_eq!(id(asked.ask("a", 6, RequestId::Number(1))), None, "still asked");
        assert_eq!(id(asked.answer(answer(6))), Some(1));
        assert!(asked.0.is_empty());
    }
}
