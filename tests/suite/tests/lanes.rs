//! Runs one plugin over every lane of every client.

#[test]
fn every_lane_gives_every_client_the_same_plan() {
    let table = suite::lanes::all();
    assert!(table.is_good(), "{table}");
}
