//! A policy of Wassette as requests, grants and limits.

use super::policy_text::Node;
use super::remarks::Remarks;
use super::resources;
use super::storage::{self, Directory};
use super::web::{self, Web};
use bytesize::ByteSize;
use policy::{Access, Grants, Requests};
use std::path::Path;
use toml_edit::{Array, InlineTable, Item, Table, value};

#[derive(Default)]
pub(super) struct Translation {
    pub(super) description: Option<String>,
    directories: Vec<Directory>,
    web: Vec<Web>,
    variables: Vec<String>,
    memory: Option<ByteSize>,
    pub(super) remarks: Remarks,
}

impl Translation {
    /// `folder`: what relative paths in it are relative to. The error is a sentence.
    pub(super) fn new(text: &str, folder: Option<&Path>) -> Result<Self, String> {
        let root = Node::parse(text)?;
        let mut found = Self::default();
        let mut has_version = false;
        for (key, node) in root.members("the policy", &mut found.remarks) {
            match key.as_str() {
                "version" => match node.text() {
                    Some(version) if version == "1" || version.starts_with("1.") => has_version = true,
                    _ => return Err(format!("line {}: only policies of version 1 are known", node.line)),
                },
                "description" => {
                    let text = node.text().filter(|text| !text.chars().any(char::is_control));
                    found.description = text.map(str::to_owned);
                }
                "permissions" => found.permissions(node, folder),
                other => found.remarks.leave_out(node.line, format!("a policy has no key `{other}`")),
            }
        }
        if has_version { Ok(found) } else { Err("it has no `version`, as a policy of Wassette has".into()) }
    }

    fn permissions(&mut self, node: &Node, folder: Option<&Path>) {
        let remarks = &mut self.remarks;
        for (key, node) in node.members("permissions", remarks) {
            match key.as_str() {
                "storage" => self.directories = storage::translate(node, folder, remarks),
                "network" => self.web = web::translate(node, remarks),
                "environment" => self.variables = translate_variables(node, remarks),
                "resources" => self.memory = resources::translate(node, remarks),
                "runtime" => remarks.note(node.line, "`runtime` is about containers; nothing here runs in one"),
                "ipc" => {
                    remarks.leave_out(node.line, "`ipc` is not granted: a plugin has no pipes or sockets of others")
                }
                other => remarks.leave_out(node.line, format!("permissions has no key `{other}`")),
            }
        }
    }

    /// What the component's manifest requests: exactly what is granted.
    pub(super) fn requests(&self) -> Requests {
        Requests {
            filesystem: self.directories.iter().map(|directory| directory.access).max(),
            http: self.web.iter().map(|web| web.allow.clone()).collect(),
            env: self.variables.clone(),
            ..Requests::default()
        }
    }

    /// The table of the plugin.
    pub(super) fn table(&self, source: &str) -> Table {
        let mut table = Table::new();
        table.insert("source", value(source));
        let mut grants = Table::new();
        let lines = |tables: Vec<InlineTable>| {
            let mut array: Array = tables.into_iter().collect();
            for item in array.iter_mut() {
                item.decor_mut().set_prefix("\n    ");
            }
            array.set_trailing("\n");
            array.set_trailing_comma(true);
            value(array)
        };
        if !self.directories.is_empty() {
            let directory = |it: &Directory| {
                let access = if it.access == Access::Write { "write" } else { "read" };
                let host = it.host.display().to_string();
                [("host", host.as_str()), ("guest", &it.guest), ("access", access)].into_iter().collect()
            };
            grants.insert("filesystem", lines(self.directories.iter().map(directory).collect()));
        }
        if !self.web.is_empty() {
            let line = |it: &Web| {
                let mut line = InlineTable::new();
                line.insert("allow", it.allow.as_str().into());
                if it.private {
                    line.insert("private", true.into());
                }
                line
            };
            grants.insert("http", lines(self.web.iter().map(line).collect()));
        }
        if !self.variables.is_empty() {
            grants.insert("env", value(self.variables.iter().collect::<Array>()));
        }
        if !grants.is_empty() {
            table.insert("grants", Item::Table(grants));
        }
        if let Some(memory) = self.memory {
            let mut limits = Table::new();
            limits.insert("memory", value(format!("{} B", memory.as_u64())));
            table.insert("limits", Item::Table(limits));
        }
        table
    }
}

fn translate_variables(node: &Node, remarks: &mut Remarks) -> Vec<String> {
    let mut variables = Vec::new();
    for (key, list) in node.members("environment", remarks) {
        if key != "allow" {
            remarks.leave_out(list.line, format!("environment has no key `{key}`"));
            continue;
        }
        for item in list.items(key, remarks) {
            for (key, name) in item.members("an entry of environment", remarks) {
                let Some(name_text) = name.text().filter(|_| key == "key") else {
                    remarks.leave_out(name.line, format!("an entry of environment has no key `{key}` like that"));
                    continue;
                };
                let grants = Grants { env: vec![name_text.to_owned()], ..Grants::default() };
                match grants.check() {
                    Err(why) => remarks.leave_out(name.line, why),
                    Ok(()) if variables.iter().any(|known| known == name_text) => {}
                    Ok(()) => variables.push(name_text.to_owned()),
                }
            }
        }
    }
    variables
}
