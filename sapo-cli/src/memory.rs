//! Whether a run fits into the machine's memory, said before it starts.

mod machine;

use anyhow::{Result, bail};
use sapo_core::Checkpointing;
use sapo_models::memory::{DecoderShape, Estimate, Kernels, Method, Precision, Workload};
use sapo_models::{Family, ModelConfig};

use crate::builtin;
use crate::config::{DeviceName, Dtype, ModelSection, PromptName, RunConfig};
use crate::output::{bytes, talk};

/// About as many words as a new model's tokenizer finds in the games.
const NEW_VOCABULARY: usize = 512;

/// Refuses a run whose estimate is more than the machine has to give.
///
/// A machine that does not say, and a model that cannot be read, are left to the run itself.
pub(crate) fn ensure_it_fits(config: &RunConfig) -> Result<()> {
    let (Some(available), Some(model)) = (machine::available(config.device), model(config)) else {
        return Ok(());
    };
    if config.check_memory {
        let estimate = Estimate::new(&DecoderShape::of(&model), &workload(config, &model));
        refuse(&estimate, config, available)?;
    }
    Ok(())
}

fn refuse(estimate: &Estimate, config: &RunConfig, available: u64) -> Result<()> {
    if estimate.peak <= available {
        return Ok(());
    }
    let Estimate { rollout, update, .. } = estimate;
    let what = if *rollout > update.peak(1) { "the rollout" } else { "an update" };
    bail!(
        "this run needs about {} of memory and {} are available: {} for the model and its optimizer, {} for \
         {what}; lower {}, take a smaller model, or set check_memory=false to try all the same",
        bytes(estimate.peak),
        bytes(available),
        bytes(estimate.resident()),
        bytes((*rollout).max(update.peak(1))),
        remedy(estimate, config),
    )
}

/// The settings that what is largest depends on.
fn remedy(estimate: &Estimate, config: &RunConfig) -> &'static str {
    if estimate.rollout > estimate.update.peak(1) {
        return "rollout.slots or rollout.max_prompt_tokens";
    }
    match config.optimizer.checkpointing {
        Checkpointing::None => {
            "optimizer.micro_batch_tokens or workers, set optimizer.checkpointing=layers"
        }
        Checkpointing::Layers => "optimizer.micro_batch_tokens or workers",
    }
}

/// The model that a run starts from, if its shape can be told without its weights.
fn model(config: &RunConfig) -> Option<ModelConfig> {
    let section = &config.model;
    match section.path.to_str() {
        Some("new") => Some(new_model(section)),
        Some("builtin") => builtin::model_config().ok(),
        _ => ModelConfig::read(&section.path.join("config.json")).ok(),
    }
}

fn new_model(section: &ModelSection) -> ModelConfig {
    let ModelSection { hidden, layers, heads, kv_heads, intermediate, .. } = *section;
    let shape = [heads, kv_heads];
    ModelConfig::new(Family::Qwen2, NEW_VOCABULARY, hidden, intermediate, layers, shape)
}

fn workload(config: &RunConfig, model: &ModelConfig) -> Workload {
    let RunConfig { rollout, optimizer, .. } = config;
    let tokens = |count: usize| count as u64;
    let stream_tokens = longest_stream(config, model);
    Workload {
        method: Method::Sapo,
        reference: (config.sapo.kl_coefficient != 0.0)
            .then(|| precision(config.sapo.reference_precision)),
        precision: precision(config.model.precision),
        adapter_rank: None,
        checkpointing: optimizer.checkpointing,
        kernels: match (config.device, config.model.precision) {
            (DeviceName::Flex, Dtype::F32) => Kernels::Fused,
            (DeviceName::Flex, Dtype::Bf16) => Kernels::Plain,
        },
        stream_tokens,
        reply_tokens: tokens(rollout.max_new_tokens),
        turns: match config.env.prompt {
            PromptName::History => 1,
            PromptName::Conversation => tokens(config.env.max_turns),
        },
        streams: tokens(config.episodes),
        micro_batch_tokens: tokens(optimizer.micro_batch_tokens),
        workers: tokens(config.workers),
        slots: tokens(rollout.slots.min(config.episodes)),
    }
}

fn precision(dtype: Dtype) -> Precision {
    match dtype {
        Dtype::F32 => Precision::Single,
        Dtype::Bf16 => Precision::Mixed,
    }
}

/// The tokens of a stream, as far as they are known. A conversation may grow up to the model's positions,
/// and hardly does: it is taken to fit into a micro-batch, and a warning follows if one does not.
fn longest_stream(config: &RunConfig, model: &ModelConfig) -> u64 {
    let RunConfig { rollout, optimizer, .. } = config;
    let turn = rollout.max_prompt_tokens + rollout.max_new_tokens;
    let longest = match config.env.prompt {
        PromptName::History => turn,
        PromptName::Conversation => turn.min(optimizer.micro_batch_tokens),
    };
    longest.min(model.max_position_embeddings) as u64
}

/// Says once of a run that a stream is longer than a micro-batch should be.
#[derive(Debug, Default)]
pub(crate) struct LongStreams {
    told: bool,
}

impl LongStreams {
    /// Looks at the lengths of an iteration's streams, in tokens.
    pub(crate) fn notice(&mut self, lengths: impl Iterator<Item = usize>, budget: usize) {
        let longest = lengths.max().unwrap_or(0);
        if longest > budget && !self.told {
            self.told = true;
            talk(format!(
                "warning: a stream of {longest} tokens is longer than optimizer.micro_batch_tokens, {budget}; \
                 such a stream is a micro-batch of its own and takes more memory than was estimated"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_cannot_fit_is_told_what_to_lower() {
        let mut config = RunConfig { workers: 1, ..RunConfig::default() };
        let message = |config: &RunConfig| {
            let model = model(config).unwrap();
            let estimate = Estimate::new(&DecoderShape::of(&model), &workload(config, &model));
            refuse(&estimate, config, 1_000_000).unwrap_err().to_string()
        };
        let said = message(&config);
        assert!(said.contains("1.0 MB are available") && said.contains("rollout.slots"), "{said}");
        config.rollout.slots = 1;
        let said = message(&config);
        assert!(said.contains("optimizer.micro_batch_tokens"), "{said}");
    }

    #[test]
    fn the_default_run_is_estimated_below_a_small_machines_memory() {
        let config = RunConfig { workers: 2, ..RunConfig::default() };
        let model = model(&config).unwrap();
        let estimate = Estimate::new(&DecoderShape::of(&model), &workload(&config, &model));
        assert!(refuse(&estimate, &config, 2_000_000_000).is_ok(), "{estimate:?}");
    }
}
