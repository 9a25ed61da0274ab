use burn::optim::{AdamWConfig, GradientsParams};
use burn::prelude::*;
use clap::Args;
use sapo_core::batch::TokenBlock;
use sapo_core::model::CausalLm;
use sapo_core::value::ActionSoftmax;

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
    share: f64,
}

impl Train {
    pub(crate) fn run(&self) -> Cost {
        let device = device().autodiff();
        let mut decoder = model(&self.model, &device);
        let mut optimizer = AdamWConfig::new().with_epsilon(1e-8).init();
        let rows = tokens(self.rows, self.time, decoder.vocabulary());
        let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        let block = TokenBlock::new(&rows, &device);
        let (places, following) = self.places(&rows, &device);
        let softmax = ActionSoftmax { value_tokens: None, temperature: 1.0 };
        measure(3, || {
            let hidden = block.hidden(&decoder, places.clone());
            let loss = -decoder.score(hidden, following.clone(), &softmax).log_probs.mean();
            let gradients = GradientsParams::from_grads(loss.backward(), &decoder);
            decoder = optimizer.step(1e-5, decoder.clone(), gradients);
        })
    }

    /// Positions spread evenly over the block, and the tokens after them.
    fn places(&self, rows: &[&[u32]], device: &Device) -> (Tensor<1, Int>, Tensor<1, Int>) {
        let counts = |step: usize| (step as f64 * self.share).fract() < self.share;
        let mut places = Vec::new();
        let mut following = Vec::new();
        for (row, tokens) in rows.iter().enumerate() {
            for step in (0..tokens.len() - 1).filter(|&step| counts(step)) {
                places.push((row * self.time + step) as i32);
                following.push(tokens[step + 1] as i32);
            }
        }
        let tensor = |ids: Vec<i32>| Tensor::from_ints(ids.as_slice(), device);
        (tensor(places), tensor(following))
    }
}
