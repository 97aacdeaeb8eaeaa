//! The same plugin, changed: its tool has another name.

changing::plugin!("second", "Is there once the plugin is changed.", changing::said("second"));
