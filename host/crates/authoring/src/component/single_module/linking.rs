//! What is kept of a component when it is linked.

/// What a component is linked for.
pub(crate) struct Linking<'a> {
    /// Whether the component need not import this function of an interface: a call of it traps.
    pub(crate) is_never_called: &'a dyn Fn(&str, &str) -> bool,
    /// Whether the component goes on exporting this interface, or this function of the world.
    pub(crate) is_exported: &'a dyn Fn(&str) -> bool,
    /// Functions of the world, each with the function of a module that is called in its place.
    pub(crate) replaced: &'a [(&'a str, &'a str)],
}

impl Linking<'_> {
    /// Everything is needed.
    pub(crate) const WHOLE: Self = Linking { is_never_called: &|_, _| false, is_exported: &|_| true, replaced: &[] };
}
