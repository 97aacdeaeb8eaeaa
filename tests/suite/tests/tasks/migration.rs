//! A migration of a database that a person confirms, and whose host is killed in the middle: each statement is made once, and
//! none before the answer, or after a no.

use super::{Started, abilities, started, wait_for, wait_for_status};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use suite::web::{Reply, Web};
use suite::{Client, Era, Home, PATIENCE, Server, eventually, paths, plugin_from, with_manifest};

const STATEMENTS: usize = 8;

/// A database behind HTTP, whose statements have numbers.
struct Database {
    web: Web,
    client: Client,
    is_task: Arc<AtomicBool>,
}

impl Database {
    fn new() -> Self {
        let is_task = Arc::new(AtomicBool::new(false));
        let may_answer = is_task.clone();
        let web = Web::serve(move |seen| {
            // Its schema is told once the call is a task, and its statements take a while.
            suite::eventually(PATIENCE, || may_answer.load(Ordering::Relaxed).then_some(()));
            std::thread::sleep(Duration::from_millis(40));
            Reply::new(201, format!("made {}", seen.body))
        });
        let home = Home::new();
        let allow = format!("GET,PUT http://127.0.0.1:{}", web.address.port());
        let requests = json!({"http": [allow], "client": {"form": true}});
        let manifest = json!({"name": "errand", "version": "0.1.0", "requests": requests});
        let source = home.write("errand.wasm", with_manifest(fs::read(paths::guest("errand")).unwrap(), &manifest));
        let grants = format!("grants.client.form = true\ngrants.http = [{{ allow = \"{allow}\", private = true }}]");
        let config = "[server.tasks]\ninline = \"0s\"\n\n".to_owned() + &plugin_from("errand", &source, &grants);
        let client = Client::able(Server::start_in(home, &config), Era::Modern, false, abilities());
        Self { web, client, is_task }
    }

    /// Begins the migration, which looks at the database and asks.
    fn begin(&mut self) -> Started {
        let web = self.web.url("");
        let put = |number| format!("put {web}/statement/{number} row-{number}\n");
        let steps = format!("get {web}/schema\nconfirm\n") + &(0..STATEMENTS).map(put).collect::<String>();
        let call = json!({"name": "errand__run", "arguments": {"path": steps}});
        let task = started(&self.client.request("tools/call", call));
        self.is_task.store(true, Ordering::Relaxed);
        wait_for_status(&mut self.client, &task.task, "input_required");
        assert_eq!(self.sent(), 0, "nothing is done before the answer");
        task
    }

    fn answer(&mut self, of: &Started, answer: Value) {
        let asked = wait_for_status(&mut self.client, &of.task, "input_required");
        let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let responses = json!({"taskId": of.task, "inputResponses": {key: answer}});
        self.client.request("tasks/update", responses).result();
    }

    /// Statements, repeated ones too.
    fn sent(&self) -> usize {
        self.web.seen().iter().filter(|seen| seen.path() != "/schema").count()
    }

    /// The rows: a statement that comes twice under its number is one.
    fn rows(&self) -> BTreeSet<String> {
        let seen = self.web.seen();
        let statements = seen.iter().filter(|seen| seen.path() != "/schema");
        statements.map(|seen| format!("{} {}", seen.path(), seen.body)).collect()
    }
}

#[test]
fn each_statement_is_made_once_although_the_host_is_killed_in_the_middle() {
    let mut database = Database::new();
    let task = database.begin();
    // Killed while it waits for the person, too.
    database.client.server.restart_stdio();
    database.answer(&task, json!({"action": "accept", "content": {"name": "production"}}));
    let mut kills = 0;
    for done in [2, 5] {
        eventually(PATIENCE, || (database.sent() > done).then_some(())).expect("it goes on");
        database.client.server.restart_stdio();
        kills += 1;
    }
    let ended = wait_for(&mut database.client, &task.task, |task| task["status"] != "working");
    assert_eq!((&ended["status"], &ended["result"]["isError"]), (&json!("completed"), &json!(false)), "{ended}");
    let said = ended["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("production"), "{said}");
    let order: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("put: 201 made row-")).collect();
    assert_eq!(order, (0..STATEMENTS).map(|number| number.to_string()).collect::<Vec<_>>(), "{said}");
    assert_eq!(database.rows().len(), STATEMENTS);
    // Only what was on its way when the host was killed is sent again: under its number, to do it twice is as good as once.
    let sent = database.sent();
    assert!(sent <= STATEMENTS + kills, "{sent} statements were sent");
}

#[test]
fn a_migration_that_is_not_confirmed_does_nothing() {
    let mut database = Database::new();
    let task = database.begin();
    database.client.server.restart_stdio();
    database.answer(&task, json!({"action": "decline"}));
    let ended = wait_for(&mut database.client, &task.task, |task| task["status"] != "working");
    assert_eq!(ended["result"]["isError"], true, "{ended}");
    assert!(ended.to_string().contains("it was not confirmed") && database.sent() == 0, "{ended}");
}
