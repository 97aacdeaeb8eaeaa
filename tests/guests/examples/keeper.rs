//! Keeps values. `path` says how: `get K`, `set K V`, `swap K VERSION V` (`-` for none), `remove K`, `keys P AFTER`,
//! `fill K` with a value of `n` bytes, `many K` for `n` keys, `count K` adds one to a number, whoever else does so too.

use guests::state::{self, StateError};
use guests::{Outcome, ToolError, failed};

guests::manifest!(r#"{"name":"keeper","version":"0.1.0","description":"","requests":{"state":true}}"#);

guests::guest! {
    fn run(args) {
        let path = args.path_or("get k");
        let mut words = path.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (how, key) = (word(), word());
        let said = match how {
            "get" => match state::get(key).map_err(why)? {
                Some(entry) => String::from_utf8_lossy(&entry.value).into_owned(),
                None => "nothing".into(),
            },
            "version" => format!("{:?}", state::get(key).map_err(why)?.map(|entry| entry.version)),
            "set" => format!("{}", state::set(key, word().as_bytes()).map_err(why)?),
            "swap" => {
                let version = word().parse().ok();
                format!("{}", state::swap(key, version, word().as_bytes()).map_err(why)?)
            }
            "remove" => format!("{}", state::remove(key).map_err(why)?),
            "keys" => state::keys(key, Some(word())).map_err(why)?.join(","),
            "fill" => format!("{}", state::set(key, &vec![b'x'; args.n_or(1) as usize]).map_err(why)?),
            "many" => {
                for number in 0..args.n_or(1) {
                    state::set(&format!("{key}{number:04}"), b"").map_err(why)?;
                }
                "done".into()
            }
            "count" => count(key)?,
            _ => return Err(failed("how?")),
        };
        Outcome::Ok(said.into())
    }
}

fn count(key: &str) -> Result<String, ToolError> {
    loop {
        let entry = state::get(key).map_err(why)?;
        let number = entry.as_ref().map_or(0, |entry| String::from_utf8_lossy(&entry.value).parse().unwrap_or(0u64));
        match state::swap(key, entry.map(|entry| entry.version), (number + 1).to_string().as_bytes()) {
            Ok(_) => return Ok((number + 1).to_string()),
            Err(StateError::Conflict) => {}
            Err(error) => return Err(why(error)),
        }
    }
}

fn why(error: StateError) -> ToolError {
    match error {
        StateError::Denied(denial) => ToolError::Denied(denial),
        StateError::Exhausted(exhaustion) => ToolError::Exhausted(exhaustion),
        other => failed(format!("{other:?}")),
    }
}
