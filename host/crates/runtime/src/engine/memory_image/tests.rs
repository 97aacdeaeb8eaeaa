//! Which components are divided, and which are left whole.

use super::*;

const MIB: usize = 1 << 20;

/// A component with a module of these fields, and enough code.
fn component(fields: &str) -> Vec<u8> {
    let nops = "nop ".repeat(LEAST_CODE);
    wat::parse_str(format!("(component (core module {fields} (func {nops})))")).unwrap()
}

/// The place of the image.
fn place(fields: &str) -> Option<Range<usize>> {
    let component = component(fields);
    let divided = DividedComponent::divide(&component)?;
    assert_eq!(divided.place.len(), divided.image.len());
    // It is still a component, with the same image.
    let whole = divided.with_image(divided.image());
    wasmparser::Validator::new().validate_all(&whole).unwrap();
    let again = DividedComponent::divide(&whole).unwrap();
    assert_eq!((again.place, again.image), (divided.place.clone(), divided.image.clone()));
    assert_eq!(DividedComponent::divide(&component).unwrap().name_without_image(), divided.name_without_image());
    Some(divided.place)
}

fn name(fields: &str) -> String {
    DividedComponent::divide(&component(fields)).unwrap().name_without_image()
}

#[test]
fn an_image_is_what_the_segments_leave() {
    let bytes =
        component(r#"(memory 20) (data (i32.const 65540) "abcd") (data "passive") (data (i32.const 65542) "xy")"#);
    let divided = DividedComponent::divide(&bytes).unwrap();
    assert_eq!(divided.place, PAGE..MIB);
    assert_eq!(divided.image[..8], *b"\0\0\0\0abxy");
    assert!(divided.image[8..].iter().all(|byte| *byte == 0));
}

#[test]
fn an_image_stays_where_it_is_when_there_is_more_data() {
    let one = r#"(memory 64) (data (i32.const 70000) "a")"#;
    assert_eq!(name(one), name(r#"(memory 64) (data (i32.const 80000) "another") (data (i32.const 70000) "b")"#));
    for other in [
        r#"(memory 64) (data (i32.const 60000) "a")"#,
        r#"(memory 64) (data (i32.const 70000) "a") (data (i32.const 1100000) "a")"#,
        r#"(memory 65) (data (i32.const 70000) "a")"#,
        r#"(memory 64) (data (i32.const 70000) "a") (data "passive")"#,
        r#"(memory 64) (data (i32.const 70000) "a") (global i32 (i32.const 1))"#,
    ] {
        assert_ne!(name(one), name(other), "{other}");
    }
}

#[test]
fn segments_keep_their_numbers_where_code_can_name_them() {
    let naming = r#"(memory 1) (data (i32.const 0) "a") (data (i32.const 9) "b") (data "passive")
        (func (data.drop 1) (memory.init 2 (i32.const 0) (i32.const 0) (i32.const 1)))"#;
    assert_eq!(place(naming), Some(0..PAGE));
}

#[test]
fn an_image_ends_with_its_memory() {
    assert_eq!(place(r#"(memory 1) (data (i32.const 65535) "a")"#), Some(0..PAGE));
    assert_eq!(place(r#"(memory 20) (data (i32.const 1048576) "a")"#), Some(MIB..20 * PAGE));
    // More memory than an instance starts with.
    assert_eq!(place(r#"(memory 1) (data (i32.const 65535) "ab")"#), None);
    assert_eq!(place(r#"(memory 1) (data (i32.const 0) "a") (data (i32.const 65537) "")"#), None);
    assert_eq!(place(r#"(memory 1) (data (i32.const -1) "a")"#), None);
}

#[test]
fn what_is_not_known_when_it_is_compiled_is_left_whole() {
    for fields in [
        "",
        "(memory 1)",
        r#"(memory 1) (data "passive")"#,
        r#"(memory 1) (data (i32.const 0) "")"#,
        r#"(import "a" "b" (memory 1)) (data (i32.const 0) "a")"#,
        r#"(import "a" "b" (memory 1)) (memory 1) (data (i32.const 0) "a")"#,
        r#"(memory 1) (memory 1) (data (memory 1) (i32.const 0) "a")"#,
        r#"(memory i64 1) (data (i64.const 0) "a")"#,
        r#"(import "a" "b" (global i32)) (memory 1) (data (global.get 0) "a")"#,
        r#"(memory 1) (data (offset (i32.add (i32.const 1) (i32.const 1))) "a")"#,
        // An image that would be mostly gaps.
        r#"(memory 256) (data (i32.const 0) "a") (data (i32.const 8000000) "b")"#,
    ] {
        assert_eq!(place(fields), None, "{fields}");
    }
    let small = wat::parse_str(r#"(component (core module (memory 1) (data (i32.const 0) "a") (func)))"#).unwrap();
    assert!(DividedComponent::divide(&small).is_none());
}

#[test]
fn custom_sections_of_a_component_are_not_compiled() {
    let fields = r#"(memory 1) (data (i32.const 0) "a")"#;
    let mut described = component(fields);
    described.extend(b"\0\x06\x04notea");
    assert_eq!(DividedComponent::divide(&described).unwrap().name_without_image(), name(fields));
}

#[test]
fn a_count_of_segments_that_is_wrong_is_left_to_the_compiler() {
    let mut counted = component(r#"(memory 1) (data (i32.const 0) "a") (func (data.drop 0))"#);
    assert!(DividedComponent::divide(&counted).is_some());
    // Number, size and contents of the section.
    let at = memchr::memmem::find(&counted, &[SectionId::DataCount as u8, 1, 1]).unwrap();
    counted[at + 2] = 2;
    assert!(DividedComponent::divide(&counted).is_none());
}

#[test]
fn what_is_cut_off_is_left_whole() {
    let whole = component(r#"(memory 1) (data (i32.const 0) "abcd")"#);
    for length in (0..200).chain(whole.len() - 200..whole.len()) {
        assert!(DividedComponent::divide(&whole[..length]).is_none(), "{length}");
    }
}
