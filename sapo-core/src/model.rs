//! The language model as the trainer sees it.

use burn::prelude::*;

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

    /// Logits of hidden states.
    ///
    /// # Shapes
    /// - hidden: `[positions, hidden]`
    /// - output: `[positions, vocabulary]`
    fn logits(&self, hidden: Tensor<2>) -> Tensor<2>;

    /// The number of rows of the logits.
    fn vocabulary(&self) -> usize;
}
