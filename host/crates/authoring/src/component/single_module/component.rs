//! The modules of a component, and where each of their imports comes from.

use super::outline::{exports, imports, range, space};
use anyhow::{Context, bail, ensure};
use std::collections::HashMap;
use wasmparser::{CanonicalFunction, CanonicalOption, ComponentAlias, ExternalKind, Instance, Parser, Payload};

/// The table of functions that are known only after the modules have started: wit-component's name for it.
const INDIRECT: &str = "$imports";
/// What an adapter of WASI's first preview calls the module that it serves: wit-component's name, too.
const MAIN: &str = "__main_module__";

/// Where something is defined that a module imports or a component lifts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ImportOrigin {
    /// A library, by its place in the order; and the name of its export.
    Library(usize, String),
    /// An import of the component, or a conversion.
    Component,
}

#[derive(Default)]
pub(super) struct Component<'a> {
    /// The modules that share one memory, in the order in which they start.
    pub(super) libraries: Vec<Linked<'a>>,
    /// Modules that only fill tables when all others are there.
    pub(super) fillers: Vec<Linked<'a>>,
    /// The functions that the component lifts, and those that free their results.
    pub(super) lifted: Vec<ImportOrigin>,
    /// The function that allocates memory for the arguments.
    pub(super) realloc: Option<ImportOrigin>,
}

/// A module, and the origin of each import by its two names.
pub(super) struct Linked<'a> {
    pub(super) bytes: &'a [u8],
    origins: HashMap<(&'a str, &'a str), ImportOrigin>,
}

impl<'a> Linked<'a> {
    pub(super) fn origin(&self, module: &'a str, name: &'a str) -> anyhow::Result<&ImportOrigin> {
        self.origins.get(&(module, name)).with_context(|| format!("nothing is given for the import {module} {name}"))
    }
}

/// The component inside of components that only pass their imports on.
pub(super) fn innermost(bytes: &[u8]) -> anyhow::Result<&[u8]> {
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ModuleSection { .. } => return Ok(bytes),
            Payload::ComponentSection { unchecked_range, .. } => {
                return innermost(bytes.get(range(&unchecked_range)?).context("a component is cut off")?);
            }
            _ => {}
        }
    }
    bail!("a component without modules")
}

pub(super) fn read(bytes: &[u8]) -> anyhow::Result<Component<'_>> {
    let spaces = Spaces::read(bytes)?;
    let mut component = Component::default();
    for (index, instance) in spaces.instances.iter().enumerate() {
        let (Some(role), Instance::Instantiate { args, .. }) = (&spaces.roles[index], instance) else { continue };
        let (Role::Library(bytes, _) | Role::Filler(bytes)) = role else { continue };
        let mut origins = HashMap::new();
        for (module, name) in imports(bytes)? {
            let given = args.iter().find(|arg| arg.name == module);
            let given = given.with_context(|| format!("a module is not given its import {module}"))?;
            origins.insert((module, name), spaces.exported(given.index, name)?);
        }
        let list = if matches!(role, Role::Filler(_)) { &mut component.fillers } else { &mut component.libraries };
        list.push(Linked { bytes, origins });
    }
    for (function, options) in &spaces.lifts {
        component.lifted.push(spaces.item(ExternalKind::Func, *function)?);
        for option in options {
            match option {
                CanonicalOption::PostReturn(index) => component.lifted.push(spaces.item(ExternalKind::Func, *index)?),
                CanonicalOption::Realloc(index) => component.realloc = Some(spaces.item(ExternalKind::Func, *index)?),
                _ => {}
            }
        }
    }
    Ok(component)
}

/// The index spaces of a component, as far as modules are concerned.
#[derive(Default)]
struct Spaces<'a> {
    modules: Vec<&'a [u8]>,
    instances: Vec<Instance<'a>>,
    /// What the module of each instance is for; None for instances that collect exports of others.
    roles: Vec<Option<Role<'a>>>,
    /// The items of each kind: instance and name, or None for what the component model makes.
    items: [Vec<Option<(u32, &'a str)>>; 4],
    lifts: Vec<(u32, Box<[CanonicalOption]>)>,
}

enum Role<'a> {
    /// A library, and its place among the libraries.
    Library(&'a [u8], usize),
    Filler(&'a [u8]),
    /// A module that converts for the component model. The encoder makes it anew.
    Conversion,
}

impl<'a> Spaces<'a> {
    fn read(bytes: &'a [u8]) -> anyhow::Result<Self> {
        let (mut spaces, mut depth) = (Self::default(), 0_u32);
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload?;
            match payload {
                Payload::ModuleSection { ref unchecked_range, .. } if depth == 0 => {
                    spaces.modules.push(bytes.get(range(unchecked_range)?).context("a module is cut off")?);
                    depth += 1;
                }
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                Payload::InstanceSection(section) => {
                    spaces.instances.extend(section.into_iter().collect::<Result<Vec<_>, _>>()?);
                }
                Payload::ComponentAliasSection(section) => {
                    for alias in section {
                        if let ComponentAlias::CoreInstanceExport { kind, instance_index, name } = alias? {
                            spaces.items[space(kind)?].push(Some((instance_index, name)));
                        }
                    }
                }
                Payload::ComponentCanonicalSection(section) => {
                    for function in section {
                        match function? {
                            CanonicalFunction::Lift { core_func_index, options, .. } => {
                                spaces.lifts.push((core_func_index, options));
                            }
                            _ => spaces.items[space(ExternalKind::Func)?].push(None),
                        }
                    }
                }
                _ => {}
            }
        }
        spaces.roles = spaces.roles()?;
        Ok(spaces)
    }

    fn roles(&self) -> anyhow::Result<Vec<Option<Role<'a>>>> {
        let (mut used, mut libraries, mut roles) = (vec![false; self.modules.len()], 0, Vec::new());
        for instance in &self.instances {
            let Instance::Instantiate { module_index, .. } = instance else {
                roles.push(None);
                continue;
            };
            let index = usize::try_from(*module_index)?;
            let module = *self.modules.get(index).context("an instance of no module")?;
            ensure!(!std::mem::replace(&mut used[index], true), "a module has several instances");
            let imports = imports(module)?;
            let is_conversion = imports.iter().any(|(from, _)| *from == MAIN)
                || exports(module)?.iter().any(|one| one.name == INDIRECT);
            roles.push(Some(if imports.iter().any(|(_, name)| *name == INDIRECT) {
                Role::Filler(module)
            } else if is_conversion {
                Role::Conversion
            } else {
                libraries += 1;
                Role::Library(module, libraries - 1)
            }));
        }
        Ok(roles)
    }

    /// Follows an export to the module that has it.
    fn exported(&self, instance: u32, name: &str) -> anyhow::Result<ImportOrigin> {
        let index = usize::try_from(instance)?;
        match self.instances.get(index).context("an import of no instance")? {
            Instance::FromExports(exports) => {
                let export = exports.iter().find(|export| export.name == name);
                let export = export.with_context(|| format!("an instance lacks {name}"))?;
                self.item(export.kind, export.index)
            }
            Instance::Instantiate { .. } => Ok(match self.roles.get(index) {
                Some(Some(Role::Library(_, place))) => ImportOrigin::Library(*place, name.to_owned()),
                _ => ImportOrigin::Component,
            }),
        }
    }

    fn item(&self, kind: ExternalKind, index: u32) -> anyhow::Result<ImportOrigin> {
        match self.items[space(kind)?].get(usize::try_from(index)?).context("an export of nothing")? {
            None => Ok(ImportOrigin::Component),
            Some((instance, name)) => self.exported(*instance, name),
        }
    }
}
