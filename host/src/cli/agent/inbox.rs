//! Events in servers' inboxes, and the calls that the user planned for them.

use super::screen::{quoted, word};
use super::session::Session;
use super::words;
use agent::{Action, Happened, Reactions};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Session {
    /// Starts to look at a server's inbox, if any event is waited for.
    pub(super) async fn follow(self: &Arc<Self>, server: &str) {
        if self.planned.is_empty() {
            return;
        }
        match self.links.watch_inbox(server).await {
            Ok(()) => self.look(server).await,
            Err(reason) => {
                let text = format!("{server}: its events cannot be followed: {}", word(&reason));
                self.screen.show(&json!({ "event": "warning", "server": server, "message": reason }), &text);
            }
        }
    }

    /// Reads what is new in a server's inbox, and does what was planned.
    pub(super) async fn look(self: &Arc<Self>, server: &str) {
        let mut inboxes = self.inboxes.lock().await;
        let seen = self.desk.memory().now().cursors.get(server).cloned();
        let reactions = inboxes
            .entry(server.to_owned())
            .or_insert_with(|| Reactions::new(self.planned.clone(), self.clock.clone()));
        let read = match self.links.inbox(server, seen.as_deref()).await {
            Ok(text) => reactions.read(&text, seen.as_deref()),
            Err(reason) => Err(reason),
        };
        drop(inboxes);
        let reading = match read {
            Ok(reading) => reading,
            Err(reason) => {
                let json = json!({ "event": "warning", "server": server, "message": reason });
                return self.screen.show(&json, &format!("{server}: {}", word(&reason)));
            }
        };
        // Before anything is started: what is interrupted is not started twice.
        if let Some(next) = reading.next {
            let remembered = self.desk.memory().change(|memory| memory.cursors.insert(server.to_owned(), next));
            if let Err(error) = remembered {
                tracing::warn!("{error}");
            }
        }
        if reading.held_back > 0 {
            let json = json!({ "event": "held-back", "server": server, "events": reading.held_back });
            self.screen.show(&json, &format!("{server}: {} events came too fast and start nothing", reading.held_back));
        }
        for happened in reading.happened {
            self.reacting.fetch_add(1, Ordering::SeqCst);
            let (session, server) = (self.clone(), server.to_owned());
            tokio::spawn(async move {
                session.react(&server, happened).await;
                session.reacting.fetch_sub(1, Ordering::SeqCst);
                session.over.notify_waiters();
            });
        }
    }

    async fn react(self: &Arc<Self>, server: &str, happened: Happened) {
        let event = &happened.event;
        let payload = event.payload.to_string();
        let json = json!({ "event": "event", "server": server, "id": event.id, "name": event.name, "payload": event.payload,
                           "plugin": event.plugin, "action": words::action(&happened.action) });
        let text = format!("event {} in the inbox of {server}\n{}", word(&event.name), quoted(&payload));
        self.screen.show(&json, &text);
        let Action::Call { server: to, tool, arguments } = &happened.action else { return };
        if !self.desk.consents(server, &happened).await {
            return;
        }
        if let Err(error) = self.start(&format!("{to}.{tool}"), arguments.clone()) {
            self.fail();
            self.screen.show(&json!({ "event": "error", "message": error }), &format!("error: {error}"));
        }
    }
}
