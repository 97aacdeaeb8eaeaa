//! Limits of the types of one component. A type of a few bytes in a file may stand for any number of values: thirty records,
//! each of which has the one before it twice, make a billion.

/// Nesting of one type. Bounds recursion, and is more than the schema of a tool may be nested.
const MAX_DEPTH: usize = 24;
/// Types within the types of one function, each counted wherever it occurs.
const MAX_NODES: usize = 2_000;
/// Types of all functions of a component: they are kept as long as its code is.
const MAX_ALL_NODES: usize = 32_000;
/// Bytes of names within the types of all functions. More than this may not be said of tools.
const MAX_ALL_NAMES: usize = 256 << 10;

/// What is left for the functions that are still to be read.
pub(super) struct TypeBounds {
    nodes: usize,
    all_nodes: usize,
    all_names: usize,
}

impl TypeBounds {
    pub(super) fn new() -> Self {
        Self { nodes: MAX_NODES, all_nodes: MAX_ALL_NODES, all_names: MAX_ALL_NAMES }
    }

    /// To be called before each function.
    pub(super) fn begin_function(&mut self) {
        self.nodes = MAX_NODES;
    }

    /// Counts a type before it is read. The error is the end of a sentence about the function.
    pub(super) fn take(&mut self, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("nests types more than {MAX_DEPTH} deep"));
        }
        self.nodes = self.nodes.checked_sub(1).ok_or_else(|| format!("has more than {MAX_NODES} types in its own"))?;
        let left = self.all_nodes.checked_sub(1);
        self.all_nodes = left.ok_or_else(|| format!("follows others that have {MAX_ALL_NODES} types"))?;
        Ok(())
    }

    /// Counts a name before it is copied. It also counts as a type, since it takes as much of a schema.
    pub(super) fn take_name(&mut self, name: &str) -> Result<(), String> {
        self.take(0)?;
        let left = self.all_names.checked_sub(name.len());
        self.all_names =
            left.ok_or_else(|| format!("and others before it have more than {MAX_ALL_NAMES} bytes of names"))?;
        Ok(())
    }
}
