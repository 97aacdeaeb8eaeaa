//! Emits events until it is refused, and says what it was told.

use guests::bindings::portcullis::plugin::events::emit;

guests::manifest!(r#"{"name":"event-flood","version":"0.1.0","requests":{"events":["policy.*"]}}"#);

guests::guest! {
    fn run(args) {
        let told = [
            ("first", emit("policy.effective", r#"{"pending": 3}"#, Some("pol-7"))),
            ("again", emit("policy.effective", r#"{"pending": 3}"#, Some("pol-7"))),
            ("other-name", emit("policy.ended", "null", Some("pol-7"))),
            ("ungranted", emit("trip.booked", "null", None)),
            ("no-name", emit("policy", "null", None)),
            ("no-json", emit("policy.effective", "{", None)),
            ("large", emit("policy.effective", &format!("{:?}", "x".repeat(1 << 20)), None)),
        ];
        let mut told: Vec<_> = told.into_iter().map(|(what, told)| format!("{what}: {told:?}\n")).collect();
        let emitted = (0..args.n_or(0)).map(|n| emit("policy.effective", &n.to_string(), None));
        told.extend(emitted.enumerate().find(|(_, told)| told.is_err()).map(|(n, told)| format!("{n}: {told:?}")));
        Ok(told.concat().into())
    }
}
