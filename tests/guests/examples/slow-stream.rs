//! A good citizen: sends `n` chunks, one each 50 ms, reports progress, and answers.

use guests::{output, progress, text};

guests::guest! {
    fn run(args) {
        let n = args.n_or(5);
        for number in 0..n {
            output::emit(&[text(format!("part {number}"))]).map_err(|error| guests::failed(format!("{error:?}")))?;
            progress::report(number as f64 + 1.0, Some(n as f64), None);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Ok(format!("{n} parts").into())
    }
}
