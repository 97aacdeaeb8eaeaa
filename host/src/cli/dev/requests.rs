//! The plugin's requests that are not granted, with the commands that grant them.

use crate::cli::options::ConfigFile;
use crate::cli::text::shell_quote;
use crate::config::Config;
use platform::telemetry::printable;
use plugins::package;
use policy::{GrantProposal, Grants, PluginId};
use std::fmt::Write as _;
use std::path::Path;

/// Reports ungranted requests once, and again when they change.
#[derive(Default)]
pub(super) struct UngrantedRequests {
    said: String,
}

impl UngrantedRequests {
    /// The text for the author, if there is something new to report. `file` is the configuration, `is_there` whether it exists.
    pub(super) fn news(
        &mut self,
        id: &PluginId,
        component: &Path,
        file: &ConfigFile,
        is_there: bool,
    ) -> Option<String> {
        // The server reports what is wrong with the component or the configuration.
        let bytes = package::read_file(component).ok()?;
        let requests = package::inspect(&bytes).ok()?.manifest.map(|manifest| manifest.requests).unwrap_or_default();
        let grants = if is_there {
            let config = Config::load(&file.config).ok()?;
            config.plugins.into_iter().chain(config.agent).find(|spec| spec.id == *id)?.grants
        } else {
            Grants::default()
        };
        let proposals = requests.ungranted(&grants).proposals(&requests);
        let text =
            if proposals.is_empty() { String::new() } else { describe(id, component, &proposals, file, is_there) };
        let is_new = text != self.said;
        self.said.clone_from(&text);
        (is_new && !text.is_empty()).then_some(text)
    }
}

/// `file` is the configuration, or the one to write.
fn describe(id: &PluginId, component: &Path, proposals: &[GrantProposal], file: &ConfigFile, is_there: bool) -> String {
    let name = id.cli_name();
    let mut text = format!("{name} requests what is not granted, so that it is denied. To grant it");
    if !is_there {
        let component = component.file_name().unwrap_or_default().to_string_lossy();
        let (path, source) = (file.config.display().to_string(), toml_edit::Value::from(component.as_ref()));
        let _ = write!(text, ", write {}, start again, and use the commands below", printable(&path));
        let _ = write!(text, ":\n  [{}]\n  source = {}\n", id.table(), printable(source.to_string().trim()));
    } else {
        text += ":\n";
    }
    for proposal in proposals {
        let command = format!("portcullis grant {name} {}{}", shell_quote(&proposal.line), file.as_option());
        let _ = writeln!(text, "  {command}");
    }
    for choice in proposals.iter().filter_map(|proposal| proposal.choose) {
        let _ = writeln!(text, "You choose {}.", choice.what());
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Requests, Side};

    #[test]
    fn the_lines_are_commands() {
        let requests: Requests = toml::from_str("filesystem = \"read\"\nenv = [\"TZ\", \"LANG\"]").unwrap();
        let id = PluginId::new(Side::Server, "a").unwrap();
        let describe = |file: &str, is_there| {
            let file = ConfigFile { config: file.into() };
            super::describe(&id, Path::new("/a/a.wasm"), &requests.proposals(&requests), &file, is_there)
        };
        let there = describe("portcullis.toml", true);
        assert!(there.contains("denied. To grant it:\n  portcullis grant a 'filesystem = [{"), "{there}");
        assert!(there.contains("\n  portcullis grant a 'env = [\"LANG\"]'\nYou choose DIRECTORY"), "{there}");
        let none = describe("a/portcullis.toml", false);
        assert!(none.contains("write a/portcullis.toml, start again"), "{none}");
        assert!(none.contains(":\n  [plugins.a]\n  source = \"a.wasm\"\n  portcullis grant a"), "{none}");
        assert!(none.contains("'env = [\"LANG\"]' --config a/portcullis.toml\n"), "{none}");
    }
}
