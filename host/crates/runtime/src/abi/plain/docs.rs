//! What the author says of functions and types: the comments of their WIT, which tools keep in the section `package-docs`.
//! It is unverified text of a stranger, as all descriptions of tools are.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of the section. More than this may not be said of tools.
const MAX_BYTES: usize = 1 << 20;
/// Versions of the section's format, in its first byte.
const VERSIONS: [u8; 2] = [0, 1];

/// The section. What else is in it does not matter here.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PackageDocs {
    worlds: BTreeMap<String, WorldDocs>,
    interfaces: BTreeMap<String, InterfaceDocs>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorldDocs {
    interfaces: BTreeMap<String, InterfaceDocs>,
    interface_exports: BTreeMap<String, InterfaceDocs>,
    types: BTreeMap<String, TypeDocs>,
    funcs: BTreeMap<String, FunctionDocs>,
    func_exports: BTreeMap<String, FunctionDocs>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InterfaceDocs {
    funcs: BTreeMap<String, FunctionDocs>,
    types: BTreeMap<String, TypeDocs>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FunctionDocs {
    Text(Option<String>),
    Object { docs: Option<String> },
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TypeDocs {
    items: BTreeMap<String, String>,
}

/// A type that a component exports, with the names of its fields or cases. The code of its functions names no types.
pub(super) struct NamedType {
    pub(super) interface: Option<String>,
    pub(super) name: String,
    pub(super) items: Vec<String>,
}

impl PackageDocs {
    /// Nothing is known of a component whose section cannot be read.
    pub(super) fn read(section: Option<&[u8]>) -> Self {
        match section {
            Some([version, json @ ..]) if VERSIONS.contains(version) && json.len() <= MAX_BYTES => {
                serde_json::from_slice(json).unwrap_or_default()
            }
            _ => Self::default(),
        }
    }

    /// `interface` is none for a function of the world itself.
    pub(super) fn of_function(&self, interface: Option<&str>, name: &str) -> Option<&str> {
        let found = match interface {
            Some(interface) => self.interface(interface)?.funcs.get(name),
            None => {
                self.worlds.values().find_map(|world| world.func_exports.get(name).or_else(|| world.funcs.get(name)))
            }
        };
        let text = match found? {
            FunctionDocs::Text(text) | FunctionDocs::Object { docs: text } => text.as_deref()?.trim(),
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// An interface by its full name, such as `acme:weather/forecast@1.0.0`, or by its name in its world.
    fn interface(&self, name: &str) -> Option<&InterfaceDocs> {
        match short_name(name) {
            short if short != name => self.interfaces.get(short),
            short => self
                .worlds
                .values()
                .find_map(|world| world.interface_exports.get(short).or_else(|| world.interfaces.get(short))),
        }
    }

    fn of_type(&self, interface: Option<&str>, name: &str) -> Option<&TypeDocs> {
        match interface {
            Some(interface) => self.interface(interface)?.types.get(name),
            None => self.worlds.values().find_map(|world| world.types.get(name)),
        }
    }
}

/// The name of an interface without its package and version.
pub(super) fn short_name(interface: &str) -> &str {
    let name = interface.rsplit_once('/').map_or(interface, |(_, name)| name);
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// What is documented about the types of one function.
#[derive(Clone, Copy)]
pub(super) struct Docs<'a> {
    package: Option<&'a PackageDocs>,
    /// The interface of the function.
    interface: Option<&'a str>,
    types: &'a [NamedType],
}

impl<'a> Docs<'a> {
    pub(super) fn none() -> Self {
        Self { package: None, interface: None, types: &[] }
    }

    pub(super) fn new(package: &'a PackageDocs, interface: Option<&'a str>, types: &'a [NamedType]) -> Self {
        Self { package: Some(package), interface, types }
    }

    /// The documentation of the fields of a record, or the cases of a variant, that has exactly these. Two types of the
    /// function's interface that have the same ones cannot be told apart, so there is none for them.
    pub(super) fn of_items(&self, items: &[&str]) -> ItemDocs<'a> {
        let mut known = self.types.iter().filter(|ty| ty.interface.as_deref() == self.interface && ty.items == items);
        let found = match (known.next(), known.next()) {
            (Some(ty), None) => self.package.and_then(|docs| docs.of_type(self.interface, &ty.name)),
            _ => None,
        };
        ItemDocs(found)
    }
}

/// The documentation of the items of one type.
pub(super) struct ItemDocs<'a>(Option<&'a TypeDocs>);

impl<'a> ItemDocs<'a> {
    pub(super) fn item(&self, name: &str) -> Option<&'a str> {
        let text = self.0?.items.get(name)?.trim();
        Some(text).filter(|text| !text.is_empty())
    }
}
