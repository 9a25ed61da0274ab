//! Plays many episodes at once with one actor.
//!
//! Every call of the actor holds one turn of each episode under way. An episode that ends leaves its slot
//! to the next waiting task, so that nothing waits for the longest episode.

mod seat;
mod summary;

use std::iter::Enumerate;
use std::ops::ControlFlow;
use std::slice::IterMut;
use std::time::{Duration, Instant};

use self::seat::Seat;
pub use self::summary::RolloutSummary;

use crate::actor::{Actor, NoRoom, Reply, TurnRequest};
use crate::env::{Dialogue, DialogueError, Status};
use crate::episode::Episode;

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
    /// Tasks given up because their worlds failed.
    pub dropped: usize,
    /// Tasks in all.
    pub total: usize,
}

/// Plays each task once.
///
/// `observe` is called after every round of turns and may end the rollout; the episodes under way are
/// then left out.
///
/// An episode whose stream has no room for another reply is truncated there.
///
/// # Errors
/// If the actor fails. A world that fails is retried, then dropped and counted: never scored 0. A task
/// whose first prompt leaves no room is dropped likewise.
///
/// # Panics
/// If the actor does not answer each request.
pub fn play<A: Actor>(
    actor: &mut A,
    mut tasks: Vec<Box<dyn Dialogue>>,
    config: RolloutConfig,
    mut observe: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Rollout, A::Error> {
    let mut stage = Stage::new(&mut tasks, config);
    loop {
        stage.fill();
        let replies = stage.ask(actor)?;
        if replies.is_empty() {
            break;
        }
        for (slot, reply) in replies {
            match reply {
                Ok(reply) => stage.answer(actor, slot, reply)?,
                Err(full) => stage.cut_short(actor, slot, full),
            }
        }
        if observe(stage.progress()).is_break() {
            stage.interrupt(actor);
            break;
        }
    }
    Ok(stage.close())
}

/// Tasks with their place in the order of tasks.
type Waiting<'a> = Enumerate<IterMut<'a, Box<dyn Dialogue>>>;

/// What an actor makes of a request.
type Answer = Result<Reply, NoRoom>;

/// A rollout under way.
struct Stage<'a> {
    config: RolloutConfig,
    total: usize,
    waiting: Waiting<'a>,
    slots: Vec<Option<Seat<'a>>>,
    finished: Vec<(usize, Episode)>,
    rollout: Rollout,
}

impl<'a> Stage<'a> {
    fn new(tasks: &'a mut [Box<dyn Dialogue>], config: RolloutConfig) -> Self {
        Stage {
            config,
            total: tasks.len(),
            waiting: tasks.iter_mut().enumerate(),
            slots: std::iter::repeat_with(|| None).take(config.slots.max(1)).collect(),
            finished: Vec::new(),
            rollout: Rollout::default(),
        }
    }

    /// Gives every free slot the next waiting task whose world can be opened.
    fn fill(&mut self) {
        let clock = Instant::now();
        for slot in self.slots.iter_mut().filter(|slot| slot.is_none()) {
            *slot = self.waiting.find_map(|(task, dialogue)| {
                let mut seat = Seat::new(task, dialogue.as_mut());
                let opened = match seat.open() {
                    Ok(()) => true,
                    Err(fault) => seat.restart(self.config, fault, &mut self.rollout),
                };
                opened.then_some(seat)
            });
        }
        self.rollout.world_time += clock.elapsed();
    }

    /// A reply for every episode under way, with its slot.
    fn ask<A: Actor>(&mut self, actor: &mut A) -> Result<Vec<(usize, Answer)>, A::Error> {
        let seats = self.slots.iter().enumerate();
        let requests: Vec<TurnRequest<'_>> = seats
            .filter_map(|(slot, seat)| Some(seat.as_ref()?.request(slot, self.config.seed)))
            .collect();
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let clock = Instant::now();
        let replies = actor.act(&requests)?;
        self.rollout.actor_time += clock.elapsed();
        let (asked, answered) = (requests.len(), replies.len());
        assert_eq!(asked, answered, "the actor answered {answered} of {asked} requests");
        Ok(requests.iter().map(|request| request.slot).zip(replies).collect())
    }

    /// Plays the reply of one slot; where its episode ends or begins again, its stream is released.
    fn answer<A: Actor>(
        &mut self,
        actor: &mut A,
        slot: usize,
        reply: Reply,
    ) -> Result<(), A::Error> {
        let Some(mut seat) = self.slots[slot].take() else { return Ok(()) };
        let clock = Instant::now();
        let outcome = seat.reply(reply);
        self.rollout.world_time += clock.elapsed();
        match outcome {
            Ok(Status::Running) => {
                self.slots[slot] = Some(seat);
                return Ok(());
            }
            Ok(status) => {
                let value = self.bootstrap(actor, &seat, slot, status)?;
                self.finished.push(seat.finish(status, value));
            }
            Err(fault) => {
                let again = seat.restart(self.config, fault, &mut self.rollout);
                self.slots[slot] = again.then_some(seat);
            }
        }
        actor.release(slot);
        Ok(())
    }

    /// Ends an episode that has no room for another reply.
    fn cut_short<A: Actor>(&mut self, actor: &mut A, slot: usize, full: NoRoom) {
        let Some(seat) = self.slots[slot].take() else { return };
        if seat.has_begun() {
            self.finished.push(seat.finish(Status::Truncated, None));
        } else {
            self.rollout.faults.push(seat.fault(full));
            self.rollout.dropped += 1;
        }
        actor.release(slot);
    }

    /// The value behind the last turn, where it is wanted and the episode met its time limit.
    fn bootstrap<A: Actor>(
        &mut self,
        actor: &mut A,
        seat: &Seat<'_>,
        slot: usize,
        status: Status,
    ) -> Result<Option<f32>, A::Error> {
        if status != Status::Truncated || !self.config.bootstrap {
            return Ok(None);
        }
        let clock = Instant::now();
        let value = actor.value(&seat.request(slot, self.config.seed))?;
        self.rollout.actor_time += clock.elapsed();
        Ok(value.ok())
    }

    fn progress(&self) -> Progress {
        Progress {
            finished: self.finished.len(),
            solved: self.finished.iter().filter(|(_, episode)| episode.success).count(),
            dropped: self.rollout.dropped,
            total: self.total,
        }
    }

    fn interrupt<A: Actor>(&mut self, actor: &mut A) {
        self.rollout.interrupted = true;
        for (slot, seat) in self.slots.iter_mut().enumerate() {
            if seat.take().is_some() {
                actor.release(slot);
            }
        }
    }

    fn close(mut self) -> Rollout {
        self.finished.sort_by_key(|(task, _)| *task);
        self.rollout.episodes = self.finished.into_iter().map(|(_, episode)| episode).collect();
        self.rollout
    }
}

#[cfg(test)]
mod tests;
