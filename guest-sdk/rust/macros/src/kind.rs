//! The kinds of marked functions.

use syn::{Attribute, ItemFn};

/// The kinds of marked functions, with the words for error messages.
pub(crate) struct Kind {
    /// The attribute that marks the function.
    pub(crate) attribute: &'static str,
    pub(crate) noun: &'static str,
    /// The role of a parameter.
    pub(crate) parameter: &'static str,
    /// Why a doc comment is required.
    pub(crate) described: &'static str,
}

pub(crate) const TOOL: Kind = Kind {
    attribute: "tool",
    noun: "tool",
    parameter: "a property of its arguments",
    described: "models choose tools by it, so say what it does",
};

pub(crate) const PROMPT: Kind = Kind {
    attribute: "prompt",
    noun: "prompt",
    parameter: "an argument of the prompt",
    described: "users choose prompts by it, so say what it does",
};

pub(crate) const RESOURCE: Kind = Kind {
    attribute: "resource",
    noun: "resource",
    parameter: "nothing",
    described: "clients choose resources by it, so say what is in it",
};

pub(crate) const TEMPLATE: Kind = Kind {
    attribute: "resource_template",
    noun: "resource template",
    parameter: "a variable of its URI",
    described: "clients choose resources by it, so say what is in them",
};

/// Its function has a signature of its own, and no description.
pub(crate) const RECONCILE: Kind = Kind {
    attribute: "reconcile",
    noun: "function that reconciles",
    parameter: "nothing",
    described: "whoever reads the code wants to know how it finds out",
};

impl Kind {
    /// Removes the attribute of this kind, if the function has it.
    pub(crate) fn take(&self, function: &mut ItemFn) -> Option<Attribute> {
        let position = function.attrs.iter().position(|attribute| attribute.path().is_ident(self.attribute))?;
        Some(function.attrs.remove(position))
    }
}
