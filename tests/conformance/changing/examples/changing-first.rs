//! The plugin as it is first.

changing::plugin!("first", "Is there until the plugin is changed.", changing::said("first"));
