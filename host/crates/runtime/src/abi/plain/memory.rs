//! How much memory values take. wasmtime bounds what a guest passes to the host by `hostcall`. It counts most of what it
//! allocates for that, but of flags it counts only the names.

use super::types::Ty;
use wasmtime::component::Val;

/// Bytes of a value itself, in the list or the record that has it.
pub(super) const VALUE: u64 = size_of::<Val>() as u64;
/// Bytes of a string that belongs to a value, besides its text: its place and what the allocator adds.
pub(super) const NAME: u64 = 40;
/// What values may take for each byte that wasmtime counts, so long as their number is bounded.
const TOLERATED: u64 = 4;

/// By how much `limits.hostcall` is divided for a function with this result, so that its values take no more than others
/// may. Four bytes of a guest can be flags with 32 names, which take two kilobytes each.
pub(super) fn hostcall_divisor(ty: &Ty) -> u64 {
    // Outside lists, the number of values is bounded by that of types.
    worst_in_lists(ty, false).div_ceil(TOLERATED).max(1)
}

/// The greatest ratio of allocated to counted bytes of one value in a list.
fn worst_in_lists(ty: &Ty, in_list: bool) -> u64 {
    let below = |ty: &Ty| worst_in_lists(ty, in_list);
    match ty {
        Ty::Bool | Ty::Integer(_) | Ty::Float32 | Ty::Float64 | Ty::Char | Ty::String | Ty::Bytes | Ty::Enum(_) => 1,
        Ty::Flags(names) if in_list => {
            let counted = VALUE + names.iter().map(|name| name.len() as u64).sum::<u64>();
            // The list of names grows by doubling.
            let places = names.len().next_power_of_two().max(4) as u64 * size_of::<String>() as u64;
            let texts: u64 = names.iter().map(|name| NAME + name.len() as u64).sum();
            (VALUE + places + texts).div_ceil(counted)
        }
        Ty::Flags(_) => 1,
        Ty::List(item) => worst_in_lists(item, true),
        Ty::Option(some) => below(some),
        Ty::Record(fields) => fields.iter().map(|(_, ty)| below(ty)).max().unwrap_or(1),
        Ty::Tuple(items) => items.iter().map(below).max().unwrap_or(1),
        Ty::Variant(cases) => cases.iter().filter_map(|(_, ty)| ty.as_ref()).map(below).max().unwrap_or(1),
        Ty::Result(result) => [&result.ok, &result.err].into_iter().flatten().map(below).max().unwrap_or(1),
    }
}

/// The memory that arguments may still take as values.
pub(super) struct ValueMemory {
    left: u64,
    /// Values that were made, each of which costs fuel.
    pub(super) values: u64,
}

/// Bytes that arguments may take as values for each byte of their text. Lists of flags and empty strings take the most.
const PER_BYTE: u64 = 48;

impl ValueMemory {
    /// For arguments of so many bytes of text. Other tools' arguments, too, take memory in proportion to their text; `more` is
    /// for options that the client left out.
    pub(super) fn new(text: usize, more: u64) -> Self {
        Self { left: (text as u64).saturating_mul(PER_BYTE).saturating_add(more), values: 0 }
    }

    /// To be called before a value is made. False if there is not enough left.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        self.values += 1;
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

/// About how many bytes of JSON a value is. The recursion is bounded: a value is nested no deeper than its type.
pub(in super::super) fn json_size(value: &Val) -> u64 {
    let below = |payload: Option<&Val>| payload.map_or(0, json_size);
    4 + match value {
        Val::String(text) => text.len() as u64,
        Val::List(items) | Val::Tuple(items) | Val::FixedLengthList(items) => items.iter().map(json_size).sum(),
        Val::Record(fields) => fields.iter().map(|(name, value)| name.len() as u64 + json_size(value)).sum(),
        Val::Variant(name, payload) => name.len() as u64 + below(payload.as_deref()),
        Val::Option(payload) | Val::Result(Ok(payload) | Err(payload)) => below(payload.as_deref()),
        Val::Enum(name) => name.len() as u64,
        Val::Flags(names) => names.iter().map(|name| name.len() as u64).sum(),
        Val::Bool(_)
        | Val::S8(_)
        | Val::U8(_)
        | Val::S16(_)
        | Val::U16(_)
        | Val::S32(_)
        | Val::U32(_)
        | Val::S64(_)
        | Val::U64(_)
        | Val::Float32(_)
        | Val::Float64(_)
        | Val::Char(_)
        | Val::Map(_)
        | Val::Resource(_)
        | Val::Future(_)
        | Val::Stream(_)
        | Val::ErrorContext(_) => 0,
    }
}
