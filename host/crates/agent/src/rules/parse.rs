//! Parses the file of rules. Unknown keys are errors, and errors name the line.

use super::decide::Rules;
use super::rule::{
    ApprovalPolicy, CrossServerRule, FormRule, LocatedRule, PageRule, QuestionRule, SamplingReview, ToolRule,
};
use crate::transcript::ChunkPolicy;
use policy::HostPattern;
use policy::{Glob, GlobError};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Size of the largest file that is read. Bounds the memory that a wrong path can cost.
const MAX_BYTES: usize = 256 << 10;

/// The rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    #[error("cannot read the rules {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{file}: {message}")]
    Parse { file: String, message: String },
    #[error("{file}, line {line}: {message}")]
    Rule { file: String, line: usize, message: String },
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
    approval: ApprovalKeyword,
    reason: Option<String>,
    #[serde(default)]
    trust_hints: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ReactionTable {
    server: Option<Glob>,
    event: Option<Glob>,
    approval: ApprovalKeyword,
    reason: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ApprovalKeyword {
    Allow,
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
    action: FormKeyword,
    answer: Option<toml::Table>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FormKeyword {
    Ask,
    Decline,
    Answer,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PageTable {
    server: Option<Glob>,
    #[serde(rename = "do")]
    action: PageKeyword,
    #[serde(default)]
    hosts: Vec<HostPattern>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PageKeyword {
    Ask,
    Decline,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SamplingTable {
    server: Option<Glob>,
    review: SamplingReview,
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
    pub fn load(path: &Path) -> Result<Self, RulesError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| RulesError::Read { path: path.to_owned(), source })?;
        let file = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
        let folder = std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned));
        Self::parse(&text, &file, &folder.unwrap_or_default())
    }

    /// Parses text. `file` is the name for messages, `folder` the base of relative paths.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Self, RulesError> {
        let parser = RulesParser { text, file };
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
            tools: parser.rules(tables.tool, |table| {
                let approval = match approval_policy(table.approval, table.reason)? {
                    ApprovalPolicy::Auto { .. } => ApprovalPolicy::Auto { trust_hints: table.trust_hints },
                    _ if table.trust_hints => return Err("`trust-hints` goes with approval = \"auto\" only".into()),
                    other => other,
                };
                Ok(ToolRule { server: any_if_absent(table.server)?, name: any_if_absent(table.tool)?, approval })
            })?,
            reactions: parser.rules(tables.reaction, |table| {
                let approval = approval_policy(table.approval, table.reason)?;
                if matches!(approval, ApprovalPolicy::Auto { .. } | ApprovalPolicy::OncePerTask) {
                    return Err("approval of a reaction is \"allow\", \"ask\" or \"deny\"".into());
                }
                Ok(ToolRule { server: any_if_absent(table.server)?, name: any_if_absent(table.event)?, approval })
            })?,
            forms: parser.rules(tables.form, |table| {
                let action = form_rule(table.action, table.answer)?;
                Ok(QuestionRule { server: any_if_absent(table.server)?, hosts: vec![], action })
            })?,
            pages: parser.rules(tables.page, |table| {
                let action = match table.action {
                    PageKeyword::Ask => PageRule::Ask,
                    PageKeyword::Decline => PageRule::Decline,
                };
                Ok(QuestionRule { server: any_if_absent(table.server)?, hosts: table.hosts, action })
            })?,
            sampling: parser.rules(tables.sampling, |table| {
                Ok(QuestionRule { server: any_if_absent(table.server)?, hosts: vec![], action: table.review })
            })?,
            chunks: parser.rules(tables.chunks, |table| {
                Ok(QuestionRule { server: any_if_absent(table.server)?, hosts: vec![], action: table.policy })
            })?,
            offers: parser.rules(tables.offer, |table| {
                Ok(CrossServerRule { server: any_if_absent(table.server)?, tool: table.tool })
            })?,
            roots: tables.roots.folders.into_iter().map(|root| folder.join(root)).collect(),
        })
    }
}

struct RulesParser<'a> {
    text: &'a str,
    file: &'a str,
}

impl RulesParser<'_> {
    fn rules<T, R>(
        &self,
        tables: Vec<Spanned<T>>,
        read: impl Fn(T) -> Result<R, String>,
    ) -> Result<Vec<LocatedRule<R>>, RulesError> {
        let rule = |table: Spanned<T>| {
            let line = self.text[..table.span().start.min(self.text.len())].matches('\n').count() + 1;
            match read(table.into_inner()) {
                Ok(rule) => Ok(LocatedRule { line, rule }),
                Err(message) => Err(RulesError::Rule { file: self.file.to_owned(), line, message }),
            }
        };
        tables.into_iter().map(rule).collect()
    }
}

fn any_if_absent(glob: Option<Glob>) -> Result<Glob, String> {
    glob.map_or_else(|| Glob::new("*").map_err(|error: GlobError| error.to_string()), Ok)
}

fn approval_policy(keyword: ApprovalKeyword, reason: Option<String>) -> Result<ApprovalPolicy, String> {
    if reason.is_some() && keyword != ApprovalKeyword::Deny {
        return Err("`reason` goes with approval = \"deny\" only".into());
    }
    Ok(match keyword {
        ApprovalKeyword::Allow => ApprovalPolicy::Allow,
        ApprovalKeyword::Ask => ApprovalPolicy::Ask,
        ApprovalKeyword::OncePerTask => ApprovalPolicy::OncePerTask,
        ApprovalKeyword::Auto => ApprovalPolicy::Auto { trust_hints: false },
        ApprovalKeyword::Deny => {
            ApprovalPolicy::Deny(reason.unwrap_or_else(|| "the user's rules do not allow it".into()))
        }
    })
}

fn form_rule(keyword: FormKeyword, answer: Option<toml::Table>) -> Result<FormRule, String> {
    match (keyword, answer) {
        (FormKeyword::Answer, Some(answer)) => {
            let json = serde_json::to_value(answer).map_err(|error| format!("answer: {error}"))?;
            let Value::Object(values) = json else { return Ok(FormRule::Answer(Map::new())) };
            Ok(FormRule::Answer(values))
        }
        (FormKeyword::Answer, None) => Err("do = \"answer\" needs the values: answer = { name = \"value\" }".into()),
        (_, Some(_)) => Err("`answer` goes with do = \"answer\" only".into()),
        (FormKeyword::Ask, None) => Ok(FormRule::Ask),
        (FormKeyword::Decline, None) => Ok(FormRule::Decline),
    }
}
