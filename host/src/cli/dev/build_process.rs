//! One build, in a process of its own that is the leader of a group: the tools that it starts end with it.

use crate::host::worker_program;
use anyhow::Context;
use platform::telemetry::printable;
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::Path;
use std::process::Stdio;
use tokio::process::{Child, Command};

/// A build. When it is dropped, it is killed with all processes that it has started.
struct BuildProcess(Child);

impl Drop for BuildProcess {
    fn drop(&mut self) {
        // There is no id once its end was seen: by then, the number could be that of another group.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = id {
            // It may have ended just now.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Runs `portcullis build`, whose tools say on stderr what is wrong. Returns whether there is a new component.
pub(super) async fn build(folder: &Path, component: &Path, quiet: bool) -> anyhow::Result<bool> {
    let mut command = Command::new(worker_program()?);
    if quiet {
        command.arg("--quiet");
    }
    command.arg("build").arg("--output").arg(component).arg("--").arg(folder);
    // Stdin and stdout are those of the client.
    command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    let mut process = BuildProcess(command.spawn().context("cannot start `portcullis build`")?);
    let status = process.0.wait().await.context("cannot wait for `portcullis build`")?;
    if status.code().is_none() {
        eprintln!("the build was ended: {}", printable(&status.to_string()));
    }
    Ok(status.success())
}
