//! What all capabilities have in common: how much is requested and granted, the rules, a use, and how a grant is proposed.

pub(super) mod capability_use;
pub(super) mod extent;
pub(super) mod mount;
pub(super) mod proposal;
pub(super) mod rules;
