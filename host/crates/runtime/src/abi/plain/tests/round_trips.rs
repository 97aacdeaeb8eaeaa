//! Each value comes back from its JSON, and its JSON is what the schema says.

use super::super::docs::Docs;
use super::super::memory::ValueMemory;
use super::super::read::{ConversionError, Reader};
use super::super::schema::{Direction, SchemaWriter};
use super::super::types::{Integer, Ty};
use super::super::write::{WriteError, Writer};
use super::random;
use crate::imports::Schema;
use fastrand::Rng;
use serde_json::{Value, json};
use std::ops::Range;
use wasmtime::component::Val;

fn write(ty: &Ty, value: &Val) -> String {
    let mut writer = Writer::new(u64::MAX);
    writer.value(ty, value).unwrap();
    writer.take().unwrap()
}

fn read(ty: &Ty, value: Value) -> Result<Val, ConversionError> {
    Reader { memory: &mut ValueMemory::new(0, u64::MAX) }.value(ty, value)
}

/// The schema of an object whose only member is of this type.
fn schema(ty: &Ty, side: Direction) -> Result<Schema, String> {
    let writer = SchemaWriter { side, docs: Docs::none() };
    let schema = writer.object(std::iter::once(("x", ty)));
    Schema::compile(&schema.to_string()).map_err(|error| error.to_string())
}

/// Whether a value has numbers that JSON cannot express.
fn is_odd(value: &Val) -> bool {
    match value {
        Val::Float32(number) => !number.is_finite(),
        Val::Float64(number) => !number.is_finite(),
        Val::List(items) | Val::Tuple(items) => items.iter().any(is_odd),
        Val::Record(fields) => fields.iter().any(|(_, value)| is_odd(value)),
        Val::Variant(_, payload) | Val::Option(payload) | Val::Result(Ok(payload) | Err(payload)) => {
            payload.as_deref().is_some_and(is_odd)
        }
        _ => false,
    }
}

#[test]
fn every_value_comes_back() {
    run_cases(0..3_000);
}

#[ignore = "takes minutes"]
#[test]
fn a_hundred_thousand_values_come_back() {
    run_cases(0..100_000);
}

fn run_cases(cases: Range<u64>) {
    let (mut refused, few) = (0, cases.end / 50);
    for seed in cases {
        let mut rng = Rng::with_seed(seed);
        let ty = random::ty(&mut rng, 4);
        let value = random::value(&mut rng, &ty);
        let text = write(&ty, &value);
        let parsed: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}: {text}"));
        match schema(&ty, Direction::Output) {
            Ok(schema) => schema.check(&json!({ "x": parsed })).unwrap_or_else(|error| panic!("seed {seed}: {error}")),
            Err(_) => refused += 1,
        }
        let input = schema(&ty, Direction::Input).ok().filter(|_| !is_odd(&value));
        if let Some(schema) = input {
            schema.check(&json!({ "x": parsed })).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        let back = read(&ty, parsed).unwrap_or_else(|error| panic!("seed {seed}: {error:?}: {text}"));
        assert_eq!(back, value, "seed {seed}: {text}");
    }
    assert!(refused < few, "{refused} schemas were too large");
}

/// A JSON value that matches the schema but is no value of the type is an error and no panic; what is read can be written.
#[test]
fn any_json_is_read_or_refused() {
    let mut verdicts = [0, 0];
    for seed in 0..20_000 {
        let mut rng = Rng::with_seed(seed);
        let (ty, other) = (random::ty(&mut rng, 3), random::ty(&mut rng, 3));
        let mut json: Value = serde_json::from_str(&write(&other, &random::value(&mut rng, &other))).unwrap();
        if rng.bool() {
            // A value that is nearly right.
            json = serde_json::from_str(&write(&ty, &random::value(&mut rng, &ty))).unwrap();
            spoil(&mut rng, &mut json);
        }
        let matches = schema(&ty, Direction::Input).is_ok_and(|schema| schema.check(&json!({ "x": json })).is_ok());
        match read(&ty, json.clone()) {
            Ok(value) => drop(write(&ty, &value)),
            Err(ConversionError::TooLarge) => panic!("seed {seed}"),
            // JSON Schema does not look into strings, nor at the range of floats.
            Err(ConversionError::Invalid { reason, .. }) => {
                let known = ["base64", "integer", "is not from", "32 bits"].iter().any(|known| reason.contains(known));
                assert!(!matches || known, "seed {seed}: {reason}: {json}");
            }
        }
        verdicts[usize::from(matches)] += 1;
    }
    assert!(verdicts.iter().all(|count| *count > 1_000), "{verdicts:?}");
}

/// Changes one place in the value.
fn spoil(rng: &mut Rng, value: &mut Value) {
    match value {
        Value::Array(items) if !items.is_empty() && rng.u8(..4) > 0 => {
            let at = rng.usize(..items.len());
            spoil(rng, &mut items[at]);
        }
        Value::Object(members) if !members.is_empty() && rng.u8(..4) > 0 => {
            let at = rng.usize(..members.len());
            if let Some(member) = members.values_mut().nth(at) {
                spoil(rng, member);
            }
        }
        Value::Object(members) if rng.bool() => {
            members.insert("more".into(), Value::Null);
        }
        Value::Array(items) if rng.bool() => items.push(json!("more")),
        other => {
            let all = [json!(null), json!(-1), json!(1.5), json!(1e300), json!("x"), json!([]), json!({}), json!(3.0)];
            *other = all[rng.usize(..all.len())].clone();
        }
    }
}

#[test]
fn values_have_the_json_that_the_documentation_says() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let option = |ty| Ty::Option(Box::new(ty));
    let some = |value| Val::Option(Some(Box::new(value)));
    let wide = Ty::Integer(Integer::U64);
    let record = Ty::Record(vec![("a".into(), option(Ty::Bool)), ("b".into(), Ty::Char)]);
    let fields = |a| Val::Record(vec![("a".into(), a), ("b".into(), Val::Char('é'))]);
    let twice = option(option(Ty::Bool));
    let variant = Ty::Variant(vec![("none".into(), None), ("one".into(), Some(Ty::Bool))]);
    let cases = [
        (wide.clone(), Val::U64((1 << 53) - 1), json!(9_007_199_254_740_991_u64)),
        (wide, Val::U64(u64::MAX), json!("18446744073709551615")),
        (Ty::Integer(Integer::S64), Val::S64(i64::MIN), json!("-9223372036854775808")),
        (Ty::Float32, Val::Float32(0.1), json!(0.1)),
        (Ty::Float64, Val::Float64(f64::NEG_INFINITY), json!("-Infinity")),
        (Ty::Bytes, Val::List(vec![Val::U8(1), Val::U8(255)]), json!("Af8=")),
        (record.clone(), fields(Val::Option(None)), json!({"b": "é"})),
        (record, fields(some(Val::Bool(true))), json!({"a": true, "b": "é"})),
        (twice.clone(), Val::Option(None), json!(null)),
        (twice.clone(), some(Val::Option(None)), json!({"some": null})),
        (twice, some(some(Val::Bool(true))), json!({"some": true})),
        (variant.clone(), Val::Variant("none".into(), None), json!({"tag": "none"})),
        (variant, Val::Variant("one".into(), Some(Box::new(Val::Bool(true)))), json!({"tag": "one", "value": true})),
        (Ty::Enum(names(&["a", "b"])), Val::Enum("b".into()), json!("b")),
        (Ty::Flags(names(&["a", "b"])), Val::Flags(names(&["b"])), json!(["b"])),
        (
            Ty::Tuple(vec![Ty::Bool, Ty::String]),
            Val::Tuple(vec![Val::Bool(true), Val::String("x".into())]),
            json!([true, "x"]),
        ),
    ];
    for (ty, value, expected) in cases {
        assert_eq!(serde_json::from_str::<Value>(&write(&ty, &value)).unwrap(), expected);
        assert_eq!(read(&ty, expected), Ok(value));
    }
}

#[test]
fn other_ways_to_write_a_value_are_read() {
    let integer = |kind, value: Value| read(&Ty::Integer(kind), value);
    assert_eq!(integer(Integer::U8, json!(255.0)), Ok(Val::U8(255)));
    assert_eq!(integer(Integer::S64, json!("7")), Ok(Val::S64(7)));
    assert_eq!(integer(Integer::U64, json!(u64::MAX)), Ok(Val::U64(u64::MAX)));
    for wrong in [json!(256), json!(-1), json!(1.5), json!("1"), json!(1e300), json!(null)] {
        assert!(integer(Integer::U8, wrong.clone()).is_err(), "{wrong}");
    }
    let record = Ty::Record(vec![("a".into(), Ty::Option(Box::new(Ty::Bool)))]);
    let none = Ok(Val::Record(vec![("a".into(), Val::Option(None))]));
    assert_eq!(read(&record, json!({"a": null})), none);
    assert_eq!(read(&record, json!({})), none);
    let Err(ConversionError::Invalid { place, .. }) = read(&Ty::List(Box::new(record)), json!([{}, {"a": 1}])) else {
        panic!("it is no boolean");
    };
    assert_eq!(place, ["a", "1"]);
    assert!(read(&Ty::Float32, json!(1e300)).is_err());
    assert!(read(&Ty::Char, json!("ab")).is_err() && read(&Ty::Bytes, json!("Af8")).is_err());
}

#[test]
fn text_ends_at_the_limit() {
    let list = Ty::List(Box::new(Ty::String));
    let value = Val::List(vec![Val::String("x".repeat(100)); 100]);
    let mut writer = Writer::new(1_000);
    assert_eq!(writer.value(&list, &value), Err(WriteError::TooLong));
    assert!(writer.take().is_ok_and(|text| text.len() <= 1_000));
    // Each of these bytes takes six bytes in JSON.
    let mut writer = Writer::new(1_000);
    assert_eq!(writer.value(&Ty::String, &Val::String("\u{1}".repeat(900))), Err(WriteError::TooLong));
    assert!(writer.take().is_ok_and(|text| text.len() <= 1_000));
}

#[test]
fn options_that_are_left_out_are_bounded() {
    let fields = (0..500).map(|at| (format!("a{at}"), Ty::Option(Box::new(Ty::Bool))));
    let list = Ty::List(Box::new(Ty::Record(fields.collect())));
    let many = json!(vec![json!({}); 10_000]);
    let mut memory = ValueMemory::new(30_000, 8 << 20);
    assert_eq!(Reader { memory: &mut memory }.value(&list, many), Err(ConversionError::TooLarge));
}
