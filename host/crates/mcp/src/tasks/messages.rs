//! Keeps messages for the call of a task that does not run at the moment, until it runs again.

use crate::tasks::mailbox::{PATIENCE, Place, leave, waiting};
use crate::tasks::records::control::TaskRequest;
use crate::tasks::records::record::TaskRecord;
use crate::tasks::records::table::TaskId;
use crate::tasks::take_up::TakeUp;
use crate::tasks::tasks::{TaskError, Tasks};
use platform::durable::DurableError;
use policy::Principal;
use runtime::imports::SteeringMessage;
use std::sync::Arc;

impl Tasks {
    /// Leaves a message for the call of a task that does not run at the moment. False if this principal has no task with this
    /// call, or if the call itself has to take the message, since only the call knows which number comes next.
    pub(crate) async fn steer(
        self: &Arc<Self>,
        owner: &Principal,
        call: &str,
        message: SteeringMessage,
    ) -> Result<bool, TaskError> {
        // A process that has just started may not have read the stored tasks yet.
        let _ = tokio::time::timeout(PATIENCE, self.seen.cancelled()).await;
        let Some(id) = self.table.lock().find_call(owner, call) else { return Ok(false) };
        let Some((task, _)) = self.load(&id).await?.filter(|(task, _)| !task.has_ended()) else { return Ok(false) };
        let request = TaskRequest::Steer(message.clone());
        let is_waited_for = task.waits_for(&request);
        if message.seq.is_some() {
            if is_waited_for || task.suspended_until().is_none() {
                // If the call does not go on in time, the sender gets an error.
                let _ = tokio::time::timeout(PATIENCE, self.go_on_until_served(&id)).await;
            }
            return Ok(false);
        }
        if is_waited_for || task.suspended_until().is_none() {
            leave(&*self.store, Place::Requests, &id, &request).await?;
            if is_waited_for {
                self.go_on(&id, TakeUp::Now).await?;
            }
            self.wake.notify_one();
            return Ok(true);
        }
        let key = leave(&*self.store, Place::Messages, &id, &request).await?;
        let is_suspended = self.load(&id).await?.is_some_and(|(task, _)| task.suspended_until().is_some());
        if !is_suspended {
            // The process that serves the task may have looked for messages before this one was stored.
            leave(&*self.store, Place::Requests, &id, &request).await?;
            self.forget(&key).await?;
            self.wake.notify_one();
        }
        Ok(true)
    }

    async fn go_on_until_served(self: &Arc<Self>, id: &TaskId) -> Result<(), DurableError> {
        loop {
            self.go_on(id, TakeUp::AndStay).await?;
            let Some(running) = self.running.lock().get(id).cloned() else { return Ok(()) };
            if running.stay().await {
                return Ok(());
            }
        }
    }

    /// Stores what a suspended call has only in the memory of this process: messages that it has not read, and its output.
    pub(super) async fn keep_what_waits(&self, id: &TaskId, record: &TaskRecord, unread: Vec<SteeringMessage>) {
        for message in unread {
            if let Err(error) = leave(&*self.store, Place::Messages, id, &TaskRequest::Steer(message)).await {
                tracing::warn!(task = &**id, "a message to a task is lost: {error}");
            }
        }
        if let Some(kept) = self.keep_output(id, record)
            && let Err(error) = kept.await
        {
            tracing::warn!(task = &**id, %error, "the output of a task that waits is not kept");
        }
    }

    /// Puts the messages that were kept into the queue of a call that is about to run again.
    pub(super) async fn take_messages(&self, id: &TaskId, record: &TaskRecord) -> Result<(), DurableError> {
        let Some(maker) = self.maker.get() else { return Ok(()) };
        for (key, stored) in waiting(&*self.store, Place::Messages, id).await? {
            // The message is removed first: it may get lost with the host, but is never delivered twice.
            self.forget(&key).await?;
            if let Ok(TaskRequest::Steer(message)) = serde_json::from_slice(&stored.value)
                && let Err(why) = maker.put_back(record, message)
            {
                tracing::warn!(task = &**id, "a message to a task is lost: {why}");
            }
        }
        Ok(())
    }

    /// Removes the messages that nobody will read.
    pub(super) async fn forget_messages(&self, id: &TaskId) -> Result<(), DurableError> {
        for (key, _) in waiting(&*self.store, Place::Messages, id).await? {
            self.forget(&key).await?;
        }
        Ok(())
    }
}
