//! Changes Go's runtime so that plugins start it once, when they are built: `go build` gets changed files of Go's own packages.

use crate::project::Project;
use anyhow::Context;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// To align its heap, the runtime skips up to half a MiB, and clears that for later use, though nothing was written there. The
/// change leaves the clearing out.
const CLEARS: Change = Change { file: "runtime/mem_sbrk.go", from: "memFree(r, l)", to: "" };

/// When a program starts, Go looks for the folders that it may open. With the change, it looks again in each call, if there can
/// be any.
const FOLDERS: Change = Change {
    file: "syscall/fs_wasip1.go",
    from: "func init() {\n\tdirNameBuf := make([]byte, 256)\n",
    to: "func init() { portcullisRenew() }\n\nfunc portcullisFolders() {\n\tdirNameBuf := make([]byte, 256)\n",
};
const NEW_FOLDERS: &str = "\tportcullisFolders()\n";

/// A transport of net/http would open a socket. The SDK registers its own with the default transport. The change lets all other
/// transports use that, too.
const TRANSPORTS: Change = Change {
    file: "net/http/roundtrip.go",
    from: "return t.roundTrip(req)\n",
    to: "return portcullisRoundTrip(t, req)\n",
};
const ROUND_TRIP: (&str, &str) = (
    "net/http/portcullis.go",
    "package http

var portcullisDefault = DefaultTransport.(*Transport)

func portcullisRoundTrip(t *Transport, request *Request) (*Response, error) {
	if request.URL != nil {
		for _, one := range []*Transport{t, portcullisDefault} {
			if registered := one.alternateRoundTripper(request); registered != nil {
				if answer, err := registered.RoundTrip(request); err != ErrSkipAltProtocol {
					return answer, err
				}
			}
		}
	}
	return t.roundTrip(request)
}
",
);
const ALTERNATE: (&str, &str) =
    ("net/http/transport.go", "\nfunc (t *Transport) alternateRoundTripper(req *Request) RoundTripper {\n");

/// A new file of the same package. `{}` stands for the renewals that the plugin's requests make necessary.
const RENEW_SYSCALL: (&str, &str) = (
    "syscall/portcullis.go",
    "package syscall

import _ \"unsafe\" // for go:linkname

//go:linkname portcullisReadVariables runtime.goenvs
func portcullisReadVariables()

func portcullisRenew() {
{}}
",
);
const NEW_VARIABLES: &str = "	portcullisReadVariables()
	for _, variable := range runtime_envs() {
		for at := range variable {
			if variable[at] == '=' {
				Setenv(variable[:at], variable[at+1:])
				break
			}
		}
	}
";

/// Files that measure what the garbage collector and the scheduler do. When they read the clock depends on the heap. A call
/// that continues from a checkpoint has another heap, but must ask the host the same as before. So these files count instead.
const MEASURE: [&str; 8] = [
    "runtime/mgc.go",
    "runtime/mgcmark.go",
    "runtime/mgcpacer.go",
    "runtime/mgcscavenge.go",
    "runtime/mheap.go",
    "runtime/mprof.go",
    "runtime/preempt.go",
    "runtime/proc.go",
];
const CLOCK: &str = "nanotime()";
const COUNT: &str = "portcullisCount()";
/// The places in these files that wait for timers, for which they need the clock.
const WAITS: [&str; 2] = ["now = nanotime()\n\t\t\t}\n\t\t\tdelay = ", "now = nanotime()\n\t\tsched.pollUntil"];

/// A new file of the runtime. It is the same for all plugins: with another one, Go would compile everything else anew. The
/// stack of the first call need not grow. The names that it uses are private to the runtime, and the same in Go 1.25 and 1.26.
const RENEW: (&str, &str) = (
    "runtime/portcullis.go",
    "package runtime

func portcullisPrepare() {
	startingStackSize = 64 << 10
}

func portcullisRenew() {
	startingStackSize = fixedStack
	var seed [32]byte
	if readRandom(seed[:]) != len(seed) {
		throw(\"no random numbers\")
	}
	m := getg().m
	m.chacha8.Init(seed)
	m.cheaprand = rand()
}

var portcullisCounted int64

func portcullisCount() int64 {
	portcullisCounted++
	return portcullisCounted
}
",
);
const NAMED: [(&str, &str); 6] = [
    ("runtime/stack.go", "\nvar startingStackSize uint32 = fixedStack\n"),
    ("runtime/os_wasip1.go", "\nfunc readRandom(r []byte) int {"),
    ("runtime/os_wasip1.go", "\nfunc goenvs() {"),
    ("runtime/rand.go", "globalRand.state.Init(*seed)\n"),
    ("runtime/rand.go", "mp.chacha8.Init64(seed)\n"),
    ("runtime/rand.go", "mp.cheaprand = rand()\n"),
];

/// A text that occurs once in a file, and its replacement.
struct Change {
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// The file that tells `go build` what to replace in Go.
pub(crate) struct Overlay {
    pub(crate) file: PathBuf,
    /// Whether the runtime can be renewed after its start. If not, it starts in each call.
    pub(crate) renews: bool,
}

/// Writes the overlay into the plugin's folder, with `more` files of the author's package: their names and texts. A file of the
/// installed Go that is not as expected stays unchanged, which costs time only.
pub(crate) fn overlay(goroot: Option<&Path>, project: &Project, more: &[(&str, &str)]) -> anyhow::Result<Overlay> {
    let work = project.work();
    let mut replaced = Map::new();
    let renews = match goroot {
        Some(root) => {
            Sources { root: root.join("src"), work: work.join("goroot") }.change_all(project, &mut replaced)?
        }
        None => false,
    };
    for (name, text) in more {
        let file = work.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        replaced.insert(project.folder.join(name).display().to_string(), file.display().to_string().into());
    }
    let file = work.join("runtime.json");
    let text = serde_json::json!({ "Replace": replaced }).to_string();
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Overlay { file, renews })
}

/// Go's own packages, and the folder for those that are changed.
struct Sources {
    root: PathBuf,
    work: PathBuf,
}

impl Sources {
    /// Returns whether the runtime can be renewed.
    fn change_all(&self, project: &Project, replaced: &mut Map<String, Value>) -> anyhow::Result<bool> {
        self.change(&CLEARS, replaced)?;
        let asks = self.read(ALTERNATE.0).is_some_and(|source| source.contains(ALTERNATE.1));
        if asks && self.change(&TRANSPORTS, replaced)? {
            self.write(ROUND_TRIP.0, ROUND_TRIP.1, replaced)?;
        }
        let is_known = |(file, text): &(&str, &str)| self.read(file).is_some_and(|source| source.contains(text));
        if !NAMED.iter().all(is_known) || !self.change(&FOLDERS, replaced)? {
            return Ok(false);
        }
        let variables = if project.wants_variables() { NEW_VARIABLES } else { "" };
        let folders = if project.wants_files() { NEW_FOLDERS } else { "" };
        self.write(RENEW.0, RENEW.1, replaced)?;
        self.write(RENEW_SYSCALL.0, &RENEW_SYSCALL.1.replace("{}", &[variables, folders].concat()), replaced)?;
        for file in MEASURE {
            let Some(source) = self.read(file) else { continue };
            let counting = WAITS.iter().fold(source.replace(CLOCK, COUNT), |source, waits| {
                source.replace(&waits.replace(CLOCK, COUNT), waits)
            });
            self.write(file, &counting, replaced)?;
        }
        Ok(true)
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.root.join(file)).ok()
    }

    /// Returns false if the file is not as expected.
    fn change(&self, change: &Change, replaced: &mut Map<String, Value>) -> anyhow::Result<bool> {
        let source = self.read(change.file).filter(|source| source.matches(change.from).count() == 1);
        let Some(source) = source else { return Ok(false) };
        self.write(change.file, &source.replace(change.from, change.to), replaced)?;
        Ok(true)
    }

    fn write(&self, file: &str, text: &str, replaced: &mut Map<String, Value>) -> anyhow::Result<()> {
        let to = self.work.join(file);
        let written = fs::create_dir_all(to.parent().unwrap_or(&to)).and_then(|()| fs::write(&to, text));
        written.with_context(|| format!("cannot write {}", to.display()))?;
        replaced.insert(self.root.join(file).display().to_string(), to.display().to_string().into());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A Go that has what is looked for, and nothing else.
    fn known_go(root: &Path) {
        let mut files: BTreeMap<&str, String> = BTreeMap::new();
        for (file, text) in NAMED.into_iter().chain([CLEARS, FOLDERS].map(|change| (change.file, change.from))) {
            *files.entry(file).or_default() += text;
        }
        files.insert("runtime/proc.go", format!("start := {CLOCK}\n{}{}", WAITS[0], WAITS[1]));
        for (file, text) in files {
            let file = root.join("src").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }

    fn project(folder: &Path, requests: &str) -> Project {
        let manifest = format!(r#"{{ "name": "plugin", "version": "0.1.0", "requests": {requests} }}"#);
        fs::write(folder.join("manifest.json"), manifest).unwrap();
        fs::write(folder.join("go.mod"), "").unwrap();
        let project = Project::open(folder).unwrap();
        fs::create_dir_all(project.work()).unwrap();
        project
    }

    #[test]
    fn the_runtime_is_changed_where_it_is_as_expected() {
        let [root, work] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        known_go(root.path());
        let text = |requests: &str, file: &str| {
            let overlay = overlay(Some(root.path()), &project(work.path(), requests), &[]).unwrap();
            assert!(overlay.renews);
            let replaced: Value = serde_json::from_slice(&fs::read(overlay.file).unwrap()).unwrap();
            let there = root.path().join("src").join(file);
            fs::read_to_string(replaced["Replace"][there.to_str().unwrap()].as_str().unwrap()).unwrap()
        };
        assert!(!text("{}", "runtime/mem_sbrk.go").contains("memFree"));
        assert!(text("{}", "syscall/fs_wasip1.go").contains("func portcullisFolders() {"));
        let counting = format!("start := {COUNT}\n{}{}", WAITS[0], WAITS[1]);
        assert_eq!(text("{}", "runtime/proc.go"), counting);
        for (requests, variables, folders) in [
            ("{}", false, false),
            (r#"{ "env": ["CITY"] }"#, true, false),
            (r#"{ "filesystem": "read" }"#, false, true),
            (r#"{ "scratch": true }"#, false, true),
        ] {
            assert_eq!(text(requests, RENEW.0), RENEW.1);
            let syscall = text(requests, RENEW_SYSCALL.0);
            assert_eq!(syscall.contains("Setenv("), variables, "{requests}");
            assert_eq!(syscall.contains("portcullisFolders()"), folders, "{requests}");
            assert!(!syscall.contains("{}"));
        }
    }

    #[test]
    fn all_transports_of_net_http_do_as_the_default_one() {
        let [root, work] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let write = |file: &str, text: &str| {
            let file = root.path().join("src").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let replaced = || {
            let added = ("zzz.go", "package main\n");
            let overlay = overlay(Some(root.path()), &project(work.path(), "{}"), &[added]).unwrap();
            let replaced: Value = serde_json::from_slice(&fs::read(overlay.file).unwrap()).unwrap();
            let by = replaced["Replace"].as_object().unwrap().values();
            by.map(|file| fs::read_to_string(file.as_str().unwrap()).unwrap()).collect::<Vec<_>>()
        };
        write(TRANSPORTS.file, TRANSPORTS.from);
        assert_eq!(replaced(), ["package main\n"], "it is not known how transports are registered");
        write(ALTERNATE.0, ALTERNATE.1);
        let mut texts = replaced();
        texts.sort();
        assert_eq!(texts, [ROUND_TRIP.1, "package main\n", TRANSPORTS.to]);
    }

    #[test]
    fn another_go_is_built_as_it_is() {
        let [root, work] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let overlay = |root: Option<&Path>| {
            let overlay = overlay(root, &project(work.path(), "{}"), &[]).unwrap();
            let replaced: Value = serde_json::from_slice(&fs::read(overlay.file).unwrap()).unwrap();
            (overlay.renews, replaced["Replace"].as_object().unwrap().len())
        };
        assert_eq!(overlay(None), (false, 0));
        assert_eq!(overlay(Some(root.path())), (false, 0));
        for (file, text) in NAMED.into_iter().chain([(FOLDERS.file, FOLDERS.from)]) {
            known_go(root.path());
            let file = root.path().join("src").join(file);
            fs::write(&file, fs::read_to_string(&file).unwrap().replace(text, "")).unwrap();
            assert_eq!(overlay(Some(root.path())), (false, 1), "without {text}");
        }
        known_go(root.path());
        let twice = root.path().join("src").join(FOLDERS.file);
        fs::write(&twice, FOLDERS.from.repeat(2)).unwrap();
        assert!(!overlay(Some(root.path())).0);
    }
}
