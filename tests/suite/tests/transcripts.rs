//! One guest, every client: the same transcript.

#[test]
fn every_client_sees_the_same() {
    let table = suite::transcripts::all();
    assert!(table.is_equal(), "{table}");
}
