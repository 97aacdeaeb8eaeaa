//! Files, as the language has them.

use std::{fs, io};

use portcullis_guest::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Deed {
    Write,
    Read,
    List,
}

pub(crate) fn files(action: Deed, path: &str, text: String) -> Result<String, ToolError> {
    Ok(match action {
        Deed::Write => {
            fs::write(path, text)?;
            "written".into()
        }
        Deed::Read => match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => "nothing".into(),
            read => read?,
        },
        Deed::List => {
            let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
            let mut names: Vec<_> =
                entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names.join(", ")
        }
    })
}
