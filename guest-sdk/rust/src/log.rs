//! Messages to the operator's log. The model does not see them.
//!
//! ```
//! use portcullis_guest::log;
//! let (file, why) = ("a.txt", "permission denied");
//! log::warn!("skipped {file}: {why}");
//! log::write(log::Level::Alert, "the disk is full");
//! ```

// Written out, because macros made by another macro cannot be re-exported under a path.
pub use crate::bindings::portcullis::plugin::log::Level;
pub use crate::{
    __log_debug as debug, __log_error as error, __log_info as info, __log_notice as notice, __log_warn as warn,
};

/// Writes one record. Never blocks; records beyond the call's limits on lines and bytes are counted and dropped.
pub fn write(level: Level, message: impl Into<String>) {
    crate::imports::log(level, message.into());
}

/// Details for debugging the plugin.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_debug {
    ($($message:tt)+) => {
        $crate::log::write($crate::log::Level::Debug, ::std::format!($($message)+))
    };
}

/// Normal and noteworthy.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_info {
    ($($message:tt)+) => {
        $crate::log::write($crate::log::Level::Info, ::std::format!($($message)+))
    };
}

/// Normal but significant.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_notice {
    ($($message:tt)+) => {
        $crate::log::write($crate::log::Level::Notice, ::std::format!($($message)+))
    };
}

/// Something is wrong, but the tool continues.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_warn {
    ($($message:tt)+) => {
        $crate::log::write($crate::log::Level::Warning, ::std::format!($($message)+))
    };
}

/// Something failed.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_error {
    ($($message:tt)+) => {
        $crate::log::write($crate::log::Level::Error, ::std::format!($($message)+))
    };
}
