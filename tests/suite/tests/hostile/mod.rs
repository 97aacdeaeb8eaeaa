//! tmp
mod files;
mod paths;
