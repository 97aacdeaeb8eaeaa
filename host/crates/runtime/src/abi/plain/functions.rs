//! The functions of a component that can be tools, found once when it is linked.

use super::bounds::TypeBounds;
use super::bytes::Shape;
use super::docs::{Docs, NamedType, PackageDocs, short_name};
use super::function::{PlainFunction, full_name};
use super::memory::hostcall_divisor;
use super::program::PlainProgram;
use super::resources::{Constructors, Member};
use super::tool;
use super::types::Ty;
use crate::imports::Offer;
use platform::text::truncate_with;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, Type};

/// Exported functions, usable or not. Bounds the work of reading them; a plugin may have 256 tools.
const MAX_FUNCTIONS: usize = 1_000;
/// Exported types whose names are kept for the documentation.
const MAX_NAMED_TYPES: usize = 256;
const MAX_NAMED_ITEMS: usize = 64;
/// Characters of the sentence about one function; its name may be very long.
const MAX_REASON: usize = 300;
/// Functions that an error or a line of the log names.
const MAX_REASONS: usize = 16;

/// All tools of a component.
#[derive(Default)]
pub(in super::super) struct Functions {
    /// By the names of their tools.
    pub(super) tools: BTreeMap<String, Callable>,
    /// Sentences about the functions that cannot be tools.
    unusable: Vec<String>,
    types: Vec<NamedType>,
}

/// What a tool calls.
pub(super) enum Callable {
    Function(Arc<PlainFunction>),
    Program(PlainProgram),
}

impl Callable {
    /// Whether it returns nothing. Then it is called for what it changes, such as the component's own memory.
    fn returns_nothing(&self) -> bool {
        matches!(self, Self::Function(function) if function.ok.is_none() && function.err.is_none())
    }

    /// The name for messages, with that of the interface.
    fn full_name(&self) -> String {
        match self {
            Self::Function(function) => function.full_name(),
            Self::Program(program) => program.full_name(),
        }
    }
}

impl Functions {
    /// The error is a sentence.
    pub(in super::super) fn find(engine: &Engine, component: &Component) -> Result<Self, String> {
        let mut search = Search {
            component,
            bounds: TypeBounds::new(),
            count: 0,
            constructors: Constructors::default(),
            found: Self::default(),
        };
        let exported = component.component_type();
        for (name, item) in exported.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(function) => search.add_function(None, name, &function)?,
                ComponentItem::ComponentInstance(interface) => {
                    let index = component.get_export_index(None, name);
                    search.constructors = index.as_ref().map_or_else(Constructors::default, |index| {
                        Constructors::find(engine, component, &interface, index, MAX_FUNCTIONS)
                    });
                    for (inner, item) in interface.exports(engine) {
                        match item.ty {
                            ComponentItem::ComponentFunc(function) => {
                                search.add_function(index.as_ref().map(|index| (name, index)), inner, &function)?;
                            }
                            ComponentItem::Type(ty) => search.add_type(Some(name), inner, &ty),
                            // Nothing else can be called.
                            ComponentItem::ComponentInstance(_)
                            | ComponentItem::Component(_)
                            | ComponentItem::Module(_)
                            | ComponentItem::CoreFunc(_)
                            | ComponentItem::Resource(_) => {}
                        }
                    }
                }
                ComponentItem::Type(ty) => search.add_type(None, name, &ty),
                ComponentItem::Component(_)
                | ComponentItem::Module(_)
                | ComponentItem::CoreFunc(_)
                | ComponentItem::Resource(_) => {}
            }
        }
        search.finish()
    }

    /// The tools, with what the author has documented about them.
    pub(in super::super) fn describe(&self, docs: Option<&[u8]>) -> Offer {
        let docs = PackageDocs::read(docs);
        let keeps_state = self.tools.values().any(Callable::returns_nothing);
        let tool = |(name, callable): (&String, &Callable)| match callable {
            Callable::Function(function) => {
                let interface = function.interface.as_deref();
                let text = docs.of_function(interface, &function.name);
                tool::describe(name, function, text, keeps_state, Docs::new(&docs, interface, &self.types))
            }
            Callable::Program(program) => {
                PlainProgram::describe(name, docs.of_function(Some(&program.interface), name))
            }
        };
        Offer { tools: self.tools.iter().map(tool).collect(), ..Offer::default() }
    }
}

struct Search<'a> {
    component: &'a Component,
    bounds: TypeBounds,
    count: usize,
    /// The constructors of the interface that is being read.
    constructors: Constructors,
    found: Functions,
}

impl Search<'_> {
    fn add_function(
        &mut self,
        interface: Option<(&str, &ComponentExportIndex)>,
        name: &str,
        ty: &ComponentFunc,
    ) -> Result<(), String> {
        self.count += 1;
        if self.count > MAX_FUNCTIONS {
            return Err(format!("it exports more than {MAX_FUNCTIONS} functions"));
        }
        if Member::parse(name) == Member::Constructor {
            return Ok(());
        }
        let index = self.component.get_export_index(interface.map(|(_, index)| index), name);
        let interface = interface.map(|(interface, _)| interface);
        let full_name = full_name(interface, name);
        let read = match index {
            Some(index) => self.read(interface, name, index, ty),
            None => Err("cannot be found by its name".into()),
        };
        match read {
            Err(reason) => {
                let sentence = format!("`{full_name}` {reason}");
                self.found.unusable.push(truncate_with(&sentence, MAX_REASON, "…"));
            }
            Ok((tool, callable)) => match self.found.tools.entry(tool) {
                Entry::Vacant(free) => {
                    free.insert(callable);
                }
                Entry::Occupied(other) => {
                    return Err(format!(
                        "its functions `{}` and `{full_name}` would both be the tool `{}`; rename one of them, or its \
                         interface",
                        other.get().full_name(),
                        truncate_with(other.key(), MAX_REASON, "…")
                    ));
                }
            },
        }
        Ok(())
    }

    /// The function with the name of its tool. The error is the end of a sentence about it.
    fn read(
        &mut self,
        interface: Option<&str>,
        name: &str,
        index: ComponentExportIndex,
        ty: &ComponentFunc,
    ) -> Result<(String, Callable), String> {
        let run = interface.filter(|interface| PlainProgram::is_run(interface, name));
        if run.is_none() && interface.is_some_and(|name| name.starts_with("wasi:")) {
            return Err("is an entry point of WASI, which this host does not call".into());
        }
        if ty.async_() {
            return Err("is asynchronous".into());
        }
        let bounds = &mut self.bounds;
        bounds.begin_function();
        let (mut params, mut given, mut receiver) = (Vec::new(), ty.params(), None);
        let own_name = match Member::parse(name) {
            Member::Free | Member::Constructor => name.to_owned(),
            Member::Static(resource, name) => format!("{resource}-{name}"),
            Member::Method(resource, name) => {
                let first = given.next().map(|(_, ty)| ty);
                let (made, param) = self.constructors.receiver(resource, first, bounds)?;
                (receiver, params) = (Some(made), Vec::from_iter(param));
                format!("{resource}-{name}")
            }
        };
        for (param, ty) in given {
            if params.iter().any(|(known, _)| known == param) {
                return Err(format!("has a parameter `{param}`, as its resource is called"));
            }
            bounds.take_name(param)?;
            let read = Ty::read(&ty, 1, bounds).map_err(|reason| format!("{reason} (in its parameter `{param}`)"))?;
            params.push((param.to_owned(), read));
        }
        let mut results = ty.results();
        let result = results.next().map(|ty| Ty::read(&ty, 1, bounds)).transpose();
        let result = result.map_err(|reason| format!("{reason} (in its result)"))?;
        if results.next().is_some() {
            return Err("has several results".into());
        }
        if let Some(interface) = run {
            let program = PlainProgram::new(interface, index, params.len(), result.as_ref())?;
            return Ok((name.to_owned(), Callable::Program(program)));
        }
        let tool = tool::name(interface.map(short_name), &own_name);
        let hostcall_divisor = result.as_ref().map_or(1, hostcall_divisor);
        let (ok, err) = match result {
            Some(Ty::Result(result)) => (result.ok, Some(result.err)),
            other => (other, None),
        };
        let (interface, name) = (interface.map(str::to_owned), name.to_owned());
        let shape = match &receiver {
            None => Shape::find(&params, ok.as_ref(), err.as_ref()),
            Some(_) => None,
        };
        let function = PlainFunction { interface, name, index, params, receiver, ok, err, shape, hostcall_divisor };
        tool::check_schemas(&function)?;
        Ok((tool, Callable::Function(Arc::new(function))))
    }

    /// Keeps the names by which the documentation of a type is found.
    fn add_type(&mut self, interface: Option<&str>, name: &str, ty: &Type) {
        let items: Vec<String> = match ty {
            Type::Record(ty) => ty.fields().take(MAX_NAMED_ITEMS).map(|field| field.name.to_owned()).collect(),
            Type::Variant(ty) => ty.cases().take(MAX_NAMED_ITEMS).map(|case| case.name.to_owned()).collect(),
            Type::Enum(ty) => ty.names().take(MAX_NAMED_ITEMS).map(str::to_owned).collect(),
            Type::Flags(ty) => ty.names().take(MAX_NAMED_ITEMS).map(str::to_owned).collect(),
            _ => return,
        };
        if self.found.types.len() < MAX_NAMED_TYPES {
            let (interface, name) = (interface.map(str::to_owned), name.to_owned());
            self.found.types.push(NamedType { interface, name, items });
        }
    }

    fn finish(self) -> Result<Functions, String> {
        let Functions { tools, unusable, .. } = &self.found;
        let more = match unusable.len().saturating_sub(MAX_REASONS) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let reasons = unusable[..unusable.len().min(MAX_REASONS)].join("; ") + &more;
        match (tools.is_empty(), unusable.is_empty()) {
            (false, true) => {}
            (false, false) => tracing::warn!("not offered as tools: {reasons}"),
            (true, true) => return Err("it exports no function that could be a tool".into()),
            (true, false) => return Err(format!("none of its functions can be a tool: {reasons}")),
        }
        Ok(self.found)
    }
}
