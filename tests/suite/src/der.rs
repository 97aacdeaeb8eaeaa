//! A DER encoder for certificates.

/// A value with this tag.
pub(crate) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut bytes = vec![tag];
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => bytes.push(short),
        Ok(short) => bytes.extend([0x81, short]),
        Err(_) => bytes.extend([0x82, u8::try_from(length >> 8).expect("at most 64 KiB"), (length & 0xff) as u8]),
    }
    bytes.extend_from_slice(content);
    bytes
}

/// A sequence of values.
pub(crate) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(0x30, &parts.concat())
}

/// An object identifier.
pub(crate) fn oid(numbers: &[u64]) -> Vec<u8> {
    let mut content = vec![u8::try_from(numbers[0] * 40 + numbers[1]).expect("the first two numbers are small")];
    for number in &numbers[2..] {
        let groups = (0..9).rev().map(|group| (number >> (7 * group)) & 0x7f).skip_while(|bits| *bits == 0);
        let mut groups: Vec<_> = groups.map(|bits| bits as u8 | 0x80).collect();
        match groups.last_mut() {
            Some(last) => *last &= 0x7f,
            None => groups.push(0),
        }
        content.extend(groups);
    }
    tlv(6, &content)
}

/// A bit string without unused bits.
pub(crate) fn bits(content: &[u8]) -> Vec<u8> {
    tlv(3, &[&[0], content].concat())
}

/// An extension of a certificate.
pub(crate) fn extension(id: &[u64], critical: bool, value: &[u8]) -> Vec<u8> {
    let critical = if critical { tlv(1, &[0xff]) } else { vec![] };
    sequence(&[oid(id), critical, tlv(4, value)])
}
