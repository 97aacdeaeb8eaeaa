//! The programs that a server has started.

use std::fs;
use suite::Server;

/// The programs of a server. A process that is not confined starts them for it.
pub(super) fn programs(server: &Server) -> Vec<u32> {
    let [helper] = children(server.id())[..] else { panic!("{:?}", children(server.id())) };
    children(helper)
}

fn children(process: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten() {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    found
}

pub(super) fn kill(id: u32) {
    assert!(std::process::Command::new("kill").args(["-KILL", &id.to_string()]).status().unwrap().success());
}
