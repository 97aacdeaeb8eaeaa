//! A program that knows nothing of us: it has arguments and standard streams, and does as its first argument says.

use std::env;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::thread::sleep;
use std::time::Duration;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = env::args().collect();
    let number = || arguments.get(2).and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    match arguments.get(1).map_or("", String::as_str) {
        "echo" => println!("{}", arguments.join("|")),
        "cat" => {
            io::copy(&mut io::stdin(), &mut io::stdout()).map_err(|error| error.to_string())?;
        }
        "count" => println!("{}", io::stdin().bytes().count()),
        "lines" => (0..number()).for_each(|line| println!("line {line}")),
        "bytes" => (0..number()).for_each(|_| write(b"x")),
        "text" => write("é".repeat(number() as usize).as_bytes()),
        "binary" => write(&[b'a', 0xFF, b'b', 0xC3, b'\n']),
        "halves" => "a\u{1F600}é\n".bytes().for_each(|byte| write(&[byte])),
        "two-steps" => {
            println!("first");
            write(b"and without a line's end");
            wait(&arguments[2]);
            println!("\nlast");
        }
        "add-lines" => add_lines(&arguments[2], &arguments[3])?,
        "endless-lines" => loop {
            println!("y");
        },
        "endless-bytes" => loop {
            write(b"y");
        },
        "endless-blocks" => loop {
            write(&[b'y'; 4096]);
        },
        "endless-input" => loop {
            let _ = io::stdin().read(&mut [0; 16]);
        },
        "endless-waits" => loop {
            write(b"y");
            sleep(Duration::from_nanos(1));
        },
        "errors" => (0..number()).for_each(|line| eprintln!("error {line}")),
        "exit" => {
            println!("so far");
            eprintln!("and no further");
            std::process::exit(number() as i32);
        }
        "exit-with-code" => {
            println!("so far");
            wasip2::cli::exit::exit_with_code(number() as u8);
        }
        "streams" => streams(),
        "write-after-close" => {
            let stdout = wasip2::cli::stdout::get_stdout();
            // A second owner of the same handle: the first one gives it back.
            let again = unsafe { wasip2::io::streams::OutputStream::from_handle(stdout.handle()) };
            drop(stdout);
            let _ = again.write(b"lost");
        }
        "fail" => return Err("it was not to be".into()),
        "panic" => {
            print!("last words");
            panic!("no bananas left");
        }
        "variable" => println!("{:?}", env::var(&arguments[2])),
        "variables" => println!("{}", env::vars().count()),
        "read" => print!("{}", fs::read_to_string(&arguments[2]).map_err(|error| error.to_string())?),
        "connect" => println!("{:?}", std::net::TcpStream::connect("127.0.0.1:80").is_ok()),
        other => return Err(format!("what is {other:?}?")),
    }
    Ok(())
}

/// As a program that does not collect what it writes.
fn write(bytes: &[u8]) {
    let mut stdout = io::stdout();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).expect("stdout is never closed");
}

/// Every function of an output stream that writes.
fn streams() {
    let (stdin, stdout) = (wasip2::cli::stdin::get_stdin(), wasip2::cli::stdout::get_stdout());
    let another = wasip2::cli::stdout::get_stdout();
    assert!(stdout.check_write().unwrap() > 0);
    stdout.write(b"a").unwrap();
    another.blocking_write_and_flush(b"b").unwrap();
    drop(another);
    assert_eq!(stdout.splice(&stdin, 1).unwrap(), 1);
    assert_eq!(stdout.blocking_splice(&stdin, 100).unwrap(), 2);
    assert!(stdout.blocking_splice(&stdin, 1).is_err(), "the end of stdin");
    stdout.write_zeroes(1).unwrap();
    stdout.blocking_write_zeroes_and_flush(1).unwrap();
    stdout.flush().unwrap();
    stdout.blocking_flush().unwrap();
    stdout.subscribe().block();
    assert!(stdin.subscribe().ready() && stdin.read(1).is_err());
}

fn wait(path: &str) {
    while fs::metadata(path).is_err() {
        sleep(Duration::from_millis(20));
    }
}

/// Says as many lines as the file has, which grows.
fn add_lines(path: &str, lines: &str) -> Result<(), String> {
    let lines: u32 = lines.parse().map_err(|error| format!("{error}"))?;
    let allowed = || fs::read_to_string(path).ok()?.trim().parse::<u32>().ok();
    for line in 0..lines {
        while allowed().is_none_or(|allowed| allowed <= line) {
            sleep(Duration::from_millis(20));
        }
        println!("line {line}");
        eprintln!("said {line}");
    }
    Ok(())
}
