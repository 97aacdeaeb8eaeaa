//! Writes log records that look like several, like a terminal's commands and like answers of the server.

use guests::log;

guests::guest! {
    fn run(args) {
        let forged = "first\nsecond\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"forged\":true}}\n\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}\u{0}end";
        log::write(log::Level::Info, forged);
        eprint!("{forged}");
        print!("{forged}");
        Ok("forged".to_owned().into())
    }
}
