//! One episode under way.

use std::ops::Range;

use super::{Rollout, RolloutConfig};
use crate::actor::{NoRoom, Reply, TurnRequest};
use crate::env::{Dialogue, DialogueError, Exchange, Prompt, Status};
use crate::episode::{End, Episode, Stream, Turn};
use crate::seed;

/// An episode under way.
pub(super) struct Seat<'a> {
    task: usize,
    dialogue: &'a mut dyn Dialogue,
    attempts: usize,
    prompt: Prompt,
    streams: Vec<Stream>,
    turns: Vec<Turn>,
    score: f32,
    success: bool,
}

impl<'a> Seat<'a> {
    pub(super) fn new(task: usize, dialogue: &'a mut dyn Dialogue) -> Self {
        Seat {
            task,
            dialogue,
            attempts: 0,
            prompt: Prompt::Fresh(Vec::new()),
            streams: Vec::new(),
            turns: Vec::new(),
            score: 0.0,
            success: false,
        }
    }

    /// Starts the task, or starts it again.
    pub(super) fn open(&mut self) -> Result<(), DialogueError> {
        self.prompt = self.dialogue.open()?;
        self.streams.clear();
        self.turns.clear();
        Ok(())
    }

    /// Begins again after a fault while retries are left; says whether it did.
    pub(super) fn restart(
        &mut self,
        config: RolloutConfig,
        fault: DialogueError,
        rollout: &mut Rollout,
    ) -> bool {
        rollout.faults.push(fault);
        while self.attempts < config.retries {
            self.attempts += 1;
            match self.open() {
                Ok(()) => return true,
                Err(fault) => rollout.faults.push(fault),
            }
        }
        rollout.dropped += 1;
        false
    }

    /// Whether a reply has been played.
    pub(super) fn has_begun(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Why its task cannot be played.
    pub(super) fn fault(&self, full: NoRoom) -> DialogueError {
        DialogueError { task: self.dialogue.task().to_owned(), source: full.into() }
    }

    /// The wish for the next reply, seeded by task, attempt and turn.
    pub(super) fn request(&self, slot: usize, seed: u64) -> TurnRequest<'_> {
        let path = [self.task as u64, self.attempts as u64, self.turns.len() as u64];
        TurnRequest { slot, prompt: &self.prompt, seed: seed::derive(seed, &path) }
    }

    /// Records the reply and plays its action.
    pub(super) fn reply(&mut self, reply: Reply) -> Result<Status, DialogueError> {
        let Exchange { action, valid, reward, status, score, success, next } =
            self.dialogue.reply(&reply.text)?;
        let (stream, response) = self.append(&reply.context, &reply.tokens);
        self.turns.push(Turn {
            stream,
            response,
            log_probs: reply.log_probs,
            value: reply.value,
            action_value: reply.action_value,
            finish: reply.finish,
            reply: reply.text,
            action,
            valid,
            reward,
        });
        self.prompt = next;
        self.score = score;
        self.success = success;
        Ok(status)
    }

    /// Adds a context and a reply to the stream that the prompt belongs to; says where the reply is.
    fn append(&mut self, context: &[u32], reply: &[u32]) -> (usize, Range<usize>) {
        if matches!(self.prompt, Prompt::Fresh(_)) || self.streams.is_empty() {
            self.streams.push(Stream::default());
        }
        let stream = self.streams.len() - 1;
        let tokens = &mut self.streams[stream].tokens;
        tokens.extend_from_slice(context);
        let start = tokens.len();
        tokens.extend_from_slice(reply);
        (stream, start..tokens.len())
    }

    /// The episode, with its place in the order of tasks.
    pub(super) fn finish(self, status: Status, value: Option<f32>) -> (usize, Episode) {
        let episode = Episode {
            task: self.dialogue.task().to_owned(),
            kind: self.dialogue.kind().to_owned(),
            streams: self.streams,
            turns: self.turns,
            end: match status {
                Status::Truncated => End::Truncated { value },
                _ => End::Terminated,
            },
            success: self.success,
            score: self.score,
        };
        (self.task, episode)
    }
}
