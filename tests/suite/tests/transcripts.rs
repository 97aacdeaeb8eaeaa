//! Every client has the same transcript with one guest.

#[test]
fn every_client_has_the_same_transcript() {
    let table = suite::transcripts::all();
    assert!(table.is_equal(), "{table}");
}
