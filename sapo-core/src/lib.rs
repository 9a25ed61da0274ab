//! Single-Rollout Autoregressive Policy Optimization: reinforcement learning of language-model agents
//! with one rollout a task and no critic network, on [Burn](burn).
//!
//! # Which SAPO
//! The method of Liang, Feng, An and Liu, [arXiv 2608.19842](https://arxiv.org/abs/2608.19842). It is not
//! Soft Adaptive Policy Optimization ([arXiv 2511.20347](https://arxiv.org/abs/2511.20347)), which other
//! libraries also call `sapo`.
//!
//! # The method
//! One causal model is actor and critic. Two vocabulary entries, `w+` and `w-`, are reserved: the policy
//! never says them, and the difference of their logits is a value. Read where a reply is about to begin it
//! is `V(s)`; read where the reply has ended it is `Q(s, a)`.
//! ```text
//! pi(a|c) = softmax(z) over W \ {w+, w-}             v = (z[w+] - z[w-]) / tau_v
//! delta_t = r_t + gamma V_{t+1} - V_t                A_t = delta_t + gamma lambda A_{t+1}
//! yV_t    = V_t + A_t                                yQ_t = r_t + gamma Q_{t+1}
//! L       = L_pol + c_V L_V + c_Q L_Q + beta L_KL - c_H H
//! ```
//! Advantages are estimated over the turns of an episode, so one rollout of a task is enough, and are
//! normalized over all turns of a batch.
//!
//! # The way of the data
//! ```text
//! Dialogue <-> Actor          rollout::play      worlds and replies; host data only
//!     -> Vec<Episode>         episode            plain data: save it, replay it, compare it
//!     -> Targets              Algorithm::targets pure, one a turn
//!     -> MicroBatch           batch              host to device, once
//!     -> CausalLm             model              one pass gives log-probs, V and Q
//!     -> LossOutput           Algorithm::loss    pure, a share of the optimizer step
//!     -> UpdateReport         Learner::update    clipped, stepped; device to host, once
//! ```
//! Users bring three things: an [`Actor`] that replies, [`Dialogue`]s that answer back (most often an
//! [`Environment`] and a prompt's form), and a [`CausalLm`]. Token ids are kept as they were sampled; text
//! is never tokenized again.
//!
//! # Only the loss
//! Any model with logits over a vocabulary can be trained with the loss alone. Six positions of two turns,
//! each of one context token and two response tokens:
//! ```
//! use burn::nn::{EmbeddingConfig, LinearConfig};
//! use burn::prelude::*;
//! use sapo_core::{ActionSoftmax, Evaluation, LossBatch, Objective, ValueTokens};
//!
//! let device = Device::flex().autodiff();
//! let (embedding, head) =
//!     (EmbeddingConfig::new(12, 8).init(&device), LinearConfig::new(8, 12).init(&device));
//! let tokens = Tensor::<2, Int>::from_data([[3, 1, 4, 1, 5, 9]], &device);
//! let logits: Tensor<2> = head.forward(embedding.forward(tokens)).squeeze_dim(0); // [positions, vocabulary]
//!
//! let floats = |numbers: &[f32]| Tensor::<1>::from_data(numbers, &device);
//! let places = |places: &[i32]| Tensor::<1, Int>::from_data(places, &device);
//!
//! // What is specific to SAPO:
//! let value_tokens = ValueTokens::new(10, 11, 12)?;
//! let softmax = ActionSoftmax { value_tokens: Some(value_tokens), temperature: 1.0 };
//! let reads = value_tokens.difference(logits.clone());
//! let scores = softmax.score(logits.select(0, places(&[0, 1, 3, 4])), places(&[1, 4, 5, 9]));
//! let evaluation = Evaluation {
//!     log_probs: scores.log_probs.clone(),
//!     entropy: scores.entropy,
//!     value_logits: reads.clone().select(0, places(&[0, 3])), // before each reply
//!     action_value_logits: reads.select(0, places(&[2, 5])),  // after each reply
//! };
//! let batch = LossBatch {
//!     old_log_probs: scores.log_probs.detach(), // as they were when the replies were sampled
//!     reference_log_probs: None,
//!     advantages: floats(&[0.9, 0.9, -0.9, -0.9]),
//!     token_weights: floats(&[0.25; 4]), // 1 over the response tokens of the step
//!     old_values: floats(&[0.1, 0.2]),
//!     value_targets: floats(&[0.8, 0.1]),
//!     old_action_values: floats(&[0.3, 0.2]),
//!     action_value_targets: floats(&[1.0, 0.0]),
//!     turn_weights: floats(&[0.5; 2]), // 1 over the turns of the step
//! };
//! let objective = Objective { kl_coefficient: 0.0, ..Objective::default() };
//! let gradients = objective.forward(evaluation, &batch).loss.backward();
//! assert!(head.weight.grad(&gradients).is_some());
//! # Ok::<(), sapo_core::Error>(())
//! ```
//! `examples/embed_loss.rs` trains such a model, with targets made out of [`Episode`]s.

pub mod actor;
pub mod advantage;
pub mod algorithm;
pub mod batch;
pub mod critic;
pub mod env;
pub mod episode;
pub mod error;
pub mod gradient;
pub mod imitation;
pub mod learner;
pub mod model;
pub mod objective;
pub mod parallel;
mod pass;
pub mod precision;
pub mod rollout;
pub mod schedule;
pub mod seed;
#[cfg(test)]
mod testing;
pub mod value;

pub use crate::actor::{Actor, Finish, Reply, TurnRequest};
pub use crate::advantage::{Discount, GroupScale};
pub use crate::algorithm::{
    Algorithm, Grpo, Normalization, Ppo, Sapo, TargetSummary, Targets, Truncation, TurnTarget,
};
pub use crate::batch::{MicroBatch, StepTotals, TrainStream};
pub use crate::critic::Critic;
pub use crate::env::{
    Dialogue, DialogueError, Environment, Exchange, Message, Observation, Prompt, Role, Status,
    Step,
};
pub use crate::episode::{End, Episode, Stream, Turn};
pub use crate::error::Error;
pub use crate::imitation::{ImitationReport, Lesson};
pub use crate::learner::{
    CriticReport, Learner, LearnerConfig, MiniBatches, UpdateCosts, UpdateReport,
};
pub use crate::model::{CausalLm, Placement};
pub use crate::objective::{
    Evaluation, KlEstimator, LossBatch, LossOutput, LossStatistics, Objective, RatioClip,
};
pub use crate::pass::Checkpointing;
pub use crate::rollout::{Progress, Rollout, RolloutConfig, RolloutSummary, play};
pub use crate::schedule::{Decay, KlController, Schedule};
pub use crate::value::{ActionSoftmax, LogitScores, Readout, ReadoutKind, ValueTokens};
