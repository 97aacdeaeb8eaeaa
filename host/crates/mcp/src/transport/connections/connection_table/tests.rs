//! Which connection is closed for the next client, and which never is.

use super::*;
use futures::FutureExt as _;
use platform::clock::SystemClock;
use std::net::Ipv4Addr;

fn table(limit: usize) -> Arc<ConnectionTable> {
    ConnectionTable::new(limit, Arc::new(SystemClock))
}

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn is_evicted(place: &ConnectionPermit) -> bool {
    place.connection.evicted().now_or_never().is_some()
}

#[tokio::test]
async fn the_least_missed_is_closed_for_the_next() {
    let table = table(3);
    let (serving, body, idle) = (table.place(HOME).await, table.place(HOME).await, table.place(HOME).await);
    for (place, phase) in
        [(&serving, ConnectionPhase::Serving), (&body, ConnectionPhase::Body), (&idle, ConnectionPhase::Idle)]
    {
        place.connection.enter(phase);
        assert_eq!(place.connection.phase(), phase);
    }
    let mut next = Box::pin(table.place(HOME));
    assert!(next.as_mut().now_or_never().is_none());
    assert!(is_evicted(&idle) && !is_evicted(&body) && !is_evicted(&serving));
    drop(idle);
    let new = next.await;
    assert!(!is_evicted(&body), "one was enough");
    let mut next = Box::pin(table.place(HOME));
    assert!(next.as_mut().now_or_never().is_none() && is_evicted(&new), "what has sent nothing goes first");
    drop(new);
    let served = next.await;
    served.connection.enter(ConnectionPhase::Serving);
    let mut next = Box::pin(table.place(HOME));
    assert!(next.as_mut().now_or_never().is_none() && is_evicted(&body));
    drop(body);
    next.await.connection.enter(ConnectionPhase::Serving);
    assert!(table.place(HOME).now_or_never().is_some(), "a place that nobody took is free again");
}

#[tokio::test]
async fn an_end_that_nobody_waited_for_closes_no_further_connection() {
    let table = table(2);
    let (first, left) = (table.place(HOME).await, table.place(HOME).await);
    drop(left);
    let second = table.place(HOME).await;
    assert!(Box::pin(table.place(HOME)).as_mut().now_or_never().is_none());
    let closed = [&first, &second].iter().filter(|place| is_evicted(place)).count();
    assert_eq!(closed, 1, "one was enough");
}

#[tokio::test]
async fn a_client_that_just_came_is_not_closed_for_slow_senders() {
    let table = table(2);
    let slow = table.place(HOME).await;
    let long_ago = SystemClock.now().checked_sub(2 * GRACE).unwrap();
    *slow.connection.phase.lock() = (ConnectionPhase::Body, long_ago);
    let new = table.place(HOME).await;
    assert!(Box::pin(table.place(HOME)).as_mut().now_or_never().is_none());
    assert!(is_evicted(&slow) && !is_evicted(&new));
}

#[tokio::test]
async fn whoever_has_the_most_connections_loses_one_first() {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    let table = table(4);
    let (honest, mapped) = (table.place(address("192.0.2.1")).await, table.place(address("::ffff:192.0.2.7")).await);
    let crowd = [table.place(address("2001:db8::1")).await, table.place(address("2001:db8::2:1")).await];
    let long_ago = SystemClock.now().checked_sub(2 * GRACE).unwrap();
    *honest.connection.phase.lock() = (ConnectionPhase::Idle, long_ago);
    crowd.iter().for_each(|place| place.connection.enter(ConnectionPhase::Body));
    let mut next = Box::pin(table.place(address("192.0.2.7")));
    assert!(next.as_mut().now_or_never().is_none());
    assert!(is_evicted(&crowd[0]) && !is_evicted(&honest) && !is_evicted(&mapped));
    drop(crowd);
    let next = next.await;
    // Now that no network has more than another but this one, of IPv4 in either form.
    let fourth = table.place(address("192.0.2.9")).await;
    assert!(Box::pin(table.place(address("192.0.2.8"))).as_mut().now_or_never().is_none());
    assert!(is_evicted(&mapped) && !is_evicted(&honest) && !is_evicted(&fourth));
    drop((honest, mapped, next, fourth));
    assert!(table.entries.lock().networks.is_empty());
}

#[tokio::test]
async fn a_connection_counts_for_a_principal_while_it_serves_it() {
    let table = table(2);
    let (first, second) = (table.place(HOME).await, table.place(HOME).await);
    let (ann, bob) = (Principal::from_source("key", "ann"), Principal::from_source("key", "bob"));
    first.connection.serve(&ann).unwrap();
    let second = |principal| second.connection.serve(principal);
    assert_eq!((second(&ann), second(&bob)), (Err(ShareUsed::Connections(1)), Ok(())));
    first.connection.enter(ConnectionPhase::Idle);
    assert_eq!(second(&ann), Ok(()));
}

#[tokio::test]
async fn no_request_begins_on_a_connection_that_is_to_be_closed() {
    let table = table(1);
    let place = table.place(HOME).await;
    place.connection.begin(ConnectionPhase::Serving).await;
    place.connection.evict();
    assert!(!is_evicted(&place), "it was idle when it was chosen, and is served now");
    place.connection.enter(ConnectionPhase::Idle);
    place.connection.evict();
    assert!(is_evicted(&place) && place.connection.begin(ConnectionPhase::Serving).now_or_never().is_none());
    assert_eq!(place.connection.phase(), ConnectionPhase::Idle);
}

#[tokio::test]
async fn only_a_client_that_sends_no_request_is_late() {
    let table = table(2);
    let (silent, served) = (table.place(HOME).await, table.place(HOME).await);
    let limit = Duration::from_millis(10);
    let late = served.connection.first_head_is_late(limit);
    let mut late = std::pin::pin!(late);
    assert!(late.as_mut().now_or_never().is_none());
    served.connection.enter(ConnectionPhase::Idle);
    silent.connection.first_head_is_late(limit).await;
    assert!(tokio::time::timeout(5 * limit, late).await.is_err());
}

#[tokio::test]
async fn nobody_who_is_served_is_closed() {
    let table = table(1);
    let first = table.place(HOME).await;
    first.connection.enter(ConnectionPhase::Serving);
    let mut next = Box::pin(table.place(HOME));
    assert!(tokio::time::timeout(3 * LOOK_AGAIN, &mut next).await.is_err() && !is_evicted(&first));
    // It was chosen to be closed while it was idle, and its request came just then.
    first.connection.evict();
    assert!(!is_evicted(&first));
    first.connection.enter(ConnectionPhase::Idle);
    assert!(tokio::time::timeout(2 * LOOK_AGAIN, &mut next).await.is_err() && is_evicted(&first));
    drop(first);
    next.await;
}

#[tokio::test]
async fn slow_clients_are_closed_when_messages_fill_the_memory() {
    let table = ConnectionTable::with_memory(9, 100, Arc::new(SystemClock));
    let (other, crowd) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 7]));
    let (honest, slow, unread) = (table.place(other).await, table.place(crowd).await, table.place(crowd).await);
    let hold = |place: &ConnectionPermit, bytes| {
        let connection = place.connection.clone();
        async move { connection.hold_request(UNCOUNTED + bytes).await }
    };
    honest.connection.enter(ConnectionPhase::Body);
    slow.connection.enter(ConnectionPhase::Body);
    assert!(hold(&honest, 50).await && hold(&slow, 30).await);
    unread.connection.enter(ConnectionPhase::Serving);
    unread.connection.hold_answer(UNCOUNTED + 40);
    assert!(is_evicted(&slow) && !is_evicted(&honest) && !is_evicted(&unread), "its network holds the most");
    assert!(hold(&honest, 60).await, "what is being closed does not count any more");
    let serving = table.place(other).await;
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(|name| Principal::from_source("key", name));
    let serve =
        |who: &Principal, bytes| serving.connection.hold_served(who, UNCOUNTED + bytes).map(|held| held.unwrap());
    let (hers, his) = (serve(&ann, 50).ok().unwrap(), serve(&bob, 50).ok().unwrap());
    assert!(is_evicted(&unread) && is_evicted(&honest) && !is_evicted(&serving));
    // The requests stay counted, even if their connections have ended.
    drop(serving);
    let last = table.place(other).await;
    let serve = |who: &Principal| last.connection.hold_served(who, UNCOUNTED + 1).map(drop).err();
    assert_eq!((serve(&ann), serve(&eve)), (Some(ShareUsed::Bytes(50)), Some(ShareUsed::All)));
    assert!(last.connection.hold_served(&eve, UNCOUNTED).unwrap().is_none(), "ordinary requests are served");
    drop((hers, his));
    assert_eq!(serve(&eve), None);
}
