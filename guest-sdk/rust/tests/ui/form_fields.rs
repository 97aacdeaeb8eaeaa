//! Fields that do not belong in a flat form, and options that do not fit their type.

use portcullis_guest::{Choice, Form, client};

#[derive(Form)]
struct Nested {
    address: Address,
}

struct Address {
    street: String,
}

#[derive(Form)]
struct Texts {
    names: Vec<String>,
}

#[derive(Form)]
struct Misplaced {
    #[form(format = "email")]
    number: u8,
    #[form(range(min = 1))]
    text: String,
    #[form(length(min = 1))]
    flag: bool,
    #[form(default = "Economy")]
    class: Class,
}

#[derive(Choice)]
enum Class {
    Economy,
}

fn main() {
    let _ = client::form::<Address>("Where?");
}
