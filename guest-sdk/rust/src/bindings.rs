//! Generated from the WIT. What authors see of it is re-exported by hand, so that generated names never leak.
#![allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated; lowering and lifting values across the component boundary is unsafe by nature"
)]

wit_bindgen::generate!({
    path: "wit",
    world: "plugin",
    pub_export_macro: true,
    export_macro_name: "export",
    default_bindings_module: "portcullis_guest::__private::bindings",
    additional_derives: [PartialEq],
    generate_all,
});
