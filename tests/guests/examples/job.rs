//! Works until it is told how to go on: by its `path` at once, and then by each message that it gets. `run` may be called
//! in any way, `only` as a task only.

use guests::client::{self, Answer, Form, FormAnswer, KeyedQuestion, Question};
use guests::steering::Received;
use guests::{
    CallContext, Execution, Guest, Outcome, Tool, ToolError, checkpoint, failed, meter, output, progress, steering,
    text,
};
use std::time::{Duration, Instant};

guests::manifest!(
    r#"{"name":"job","version":"0.1.0","description":"","requests":{"client":{"form":true,"roots":true}}}"#
);

const NAME: &str = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;

struct Job;

impl Guest for Job {
    fn list_tools() -> Vec<Tool> {
        let only = Tool { name: "only".into(), execution: Execution::TaskOnly, ..guests::run_tool() };
        vec![guests::run_tool(), only]
    }

    fn call_tool(_: CallContext, _: String, arguments: String) -> Outcome {
        let mut next = Some(guests::Args::parse(&arguments).path_or("wait"));
        let (mut said, mut reports) = (Vec::new(), 0.0);
        loop {
            let word = match next.take().or_else(steering::next) {
                Some(word) => word,
                None => {
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                }
            };
            match word.split_once(' ').unwrap_or((&word, "")) {
                ("wait", _) => {}
                ("ask", _) => said.extend(ask(&["first", "second"])?),
                ("names", _) => return Ok(format!("said: {}", ask(&["first", "second"])?.join(", ")).into()),
                ("again", _) => said.extend(ask(&["first"])?),
                ("report", words) => {
                    reports += 1.0;
                    progress::report(reports, None, Some(words));
                }
                ("chunk", words) => drop(output::emit(&[text(words)]).map_err(|error| failed(format!("{error:?}")))?),
                ("compute", count) => said.push(compute(count)),
                ("compute-and-end", count) => return Ok(compute(count).into()),
                ("fuel-left", _) => said.push(format!("{:?}", meter::fuel_left())),
                ("minutes-left", _) => return Ok(format!("{}", meter::deadline_left().div_ceil(60_000)).into()),
                ("listen", _) => return Ok(format!("heard: {}", listen(false)?.join(", ")).into()),
                ("listen-and-save", _) => return Ok(format!("heard: {}", listen(true)?.join(", ")).into()),
                ("sleep", millis) => {
                    return Ok(slept(|| std::thread::sleep(Duration::from_millis(number(millis)))).into());
                }
                ("receive", millis) => return Ok(slept(|| drop(steering::receive(Some(number(millis))))).into()),
                ("spin", _) => loop {
                    std::hint::spin_loop();
                },
                ("fail", _) => return Err(failed("told to fail")),
                ("roots", _) => return client::list_roots(None).map(|_| "roots".to_owned().into()).map_err(why),
                ("large", bytes) => return Ok("x".repeat(bytes.parse().unwrap_or_default()).into()),
                ("stop", _) => return Ok(format!("said: {}", said.join(", ")).into()),
                _ => said.push(word),
            }
        }
    }
}

guests::bindings::export!(Job with_types_in guests::bindings);

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_default()
}

/// Says before that it waits, and then the milliseconds that this took by its own clock.
fn slept(wait: impl FnOnce()) -> String {
    progress::report(1.0, None, Some("asleep"));
    let began = Instant::now();
    wait();
    began.elapsed().as_millis().to_string()
}

/// Some units of fuel for each of the rounds.
fn compute(rounds: &str) -> String {
    let rounds: u64 = rounds.parse().unwrap_or_default();
    (0..rounds).fold(7u64, |sum, round| std::hint::black_box(sum.wrapping_mul(31).wrapping_add(round))).to_string()
}

/// Says each message as a chunk, until there are no more. May save a checkpoint after each.
fn listen(saves: bool) -> Result<Vec<String>, ToolError> {
    let saved = if saves { checkpoint::restored() } else { None };
    let saved = saved.map(|saved| String::from_utf8_lossy(&saved).into_owned());
    let mut heard: Vec<String> = saved.iter().flat_map(|saved| saved.lines()).map(str::to_owned).collect();
    while let Received::Message(message) = steering::receive(None) {
        output::emit(&[text(&message)]).map_err(|error| failed(format!("{error:?}")))?;
        heard.push(message);
        if saves {
            checkpoint::save(heard.join("\n").as_bytes()).map_err(|error| failed(format!("{error:?}")))?;
        }
    }
    let at_once = steering::receive(Some(60_000));
    assert!(matches!(at_once, Received::Ended), "the end stays");
    Ok(heard)
}

fn ask(keys: &[&str]) -> Result<Vec<String>, ToolError> {
    let question = |key: &&str| KeyedQuestion {
        key: (*key).to_owned(),
        question: Question::Form(Form { message: format!("Who is {key}?"), schema: NAME.to_owned() }),
    };
    let answers = client::ask_many(&keys.iter().map(question).collect::<Vec<_>>()).map_err(why)?;
    let said = answers.into_iter().map(|answer| match answer {
        Answer::Form(FormAnswer::Accepted(content)) => content,
        other => format!("{other:?}"),
    });
    Ok(said.collect())
}

fn why(error: client::ClientError) -> ToolError {
    match error {
        client::ClientError::Unsupported(what) => ToolError::Unsupported(what),
        other => failed(format!("{other:?}")),
    }
}
