//! Events in servers' inboxes, and the reactions that the user has configured.

use super::render;
use super::screen::{inline, quoted};
use super::session::AgentSession;
use agent::{ReactionAction, Reactions, TriggeredReaction};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl AgentSession {
    /// Follows a server's inbox, if any reaction is configured.
    pub(super) async fn follow_inbox(self: &Arc<Self>, server: &str) {
        if self.reactions.is_empty() {
            return;
        }
        match self.servers.watch_inbox(server).await {
            Ok(()) => self.read_inbox(server).await,
            Err(reason) => {
                let text = format!("{server}: cannot follow its events: {}", inline(&reason));
                self.screen.show(&json!({ "event": "warning", "server": server, "message": reason }), &text);
            }
        }
    }

    /// Reads new events of a server's inbox and starts the reactions to them.
    pub(super) async fn read_inbox(self: &Arc<Self>, server: &str) {
        let mut inboxes = self.inboxes.lock().await;
        let seen = self.approvals.memory().get().cursors.get(server).cloned();
        let reactions = inboxes
            .entry(server.to_owned())
            .or_insert_with(|| Reactions::new(self.reactions.clone(), self.clock.clone()));
        let read = match self.servers.inbox(server, seen.as_deref()).await {
            Ok(text) => reactions.read(&text, seen.as_deref()),
            Err(reason) => Err(reason),
        };
        drop(inboxes);
        let reading = match read {
            Ok(reading) => reading,
            Err(reason) => {
                let json = json!({ "event": "warning", "server": server, "message": reason });
                return self.screen.show(&json, &format!("{server}: {}", inline(&reason)));
            }
        };
        // Stored before anything starts, so that an interrupted reaction does not run twice.
        if let Some(next) = reading.next {
            let remembered = self.approvals.memory().change(|memory| memory.cursors.insert(server.to_owned(), next));
            if let Err(error) = remembered {
                tracing::warn!("{error}");
            }
        }
        if reading.rate_limited > 0 {
            let json = json!({ "event": "rate-limited", "server": server, "events": reading.rate_limited });
            self.screen
                .show(&json, &format!("{server}: {} events came too fast and were ignored", reading.rate_limited));
        }
        for triggered in reading.triggered {
            self.reacting.fetch_add(1, Ordering::SeqCst);
            let (session, server) = (self.clone(), server.to_owned());
            tokio::spawn(async move {
                session.react(&server, triggered).await;
                session.reacting.fetch_sub(1, Ordering::SeqCst);
                session.changed.notify_waiters();
            });
        }
    }

    async fn react(self: &Arc<Self>, server: &str, triggered: TriggeredReaction) {
        let event = &triggered.event;
        let payload = event.payload.to_string();
        let json = json!({ "event": "inbox-event", "server": server, "id": event.id, "name": event.name, "payload": event.payload,
                           "plugin": event.plugin, "action": render::action_text(&triggered.action) });
        let text = format!("event {} in the inbox of {server}\n{}", inline(&event.name), quoted(&payload));
        self.screen.show(&json, &text);
        let ReactionAction::Call { server: to, tool, arguments } = &triggered.action else { return };
        if !self.approvals.may_react(server, &triggered).await {
            return;
        }
        if let Err(error) = self.start(&format!("{to}.{tool}"), arguments.clone()) {
            self.fail();
            self.screen.show(&json!({ "event": "error", "message": error }), &format!("error: {error}"));
        }
    }
}
