//! Values read off the vocabulary: two reserved tokens, and a policy that can never say them.
//!
//! ```text
//! v       = (z[w+] - z[w-]) / tau_v                     linear readout (v3 of the paper, default)
//! v       = clip((z[w+] - z[w-]) / tau_v, -1, 1)        clipped readout (v1)
//! pi(a|c) = softmax(z / temperature) over W \ {w+, w-}
//! ```
//! SAPO, arXiv 2608.19842, "Autoregressive value readout".

use burn::prelude::*;
use burn::tensor::FloatDType;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Added to a logit that must have no probability. Finite, so that neither `0 * -inf` nor its gradient
/// can be a NaN; so large that the exponential is exactly 0 beside any real logit.
const EXCLUDED: f32 = -1e30;

/// The two vocabulary entries `w+` and `w-` whose logits carry the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueTokens {
    plus: u32,
    minus: u32,
}

impl ValueTokens {
    /// Reserves two entries of a vocabulary of `vocabulary` logits.
    ///
    /// # Errors
    /// If both are the same, or one is not in the vocabulary.
    pub fn new(plus: u32, minus: u32, vocabulary: usize) -> Result<Self, Error> {
        if plus == minus {
            return Err(Error::EqualValueTokens { id: plus });
        }
        match [plus, minus].into_iter().find(|&id| id as usize >= vocabulary) {
            Some(id) => Err(Error::ValueTokenOutside { id, vocabulary }),
            None => Ok(ValueTokens { plus, minus }),
        }
    }

    /// The id of `w+`.
    pub fn plus(self) -> u32 {
        self.plus
    }

    /// The id of `w-`.
    pub fn minus(self) -> u32 {
        self.minus
    }

    /// Whether `id` is one of the two.
    pub fn contains(self, id: u32) -> bool {
        id == self.plus || id == self.minus
    }

    /// `z[w+] - z[w-]`, in single precision whatever the precision of the logits.
    ///
    /// # Shapes
    /// - logits: `[positions, vocabulary]`
    /// - output: `[positions]`
    pub fn difference(self, logits: Tensor<2>) -> Tensor<1> {
        let column = |id: u32| in_single(logits.clone().narrow(1, id as usize, 1));
        (column(self.plus) - column(self.minus)).squeeze_dim(1)
    }

    /// Logits in which the two entries have no probability, in single precision.
    ///
    /// # Shapes
    /// - logits and output: `[positions, vocabulary]`
    pub fn exclude(self, logits: Tensor<2>) -> Tensor<2> {
        let [_, vocabulary] = logits.dims();
        let mut bias = vec![0.0_f32; vocabulary];
        bias[self.plus as usize] = EXCLUDED;
        bias[self.minus as usize] = EXCLUDED;
        let bias = Tensor::from_data(TensorData::new(bias, [1, vocabulary]), &logits.device());
        in_single(logits) + bias
    }
}

/// A no-op for single precision. Half precision neither holds [`EXCLUDED`] nor sums a vocabulary well.
fn in_single<const D: usize>(logits: Tensor<D>) -> Tensor<D> {
    logits.cast(FloatDType::F32)
}

/// How a difference of logits becomes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadoutKind {
    /// The scaled difference itself (v3 of the paper).
    Linear,
    /// The scaled difference clipped to `[-1, 1]` (v1). A saturated read has no gradient.
    Clipped,
}

/// The value readout: its kind and its temperature `tau_v`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Readout {
    /// Linear or clipped.
    pub kind: ReadoutKind,
    /// `tau_v`, by which the difference of logits is divided.
    pub temperature: f32,
}

impl Default for Readout {
    fn default() -> Self {
        Readout { kind: ReadoutKind::Linear, temperature: 1.0 }
    }
}

impl Readout {
    /// Reads values `v` off differences `z[w+] - z[w-]`; any shape.
    pub fn read<const D: usize>(self, difference: Tensor<D>) -> Tensor<D> {
        let value = difference / self.temperature;
        match self.kind {
            ReadoutKind::Linear => value,
            ReadoutKind::Clipped => clip_without_edge_gradient(value),
        }
    }

    /// [`read`](Self::read) of one number.
    pub fn read_scalar(self, difference: f32) -> f32 {
        let value = difference / self.temperature;
        match self.kind {
            ReadoutKind::Linear => value,
            ReadoutKind::Clipped => value.clamp(-1.0, 1.0),
        }
    }

    /// Whether a value that was read has no gradient.
    pub fn is_saturated(self, value: f32) -> bool {
        self.kind == ReadoutKind::Clipped && value.abs() >= 1.0
    }
}

/// `clamp(value, -1, 1)`; Burn's own clamp passes the gradient at its bounds, where this one stops it.
fn clip_without_edge_gradient<const D: usize>(value: Tensor<D>) -> Tensor<D> {
    let clipped = value.clone().detach().clamp(-1.0, 1.0);
    let saturated = value.clone().detach().abs().greater_equal_elem(1.0);
    value.mask_where(saturated, clipped)
}

/// The policy's distribution over actions: the vocabulary without the value tokens, at a temperature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionSoftmax {
    /// The excluded entries; `None` for a method without value tokens.
    pub value_tokens: Option<ValueTokens>,
    /// Logits are divided by it before the softmax, at rollout and at update alike.
    pub temperature: f32,
}

/// What an objective reads off the logits of some positions.
#[derive(Clone, Debug)]
pub struct LogitScores {
    /// `log pi` of the token given for each position, in nats. `[positions]`
    pub log_probs: Tensor<1>,
    /// The entropy of the distribution at each position, in nats. `[positions]`
    pub entropy: Tensor<1>,
    /// `z[w+] - z[w-]` at each position; 0 without value tokens. `[positions]`
    pub value_logits: Tensor<1>,
}

impl ActionSoftmax {
    /// Scores one token a position, exactly over the restricted vocabulary: `w` runs over
    /// `W \ {w+, w-}`, and `z` is over the temperature.
    ///
    /// ```text
    /// log pi(a) = z_a - log Z,   H = log Z - sum_w pi(w) z_w,   Z = sum_w exp(z_w)
    /// ```
    ///
    /// # Shapes
    /// - logits: `[positions, vocabulary]`
    /// - tokens: `[positions]`; none of them a value token
    pub fn score(&self, logits: Tensor<2>, tokens: Tensor<1, Int>) -> LogitScores {
        let value_logits = match self.value_tokens {
            Some(tokens) => tokens.difference(logits.clone()),
            None => Tensor::zeros(tokens.shape(), &logits.device()),
        };
        let logits = self.restrict(logits);
        // Shifting by a constant changes neither result, so no gradient is owed through the maximum.
        let shifted = logits.clone() - logits.detach().max_dim(1);
        let weights = shifted.clone().exp();
        let partition = weights.clone().sum_dim(1);
        let log_partition = partition.clone().log();
        let expected = (weights * shifted.clone()).sum_dim(1) / partition;
        let chosen = shifted.gather(1, tokens.unsqueeze_dim(1));
        LogitScores {
            log_probs: (chosen - log_partition.clone()).squeeze_dim(1),
            entropy: (log_partition - expected).squeeze_dim(1),
            value_logits,
        }
    }

    /// Scaled logits without the value tokens, in single precision: what a sampler draws from.
    ///
    /// # Shapes
    /// - logits and output: `[positions, vocabulary]`
    pub fn restrict(&self, logits: Tensor<2>) -> Tensor<2> {
        let logits = in_single(logits);
        let scaled = if self.temperature == 1.0 { logits } else { logits / self.temperature };
        match self.value_tokens {
            Some(tokens) => tokens.exclude(scaled),
            None => scaled,
        }
    }
}

#[cfg(test)]
mod tests;
