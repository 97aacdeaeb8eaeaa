//! Puts a manifest into a component, in place of the one that it has. Nothing else in it is changed.

use super::manifest::Manifest;

/// The bytes before the first section.
const HEADER: usize = 8;
/// The position of the header's byte that distinguishes modules from components, and its value for a component.
const LAYER: usize = 6;
const IS_COMPONENT: u8 = 1;
/// The ids of sections: custom ones, and, in a component, modules and components.
const CUSTOM: u8 = 0;
const MODULE: u8 = 1;
const COMPONENT: u8 = 4;

/// The component with this manifest. None if the bytes are no sequence of sections, which an inspected component always is.
pub fn with_manifest(component: &[u8], manifest: &Manifest) -> Option<Vec<u8>> {
    let mut out = without_manifest(component)?;
    let json = serde_json::to_vec(manifest).ok()?;
    let mut section = number(Manifest::SECTION.len());
    section.extend(Manifest::SECTION.as_bytes());
    section.extend(json);
    add_section(&mut out, CUSTOM, &section);
    Some(out)
}

/// The bytes without the manifest of the component, which some SDKs put into the module inside it.
fn without_manifest(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_component = *bytes.get(LAYER)? == IS_COMPONENT;
    let (mut out, mut rest) = (bytes.get(..HEADER)?.to_vec(), bytes.get(HEADER..)?);
    while !rest.is_empty() {
        let whole = rest;
        let (id, after) = rest.split_first()?;
        let (size, content) = read_number(after)?;
        rest = content.get(size..)?;
        let content = content.get(..size)?;
        match *id {
            CUSTOM if is_manifest(content) => {}
            MODULE | COMPONENT if is_component => {
                let inner = without_manifest(content)?;
                match inner.len() == content.len() {
                    true => out.extend(&whole[..whole.len() - rest.len()]),
                    false => add_section(&mut out, *id, &inner),
                }
            }
            _ => out.extend(&whole[..whole.len() - rest.len()]),
        }
    }
    Some(out)
}

fn is_manifest(custom: &[u8]) -> bool {
    let name = read_number(custom).and_then(|(length, name)| name.get(..length));
    name == Some(Manifest::SECTION.as_bytes())
}

fn add_section(to: &mut Vec<u8>, id: u8, content: &[u8]) {
    to.push(id);
    to.extend(number(content.len()));
    to.extend(content);
}

/// A number in LEB128, and what follows it.
fn read_number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value |= usize::from(byte & 0x7f).checked_shl(7 * u32::try_from(at).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}

/// A number in LEB128.
fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = &[0, b'a', b's', b'm', 0x0d, 0, 1, 0];

    fn manifest(version: &str, description: String) -> Manifest {
        let (name, version) = ("weather".to_owned(), version.to_owned());
        Manifest { name, version, description: Some(description), ..Manifest::default() }
    }

    #[test]
    fn a_manifest_is_added_and_replaced() {
        let other = [&[0, 6, 4][..], b"kept!"].concat();
        let plain = [EMPTY, &other].concat();
        let first = with_manifest(&plain, &manifest("1.0.0", "x".repeat(500))).unwrap();
        let second = with_manifest(&first, &manifest("2.0.0", String::new())).unwrap();
        assert!(first.starts_with(&plain) && second.starts_with(&plain) && second.len() < first.len());
        let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(has(&first, "1.0.0") && has(&second, "2.0.0") && !has(&second, "1.0.0"));
    }

    /// Components in Rust have their manifest there. A module has other sections under the ids of modules and components.
    #[test]
    fn a_manifest_in_the_module_inside_is_replaced() {
        let module = [&[0, b'a', b's', b'm', 1, 0, 0, 0][..], &[MODULE, 4, 1, 0x60, 0, 0], &[COMPONENT, 1, 0]].concat();
        let inside = |module: &[u8]| {
            let mut component = EMPTY.to_vec();
            add_section(&mut component, MODULE, module);
            component
        };
        let mut described = module.clone();
        let name = number(Manifest::SECTION.len());
        add_section(&mut described, CUSTOM, &[&name, Manifest::SECTION.as_bytes(), b"1.0.0"].concat());
        let new = manifest("2.0.0", String::new());
        assert_eq!(with_manifest(&inside(&described), &new), with_manifest(&inside(&module), &new));
        // A manifest in a component inside is replaced, too.
        let mut nested = EMPTY.to_vec();
        add_section(&mut nested, COMPONENT, &inside(&described));
        let replaced = with_manifest(&nested, &new).unwrap();
        assert!(!replaced.windows(5).any(|part| part == b"1.0.0") && replaced.windows(5).any(|part| part == b"2.0.0"));
    }

    #[test]
    fn what_is_cut_off_or_no_component_is_refused() {
        let good = with_manifest(EMPTY, &manifest("1.0.0", String::new())).unwrap();
        for end in HEADER + 1..good.len() {
            assert_eq!(with_manifest(&good[..end], &Manifest::default()), None, "{end}");
        }
        assert_eq!(with_manifest(b"", &Manifest::default()), None);
        assert_eq!(with_manifest(&[EMPTY, &[0, 0xff, 0xff, 0xff, 0xff, 0xff]].concat(), &Manifest::default()), None);
    }
}
