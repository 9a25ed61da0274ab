//! A rollout in numbers, for the report.

use serde::{Deserialize, Serialize};

use super::Rollout;
use crate::episode::{End, Episode};

/// A rollout in numbers. `docs/metrics.md` defines each; a mean or share of nothing is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RolloutSummary {
    /// Episodes that came to an end.
    pub episodes: usize,
    /// Turns in them.
    pub turns: usize,
    /// Share of episodes whose task was solved.
    pub success: f64,
    /// Mean score of the episodes, from 0 to 1.
    pub mean_score: f64,
    /// Mean undiscounted sum of an episode's rewards.
    pub mean_reward: f64,
    /// Mean number of turns of an episode.
    pub mean_turns: f64,
    /// Sampled tokens.
    pub response_tokens: usize,
    /// Tokens of all streams: those that a training pass goes through.
    pub stream_tokens: usize,
    /// Share of turns whose reply had not the form that was asked for.
    pub invalid_share: f64,
    /// Share of episodes that met their time limit.
    pub truncated_share: f64,
    /// Failures of the world, whether they were retried or not.
    pub faults: usize,
    /// Tasks given up after their retries.
    pub dropped: usize,
    /// Seconds spent in the actor.
    pub actor_seconds: f64,
    /// Seconds spent in the worlds.
    pub world_seconds: f64,
}

impl Rollout {
    /// The rollout in numbers.
    pub fn summary(&self) -> RolloutSummary {
        let episodes = &self.episodes;
        let turns: usize = episodes.iter().map(|episode| episode.turns.len()).sum();
        let invalid = episodes.iter().flat_map(|e| &e.turns).filter(|turn| !turn.valid).count();
        let truncated = |episode: &&Episode| matches!(episode.end, End::Truncated { .. });
        let streams = episodes.iter().flat_map(|episode| &episode.streams);
        let an_episode = |sum: f64| ratio(sum, episodes.len());
        RolloutSummary {
            episodes: episodes.len(),
            turns,
            success: an_episode(episodes.iter().filter(|e| e.success).count() as f64),
            mean_score: an_episode(episodes.iter().map(|e| f64::from(e.score)).sum()),
            mean_reward: an_episode(episodes.iter().map(|e| f64::from(e.total_reward())).sum()),
            mean_turns: an_episode(turns as f64),
            response_tokens: episodes.iter().map(Episode::response_tokens).sum(),
            stream_tokens: streams.map(|stream| stream.tokens.len()).sum(),
            invalid_share: ratio(invalid as f64, turns),
            truncated_share: an_episode(episodes.iter().filter(truncated).count() as f64),
            faults: self.faults.len(),
            dropped: self.dropped,
            actor_seconds: self.actor_time.as_secs_f64(),
            world_seconds: self.world_time.as_secs_f64(),
        }
    }
}

fn ratio(sum: f64, count: usize) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}
