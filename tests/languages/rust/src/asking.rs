//! Questions to the user and the model.

use portcullis_guest::client::{self, Answer, Consent};
use portcullis_guest::{Choice, Form, ToolError};

#[derive(Form)]
struct Order {
    /// For whom.
    #[form(title = "Name", length(min = 1, max = 40))]
    name: String,
    #[form(format = "email")]
    email: String,
    #[form(range(min = 1, max = 9), default = 1)]
    pieces: i64,
    #[form(default = Size::Small)]
    size: Size,
    gift: bool,
    note: Option<String>,
}

#[derive(Choice)]
#[form(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

pub(crate) fn order() -> Result<String, ToolError> {
    Ok(match client::form::<Order>("What do you want?").key("order").ask()? {
        Answer::Accepted(Order { name, email, pieces, size, gift, note }) => {
            let note = note.as_deref().unwrap_or("nothing");
            format!("{pieces} {} for {name} <{email}>, gift: {gift}, note: {note}", size.value())
        }
        Answer::Declined => "declined".into(),
        Answer::Cancelled => "closed".into(),
    })
}

pub(crate) fn confirm() -> Result<String, ToolError> {
    client::confirm("Really?").key("sure").ask()?.or_stop()?;
    Ok("confirmed".into())
}

pub(crate) fn complete(question: String) -> Result<String, ToolError> {
    let answer = client::sample(question)
        .system_prompt("Answer in one word.")
        .max_tokens(50)
        .temperature(0.5)
        .stop_at("\n")
        .prefer_model("small")
        .purpose("to know")
        .key("model")
        .ask()?;
    Ok(format!("{} by {}, {}", answer.text(), answer.model, answer.stop_reason.as_deref().unwrap_or("nothing")))
}

#[derive(Form)]
struct Person {
    name: String,
}

pub(crate) fn interview() -> Result<String, ToolError> {
    let (person, sure, wish, roots) = client::ask_many((
        client::form::<Person>("Who are you?").key("who"),
        client::confirm("Really?").key("sure"),
        client::sample("Write a wish.").max_tokens(20).key("wish"),
        client::roots().key("where"),
    ))?;
    let name = match person {
        Answer::Accepted(person) => person.name,
        Answer::Declined => "declined".into(),
        Answer::Cancelled => "closed".into(),
    };
    let root = roots.first().map_or("nowhere", |root| &root.uri);
    Ok(format!("{name}, {}, {}, {root}", sure.is_yes(), wish.text()))
}

pub(crate) fn visit() -> Result<String, ToolError> {
    let consent = client::open_url("Look at this.", "https://example.com/page").key("page").ask()?;
    Ok(match consent {
        Consent::Accepted => "opened".into(),
        Consent::Declined => "declined".into(),
        Consent::Cancelled => "closed".into(),
    })
}
