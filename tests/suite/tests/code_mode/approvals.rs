//! Calls of programs that their user must approve.

use super::{ALL, config, error, program, result, run};
use serde_json::{Value, json};
use std::fs;
use std::time::Instant;
use suite::{Called, Client, Era, Server, agent_from, paths, portcullis};

const WRITE: &str = "await tools.files.write({ path: '/files/NAME', text: 'x' });\n";

fn asking(era: Era, settings: &str) -> Client {
    let abilities = json!({ "elicitation": { "form": {} } });
    Client::able(Server::start(&config(settings, ALL)), era, false, abilities)
}

fn write(name: &str) -> String {
    WRITE.replace("NAME", name)
}

/// The question that a call asks.
fn question(asked: &Called) -> (String, String) {
    let questions = asked.result()["inputRequests"].as_object().unwrap_or_else(|| panic!("{}", asked.result()));
    assert_eq!(questions.len(), 1, "{questions:?}");
    let (key, question) = questions.iter().next().unwrap();
    (key.clone(), question["params"]["message"].as_str().unwrap().to_owned())
}

fn answered(client: &mut Client, code: &str, asked: &Called, answer: Value) -> Called {
    let mut params = program(code);
    params["requestState"] = asked.result()["requestState"].clone();
    params["inputResponses"] = json!({ question(asked).0: answer });
    let id = client.begin("tools/call", params);
    Called(client.wait(id, Instant::now()))
}

fn allow(how: &str) -> Value {
    json!({ "action": "accept", "content": { "allow": how } })
}

#[test]
fn a_call_that_may_destroy_waits_for_its_user_in_the_middle_of_a_line() {
    let mut client = asking(Era::Modern, "");
    let work = client.server.home.work();
    let code = write("a") + &write("b") + "return 'done'";
    let asked = run(&mut client, &code);
    let message = question(&asked).1;
    for part in ["files.write", "/files/a", "A program that your agent wrote"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!work.join("a").exists(), "nothing is written before the answer");
    let asked = answered(&mut client, &code, &asked, allow("once"));
    assert!(question(&asked).1.contains("/files/b") && work.join("a").exists() && !work.join("b").exists());
    assert_eq!(result(&answered(&mut client, &code, &asked, allow("once"))), "done");
    assert!(work.join("b").exists());
    client.server.close_stdin();
    client.server.ended();
    let told = portcullis(&client.server.home, &["audit", "tail", "--json"]).good().to_owned();
    let decided: Vec<_> = told.lines().filter(|line| line.contains("\"approval\"")).collect();
    assert!(decided.len() == 2 && decided.iter().all(|line| line.contains("\"allowed\"")), "{told}");
}

#[test]
fn a_user_may_allow_all_calls_of_a_tool_in_one_run() {
    let mut client = asking(Era::Modern, "");
    let code = write("a") + &write("b") + "return 'done'";
    let asked = run(&mut client, &code);
    assert_eq!(result(&answered(&mut client, &code, &asked, allow("all"))), "done");
    let asked = run(&mut client, &code);
    assert!(question(&asked).1.contains("/files/a"), "the next run asks again");
}

#[test]
fn anything_but_yes_is_no() {
    let mut client = asking(Era::Modern, "");
    let code = format!("try {{ {} }} catch (error) {{ return error.code }}", write("a"));
    for answer in
        [json!({ "action": "decline" }), json!({ "action": "cancel" }), allow("sure"), json!({ "action": "accept" })]
    {
        let asked = run(&mut client, &code);
        assert_eq!(result(&answered(&mut client, &code, &asked, answer.clone())), "declined", "{answer}");
    }
    assert!(!client.server.home.work().join("a").exists());
}

#[test]
fn a_client_that_cannot_ask_is_told_no() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start(&config("", ALL)), era, false);
        let why = error(&run(&mut client, &write("a")));
        assert!(why.contains("needs the user's approval") && why.contains("code.approval"), "{why}");
        assert!(!client.server.home.work().join("a").exists());
        let listed = run(&mut client, "return (await tools.files.list({ path: '/files' })) !== undefined");
        assert_eq!(result(&listed), true, "what only reads needs no approval");
    }
}

#[test]
fn the_operator_says_which_calls_need_approval() {
    let read = "await tools.files.list({ path: '/files' }); return 1";
    let mut client = asking(Era::Modern, "approval = \"always\"");
    assert!(question(&run(&mut client, read)).1.contains("files.list"));
    let mut client = asking(Era::Modern, "approval = \"writes\"");
    assert_eq!(result(&run(&mut client, read)), 1);
    assert!(question(&run(&mut client, &write("a"))).1.contains("files.write"));
    let mut client = asking(Era::Modern, "approval = \"never\"");
    assert_eq!(result(&run(&mut client, &(write("a") + "return 2"))), 2);
}

#[test]
fn arguments_that_are_too_long_to_review_are_not_asked_about() {
    let mut client = asking(Era::Modern, "");
    let code = "await tools.files.write({ path: '/files/a', text: 'x'.repeat(5000) })";
    let why = error(&run(&mut client, code));
    assert!(why.contains("longer than what a person is shown"), "{why}");
    let why = error(&run(&mut client, "await tools.files.write({ path: 7 })"));
    assert!(why.contains("tools.files.write(args"), "nobody is asked about arguments that do not match: {why}");
}

/// The process ends while the question is open. The next one runs the program again up to there, and does nothing twice.
#[test]
fn a_program_that_waits_for_its_user_survives_the_process() {
    let more = agent_from(
        "notes",
        &paths::real_plugin("notes"),
        r#"grants.filesystem = [{ host = "work", guest = "/notes", access = "write" }]"#,
    );
    let abilities = json!({ "elicitation": { "form": {} } });
    let mut client = Client::able(Server::start(&(config("", ALL) + &more)), Era::Modern, false, abilities);
    let work = client.server.home.work();
    let notes = || {
        fs::read_dir(&work)
            .unwrap()
            .filter(|it| it.as_ref().unwrap().path().extension().is_some_and(|it| it == "md"))
            .count()
    };
    let code = "const { id } = await tools.notes.add({ title: 'once', text: String(Math.random()) });\n".to_owned()
        + &write("a")
        + "return [id, Math.random()]";
    let asked = run(&mut client, &code);
    assert!(question(&asked).1.contains("files.write"), "{}", asked.result());
    assert_eq!(notes(), 1);
    client.server.restart_stdio();
    let done = answered(&mut client, &code, &asked, allow("once"));
    assert_eq!(result(&done).as_array().unwrap().len(), 2, "{}", done.result());
    assert_eq!(notes(), 1, "the first call is not made again");
    assert!(work.join("a").exists());
}
