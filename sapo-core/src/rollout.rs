//! Plays many episodes at once with one actor.
//!
//! Every call of the actor holds one turn of each episode under way. An episode that ends leaves its slot
//! to the next waiting task, so that nothing waits for the longest episode.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::actor::{Actor, Reply, TurnRequest};
use crate::env::{Dialogue, DialogueError, Exchange, Prompt, Status};
use crate::episode::{End, Episode, Stream, Turn};
use crate::seed;

/// How tasks are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutConfig {
    /// How many episodes are under way at once, at least 1.
    pub slots: usize,
    /// Seeds every reply, together with the place of its task and of its turn.
    pub seed: u64,
    /// How often a task whose world failed is begun again before it is given up.
    pub retries: usize,
    /// Whether the value after the last turn of a truncated episode is read.
    pub bootstrap: bool,
}

/// What a rollout gave.
#[derive(Debug, Default)]
pub struct Rollout {
    /// The episodes that came to an end, in the order of their tasks.
    pub episodes: Vec<Episode>,
    /// World failures: those that were retried and those that were given up.
    pub faults: Vec<DialogueError>,
    /// Tasks given up after their retries.
    pub dropped: usize,
    /// Whether it was ended early by its observer.
    pub interrupted: bool,
    /// Time spent in the actor.
    pub actor_time: Duration,
    /// Time spent in the worlds.
    pub world_time: Duration,
}

/// How far a rollout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Episodes that ended.
    pub finished: usize,
    /// Episodes that were solved.
    pub solved: usize,
    /// Episodes in all.
    pub total: usize,
}

/// Plays each task once.
///
/// `observe` is called after every round of turns and may end the rollout; the episodes under way are
/// then left out.
///
/// # Errors
/// If the actor fails. A world that fails is retried, then dropped and counted: never scored 0.
pub fn play<A: Actor>(
    actor: &mut A,
    mut tasks: Vec<Box<dyn Dialogue>>,
    config: RolloutConfig,
    mut observe: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Rollout, A::Error> {
    let total = tasks.len();
    let mut waiting = tasks.iter_mut().enumerate();
    let mut slots: Vec<Option<Seat<'_>>> = Vec::new();
    slots.resize_with(config.slots.max(1), || None);
    let mut rollout = Rollout::default();
    let mut finished: Vec<(usize, Episode)> = Vec::new();
    loop {
        let clock = Instant::now();
        for slot in slots.iter_mut().filter(|slot| slot.is_none()) {
            *slot = next_seat(&mut waiting, config, &mut rollout);
        }
        rollout.world_time += clock.elapsed();
        let requests: Vec<TurnRequest<'_>> = slots
            .iter()
            .enumerate()
            .filter_map(|(slot, seat)| seat.as_ref().map(|seat| seat.request(slot, config.seed)))
            .collect();
        if requests.is_empty() {
            break;
        }
        let clock = Instant::now();
        let replies = actor.act(&requests)?;
        rollout.actor_time += clock.elapsed();
        let occupied: Vec<usize> = requests.iter().map(|request| request.slot).collect();
        for (slot, reply) in occupied.into_iter().zip(replies) {
            let Some(seat) = slots[slot].as_mut() else { continue };
            let clock = Instant::now();
            let outcome = seat.reply(reply);
            rollout.world_time += clock.elapsed();
            match outcome {
                Ok(Status::Running) => continue,
                Ok(status) => {
                    let value = match status {
                        Status::Truncated if config.bootstrap => {
                            Some(actor.value(&seat.request(slot, config.seed))?)
                        }
                        _ => None,
                    };
                    if let Some(seat) = slots[slot].take() {
                        finished.push(seat.finish(status, value));
                    }
                }
                Err(fault) => {
                    let again = seat.restart(config, fault, &mut rollout);
                    if !again {
                        slots[slot] = None;
                    }
                }
            }
            actor.release(slot);
        }
        let solved = finished.iter().filter(|(_, episode)| episode.success).count();
        if observe(Progress { finished: finished.len(), solved, total }).is_break() {
            rollout.interrupted = true;
            for slot in 0..slots.len() {
                actor.release(slot);
            }
            break;
        }
    }
    finished.sort_by_key(|(task, _)| *task);
    rollout.episodes = finished.into_iter().map(|(_, episode)| episode).collect();
    Ok(rollout)
}

/// The next waiting task whose world can be opened.
fn next_seat<'a>(
    waiting: &mut impl Iterator<Item = (usize, &'a mut Box<dyn Dialogue>)>,
    config: RolloutConfig,
    rollout: &mut Rollout,
) -> Option<Seat<'a>> {
    for (task, dialogue) in waiting {
        let mut seat = Seat::new(task, dialogue.as_mut());
        match seat.open() {
            Ok(()) => return Some(seat),
            Err(fault) => {
                if seat.restart(config, fault, rollout) {
                    return Some(seat);
                }
            }
        }
    }
    None
}

/// An episode under way.
struct Seat<'a> {
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
    fn new(task: usize, dialogue: &'a mut dyn Dialogue) -> Self {
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

    fn open(&mut self) -> Result<(), DialogueError> {
        self.prompt = self.dialogue.open()?;
        self.streams.clear();
        self.turns.clear();
        Ok(())
    }

    /// Begins again after a fault while retries are left; says whether it did.
    fn restart(
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

    fn request(&self, slot: usize, seed: u64) -> TurnRequest<'_> {
        let path = [self.task as u64, self.attempts as u64, self.turns.len() as u64];
        TurnRequest { slot, prompt: &self.prompt, seed: seed::derive(seed, &path) }
    }

    /// Records the reply and plays its action.
    fn reply(&mut self, reply: Reply) -> Result<Status, DialogueError> {
        let Exchange { action, valid, reward, status, score, success, next } =
            self.dialogue.reply(&reply.text)?;
        if matches!(self.prompt, Prompt::Fresh(_)) || self.streams.is_empty() {
            self.streams.push(Stream::default());
        }
        let stream = self.streams.len() - 1;
        let tokens = &mut self.streams[stream].tokens;
        tokens.extend_from_slice(&reply.context);
        let start = tokens.len();
        tokens.extend_from_slice(&reply.tokens);
        self.turns.push(Turn {
            stream,
            response: start..tokens.len(),
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

    fn finish(self, status: Status, value: Option<f32>) -> (usize, Episode) {
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
