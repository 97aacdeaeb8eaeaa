//! Names that clients take for one another. A separate process checks each component.

use super::Row;
use suite::forge;

pub(super) const ROWS: &[Row] = &[
    Row {
        id: "M7.4",
        what: "two names that clients turn into one",
        outcome: "refused: may become one",
        run: |g| g.check(&forge::with_names("read_file", "Read-File")),
    },
    Row {
        id: "M7.5",
        what: "two names that are one after clients cut them",
        outcome: "refused: may become one",
        run: |g| {
            let kept = "x".repeat(46);
            g.check(&forge::with_names(&format!("{kept}_show"), &format!("{kept}_erase")))
        },
    },
    Row {
        id: "M7.6",
        what: "two names that are one without their middle",
        outcome: "refused: may become one",
        run: |g| {
            let (head, tail) = ("calendar__", "_of_every_person_in_this_company");
            g.check(&forge::with_names(&format!("{head}show_entry{tail}"), &format!("{head}drop_entry{tail}")))
        },
    },
];
