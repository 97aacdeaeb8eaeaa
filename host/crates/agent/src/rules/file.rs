//! The file of rules. Unknown keys are errors, and every rule knows its line.

use super::{Approves, FormRule, Glob, GlobError, HostPattern, OfferRule, PageRule, Review, Rules, ToolRule};
use crate::view::ChunkPolicy;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The largest file that is read. Bounds what a wrong path makes the program hold.
const MAX_BYTES: usize = 256 << 10;

/// Rules that cannot be used; a sentence with the line.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum RulesError {
    #[error("cannot read the rules {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{file}: {message}")]
    Parse { file: String, message: String },
    #[error("{file}, line {line}: {message}")]
    Rule { file: String, line: usize, message: String },
}

/// A rule and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Rule<T> {
    pub(super) line: usize,
    pub(super) what: T,
}

/// About something that a server asks.
#[derive(Debug, Clone)]
pub(super) struct Elicitation<T> {
    pub(super) server: Glob,
    pub(super) hosts: Vec<HostPattern>,
    pub(super) what: T,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct File {
    tool: Vec<Spanned<ToolTable>>,
    reaction: Vec<Spanned<ReactionTable>>,
    form: Vec<Spanned<FormTable>>,
    page: Vec<Spanned<PageTable>>,
    sampling: Vec<Spanned<SamplingTable>>,
    chunks: Vec<Spanned<ChunksTable>>,
    offer: Vec<Spanned<OfferTable>>,
    roots: Roots,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ToolTable {
    server: Option<Glob>,
    tool: Option<Glob>,
    approval: Word,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ReactionTable {
    server: Option<Glob>,
    event: Option<Glob>,
    approval: Word,
    reason: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Never,
    Ask,
    OncePerTask,
    Auto,
    Deny,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FormTable {
    server: Option<Glob>,
    #[serde(rename = "do")]
    what: FormWord,
    answer: Option<toml::Table>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FormWord {
    Ask,
    Decline,
    Answer,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PageTable {
    server: Option<Glob>,
    #[serde(rename = "do")]
    what: PageWord,
    #[serde(default)]
    hosts: Vec<HostPattern>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PageWord {
    Ask,
    Decline,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SamplingTable {
    server: Option<Glob>,
    review: Review,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ChunksTable {
    server: Option<Glob>,
    policy: ChunkPolicy,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct OfferTable {
    server: Option<Glob>,
    tool: Glob,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Roots {
    folders: Vec<PathBuf>,
}

impl Rules {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, RulesError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| RulesError::Read { path: path.to_owned(), source })?;
        let file = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
        let folder = std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned));
        Self::parse(&text, &file, &folder.unwrap_or_default())
    }

    /// Reads text; `file` is for messages, `folder` what relative paths are relative to.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Self, RulesError> {
        let reading = Reading { text, file };
        if text.len() > MAX_BYTES {
            return Err(RulesError::Parse {
                file: file.into(),
                message: format!("it has more than {MAX_BYTES} bytes"),
            });
        }
        let tables: File = toml::from_str(text)
            .map_err(|error| RulesError::Parse { file: file.into(), message: error.to_string().trim_end().into() })?;
        Ok(Self {
            file: file.to_owned(),
            tools: reading.rules(tables.tool, |table| {
                let approval = approves(table.approval, table.reason)?;
                Ok(ToolRule { server: any(table.server)?, name: any(table.tool)?, approval })
            })?,
            reactions: reading.rules(tables.reaction, |table| {
                let approval = approves(table.approval, table.reason)?;
                if matches!(approval, Approves::Auto | Approves::OncePerTask) {
                    return Err("approval of a reaction is \"never\", \"ask\" or \"deny\"".into());
                }
                Ok(ToolRule { server: any(table.server)?, name: any(table.event)?, approval })
            })?,
            forms: reading.rules(tables.form, |table| {
                let what = form(table.what, table.answer)?;
                Ok(Elicitation { server: any(table.server)?, hosts: vec![], what })
            })?,
            pages: reading.rules(tables.page, |table| {
                let what = match table.what {
                    PageWord::Ask => PageRule::Ask,
                    PageWord::Decline => PageRule::Decline,
                };
                Ok(Elicitation { server: any(table.server)?, hosts: table.hosts, what })
            })?,
            sampling: reading.rules(tables.sampling, |table| {
                Ok(Elicitation { server: any(table.server)?, hosts: vec![], what: table.review })
            })?,
            chunks: reading.rules(tables.chunks, |table| {
                Ok(Elicitation { server: any(table.server)?, hosts: vec![], what: table.policy })
            })?,
            offers: reading
                .rules(tables.offer, |table| Ok(OfferRule { server: any(table.server)?, tool: table.tool }))?,
            roots: tables.roots.folders.into_iter().map(|root| folder.join(root)).collect(),
        })
    }
}

struct Reading<'a> {
    text: &'a str,
    file: &'a str,
}

impl Reading<'_> {
    fn rules<T, R>(
        &self,
        tables: Vec<Spanned<T>>,
        read: impl Fn(T) -> Result<R, String>,
    ) -> Result<Vec<Rule<R>>, RulesError> {
        let rule = |table: Spanned<T>| {
            let line = self.text[..table.span().start.min(self.text.len())].matches('\n').count() + 1;
            match read(table.into_inner()) {
                Ok(what) => Ok(Rule { line, what }),
                Err(message) => Err(RulesError::Rule { file: self.file.to_owned(), line, message }),
            }
        };
        tables.into_iter().map(rule).collect()
    }
}

fn any(glob: Option<Glob>) -> Result<Glob, String> {
    glob.map_or_else(|| Glob::new("*").map_err(|error: GlobError| error.to_string()), Ok)
}

fn approves(word: Word, reason: Option<String>) -> Result<Approves, String> {
    if reason.is_some() && word != Word::Deny {
        return Err("`reason` goes with approval = \"deny\" only".into());
    }
    Ok(match word {
        Word::Never => Approves::Never,
        Word::Ask => Approves::Ask,
        Word::OncePerTask => Approves::OncePerTask,
        Word::Auto => Approves::Auto,
        Word::Deny => Approves::Deny(reason.unwrap_or_else(|| "the user's rules do not allow it".into())),
    })
}

fn form(word: FormWord, answer: Option<toml::Table>) -> Result<FormRule, String> {
    match (word, answer) {
        (FormWord::Answer, Some(answer)) => {
            let json = serde_json::to_value(answer).map_err(|error| format!("answer: {error}"))?;
            let Value::Object(values) = json else { return Ok(FormRule::Answer(Map::new())) };
            Ok(FormRule::Answer(values))
        }
        (FormWord::Answer, None) => Err("do = \"answer\" needs the values: answer = { name = \"value\" }".into()),
        (_, Some(_)) => Err("`answer` goes with do = \"answer\" only".into()),
        (FormWord::Ask, None) => Ok(FormRule::Ask),
        (FormWord::Decline, None) => Ok(FormRule::Decline),
    }
}
