//! Session logs, and the open state that is read from them.

use super::super::log_writer::LineEffect;
use super::super::partial_line::{MAX_BEGIN, MAX_END};
use super::*;
use serde_json::json;

fn entry(kind: u8, bytes: impl AsRef<[u8]>) -> SessionEntry {
    SessionEntry { kind, bytes: bytes.as_ref().to_vec() }
}

fn request(id: i64, method: &str) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} }))
}

fn about(id: i64, method: &str, uri: &str) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "uri": uri } }))
}

fn written(effects: &[LineEffect<'_>]) -> SessionEntry {
    let mut bytes = Vec::new();
    effects.iter().for_each(|effect| effect.write(&mut bytes));
    entry(kind::WRITTEN, bytes)
}

fn answered(id: i64) -> SessionEntry {
    written(&[LineEffect::Answered(&RequestId::Number(id))])
}

/// The state that is taken over: the lines that set up the session, the ids and states of the requests, and the beginning of a
/// line.
fn taken(entries: Vec<SessionEntry>) -> (Vec<String>, Vec<(i64, RequestState)>, String) {
    let (lines, partial) = OpenSession::read(entries).take_over();
    let (mut set_up, mut requests) = (Vec::new(), Vec::new());
    for line in lines {
        match line {
            TakenOver::SetUp { line, .. } => set_up.push(String::from_utf8(line).unwrap()),
            TakenOver::Request { id: RequestId::Number(id), state, .. } => requests.push((id, state)),
            other => panic!("{other:?}"),
        }
    }
    (set_up, requests, String::from_utf8(partial.begin).unwrap())
}

#[test]
fn requests_are_open_until_their_answer_is_written() {
    let text = [request(1, "tools/call"), request(2, "tools/list"), request(3, "ping")].concat();
    // The log has the input as it was read, in pieces of any length.
    let (head, tail) = text.split_at(70);
    let cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n{\"jsonrpc\":\"2.0\",\"id\":9";
    let entries =
        vec![entry(kind::INPUT, head), entry(kind::INPUT, tail), answered(1), answered(77), entry(kind::INPUT, cancel)];
    let (set_up, requests, partial) = taken(entries);
    assert_eq!((set_up, requests), (vec![], vec![(3, RequestState::Begun)]));
    assert_eq!(partial, r#"{"jsonrpc":"2.0","id":9"#);
}

#[test]
fn an_id_that_is_used_again_is_of_the_last_request() {
    let text = [request(1, "tools/call"), request(2, "tools/call")].concat();
    let entries = vec![entry(kind::INPUT, &text), answered(1), answered(2), entry(kind::INPUT, request(1, "ping"))];
    let (lines, _) = OpenSession::read(entries).take_over();
    let [TakenOver::Request { line, .. }] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(line, request(1, "ping").as_bytes());
}

#[test]
fn what_a_client_has_set_up_is_set_up_again() {
    let initialized = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    let text = [
        request(0, "initialize"),
        initialized.to_owned(),
        request(1, "logging/setLevel"),
        about(2, "resources/subscribe", "x:a"),
        about(3, "resources/subscribe", "x:b"),
        about(4, "resources/subscribe", "x:a"),
        about(5, "resources/unsubscribe", "x:b"),
        request(6, "logging/setLevel"),
    ];
    let all: Vec<_> = (0..7).map(answered).collect();
    let entries = [vec![entry(kind::INPUT, text.concat())], all].concat();
    // Kept are the level that was set last and the resource that is subscribed to.
    let (mut set_up, requests, _) = taken(entries.clone());
    set_up.sort();
    let mut wanted = [0, 1, 5, 7].map(|line| text[line].clone()).to_vec();
    wanted.sort();
    assert_eq!((set_up, requests), (wanted, vec![]));
    // The shorter entries describe the same state, even when they are shortened a second time.
    let shorter = OpenSession::read(entries.clone()).entries();
    assert!(shorter.len() < entries.len());
    assert_eq!(taken(OpenSession::read(shorter.clone()).entries()), taken(shorter));
}

#[test]
fn a_handshake_that_was_not_answered_is_answered() {
    let (set_up, requests, _) = taken(vec![entry(kind::INPUT, request(0, "initialize"))]);
    assert_eq!((set_up, requests), (vec![], vec![(0, RequestState::Begun)]));
}

#[test]
fn a_request_with_which_two_processes_were_killed_is_known() {
    let text = [request(1, "tools/list"), request(2, "subscriptions/listen"), request(3, "tools/call")].concat();
    let entries = vec![entry(kind::INPUT, text), entry(kind::WAITING, request(3, "tools/call"))];
    use RequestState::{Begun, BegunAgain, Waiting};
    assert_eq!(taken(entries.clone()).1, [(1, Begun), (2, Begun), (3, Waiting)]);
    let second = OpenSession::read(entries).as_taken_over();
    assert_eq!(taken(second.clone()).1, [(1, BegunAgain), (2, Begun), (3, Begun)]);
    let third = OpenSession::read(second).as_taken_over();
    assert_eq!(taken(third).1, [(1, BegunAgain), (2, Begun), (3, BegunAgain)], "a subscription is not what kills");
}

#[test]
fn a_line_that_may_have_no_end_is_known_until_whole_lines_are_written() {
    let is_torn = |entries: Vec<SessionEntry>| {
        let open = OpenSession::read(entries);
        assert_eq!(OpenSession::read(open.entries()).is_torn(), open.is_torn());
        open.is_torn()
    };
    assert!(!is_torn(vec![]) && is_torn(vec![entry(kind::WRITING, "")]));
    assert!(!is_torn(vec![entry(kind::WRITING, ""), written(&[])]));
    assert!(is_torn(vec![entry(kind::WRITING, ""), written(&[]), entry(kind::WRITING, "")]));
}

#[test]
fn questions_are_open_until_the_client_answers_or_the_server_takes_them_back() {
    let ids: Vec<_> = (0..4).map(RequestId::Number).collect();
    let asked: Vec<_> = ids.iter().map(LineEffect::Asked).collect();
    let entries = vec![
        written(&asked),
        entry(kind::INPUT, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n"),
        entry(kind::INPUT, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}\n"),
        written(&[LineEffect::Withdrawn(&ids[2])]),
    ];
    let open = OpenSession::read(entries);
    assert_eq!(open.asked(), &ids[3..]);
    assert_eq!(OpenSession::read(open.entries()).asked(), open.asked());
}

#[test]
fn what_is_kept_of_a_client_is_bounded() {
    let mut entries = Vec::new();
    for id in 0..2_000 {
        entries.push(entry(kind::INPUT, about(id, "resources/subscribe", &format!("x:{id}"))));
        entries.push(answered(id));
    }
    let long = about(3_000, "resources/subscribe", &"x".repeat(100_000));
    entries.extend([entry(kind::INPUT, long), answered(3_000)]);
    // A line without an end follows.
    entries.extend((0..40).map(|_| entry(kind::INPUT, vec![b'x'; 1 << 20])));
    let kept: usize = OpenSession::read(entries).entries().iter().map(|entry| entry.bytes.len()).sum();
    assert!(kept < 64 << 10, "{kept} bytes");
}

/// The server never answers some lines that look like requests.
#[test]
fn all_open_requests_together_are_bounded() {
    let line = format!("{}\n", json!({"id": 0, "method": "tools/call", "params": {"padding": "x".repeat(60 << 10)}}));
    let lines = |ids: std::ops::Range<usize>| {
        ids.map(|id| entry(kind::INPUT, line.replacen("\"id\":0", &format!("\"id\":{id}"), 1))).collect::<Vec<_>>()
    };
    let open = OpenSession::read(lines(0..2_000));
    let whole = open.requests.values().filter(|request| request.state != RequestState::Large).count();
    assert!((500..560).contains(&whole) && open.requests.len() == 2_000, "{whole} of {}", open.requests.len());
    let tiny = (0..200_000).map(|id| entry(kind::INPUT, request(id, "x"))).collect();
    assert!(OpenSession::read(tiny).bytes <= MAX_OPEN + MAX_IDS);
    let answers = (0..2_000).map(answered);
    let open = OpenSession::read(lines(0..2_000).into_iter().chain(answers).chain(lines(7..8)).collect());
    assert_eq!(open.requests.len(), 1, "there is room again");
    let array = format!("[7,\"{}\",null]\n", "x".repeat(100));
    assert!(OpenSession::read(vec![entry(kind::INPUT, array)]).requests.is_empty());
}

#[test]
fn what_was_refused_sets_nothing_up() {
    let level = |id: i64, level: &str| {
        format!("{}\n", json!({"id": id, "method": "logging/setLevel", "params": {"level": level}}))
    };
    let (good, bad) = (level(1, "debug"), level(2, "bogus"));
    let refused = written(&[LineEffect::Refused(&RequestId::Number(2))]);
    let entries = vec![entry(kind::INPUT, &good), entry(kind::INPUT, bad), answered(1), refused];
    assert_eq!(taken(entries).0, [good]);
}

#[test]
fn a_first_line_may_have_a_byte_order_mark() {
    let line = format!("\u{feff}{}", request(1, "initialize"));
    assert_eq!(taken(vec![entry(kind::INPUT, line)]).1, [(1, RequestState::Begun)]);
}

#[test]
fn of_what_is_large_the_id_is_known() {
    let large = |id: i64, bytes: usize| {
        let text = "x".repeat(bytes);
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{{\"text\":\"{text}\"}},\"id\":{id}}}\n")
    };
    // Of the large requests, the first has come as a whole, of the second, whose id is at its end, only the two ends are known,
    // and the third is still coming.
    let text = [large(1, 100_000), request(2, "ping"), large(3, 3 << 20), large(4, 3 << 20)].concat();
    let text = &text.as_bytes()[..text.len() - 100];
    let mut entries = Vec::new();
    for chunk in text.chunks(64 << 10) {
        entries.push(entry(kind::INPUT, chunk));
        entries = OpenSession::read(entries).entries();
        let kept: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
        assert!(kept <= (1 << 20) + 4_096, "{kept} bytes");
    }
    let (lines, partial) = OpenSession::read(entries).take_over();
    let large = |id| TakenOver::Request { id: RequestId::Number(id), state: RequestState::Large, line: Vec::new() };
    assert_eq!(lines.len(), 3);
    assert!(lines.contains(&large(1)) && lines.contains(&large(3)), "{lines:?}");
    assert_eq!((partial.begin.len(), partial.end.map(|end| end.len())), (MAX_BEGIN, Some(MAX_END)));
}

#[test]
fn a_handshake_may_be_large() {
    let tools = "x".repeat(500 << 10);
    let text = format!("{}\n", json!({ "id": 0, "method": "initialize", "params": { "tools": tools } }));
    let entries = vec![entry(kind::INPUT, &text), answered(0)];
    let (set_up, requests, _) = taken(entries);
    assert_eq!((set_up, requests), (vec![text], vec![]));
}

#[test]
fn what_is_no_request_is_left_out() {
    for line in ["", "x", "[]", "7", r#"{"id":1}"#, r#"{"method":"tools/list"}"#, r#"{"id":null,"method":"a"}"#] {
        let (set_up, requests, partial) = taken(vec![entry(kind::INPUT, format!("{line}\n"))]);
        assert!(set_up.is_empty() && requests.is_empty() && partial.is_empty(), "{line}");
    }
    for line in [r#"{"id":1,"method":"x\u0079","params":null}"#, r#"{"id":1,"method":"x","params":[]}"#] {
        assert_eq!(taken(vec![entry(kind::INPUT, format!("{line}\n"))]).1, [(1, RequestState::Begun)], "{line}");
    }
}
