//! Bindings generated from the WIT. The public part is re-exported by hand, so that generated names never leak.
#![allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated; lowering and lifting values across the component boundary is unsafe by nature"
)]

// The imports of every plugin, and the export of tools.
wit_bindgen::generate!({
    path: "wit",
    world: "plugin",
    pub_export_macro: true,
    export_macro_name: "export",
    default_bindings_module: "portcullis_guest::__private::bindings",
    additional_derives: [PartialEq],
    generate_all,
});

// Optional exports besides tools: one world for each, so that a component exports only what it offers.
pub mod resources {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package portcullis:guest;
            world offers-resources { export portcullis:plugin/resources@0.1.0; }
        ",
        with: { "portcullis:plugin/types@0.1.0": crate::bindings::portcullis::plugin::types },
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "portcullis_guest::__private::bindings::resources",
        additional_derives: [PartialEq],
    });
    pub use exports::portcullis::plugin::resources::*;
}

pub mod prompts {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package portcullis:guest;
            world offers-prompts { export portcullis:plugin/prompts@0.1.0; }
        ",
        with: { "portcullis:plugin/types@0.1.0": crate::bindings::portcullis::plugin::types },
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "portcullis_guest::__private::bindings::prompts",
        additional_derives: [PartialEq],
    });
    pub use exports::portcullis::plugin::prompts::*;
}

pub mod reconcile {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package portcullis:guest;
            world offers-reconcile { export portcullis:plugin/reconcile@0.1.0; }
        ",
        with: { "portcullis:plugin/types@0.1.0": crate::bindings::portcullis::plugin::types },
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "portcullis_guest::__private::bindings::reconcile",
        additional_derives: [PartialEq],
    });
    pub use exports::portcullis::plugin::reconcile::*;
}

pub mod completions {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package portcullis:guest;
            world offers-completions { export portcullis:plugin/completions@0.1.0; }
        ",
        with: { "portcullis:plugin/types@0.1.0": crate::bindings::portcullis::plugin::types },
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "portcullis_guest::__private::bindings::completions",
        additional_derives: [PartialEq],
    });
    pub use exports::portcullis::plugin::completions::*;
}
