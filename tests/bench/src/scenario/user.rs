//! Portcullis as an ordinary user: what a confined server may ask of the kernel differs from what root may.

use nix::unistd::{User, geteuid};

use super::echo;
use super::lane::EchoLane;
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::report::Report;
use crate::server::{Server, Transport};

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let name = lab.user.as_deref().unwrap_or("nobody");
    if !geteuid().is_root() {
        report.notes.push("only root can start a server as another user: echo as an ordinary user is left out".into());
        return;
    }
    let Ok(Some(user)) = User::from_name(name) else {
        report.notes.push(format!("there is no user {name}: echo as an ordinary user is left out"));
        return;
    };
    let section = format!("echo over HTTP, as {name}");
    let contenders = [Contender::Native, Contender::Fuel];
    let mut race = Race::line_up(&section, &contenders, report, async |contender| {
        let server = Server::start(lab.command_as(&user, contender)?, Transport::Http).await?;
        EchoLane::new(server, contender).await
    })
    .await;
    echo::measure(lab, report, &section, &mut race, echo::Targets::of(Transport::Http)).await;
}
