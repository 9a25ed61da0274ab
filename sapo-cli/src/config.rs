//! The run's configuration: defaults, then a file, then `--set`; an unknown key is an error.

mod check;
mod load;

use std::path::PathBuf;

use burn::tensor::FloatDType;
use clap::ValueEnum;
use sapo_core::Checkpointing;
use sapo_core::advantage::Discount;
use sapo_core::algorithm::{Normalization, Truncation};
use sapo_core::objective::{KlEstimator, RatioClip};
use sapo_core::schedule::Decay;
use sapo_core::value::ReadoutKind;
use sapo_envs::alfworld::TaskKind;
use sapo_models::ValueRows;
use serde::{Deserialize, Serialize};

pub(crate) use self::load::{ConfigSource, load};

/// All that a run depends on. The field names are the keys of the TOML file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunConfig {
    /// Seeds everything.
    pub(crate) seed: u64,
    /// Where tensors live.
    pub(crate) device: DeviceName,
    /// Threads that play and learn side by side; 0 takes as many as the processor has cores. Results of
    /// another number differ by rounding.
    pub(crate) workers: usize,
    /// Whether a run is refused whose estimated memory the machine does not have.
    pub(crate) check_memory: bool,
    /// The training method.
    pub(crate) algorithm: AlgorithmName,
    /// Reinforcement-learning iterations.
    pub(crate) iterations: usize,
    /// Episodes of an iteration, one for each task.
    pub(crate) episodes: usize,
    /// The peak learning rate.
    pub(crate) learning_rate: f64,
    pub(crate) model: ModelSection,
    pub(crate) env: EnvSection,
    pub(crate) warm_start: WarmStartSection,
    pub(crate) rollout: RolloutSection,
    pub(crate) sapo: SapoSection,
    pub(crate) optimizer: OptimizerSection,
    pub(crate) evaluation: EvaluationSection,
}

impl Default for RunConfig {
    fn default() -> Self {
        RunConfig {
            seed: 0,
            device: DeviceName::Flex,
            workers: 0,
            check_memory: true,
            algorithm: AlgorithmName::Sapo,
            iterations: 72,
            episodes: 256,
            learning_rate: 2.5e-4,
            model: ModelSection::default(),
            env: EnvSection::default(),
            warm_start: WarmStartSection::default(),
            rollout: RolloutSection::default(),
            sapo: SapoSection::default(),
            optimizer: OptimizerSection::default(),
            evaluation: EvaluationSection::default(),
        }
    }
}

/// Devices that this build knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeviceName {
    /// Burn's own CPU backend.
    Flex,
}

/// Methods that this build knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AlgorithmName {
    /// Single-Rollout Autoregressive Policy Optimization.
    Sapo,
}

/// Which model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelSection {
    /// A model folder in Hugging Face layout, or one of two words: `builtin`, the small model that
    /// comes with this program, or `new`, a small Qwen2 made anew.
    pub(crate) path: PathBuf,
    /// How weights are written.
    pub(crate) dtype: Dtype,
    /// What is computed in, while playing and learning. With `bf16` the optimizer keeps a copy of the
    /// weights in `f32`.
    pub(crate) precision: Dtype,
    /// Width of a new model.
    pub(crate) hidden: usize,
    /// Layers of a new model.
    pub(crate) layers: usize,
    /// Query heads of a new model.
    pub(crate) heads: usize,
    /// Key and value heads of a new model.
    pub(crate) kv_heads: usize,
    /// Width of a new model's MLP.
    pub(crate) intermediate: usize,
    /// The ids of `w+` and `w-`; by default the two highest that the tokenizer never produces.
    pub(crate) value_tokens: Option<[u32; 2]>,
    /// What the rows of the value tokens are at the start.
    pub(crate) value_rows: ValueRows,
}

impl Default for ModelSection {
    fn default() -> Self {
        ModelSection {
            path: "builtin".into(),
            dtype: Dtype::F32,
            precision: Dtype::F32,
            hidden: 128,
            layers: 4,
            heads: 4,
            kv_heads: 2,
            intermediate: 384,
            value_tokens: None,
            value_rows: ValueRows::Zero,
        }
    }
}

impl ModelSection {
    /// Whether the model is made anew.
    pub(crate) fn is_new(&self) -> bool {
        self.path.as_os_str() == "new"
    }

    /// Whether the path is a folder's, and none of the two words.
    pub(crate) fn is_folder(&self) -> bool {
        !self.is_new() && self.path.as_os_str() != "builtin"
    }
}

/// Types of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dtype {
    /// 32 bits.
    F32,
    /// 16 bits with the range of 32.
    Bf16,
}

impl Dtype {
    /// As Burn names it.
    pub(crate) fn float(self) -> FloatDType {
        match self {
            Dtype::F32 => FloatDType::F32,
            Dtype::Bf16 => FloatDType::BF16,
        }
    }
}

/// Which world is played, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EnvSection {
    /// The world.
    pub(crate) name: EnvName,
    /// A folder or pack of games. Without it games are generated.
    pub(crate) data: Option<PathBuf>,
    /// The split that is learned from.
    pub(crate) split: String,
    /// The split that is evaluated on.
    pub(crate) eval_split: String,
    /// The types of task that are played; all where none is named.
    pub(crate) task_types: Vec<TaskKind>,
    /// How many training games are generated where there is no data.
    pub(crate) generated: usize,
    /// Seeds generated games. Not the run's seed: runs of different seeds share their games.
    pub(crate) generated_seed: u64,
    /// Steps after which a task is truncated.
    pub(crate) max_turns: usize,
    /// How an episode is shown to the model.
    pub(crate) prompt: PromptName,
    /// Whether a conversation lists the admissible actions.
    pub(crate) show_admissible: bool,
    /// The reward of a solved task.
    pub(crate) reward: f32,
    /// Training episodes end after so many invalid replies in a row; 0 never ends them so.
    pub(crate) max_invalid_streak: usize,
}

impl Default for EnvSection {
    fn default() -> Self {
        EnvSection {
            name: EnvName::Alfworld,
            data: None,
            split: "train".into(),
            eval_split: "valid_seen".into(),
            task_types: Vec::new(),
            generated: 40_000,
            generated_seed: 0,
            max_turns: 12,
            prompt: PromptName::Conversation,
            show_admissible: false,
            reward: 1.0,
            max_invalid_streak: 0,
        }
    }
}

/// Worlds that can be trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EnvName {
    /// Household tasks as text games.
    Alfworld,
}

/// Forms of prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromptName {
    /// One growing chat of bare observations; the whole reply is the action.
    Conversation,
    /// The papers' prompts with a short history; replies have `<think>` and `<action>` tags.
    History,
}

/// Imitation of the expert before reinforcement learning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WarmStartSection {
    /// Optimizer steps; 0 leaves the warm start out, as for a model that comes from one.
    pub(crate) steps: usize,
    /// The share of the training games that it uses; reinforcement learning uses the others.
    pub(crate) share: f64,
    /// Demonstrations a step.
    pub(crate) batch: usize,
    /// Peak learning rate.
    pub(crate) learning_rate: f64,
    /// Steps over which the rate rises.
    pub(crate) warmup: usize,
    /// The chance that a turn of a demonstration is somebody else's, and not imitated.
    pub(crate) disturbance: f64,
    /// The weight of predicting observation tokens; action tokens weigh 1.
    pub(crate) observation_weight: f32,
}

impl Default for WarmStartSection {
    fn default() -> Self {
        WarmStartSection {
            steps: 0,
            share: 0.5,
            batch: 24,
            learning_rate: 3e-3,
            warmup: 30,
            disturbance: 0.2,
            observation_weight: 0.5,
        }
    }
}

/// How replies are sampled in training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RolloutSection {
    /// Episodes under way at once.
    pub(crate) slots: usize,
    /// Sampling temperature, at rollout and in the loss alike.
    pub(crate) temperature: f32,
    /// The longest reply, in tokens.
    pub(crate) max_new_tokens: usize,
    /// The longest prompt, in tokens.
    pub(crate) max_prompt_tokens: usize,
    /// How often a task whose world failed is begun again.
    pub(crate) retries: usize,
}

impl Default for RolloutSection {
    fn default() -> Self {
        RolloutSection {
            slots: 128,
            temperature: 0.5,
            max_new_tokens: 24,
            max_prompt_tokens: 1024,
            retries: 1,
        }
    }
}

/// The method's settings, in the paper's symbols where it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SapoSection {
    /// `gamma` and `lambda`.
    pub(crate) discount: Discount,
    /// `R_max`.
    pub(crate) max_return: f32,
    /// Linear (v3) or clipped (v1).
    pub(crate) readout: ReadoutKind,
    /// `tau_v`.
    pub(crate) readout_temperature: f32,
    /// `c_inv`.
    pub(crate) invalid_action_penalty: f32,
    /// What stands behind the last turn of a truncated episode.
    pub(crate) truncation: Truncation,
    /// How advantages are normalized.
    pub(crate) normalization: Normalization,
    /// `eps_low` and `eps_high`.
    pub(crate) clip: RatioClip,
    /// `c_V`.
    pub(crate) value_coefficient: f32,
    /// `c_Q`.
    pub(crate) action_value_coefficient: f32,
    /// `eps_V`.
    pub(crate) value_clip: f32,
    /// `eps_Q`.
    pub(crate) action_value_clip: f32,
    /// `beta`; with 0 there is no reference policy in memory.
    pub(crate) kl_coefficient: f32,
    /// What the reference policy is kept and computed in.
    pub(crate) reference_precision: Dtype,
    /// How the divergence from the reference is estimated.
    pub(crate) kl_estimator: KlEstimator,
    /// `c_H`.
    pub(crate) entropy_coefficient: f32,
}

impl Default for SapoSection {
    fn default() -> Self {
        SapoSection {
            discount: Discount::default(),
            max_return: 1.0,
            readout: ReadoutKind::Linear,
            readout_temperature: 0.25,
            invalid_action_penalty: 0.01,
            truncation: Truncation::Terminal,
            normalization: Normalization::default(),
            clip: RatioClip::default(),
            value_coefficient: 0.05,
            action_value_coefficient: 0.05,
            value_clip: 0.5,
            action_value_clip: 0.5,
            kl_coefficient: 0.0,
            reference_precision: Dtype::F32,
            kl_estimator: KlEstimator::K3,
            entropy_coefficient: 0.001,
        }
    }
}

/// The optimizer's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OptimizerSection {
    pub(crate) beta_1: f32,
    pub(crate) beta_2: f32,
    pub(crate) epsilon: f32,
    pub(crate) weight_decay: f32,
    /// The largest global gradient norm.
    pub(crate) max_gradient_norm: f32,
    /// How often an iteration's episodes are gone through.
    pub(crate) epochs: usize,
    /// Optimizer steps an epoch; 0 goes by `mini_batch_turns`.
    pub(crate) mini_batches: usize,
    /// Turns of an optimizer step where `mini_batches` is 0.
    pub(crate) mini_batch_turns: usize,
    /// Tokens on the device at once, padding included.
    pub(crate) micro_batch_tokens: usize,
    /// Whether old log-probabilities and values are computed again before an update.
    pub(crate) recompute_old: bool,
    /// Which activations are kept for the backward pass: all, or what goes into each layer.
    pub(crate) checkpointing: Checkpointing,
    /// Iterations over which the learning rate rises.
    pub(crate) warmup_iterations: f64,
    /// What the learning rate does afterwards.
    pub(crate) decay: Decay,
    /// The KL divergence wanted of an iteration, in nats a token; 0 leaves the rate as it is.
    pub(crate) target_kl: f32,
}

impl Default for OptimizerSection {
    fn default() -> Self {
        OptimizerSection {
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
            max_gradient_norm: 1.0,
            epochs: 1,
            mini_batches: 4,
            mini_batch_turns: 256,
            micro_batch_tokens: 1024,
            recompute_old: false,
            checkpointing: Checkpointing::None,
            warmup_iterations: 5.0,
            decay: Decay::Linear,
            target_kl: 0.0,
        }
    }
}

/// How success is measured before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EvaluationSection {
    /// Held-out tasks; 0 plays the whole split, which is 256 where games are generated.
    pub(crate) episodes: usize,
    /// Sampling temperature; 0 is greedy.
    pub(crate) temperature: f32,
    /// Iterations between evaluations in between; 0 evaluates before and after only.
    pub(crate) every: usize,
    /// More splits that are swept at the end.
    pub(crate) more_splits: Vec<String>,
}

impl Default for EvaluationSection {
    fn default() -> Self {
        EvaluationSection { episodes: 256, temperature: 0.4, every: 0, more_splits: Vec::new() }
    }
}
