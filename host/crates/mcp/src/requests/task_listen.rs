//! Serves a subscription that names tasks.

use super::tasks::shown_to;
use crate::client_tools::in_tasks;
use crate::server_context::ServerContext;
use crate::subscriptions::changes::ChangeSet;
use crate::subscriptions::listen::want;
use crate::subscriptions::task_listen::{TaskNotifier, TaskSubscription};
use crate::tasks::{ShownTask, ShownTo, TaskRecord, Tasks};
use platform::changes::Change;
use policy::Principal;
use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer, ServiceError};
use serde_json::Value;
use tokio::sync::broadcast::Receiver;

/// Serves the subscription until the client goes away or the server stops. Returns the `_meta` of the result.
pub(super) async fn run(
    server: &ServerContext,
    principal: &Principal,
    subscription: TaskSubscription,
    context: &RequestContext<RoleServer>,
) -> Result<(String, Value), ErrorData> {
    let to = shown_to(context)?;
    let _guard = server.subscriptions.enter(principal)?;
    // Subscribed before the tasks are read, so that no change is missed.
    let changes = server.changes.subscribe();
    let _wanted = want(&server.changes, principal, &subscription.filter);
    let notifier = TaskNotifier(context);
    tokio::select! {
        () = context.ct.cancelled() => {}
        () = server.stop.cancelled() => {}
        broken = forward(server, principal, (subscription, to), &notifier, changes) => if let Err(error) = broken {
            tracing::debug!(%error, "a subscription broke");
        },
    }
    Ok(notifier.end_meta())
}

async fn forward(
    server: &ServerContext,
    principal: &Principal,
    (subscription, to): (TaskSubscription, ShownTo),
    notifier: &TaskNotifier<'_>,
    mut changes: Receiver<Change>,
) -> Result<(), ServiceError> {
    let mut tasks = Vec::new();
    for id in &subscription.tasks {
        if let Ok(task) = server.tasks.get(principal, id).await {
            tasks.push((id.clone(), task));
        }
    }
    let accepted: Vec<String> = tasks.iter().map(|(id, _)| id.clone()).collect();
    notifier.acknowledge(&subscription, &accepted).await?;
    // Its client may have read the task before it subscribed, and would miss the changes in between.
    let show = |task: &TaskRecord, id: &str| {
        let ShownTask { task, calls } = server.tasks.show(task, id, to);
        (task, calls.map(in_tasks::to_meta))
    };
    for (id, task) in &tasks {
        notifier.task(show(task, id)).await?;
    }
    let filter = &subscription.filter;
    let wants = |flag: Option<bool>| flag == Some(true);
    let mut open: Vec<(String, String)> = tasks
        .into_iter()
        .filter(|(_, task)| !task.has_ended())
        .map(|(id, _)| {
            let uri = Tasks::uri(&id);
            (id, uri)
        })
        .collect();
    while let Some(changed) = ChangeSet::next(&mut changes, principal).await {
        for (what, listens) in [
            ("tools", changed.tools.is_any() && wants(filter.tools_list_changed)),
            ("prompts", changed.prompts.is_any() && wants(filter.prompts_list_changed)),
            ("resources", changed.resources.is_any() && wants(filter.resources_list_changed)),
        ] {
            if listens {
                notifier.list_changed(what).await?;
            }
        }
        for uri in filter.resource_subscriptions.iter().flatten().filter(|uri| changed.has_resource(uri)) {
            notifier.resource_updated(uri).await?;
        }
        let mut ended = Vec::new();
        for (id, _) in open.iter().filter(|(_, uri)| changed.has_resource(uri)) {
            let Ok(task) = server.tasks.get(principal, id).await else { continue };
            notifier.task(show(&task, id)).await?;
            if task.has_ended() {
                ended.push(id.clone());
            }
        }
        open.retain(|(id, _)| !ended.contains(id));
        ChangeSet::pause().await;
    }
    Ok(())
}
