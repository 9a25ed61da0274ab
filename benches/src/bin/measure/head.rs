use burn::optim::GradientsParams;
use burn::prelude::*;
use burn::tensor::Distribution;
use clap::Args;
use sapo_core::model::CausalLm;
use sapo_core::value::{ActionSoftmax, ValueTokens};

use crate::meter::{Cost, measure};
use crate::models::model;
use crate::{device, tokens};

/// The head's part of an update: from hidden states to log-probabilities, entropy and values, and back to
/// the gradients of the hidden states and of the model.
///
/// `base_mib` counts the model and the gradient of the head's matrix, so that `peak_mib - base_mib` is what
/// the path itself takes.
#[derive(Args)]
pub(crate) struct Head {
    /// A shape or a folder.
    model: String,
    /// Response positions.
    positions: usize,
    /// Hold all logits at once, as the plain twin of the chunked path does.
    #[arg(long)]
    full: bool,
}

impl Head {
    pub(crate) fn run(&self) -> Cost {
        let device = device().autodiff();
        let decoder = model(&self.model, &device);
        let vocabulary = decoder.vocabulary();
        let last = vocabulary as u32 - 1;
        let value_tokens = ValueTokens::new(last, last - 1, vocabulary).ok();
        let softmax = ActionSoftmax { value_tokens, temperature: 1.0 };
        let ids: Vec<i32> = tokens(1, self.positions, vocabulary)
            .remove(0)
            .into_iter()
            .map(|id| id as i32)
            .collect();
        let ids = Tensor::<1, Int>::from_ints(ids.as_slice(), &device);
        let [_, width] = decoder.model.embed_tokens.weight.dims();
        let shape = [self.positions, width];
        let hidden = Tensor::<2>::random(shape, Distribution::Normal(0.0, 1.0), &device);
        let cost = measure(3, || {
            let hidden = hidden.clone().require_grad();
            let scores = match self.full {
                true => softmax.score(decoder.logits(hidden), ids.clone()),
                false => decoder.score(hidden, ids.clone(), &softmax),
            };
            let loss = scores.value_logits.mean() - scores.log_probs.mean() - scores.entropy.mean();
            let gradients = GradientsParams::from_grads(loss.backward(), &decoder);
            assert!(!gradients.is_empty(), "the head has a gradient");
        });
        let gradient_mib = (vocabulary * width * size_of::<f32>()) as f64 / f64::from(1 << 20);
        Cost { base_mib: cost.base_mib + gradient_mib, ..cost }
    }
}
