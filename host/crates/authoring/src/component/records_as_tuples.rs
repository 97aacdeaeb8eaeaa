//! Gives componentize-py and componentize-qjs some records of our WIT as tuples. They turn a record into an object, and look up
//! each field by a name that is made anew in every call. Records and tuples are the same in memory, so the finished component
//! gets the records back.

use crate::embedded;
use anyhow::Context;
use wit_parser::{Field, Resolve, TypeDefKind, TypeOwner};

/// The records of the interface `types` that each call of a tool needs.
const RECORDS: [&str; 3] = ["call-context", "tool-result", "content"];
const INTERFACE: &str = "types";

/// A file of WIT with tuples in place of the records.
pub(crate) fn with_tuples(wit: &str) -> String {
    let mut text = wit.to_owned();
    for record in RECORDS {
        if let Some((declaration, fields)) = declared(wit, record) {
            let types: Vec<&str> = fields.iter().map(|(_, of_type)| *of_type).collect();
            text = text.replace(declaration, &format!("type {record} = tuple<{}>;", types.join(", ")));
        }
    }
    text
}

/// Turns the tuples in a component's types back into records, with the field names of our WIT.
pub(crate) fn restore(resolve: &mut Resolve) -> anyhow::Result<()> {
    let types = embedded::below("wit").find(|(name, _)| *name == "types.wit").context("there is no types.wit")?;
    let wit = str::from_utf8(types.1)?;
    let Resolve { types, interfaces, .. } = resolve;
    for (_, defined) in types.iter_mut() {
        let TypeOwner::Interface(owner) = defined.owner else { continue };
        let (TypeDefKind::Tuple(tuple), Some(name)) = (&defined.kind, &defined.name) else { continue };
        if interfaces[owner].name.as_deref() != Some(INTERFACE) || !RECORDS.contains(&name.as_str()) {
            continue;
        }
        let (_, fields) = declared(wit, name).with_context(|| format!("types.wit has no record {name}"))?;
        let named = fields.iter().zip(&tuple.types);
        let fields = named.map(|((name, _), ty)| Field {
            name: (*name).to_owned(),
            ty: *ty,
            docs: Default::default(),
            span: Default::default(),
        });
        defined.kind = TypeDefKind::Record(wit_parser::Record { fields: fields.collect() });
    }
    Ok(())
}

/// The declaration of a record, and the names and types of its fields.
fn declared<'a>(wit: &'a str, record: &str) -> Option<(&'a str, Vec<(&'a str, &'a str)>)> {
    let start = wit.find(&format!("record {record} {{"))?;
    let declaration = &wit[start..=start + wit[start..].find('}')?];
    let lines = declaration.lines().map(str::trim).filter(|line| !line.starts_with("///"));
    Some((declaration, lines.filter_map(|line| line.strip_suffix(',')?.split_once(": ")).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIT: &str = "record tool {
    name: string,
}
record content {
    /// One, or the other: both.
    data: content-data,
    annotations: option<list<u8>>,
}
";

    #[test]
    fn a_record_becomes_a_tuple() {
        let expected = "record tool {\n    name: string,\n}\ntype content = tuple<content-data, option<list<u8>>>;\n";
        assert_eq!(with_tuples(WIT), expected);
    }

    #[test]
    fn the_records_of_our_wit_come_back() {
        let mut resolve = Resolve::default();
        let mut own = Resolve::default();
        let files: Vec<(&str, &str)> =
            embedded::below("wit").map(|(name, bytes)| (name, str::from_utf8(bytes).unwrap())).collect();
        for (resolve, change) in [(&mut own, false), (&mut resolve, true)] {
            let mut map = wit_parser::SourceMap::new();
            for (name, text) in &files {
                map.push_str(name, if change { with_tuples(text) } else { (*text).to_owned() });
            }
            let group = map.parse().map_err(|(_, error)| error).unwrap();
            resolve.push_group(group).unwrap();
        }
        restore(&mut resolve).unwrap();
        let records = |resolve: &Resolve| -> Vec<(String, Vec<String>)> {
            let named = resolve.types.iter().filter_map(|(_, ty)| match &ty.kind {
                TypeDefKind::Record(record) => {
                    Some((ty.name.clone()?, record.fields.iter().map(|field| field.name.clone()).collect()))
                }
                _ => None,
            });
            named.collect()
        };
        assert_eq!(records(&resolve), records(&own));
        assert!(records(&own).iter().any(|(name, fields)| name == "call-context" && fields.len() == 7));
    }
}
