//! The language model as the trainer sees it.

use burn::prelude::*;

use crate::value::{ActionSoftmax, LogitScores};

/// Where a block of tokens stands in its sequences.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The position of each token in its own sequence, from 0; anything at padding. `[rows, time]`
    pub positions: Tensor<2, Int>,
    /// Which keys each query may not see: true hides, as everywhere in Burn. `[rows, time, keys]`,
    /// where the keys are those of the cache followed by those of this block. A query must see at
    /// least one key, padding included, and may see none that comes after it.
    pub hidden: Tensor<3, Bool>,
}

/// A causal decoder whose hidden states and logits can be had apart, so that the vocabulary's worth of
/// logits is computed only where it is needed.
pub trait CausalLm {
    /// Keys and values of tokens seen before.
    type Cache;

    /// Final hidden states, after the last norm.
    ///
    /// With a cache, the block's keys and values are appended to it.
    ///
    /// # Shapes
    /// - tokens: `[rows, time]`
    /// - output: `[rows, time, hidden]`
    fn hidden(
        &self,
        tokens: Tensor<2, Int>,
        placement: &Placement,
        cache: Option<&mut Self::Cache>,
    ) -> Tensor<3>;

    /// How many stages [`hidden`](Self::hidden) consists of. Where activations are checkpointed, those of
    /// one stage are in memory at a time.
    fn stages(&self) -> usize {
        1
    }

    /// One stage of [`hidden`](Self::hidden) without a cache: each takes what the one before it gave, the
    /// first takes nothing, and the last gives the final hidden states.
    ///
    /// # Shapes
    /// - tokens: `[rows, time]`
    /// - input and output: `[rows, time, hidden]`
    fn stage(
        &self,
        _stage: usize,
        tokens: Tensor<2, Int>,
        placement: &Placement,
        _input: Option<Tensor<3>>,
    ) -> Tensor<3> {
        self.hidden(tokens, placement, None)
    }

    /// Logits of hidden states.
    ///
    /// # Shapes
    /// - hidden: `[positions, hidden]`
    /// - output: `[positions, vocabulary]`
    fn logits(&self, hidden: Tensor<2>) -> Tensor<2>;

    /// What an objective reads off the logits of hidden states, for one token a position.
    ///
    /// A model that need not hold all logits at once for that, or keep them for the gradient, does better
    /// than this default.
    ///
    /// # Shapes
    /// - hidden: `[positions, hidden]`
    /// - tokens: `[positions]`; none of them a value token
    fn score(
        &self,
        hidden: Tensor<2>,
        tokens: Tensor<1, Int>,
        softmax: &ActionSoftmax,
    ) -> LogitScores {
        softmax.score(self.logits(hidden), tokens)
    }

    /// The number of rows of the logits.
    fn vocabulary(&self) -> usize;
}
