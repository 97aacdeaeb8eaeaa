//! The lock file of a plugin's packages, in the format of pip's requirements: exact versions, each with the digest of its wheel.

use anyhow::{Context, bail, ensure};
use plugins::package::Digest;
use std::fmt::Write;

const ABOUT: &str =
    "# Made by `portcullis build`; keep it under version control. To choose newer versions, remove it and build.";
const FOR: &str = "# For: ";
const PURE: &str = "-none-any.whl";

/// The wheel of a package. All are for any platform, so that a version has one of them.
#[derive(Debug, PartialEq)]
pub(super) struct Wheel {
    pub(super) name: String,
    pub(super) version: String,
    /// The Python that it is for, such as `py3` or `py2.py3`.
    python: String,
    pub(super) digest: Digest,
}

impl Wheel {
    fn new(file: &str, digest: Digest) -> anyhow::Result<Self> {
        let parts: Vec<&str> = file.strip_suffix(PURE).unwrap_or_default().split('-').collect();
        // A build number may stand before the Python. It is refused, since it would make another file for the same version.
        let [name, version, python] = parts[..] else { bail!("{file} is not a pure-Python wheel (py3-none-any)") };
        let part = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+!".contains(&byte));
        ensure!(
            [name, version, python].iter().all(|text| !text.is_empty() && part(text)),
            "{file:?} is not the name of a wheel"
        );
        Ok(Self { name: name.into(), version: version.into(), python: python.into(), digest })
    }

    pub(super) fn file(&self) -> String {
        format!("{}-{}-{}{PURE}", self.name, self.version, self.python)
    }
}

#[derive(Debug, PartialEq)]
pub(super) struct Lock {
    /// What pyproject.toml said when the versions were chosen.
    pub(super) dependencies: Vec<String>,
    /// Sorted by name.
    pub(super) wheels: Vec<Wheel>,
}

impl Lock {
    /// Makes a lock from the names of wheel files and their digests.
    pub(super) fn new(dependencies: &[String], files: Vec<(String, Digest)>) -> anyhow::Result<Self> {
        let wheels = files.into_iter().map(|(file, digest)| Wheel::new(&file, digest));
        let mut wheels = wheels.collect::<anyhow::Result<Vec<_>>>()?;
        wheels.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { dependencies: dependencies.to_vec(), wheels })
    }

    /// Accepts only what `text` writes. pip never reads the file itself, which could contain options for it.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut dependencies = None;
        let mut files = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let wrong = || format!("line {} is none that `portcullis build` has written: {line:?}", at + 1);
            if let Some(said) = line.strip_prefix(FOR) {
                dependencies = Some(serde_json::from_str(said).with_context(wrong)?);
            } else if !line.is_empty() && !line.starts_with('#') {
                let parts: Vec<&str> = line.split_whitespace().collect();
                let [_, hash, "#", file] = parts[..] else { bail!(wrong()) };
                let digest = hash.strip_prefix("--hash=").with_context(wrong)?;
                let digest = Digest::parse(digest).with_context(wrong)?;
                files.push((file.to_owned(), digest));
            }
        }
        let dependencies: Vec<String> =
            dependencies.with_context(|| format!("it has no line with `{}`", FOR.trim()))?;
        let lock = Self::new(&dependencies, files)?;
        let same = |line: &str| line.starts_with('#') || lock.requirements().lines().any(|ours| line.starts_with(ours));
        ensure!(
            text.lines().all(|line| line.is_empty() || same(line)),
            "its lines and the names of its wheels differ; restore it or remove it"
        );
        Ok(lock)
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{ABOUT}\n{FOR}{}\n", serde_json::json!(self.dependencies));
        for (line, wheel) in self.requirements().lines().zip(&self.wheels) {
            let _ = writeln!(text, "{line}  # {}", wheel.file());
        }
        text
    }

    /// What pip is to download.
    pub(super) fn requirements(&self) -> String {
        let line = |Wheel { name, version, digest, .. }: &Wheel| format!("{name}=={version} --hash={digest}\n");
        self.wheels.iter().map(line).collect()
    }

    /// The versions alone.
    pub(super) fn versions(&self) -> String {
        self.wheels.iter().map(|wheel| format!("{}=={}\n", wheel.name, wheel.version)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<(String, Digest)> {
        ["pypdf-7.1.1-py3-none-any.whl", "a_b-1!2.0+x-py2.py3-none-any.whl"]
            .map(|name| (name.to_owned(), Digest::sha256(name.as_bytes())))
            .into()
    }

    #[test]
    fn what_is_written_is_read() {
        let lock = Lock::new(&["pypdf>=6; python_version > \"3\"".into()], files()).unwrap();
        let text = lock.text();
        assert_eq!(Lock::parse(&text).unwrap(), lock);
        assert!(text.contains("\na_b==1!2.0+x --hash=sha256:"), "{text}");
        assert!(text.ends_with("  # pypdf-7.1.1-py3-none-any.whl\n"), "{text}");
        assert_eq!(lock.versions(), "a_b==1!2.0+x\npypdf==7.1.1\n");
    }

    #[test]
    fn nothing_else_is_read() {
        let text = Lock::new(&["pypdf".into()], files()).unwrap().text();
        for (from, to, said) in [
            ("# For: ", "# for: ", "has no line with `# For:`"),
            ("# For: [", "# For: ", "line 2 is none"),
            ("pypdf==7.1.1", "pypdf==7.1.2", "differ"),
            ("pypdf==7.1.1", "--index-url=https://example.com", "differ"),
            ("--hash=sha256:", "--hash=md5:", "is none that"),
            ("  # pypdf", "  # ../pypdf", "not the name of a wheel"),
            ("pypdf-7.1.1-py3-none-any.whl", "pypdf-7.1.1-cp314-cp314-wasi.whl", "not a pure-Python wheel"),
            ("  # pypdf-7.1.1-py3-none-any.whl", "", "is none that"),
        ] {
            let error = format!("{:#}", Lock::parse(&text.replace(from, to)).unwrap_err());
            assert!(error.contains(said), "{from} {to}: {error}");
        }
    }
}
