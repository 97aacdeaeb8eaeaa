//! Methods of resources as tools. A handle does not outlive its call, so each call makes the resource that it needs: the
//! parameters of the constructor are one argument of the method, with the resource's name.

use super::bounds::TypeBounds;
use super::types::Ty;
use wasmtime::Engine;
use wasmtime::component::types::{ComponentFunc, ComponentInstance, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, Type};

/// How a function belongs to a resource. Its name says that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member<'a> {
    /// It belongs to no resource.
    Free,
    Constructor,
    /// The resource and the function's own name.
    Method(&'a str, &'a str),
    Static(&'a str, &'a str),
}

impl<'a> Member<'a> {
    pub(super) fn parse(name: &'a str) -> Self {
        let parts = |rest: &'a str| rest.split_once('.').unwrap_or((rest, ""));
        if let Some(rest) = name.strip_prefix("[method]") {
            let (resource, name) = parts(rest);
            return Self::Method(resource, name);
        }
        if let Some(rest) = name.strip_prefix("[static]") {
            let (resource, name) = parts(rest);
            return Self::Static(resource, name);
        }
        if name.starts_with("[constructor]") { Self::Constructor } else { Self::Free }
    }
}

/// The constructors of an interface, by their resources.
#[derive(Default)]
pub(super) struct Constructors(Vec<Constructor>);

struct Constructor {
    resource: String,
    index: ComponentExportIndex,
    ty: ComponentFunc,
}

/// How the resource of a method is made.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) constructor: ComponentExportIndex,
    /// Whether the constructor has parameters. If so, the function's first parameter is a record of them.
    pub(super) has_params: bool,
}

impl Constructors {
    /// Looks at no more than `limit` exports.
    pub(super) fn find(
        engine: &Engine,
        component: &Component,
        interface: &ComponentInstance,
        index: &ComponentExportIndex,
        limit: usize,
    ) -> Self {
        let constructor = |(name, item): (&str, _)| {
            let (resource, ComponentItem::ComponentFunc(ty)) = (name.strip_prefix("[constructor]")?, item) else {
                return None;
            };
            let index = component.get_export_index(Some(index), name)?;
            Some(Constructor { resource: resource.to_owned(), index, ty })
        };
        let exports = interface.exports(engine).take(limit).map(|(name, item)| (name, item.ty));
        Self(exports.filter_map(constructor).collect())
    }

    /// What makes the resource of a method whose first parameter has this type, and the parameter that stands for it. The
    /// error is the end of a sentence about the method.
    pub(super) fn receiver(
        &self,
        resource: &str,
        first: Option<Type>,
        bounds: &mut TypeBounds,
    ) -> Result<(Receiver, Option<(String, Ty)>), String> {
        let found = self.0.iter().find(|it| it.resource == resource);
        let Constructor { index, ty, .. } = found.ok_or("belongs to a resource without a constructor")?;
        match (first, ty.results().next()) {
            (Some(Type::Borrow(own)), Some(Type::Own(made))) if own == made => {}
            _ => return Err("belongs to a resource whose constructor may fail, or makes another one".into()),
        }
        if ty.async_() {
            return Err("belongs to a resource whose constructor is asynchronous".into());
        }
        bounds.take_name(resource)?;
        let mut fields = Vec::new();
        for (name, ty) in ty.params() {
            bounds.take_name(name)?;
            let read = Ty::read(&ty, 2, bounds);
            fields.push((name.to_owned(), read.map_err(|why| format!("{why} (in the constructor's `{name}`)"))?));
        }
        let receiver = Receiver { constructor: *index, has_params: !fields.is_empty() };
        let param = receiver.has_params.then(|| (resource.to_owned(), Ty::Record(fields)));
        Ok((receiver, param))
    }
}
