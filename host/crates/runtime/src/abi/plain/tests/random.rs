//! Random types, and random values of them.

use super::super::types::{Integer, ResultTy, Ty};
use fastrand::Rng;
use std::collections::BTreeSet;
use std::iter::repeat_with;
use wasmtime::component::Val;

const INTEGERS: [Integer; 8] =
    [Integer::S8, Integer::U8, Integer::S16, Integer::U16, Integer::S32, Integer::U32, Integer::S64, Integer::U64];

fn name(rng: &mut Rng) -> String {
    let word = |rng: &mut Rng| -> String {
        let length = 1 + rng.usize(..4);
        repeat_with(|| rng.lowercase()).take(length).collect()
    };
    // Authors may use the words that the mapping itself uses.
    match rng.u8(..8) {
        0 => ["tag", "value", "ok", "err", "some", "result", "type", "properties"][rng.usize(..8)].into(),
        1 => format!("{}-{}", word(rng), word(rng)),
        _ => word(rng),
    }
}

pub(super) fn names(rng: &mut Rng, most: usize) -> Vec<String> {
    let count = 1 + rng.usize(..most);
    let mut names: Vec<_> = repeat_with(|| name(rng)).take(count).collect::<BTreeSet<_>>().into_iter().collect();
    rng.shuffle(&mut names);
    names
}

/// A type that is nested at most `depth` deep.
pub(super) fn ty(rng: &mut Rng, depth: u32) -> Ty {
    let simple = depth == 0 || rng.u8(..4) == 0;
    let below = depth.saturating_sub(1);
    match rng.u8(if simple { 0..9 } else { 9..16 }) {
        0 => Ty::Bool,
        1 | 2 => Ty::Integer(INTEGERS[rng.usize(..8)]),
        3 => Ty::Float32,
        4 => Ty::Float64,
        5 => Ty::Char,
        6 => Ty::String,
        7 => Ty::Bytes,
        8 => {
            if rng.bool() {
                Ty::Enum(names(rng, 5))
            } else {
                Ty::Flags(names(rng, 32))
            }
        }
        9 => match ty(rng, below) {
            Ty::Integer(Integer::U8) => Ty::Bytes,
            item => Ty::List(Box::new(item)),
        },
        10 => Ty::Record(names(rng, 4).into_iter().map(|name| (name, ty(rng, below))).collect()),
        11 => Ty::Tuple(repeat_with(|| ty(rng, below)).take(1 + depth as usize % 3).collect()),
        12 => Ty::Variant(names(rng, 4).into_iter().map(|name| (name, payload(rng, below))).collect()),
        13 | 14 => Ty::Option(Box::new(ty(rng, below))),
        _ => Ty::Result(Box::new(ResultTy { ok: payload(rng, below), err: payload(rng, below) })),
    }
}

fn payload(rng: &mut Rng, depth: u32) -> Option<Ty> {
    rng.bool().then(|| ty(rng, depth))
}

/// Small values, and those at the ends of their ranges, are the ones that go wrong.
fn bits(rng: &mut Rng) -> u64 {
    match rng.u8(..6) {
        0 => u64::MAX >> rng.u32(..64),
        1 => 1 << rng.u32(..64),
        2 => (1u64 << 53) - 2 + rng.u64(..4),
        3 => (((1u64 << 53) - 2 + rng.u64(..4)) as i64).wrapping_neg() as u64,
        4 => rng.u64(..4),
        _ => rng.u64(..),
    }
}

fn float(rng: &mut Rng) -> f64 {
    match rng.u8(..6) {
        0 => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE, f64::MAX][rng.usize(..6)],
        1 => f64::from(rng.i32(..)) / 10.0,
        2 => f64::from(rng.i32(-9..9)),
        _ => f64::from_bits(rng.u64(..)),
    }
}

fn float32(rng: &mut Rng) -> f32 {
    match rng.u8(..5) {
        0 => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MIN_POSITIVE, f32::MAX][rng.usize(..6)],
        1 => f32::from(rng.i16(..)) / 10.0,
        _ => f32::from_bits(rng.u32(..)),
    }
}

fn text(rng: &mut Rng) -> String {
    let odd = ['\0', '"', '\\', '\n', '\u{1f}', '\u{7f}', 'é', '\u{202e}', '😀', '\u{10ffff}'];
    let count = rng.usize(..6);
    repeat_with(|| if rng.bool() { odd[rng.usize(..odd.len())] } else { rng.char(..) }).take(count).collect()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "any bits are a number")]
pub(super) fn value(rng: &mut Rng, ty: &Ty) -> Val {
    let boxed = |rng: &mut Rng, ty: &Option<Ty>| ty.as_ref().map(|ty| Box::new(value(rng, ty)));
    match ty {
        Ty::Bool => Val::Bool(rng.bool()),
        Ty::Integer(Integer::S8) => Val::S8(bits(rng) as i8),
        Ty::Integer(Integer::U8) => Val::U8(bits(rng) as u8),
        Ty::Integer(Integer::S16) => Val::S16(bits(rng) as i16),
        Ty::Integer(Integer::U16) => Val::U16(bits(rng) as u16),
        Ty::Integer(Integer::S32) => Val::S32(bits(rng) as i32),
        Ty::Integer(Integer::U32) => Val::U32(bits(rng) as u32),
        Ty::Integer(Integer::S64) => Val::S64(bits(rng) as i64),
        Ty::Integer(Integer::U64) => Val::U64(bits(rng)),
        Ty::Float32 => Val::Float32(float32(rng)),
        Ty::Float64 => Val::Float64(float(rng)),
        Ty::Char => Val::Char(rng.char(..)),
        Ty::String => Val::String(text(rng)),
        Ty::Bytes => {
            let count = rng.usize(..7);
            Val::List(repeat_with(|| Val::U8(rng.u8(..))).take(count).collect())
        }
        Ty::List(item) => {
            let count = rng.usize(..4);
            Val::List(repeat_with(|| value(rng, item)).take(count).collect())
        }
        Ty::Record(fields) => Val::Record(fields.iter().map(|(name, ty)| (name.clone(), value(rng, ty))).collect()),
        Ty::Tuple(items) => Val::Tuple(items.iter().map(|ty| value(rng, ty)).collect()),
        Ty::Variant(cases) => {
            let (name, ty) = &cases[rng.usize(..cases.len())];
            Val::Variant(name.clone(), boxed(rng, ty))
        }
        Ty::Enum(names) => Val::Enum(names[rng.usize(..names.len())].clone()),
        Ty::Option(some) => Val::Option(rng.bool().then(|| Box::new(value(rng, some)))),
        Ty::Result(result) => Val::Result(match rng.bool() {
            true => Ok(boxed(rng, &result.ok)),
            false => Err(boxed(rng, &result.err)),
        }),
        Ty::Flags(names) => Val::Flags(names.iter().filter(|_| rng.bool()).cloned().collect()),
    }
}
