//! Forms and choices that no client could show.

use portcullis_guest::{Choice, Form};

#[derive(Form)]
struct Tuple(String);

#[derive(Form)]
enum Either {
    This,
}

#[derive(Form)]
struct Generic<T> {
    value: T,
}

#[derive(Form)]
struct Options {
    #[form(fromat = "email")]
    misspelt: String,
    #[form(format = "phone")]
    phone: String,
    #[form(range(least = 1))]
    bound: u8,
}

#[derive(Form)]
struct Two {
    phone: String,
    #[form(rename = "phone")]
    again: String,
}

#[derive(Choice)]
struct NotAnEnum;

#[derive(Choice)]
enum WithFields {
    Other(String),
}

#[derive(Choice)]
enum Empty {}

#[derive(Choice)]
#[form(rename_all = "Title Case")]
enum Style {
    One,
}

#[derive(Choice)]
#[form(rename_all = "lowercase")]
enum Twins {
    One,
    ONE,
}

fn main() {}
