//! Training methods: each makes targets out of episodes and a loss out of targets.

mod grpo;
mod ppo;
mod sapo;

use serde::{Deserialize, Serialize};

use crate::episode::Episode;
use crate::objective::{Evaluation, LossBatch, LossOutput};
use crate::value::{ActionSoftmax, Readout};

pub use self::grpo::Grpo;
pub use self::ppo::Ppo;
pub use self::sapo::{Normalization, Sapo, Truncation};

/// A method of training. Both steps are pure.
pub trait Algorithm {
    /// What each turn of each episode should be pulled towards.
    fn targets(&self, episodes: &[Episode]) -> Targets;

    /// The loss of a micro-batch, as its share of the optimizer step's loss.
    fn loss(&self, evaluation: Evaluation, batch: &LossBatch) -> LossOutput;

    /// The distribution that replies are scored under.
    fn softmax(&self) -> ActionSoftmax;

    /// How values are read off the logits.
    fn readout(&self) -> Readout;

    /// Whether the loss compares with a frozen reference policy.
    fn needs_reference(&self) -> bool;
}

/// Targets of one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnTarget {
    /// What every response token of the turn is credited with.
    pub advantage: f32,
    /// The target of `V / R_max`.
    pub value: f32,
    /// The target of `Q / R_max`.
    pub action_value: f32,
}

/// Targets of a batch of episodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    /// For each episode, one target a turn.
    pub turns: Vec<Vec<TurnTarget>>,
    /// What they look like as a whole.
    pub summary: TargetSummary,
}

/// What a batch's targets look like, for the report. `docs/metrics.md` defines each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// Mean of the advantages before they are normalized.
    pub advantage_mean: f64,
    /// Standard deviation of the advantages before they are normalized.
    pub advantage_std: f64,
    /// Mean of `V` over turns, in units of reward.
    pub value_mean: f64,
    /// Mean of `Q` over turns, in units of reward.
    pub action_value_mean: f64,
    /// Explained variance of `V` for its target; `None` where the targets do not vary.
    pub value_explained_variance: Option<f64>,
    /// Explained variance of `Q` for its target; `None` where the targets do not vary.
    pub action_value_explained_variance: Option<f64>,
    /// Share of reads of `V` or `Q` that have no gradient.
    pub saturation: f64,
    /// Whether no turn differed from another, so that there is nothing to learn from.
    pub degenerate: bool,
}
