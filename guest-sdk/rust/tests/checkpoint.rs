//! A tool that saves, against the fake host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use portcullis_guest::checkpoint::{self, CheckpointError};
use portcullis_guest::testing::Host;
use serde_json::json;

#[portcullis_guest::plugin(name = "counter", description = "Counts.")]
mod counter {
    use portcullis_guest::{ToolError, checkpoint, output};

    /// Counts.
    #[tool]
    fn count(to: u32) -> Result<String, ToolError> {
        let mut done: u32 = checkpoint::restored()?.unwrap_or(0);
        while done < to {
            output::emit(done.to_string())?;
            done += 1;
            checkpoint::save(&done)?;
        }
        Ok(done.to_string())
    }
}

#[test]
fn a_call_goes_on_from_what_it_saved() {
    let host = Host::new().chunk_limit(3);
    let stopped = host.call(&counter::PLUGIN, "count", json!({"to": 5}));
    assert!(stopped.is_err());
    assert_eq!(
        (host.chunk_texts(), host.checkpoint().as_deref()),
        (vec!["0".into(), "1".into(), "2".into()], Some("3"))
    );
    let host = host.chunk_limit(9);
    let ended = host.resume(&counter::PLUGIN, "count", json!({"to": 5})).unwrap();
    assert_eq!((ended.all_text(), host.chunk_texts()[3..].concat()), ("5".into(), "34".into()));
    host.call(&counter::PLUGIN, "count", json!({"to": 1})).unwrap();
    assert_eq!(host.chunk_texts().len(), 6, "another call begins anew");
}

#[test]
fn what_is_wrong_is_said() {
    let _host = Host::new();
    assert_eq!(checkpoint::save(&1), Err(CheckpointError::NotOpened));
    assert_eq!(checkpoint::restored::<u32>(), Ok(None));
    assert_eq!(checkpoint::save(&"x".repeat(256 << 10)), Err(CheckpointError::TooLarge(256 << 10)));
    checkpoint::save(&"text").unwrap();
    assert!(matches!(checkpoint::restored::<u32>(), Err(CheckpointError::Invalid(_))));
}
