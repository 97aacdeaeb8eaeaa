//! Mistakes in plugins, and what the compiler says about them. `TRYBUILD=overwrite` rewrites the expected texts.
#![allow(missing_docs, reason = "tests")]

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
