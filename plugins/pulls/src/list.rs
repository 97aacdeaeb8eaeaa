//! From the question to the list, top to bottom.

use portcullis_guest::client::{self, Consent};
use portcullis_guest::{ToolError, connections};
use serde::Deserialize;

/// As the operator's configuration names the connection.
const ACCOUNT: &str = "github";
/// Below the connection's base address. GitHub's own API has pull requests among `/user/issues`; what answers here is the
/// service that the operator sets up.
const PATH: &str = "/user/pulls";

/// What is read of a pull request.
#[derive(Deserialize)]
struct Pull {
    title: String,
}

/// One line for each.
pub(crate) fn titles() -> Result<String, ToolError> {
    if !connections::connected(ACCOUNT)? {
        let answer = client::connect("Authorize GitHub", ACCOUNT).key("authorize").ask()?;
        let why = match answer {
            Consent::Accepted => None,
            Consent::Declined => Some("the user declined"),
            Consent::Cancelled => Some("the user closed the question"),
        };
        if let Some(why) = why {
            return Err(ToolError::failed(format!("no access to GitHub: {why}, so nothing was read")));
        }
    }

    let response = connections::get(ACCOUNT, PATH).header("accept", "application/json").send()?;
    let pulls: Vec<Pull> = response.error_for_status()?.json()?;
    if pulls.is_empty() {
        return Ok("There are no pull requests.".into());
    }
    Ok(pulls.iter().map(|pull| line(&pull.title)).collect::<Vec<_>>().join("\n"))
}

/// A title is what somebody wrote: it stays one line, so that none looks like two.
fn line(title: &str) -> String {
    format!("- {}", title.split_whitespace().collect::<Vec<_>>().join(" "))
}
