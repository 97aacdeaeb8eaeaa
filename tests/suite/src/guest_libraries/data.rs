//! The files of `tests/libraries`: what each library is expected to do.

use crate::paths;
use serde::Deserialize;
use serde_json::Value;

/// What came of a call.
pub(super) struct Called {
    pub(super) value: Value,
    pub(super) fuel: u64,
}

/// The fuel that a call has by default.
const DEFAULT_FUEL: u64 = 2_000_000_000;

/// A library. What its plugin is made of is for `cargo xtask`, too.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Library {
    /// As its language names it.
    pub name: String,
    /// What the code does with it.
    #[serde(default)]
    pub does: String,
    /// What the code returns.
    pub gives: Option<Value>,
    /// What an author should know.
    #[serde(default)]
    pub note: String,
    /// It does not work, and this is a part of the error.
    pub fails: Option<String>,
    /// Why it does not, for the table.
    #[serde(default)]
    pub reason: String,
    /// What to use in its place.
    #[serde(default)]
    pub instead: String,
    /// It has compiled code or code in C.
    #[serde(default)]
    pub compiled: bool,
    /// It sends requests.
    #[serde(default)]
    pub http: bool,
    /// The tests of the suite call it.
    #[serde(default)]
    pub ci: bool,
    #[serde(default, rename = "use")]
    _code: String,
    #[serde(default, rename = "imports")]
    _imports: Value,
    #[serde(default, rename = "features")]
    _features: Value,
    #[serde(default, rename = "bare")]
    _bare: bool,
    #[serde(default, rename = "alone")]
    _alone: bool,
}

#[derive(Deserialize)]
struct File {
    library: Vec<Library>,
}

/// All libraries of a language.
pub fn read(language: &str) -> Vec<Library> {
    let file = paths::root().join("tests/libraries").join(language).with_extension("toml");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let File { library } = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    for one in &library {
        let says =
            if one.fails.is_some() { !one.reason.is_empty() && !one.instead.is_empty() } else { one.gives.is_some() };
        assert!(says, "{}: {} needs `gives`, or `fails` with `reason` and `instead`", file.display(), one.name);
    }
    library
}

impl Library {
    /// The last cells of its row; or what is not as expected.
    pub(super) fn judge(&self, outcome: Result<Called, String>) -> Result<String, String> {
        match (&self.fails, outcome) {
            (None, Ok(Called { value, fuel })) if Some(&value) == self.gives.as_ref() => {
                let more =
                    if fuel > DEFAULT_FUEL { format!("{}·10⁹ fuel", fuel / 1_000_000_000) } else { String::new() };
                let notes: Vec<_> = [self.note.clone(), more].into_iter().filter(|note| !note.is_empty()).collect();
                Ok(format!("yes | {} |", notes.join("; ")))
            }
            (None, Ok(Called { value, .. })) => Err(format!("it gives {value}")),
            (None, Err(why)) => Err(why),
            (Some(fails), Err(why)) if why.contains(fails.as_str()) => {
                Ok(format!("no | {}. Instead: {} |", self.reason, self.instead))
            }
            (Some(fails), Err(why)) => Err(format!("it fails by another error than `{fails}`: {why}")),
            (Some(_), Ok(_)) => Err("it works now; take `fails` away".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(more: &str) -> Library {
        toml::from_str(&format!("name = \"a\"\n{more}")).unwrap()
    }

    #[test]
    fn a_library_is_judged_by_what_it_gives() {
        let called = |value: Value, fuel| Ok(Called { value, fuel });
        let works = library("gives = [1, \"x\"]\nnote = \"n\"");
        assert_eq!(works.judge(called(serde_json::json!([1, "x"]), 1)).unwrap(), "yes | n |");
        assert_eq!(works.judge(called(serde_json::json!([1, "x"]), 6_100_000_000)).unwrap(), "yes | n; 6·10⁹ fuel |");
        assert_eq!(works.judge(called(serde_json::json!([2]), 1)).unwrap_err(), "it gives [2]");
        assert_eq!(works.judge(Err("boom".into())).unwrap_err(), "boom");
        let fails = library("fails = \"needs C\"\nreason = \"it is C\"\ninstead = \"`b`\"");
        assert_eq!(fails.judge(Err("it needs C.".into())).unwrap(), "no | it is C. Instead: `b` |");
        assert!(fails.judge(Err("no network".into())).unwrap_err().contains("no network"));
        assert!(fails.judge(called(Value::Null, 1)).unwrap_err().contains("it works now"));
    }
}
