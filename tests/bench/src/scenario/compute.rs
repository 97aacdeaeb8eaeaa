//! The cost of the sandbox and its meters for a tool that computes: the same Rust code natively and in the guest, over
//! stdio.

use std::time::Instant;

use anyhow::ensure;
use serde_json::json;

use crate::client::{Client, Template};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::Set;
use crate::report::{Report, Unit};
use crate::server::{Server, Transport};

const SECTION: &str = "compute, whole call over stdio";

/// A tool, its argument, what it is called here, and the answer of native code and guest code alike.
const WORK: [(&str, u64, &str, &str); 2] =
    [("fib", 32, "fib(32), recursion", "2178309"), ("sum", 2_000_000, "2 M steps through 1 MiB", "12301997953213")];

struct Lane {
    server: Server,
    client: Client,
    call: Template,
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    for (tool, n, what, expected) in WORK {
        let mut race = Race::line_up(format!("{SECTION}: {what}"), &Contender::COMPARED, report, async |contender| {
            let mut server = lab.start(contender, Set::Bench, Transport::Stdio).await?;
            let client = server.connect().await?;
            Ok(Lane { server, client, call: Template::call(contender.tool(tool), json!({"n": n})) })
        })
        .await;
        let [figures] = race
            .run(report, 1, lab.effort.rounds, async |_, lane| {
                let begin = Instant::now();
                let answer = lane.client.ask(&lane.call).await.map_err(|error| lane.server.explain(&error))?;
                let elapsed = begin.elapsed().as_secs_f64() * 1e3;
                ensure!(answer.text == expected, "computed {} instead of {expected}", answer.text);
                Ok([elapsed])
            })
            .await;
        report.row(SECTION, what, Unit::Milliseconds, figures, None).compared();
    }
}
