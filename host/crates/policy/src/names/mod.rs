//! Names and patterns over names: what can be one, which are too alike, and which look like secrets.

mod distinct_names;
mod folded_names;
mod glob;
mod host_pattern;
mod name;
mod secret_shape;
mod tool_pattern;

pub use distinct_names::{DistinctNames, NameClash};
pub use folded_names::{KEPT_OF_NAME, looks_like_host};
pub use glob::{Glob, GlobError};
pub use host_pattern::{HostPattern, HostPatternError};
pub use name::is_name;
pub(crate) use secret_shape::is_secret_name;
pub use secret_shape::secret_in_value;
pub(crate) use tool_pattern::ungranted_patterns;
pub use tool_pattern::{ToolPattern, ToolPatternError};
