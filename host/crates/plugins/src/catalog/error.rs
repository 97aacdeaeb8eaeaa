//! Why plugins cannot be loaded side by side.

use policy::KEPT_OF_NAME;

#[derive(Debug, PartialEq, thiserror::Error)]
pub enum CatalogError {
    #[error(
        "[{first}] and [{second}] both offer a {what} as `{name}`; give one of them `prefix = true` or another name"
    )]
    Clash { what: &'static str, name: String, first: String, second: String },
    #[error(
        "[{first}] offers a {what} as `{one}` and [{second}] as `{other}`, which can be taken for one another; give one \
         of them `prefix = true` or another name"
    )]
    Lookalike { what: &'static str, first: String, one: String, second: String, other: String },
    #[error(
        "[{table}] offers a {what} as `{one}` and another as `{other}`, which clients may turn into one name: they fold \
         case, `_` and `-`, and of long names they keep {KEPT_OF_NAME} characters; give the plugin a shorter name, or the \
         two other names"
    )]
    Folded { what: &'static str, table: String, one: String, other: String },
    #[error("[{table}] offers a {what} as `{name}`, which looks as if it were the host's own; choose another name")]
    Host { what: &'static str, table: String, name: String },
    #[error(
        "[{table}] offers a tool as `{name}`, which `server.fallback-tools` takes; give it `prefix = true` or another name"
    )]
    Reserved { table: String, name: String },
    #[error(
        "[{table}] would offer a {what} as `{name}`, which is not 1 to 64 of A-Z a-z 0-9 _ -; choose a shorter name"
    )]
    Name { what: &'static str, table: String, name: String },
    #[error(
        "[{first}] offers `{one}` and [{second}] `{other}`, so both would answer for the same URI; URIs have no prefix, \
         so only one of the two plugins can be loaded"
    )]
    Uri { first: String, one: String, second: String, other: String },
}
