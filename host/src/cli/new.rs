//! `portcullis new`: the smallest plugin that works, with a test.

use anyhow::{Context, ensure};
use authoring::{Language, prepare, template};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Placeholders in templates for the plugin's name, and for that name in the form that modules have.
const NAME: &str = "PLUGIN_NAME";
const MODULE: &str = "PLUGIN_MODULE";

#[derive(clap::Args)]
pub(super) struct New {
    /// The plugin's name: lower-case letters, digits and dashes. Also the new folder, unless --folder names another.
    name: String,
    /// The language to write it in.
    #[arg(long, value_enum)]
    lang: Language,
    /// The new folder.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl New {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let starts = self.name.starts_with(|c: char| c.is_ascii_lowercase());
        ensure!(
            starts && self.name.len() <= 64 && self.name.chars().all(is_plain),
            "`{}` is not a plugin's name: write up to 64 of a-z, 0-9 and -, and begin with a letter",
            self.name
        );
        let folder = self.folder.unwrap_or_else(|| PathBuf::from(&self.name));
        // Never replaces a file.
        ensure!(
            fs::read_dir(&folder).map_or(true, |mut entries| entries.next().is_none()),
            "{} is there already, and not empty: name another with --folder",
            folder.display()
        );
        let module = self.name.replace('-', "_");
        for (name, bytes) in template(self.lang.template()) {
            let filled = |text: &str| text.replace(NAME, &self.name).replace(MODULE, &module);
            // Templates of dot-files and of package lists have other names: tools would act on them where the templates are
            // kept.
            let path = folder.join(filled(name).replace("DOT.", ".").trim_end_matches(".template"));
            let written = fs::create_dir_all(path.parent().unwrap_or(&folder))
                .and_then(|()| fs::write(&path, filled(&String::from_utf8_lossy(bytes))));
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        prepare(&folder, self.lang)?;
        println!("Made {}. Next:", folder.display());
        println!("  cd {}", folder.display());
        let (test, need) = test(self.lang);
        println!("  {test:<42} # the test{need}");
        println!("  {:<42} # makes {}.wasm", "portcullis build", self.name);
        println!("  {:<42} # calls it under portcullis.toml", format!("portcullis call {} greet name=Ada", self.name));
        Ok(ExitCode::SUCCESS)
    }
}

/// The command that runs the test, and what it needs beyond the build.
fn test(language: Language) -> (&'static str, &'static str) {
    match language {
        Language::Rust => ("cargo test", ""),
        Language::Python => ("pytest", ""),
        Language::Javascript => ("node --test", ""),
        Language::Typescript => ("node --test", "; needs Node 22.18 or newer, which runs TypeScript as it is"),
        Language::Go => ("go test", ""),
        Language::C => ("cc -I .portcullis/c/include test.c .portcullis/c/src/*/*.c -lm -o test && ./test", ""),
    }
}
