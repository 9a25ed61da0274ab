use clap::Args;
use sapo_core::learner::{Learner, LearnerConfig, MiniBatches};
use sapo_core::model::CausalLm;
use sapo_core::schedule::{Decay, Schedule};
use sapo_core::value::ActionSoftmax;
use sapo_core::{Checkpointing, Lesson};
use sapo_kernels::AdamW;

use crate::meter::{Cost, measure};
use crate::models::model;
use crate::{device, tokens};

/// Cross-entropy of the next token, its gradient and a step of AdamW.
#[derive(Args)]
pub(crate) struct Train {
    /// A shape or a folder.
    model: String,
    /// Sequences.
    rows: usize,
    /// Tokens of each.
    time: usize,
    /// The share of positions whose next token counts.
    #[arg(default_value_t = 1.0)]
    share: f32,
    /// Keep what goes into each layer alone, and compute the rest again.
    #[arg(long)]
    checkpointing: bool,
}

impl Train {
    pub(crate) fn run(&self) -> Cost {
        let decoder = model(&self.model, &device().autodiff());
        let lessons: Vec<Lesson> = tokens(self.rows, self.time, decoder.vocabulary())
            .into_iter()
            .map(|tokens| Lesson { weights: self.weights(), tokens })
            .collect();
        let lessons: Vec<&Lesson> = lessons.iter().collect();
        let checkpointing = match self.checkpointing {
            true => Checkpointing::Layers,
            false => Checkpointing::None,
        };
        let config = LearnerConfig { checkpointing, ..learner_config(self.rows * self.time) };
        let mut learner = Learner::new(decoder, config).with_optimizer(adamw());
        let softmax = ActionSoftmax { value_tokens: None, temperature: 1.0 };
        measure(3, || {
            learner.imitate(&softmax, &lessons, 1e-5);
        })
    }

    /// 1 at positions spread evenly over a sequence, 0 elsewhere.
    fn weights(&self) -> Vec<f32> {
        let counts = |step: usize| (step as f32 * self.share).fract() < self.share;
        (0..self.time).map(|step| if counts(step) { 1.0 } else { 0.0 }).collect()
    }
}

/// One optimizer step of one micro-batch.
fn learner_config(micro_batch_tokens: usize) -> LearnerConfig {
    let AdamW { beta_1, beta_2, epsilon, weight_decay } = adamw();
    LearnerConfig {
        schedule: Schedule {
            peak: 1e-5,
            warmup_iterations: 0.0,
            iterations: 1.0,
            decay: Decay::Constant,
        },
        beta_1,
        beta_2,
        epsilon,
        weight_decay,
        max_gradient_norm: 1.0,
        epochs: 1,
        mini_batches: MiniBatches::Count(1),
        micro_batch_tokens,
        recompute_old: false,
        checkpointing: Checkpointing::None,
        workers: 1,
        kl_controller: None,
        seed: 0,
    }
}

fn adamw() -> AdamW {
    AdamW { beta_1: 0.9, beta_2: 0.999, epsilon: 1e-8, weight_decay: 0.01 }
}
