//! Puts a manifest into a component, in place of the one that it has. Nothing else in it is changed.

use super::manifest::Manifest;

/// The bytes before the first section.
const HEADER: usize = 8;
/// The id of custom sections.
const CUSTOM: u8 = 0;

/// The component with this manifest. None if the bytes are no sequence of sections; a component that was inspected is.
pub fn with_manifest(component: &[u8], manifest: &Manifest) -> Option<Vec<u8>> {
    let (mut out, mut rest) = (component.get(..HEADER)?.to_vec(), component.get(HEADER..)?);
    while !rest.is_empty() {
        let whole = rest;
        let (id, after) = rest.split_first()?;
        let (size, content) = read_number(after)?;
        rest = content.get(size..)?;
        let is_manifest = || {
            let (length, name) = read_number(content)?;
            Some(name.get(..length)? == Manifest::SECTION.as_bytes())
        };
        if *id != CUSTOM || is_manifest() != Some(true) {
            out.extend(&whole[..whole.len() - rest.len()]);
        }
    }
    let json = serde_json::to_vec(manifest).ok()?;
    let mut section = number(Manifest::SECTION.len());
    section.extend(Manifest::SECTION.as_bytes());
    section.extend(json);
    out.push(CUSTOM);
    out.extend(number(section.len()));
    out.extend(section);
    Some(out)
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
