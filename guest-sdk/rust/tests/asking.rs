//! Questions to the client, on the fake host.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::time::Duration;

use portcullis_guest::client::{
    self, Answer, ClientError, Confirmation, Consent, SampleContent, SampleTool, ToolChoice, ToolUse,
};
use portcullis_guest::testing::{AskedQuestion, Host};
use portcullis_guest::{Budget, Exhaustion, Form, Role, ToolError};
use serde_json::{Value, json};

#[derive(Form, Debug, PartialEq)]
struct Name {
    name: String,
}

fn ada() -> Answer<Value> {
    Answer::Accepted(json!({ "name": "Ada" }))
}

#[test]
fn forms_are_answered_with_types() {
    let host = Host::new().form(ada()).form(Answer::Declined).form(Answer::Cancelled).form(ada());
    let ask = || client::form::<Name>("Who?").key("user_name").ask();
    assert_eq!(ask(), Ok(Answer::Accepted(Name { name: "Ada".into() })));
    assert_eq!(ask().unwrap().accepted(), None);
    assert_eq!(ask().unwrap().or_stop(), Err(ToolError::failed("the user closed the question without an answer")));
    let raw = client::raw_form("Who?", Name::schema()).ask();
    assert_eq!(raw, Ok(ada()));
    assert!(matches!(ask(), Err(ClientError::Failed(_))), "nothing is left in the queue");

    let asked = host.asked();
    assert_eq!((asked.len(), asked[0].key.as_deref(), asked[3].key.as_deref()), (5, Some("user_name"), None));
    assert_eq!(asked[0].message(), "Who?");
    let AskedQuestion::Form { schema, .. } = &asked[0].question else { panic!("{:?}", asked[0]) };
    assert_eq!(schema["required"], json!(["name"]));
}

#[test]
fn forms_start_with_what_fits() {
    #[derive(Form)]
    struct Stay {
        #[form(default = 3)]
        nights: u8,
        city: String,
        #[allow(dead_code, reason = "only its schema matters")]
        bath: Option<bool>,
    }
    let host = Host::new().form(Answer::Accepted(json!({ "city": "Oslo", "nights": 2 })));
    let start = json!({ "nights": 2, "city": "Oslo", "bath": "often", "unknown": 1 });
    let stay = client::prefilled_form::<Stay>("Where?", &start).ask().unwrap().accepted().unwrap();
    assert_eq!((stay.nights, stay.city.as_str()), (2, "Oslo"));
    let AskedQuestion::Form { schema, .. } = &host.asked()[0].question else { panic!("{:?}", host.asked()) };
    let default = |name: &str| &schema["properties"][name]["default"];
    assert_eq!([default("nights"), default("city"), default("bath")], [&json!(2), &json!("Oslo"), &Value::Null]);
    assert_eq!(schema["required"], json!(["city"]), "the user still has to send it");
}

#[test]
fn answers_that_do_not_fit_are_errors() {
    let _host = Host::new().form(Answer::Accepted(json!({}))).form(Answer::Accepted(json!({ "name": 1 })));
    let ask = || client::form::<Name>("Who?").ask().unwrap_err();
    assert_eq!(ask(), ClientError::NotAnswered("`name` is missing".into()));
    assert_eq!(ask().to_string(), "the client's answer is not what was expected: `name` is 1, which does not fit");
    assert!(matches!(client::raw_form("Who?", "{").ask(), Err(ClientError::Invalid(_))));
}

#[test]
fn only_a_yes_confirms() {
    let answer = |answer| {
        let _host = Host::new().form(answer);
        client::confirm("Delete 3 files?").ask().unwrap()
    };
    assert_eq!(answer(Answer::Accepted(json!({}))), Confirmation::Yes);
    for no in [Answer::Declined, Answer::Cancelled] {
        assert_eq!(answer(no).or_stop(), Err(ToolError::failed("the user did not confirm")));
    }
}

#[test]
fn nothing_is_done_without_a_client_that_can_confirm() {
    fn delete() -> Result<&'static str, ToolError> {
        client::confirm("Delete 3 files?").ask()?.or_stop()?;
        Ok("deleted")
    }
    let _host = Host::new();
    assert_eq!(delete(), Err(ToolError::Unsupported("elicitation.form".into())));
    let _host = Host::new().form(ada()).deny("client.form");
    assert!(matches!(delete(), Err(ToolError::Denied(denial)) if denial.capability == "client.form"));
}

#[test]
fn a_client_supports_what_is_scripted() {
    let _host = Host::new();
    let none = client::supported();
    assert!(!(none.form || none.url || none.sample || none.sample_tools || none.roots));
    assert_eq!(client::roots().ask(), Err(ClientError::Unsupported("roots".into())));
    assert_eq!(client::sample("Hi").ask(), Err(ClientError::Unsupported("sampling".into())));
    let _host = Host::new().form(ada()).page(Consent::Accepted).sample("Hi").roots(["file:///a"]);
    let all = client::supported();
    assert!(all.form && all.url && all.sample && all.sample_tools && all.roots);
}

#[test]
fn pages_and_roots() {
    let host = Host::new().page(Consent::Accepted).page(Consent::Declined).roots(["file:///a", "file:///b"]);
    assert_eq!(client::open_url("Pay here.", "https://pay.example").key("pay").ask(), Ok(Consent::Accepted));
    assert_eq!(
        client::connect("Connect.", "github").ask().unwrap().or_stop(),
        Err(ToolError::failed("the user declined"))
    );
    assert!(matches!(client::open_url("Pay.", "http://pay.example").ask(), Err(ClientError::Invalid(_))));
    let roots: Vec<String> = client::roots().ask().unwrap().into_iter().map(|root| root.uri).collect();
    assert_eq!(roots, ["file:///a", "file:///b"]);
    let asked = host.asked();
    assert_eq!(asked[0].key.as_deref(), Some("pay"));
    let connect = AskedQuestion::Connect { message: "Connect.".into(), connection: "github".into() };
    assert_eq!((asked.len(), &asked[1].question), (3, &connect));
}

#[test]
fn a_model_is_asked() {
    let host = Host::new().sample("Paris.");
    let answer = client::sample("What is the capital of France?")
        .assistant("Do you mean today's?")
        .user("Yes.")
        .system_prompt("Be brief.")
        .max_tokens(100)
        .temperature(0.0)
        .stop_at("\n")
        .prefer_model("small")
        .prefer_speed(1.0)
        .tool_choice(ToolChoice::None)
        .purpose("geography")
        .key("capital_question")
        .ask()
        .unwrap();
    assert_eq!((answer.text().as_str(), answer.tool_uses().count()), ("Paris.", 0));
    let asked = host.asked();
    assert_eq!((asked[0].key.as_deref(), asked[0].message()), (Some("capital_question"), "Yes."));
    let AskedQuestion::Sample(request) = &asked[0].question else { panic!("{:?}", asked[0]) };
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    assert_eq!((request.max_tokens, request.temperature, request.model.speed), (100, Some(0.0), Some(1.0)));
    assert_eq!(request.system_prompt.as_deref(), Some("Be brief."));
    assert_eq!((request.purpose.as_deref(), request.model.hints.len()), (Some("geography"), 1));
}

#[test]
fn a_model_uses_tools() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Lookup {
        word: String,
    }
    let wanted = ToolUse { id: "1".into(), name: "look_up".into(), input: r#"{"word":"portcullis"}"#.into() };
    let host = Host::new().sample(SampleContent::ToolUse(wanted)).sample("A gate.");
    let talk = client::sample("What is a portcullis?").tool(SampleTool::new::<Lookup>("look_up", "Looks a word up."));
    let answer = talk.clone().ask().unwrap();
    let wanted: Vec<ToolUse> = answer.tool_uses().cloned().collect();
    assert_eq!(wanted[0].arguments::<Lookup>().unwrap().word, "portcullis");
    assert!(matches!(wanted[0].arguments::<bool>(), Err(ClientError::UnexpectedAnswer(_))));
    let answer = talk.message(answer).outcomes([wanted[0].succeeded("a gate")]).ask().unwrap();
    assert_eq!(answer.text(), "A gate.");
    let AskedQuestion::Sample(request) = &host.asked()[1].question else { panic!("not a sample") };
    assert!(matches!(&request.messages[2].content[0], SampleContent::ToolResult(outcome) if outcome.id == "1"));
    let schema: Value = serde_json::from_str(&request.tools[0].input_schema).unwrap();
    assert_eq!(schema["properties"]["word"]["type"], "string");
    assert!(wanted[0].failed("no such word").is_error);
}

#[test]
fn many_questions_at_once() {
    let host = Host::new()
        .form(ada())
        .sample("Hello!")
        .roots(["file:///a"])
        .forms(|asked| Ok(Answer::Accepted(json!({ "name": asked.message() }))));
    let (name, greeting, roots) = client::ask_many((
        client::form::<Name>("Who?").key("q2"),
        client::sample("Greet.").max_tokens(50),
        client::roots().key("client_roots"),
    ))
    .unwrap();
    assert_eq!(name.or_stop().unwrap().name, "Ada");
    assert_eq!((greeting.text().as_str(), roots.len()), ("Hello!", 1));
    let keys: Vec<_> = host.asked().into_iter().map(|asked| asked.key.unwrap()).collect();
    assert_eq!(keys, ["q2", "q2_", "client_roots"]);

    let questions = ["a", "b"].map(client::form::<Name>);
    let answers = client::ask_many(Vec::from(questions)).unwrap();
    let names: Vec<String> = answers.into_iter().map(|answer| answer.accepted().unwrap().name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(client::ask_many(Vec::<client::Sample>::new()), Ok(Vec::new()));
    let twice = client::ask_many((client::roots().key("a"), client::confirm("?").key("a")));
    assert!(matches!(twice, Err(ClientError::Invalid(_))));
}

#[test]
fn errors_keep_their_meaning() {
    let exhaustion = Exhaustion { budget: Budget::Questions, limit: 8 };
    let errors = [
        (ClientError::Unsupported("roots".into()), ToolError::Unsupported("roots".into())),
        (ClientError::Exhausted(exhaustion), ToolError::Exhausted(exhaustion)),
        (ClientError::Cancelled, ToolError::Cancelled),
        (
            ClientError::Declined("not today".into()),
            ToolError::failed("the client's side declined the question: not today"),
        ),
        (ClientError::Timeout(Duration::from_millis(7)), ToolError::failed("the client did not answer within 7 ms")),
        (
            ClientError::NotAnswered("`a` is missing".into()),
            ToolError::failed("the form was not filled in: `a` is missing"),
        ),
    ];
    for (given, expected) in errors {
        let _host = Host::new().forms(move |_| Err(given.clone()));
        let ask = || -> Result<Confirmation, ToolError> { Ok(client::confirm("?").ask()?) };
        assert_eq!(ask(), Err(expected));
    }
    assert_eq!(exhaustion.to_string(), "the limit on questions to the client is reached: 8 questions");
}
